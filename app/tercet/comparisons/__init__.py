"""Systems compared on the same held-out answers: the web's half; `worker/comparison` has the job.

- comparison: a run whose result is figures about several systems instead of clusters.
- system: an algorithm of the catalogue, or plain k-means as the baseline.
- rival: a system over which the recommended one has a lead: the next best one and the baseline.
- verdict: the figures in sentences.
"""
