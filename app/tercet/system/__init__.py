"""How the server is: for administrators on a page and over REST, and as gauges for Prometheus.

- state: what there is and what waits, read in one moment
- overview: the state with disks, versions and backups
"""
