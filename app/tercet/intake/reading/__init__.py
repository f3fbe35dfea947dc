"""Reads any files into a plan of items. Nothing is stored, and no project is known here.

- source file: a file with the path that the user gave it, and its place on this machine
- import plan: the future items, the sources of their media, what each file became, and all faults
- draft: an item while the files are read, before its key is complete and its faults are known
- findings: what was learned while reading: what files became, the roles of columns, faults
- table: rows under named columns (CSV, JSON, NDJSON, Parquet)
- role: what a column is: key, text, bag, bag labels, file or metadata
- number table: rows of numbers only, the features of the items
- selection table: segments of recordings that become items; the recording is their bag
- cuts: the selections of each recording
- litter: hidden files and those that operating systems create, which nobody means to send
- foreign file: one of a kind that is not read
"""
