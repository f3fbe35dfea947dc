"""What people drop: any files in, a plan of the items out. Nothing is stored, and no project is known here.

- source file: a file as the user has it (its path) and where it lies now
- import plan: the items to be, where the media of each come from, what became of every file, and all faults
- table: rows under named columns (CSV, JSON, NDJSON, Parquet); a column is key, text, bag, file or metadata
- number table: rows of numbers only, the features of the items
- selection table: stretches of recordings that become items; the recording is their bag
- litter: files that systems leave behind and nobody means to send; foreign file: one of a kind that is not read
- finding: something about the items that would spoil an afternoon of labeling, with what to do about it
"""
