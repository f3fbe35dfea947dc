"""The audit log: who did what, when and from where, in entries that nobody can change, take out or slip in unnoticed.

- entry: one deed, with what was before and after; its number has no gap
- chain: each entry's hash is of its content and of the hash before it, so that a change breaks all hashes after it
"""
