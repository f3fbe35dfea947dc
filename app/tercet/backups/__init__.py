"""Backups: everything that a server stores, in one file, written while people label, and restored on any database.

- backup: a ZIP with the rows of every table, as they were at one moment, and the blobs; the secret key is kept apart
- manifest: `backup.json`, its last entry, with the size and SHA-256 of every other, and what was stored by then
"""
