"""One file that holds a project, for a backup or another server: written while it is sent, checked before it is stored.

- archive: a ZIP with the project's rows, media, features and results; `layout.py` says where each is in it
- manifest: `tercet.json`, which says what the file is, from which version, and how many rows there are
- listing: `files.ndjson`, every other file of the archive with its size and SHA-256
- person: somebody who answered or decided; the archive has the name, but no address or rights
- restore: make a new project from an archive; it appears when everything is stored, or not at all
"""
