"""Constraints in bulk, in and out, streamed; and the same from the command line.

- constraint: a triplet with its answer, whoever gave it
- upload: a file of constraints on disk, its project and its sender
- fault: what is wrong with one row; conflict: a row whose id is taken by another answer
- export: all answers of a project, or the items of a run with their clusters
- foreign format: a file of Salmon or cblearn, other programs that collect answers or learn from them
"""
