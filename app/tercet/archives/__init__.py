"""Archives: a project in one file, for a backup or another server, streamed out and checked before it is restored.

- archive: a ZIP with the project's rows, media, features and results; `layout.py` says where each is in it
- manifest: `tercet.json`, with the format, the version and the number of rows
- listing: `files.ndjson`, with the size and SHA-256 of every other file of the archive
- person: somebody who answered or decided; the archive has the name, but no address or rights
- restore: make a new project from an archive; it appears when everything is stored, or not at all
"""
