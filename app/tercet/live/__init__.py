"""Changes of projects, and how open pages are notified.

- event: a row that says what changed, numbered without gaps in its project
- feed: polls the events once for all open pages of a web process
- listener: one open page's stream of server-sent events
- outage: something that the server needs and does not have, told to listeners in words
- message: what a listener is sent: an event, or figures that need no number
"""
