"""Import and export of constraints in bulk, and of everything that a run computed; over REST and from the command line.

- constraint: a triplet with an answer, from a labeler or an import
- upload: a file of constraints on disk, its project and its sender
- fault: what is wrong with one row; conflict: a row whose id is taken by another answer
- export: all answers of a project, or the items of a run with their clusters
- foreign format: a file of Salmon, which collects answers, or for cblearn, which learns from them
"""
