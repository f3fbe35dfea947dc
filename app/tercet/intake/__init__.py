"""Files on their way in: read, checked as a whole, then stored as items with media and features.

- table: a CSV file with one row per item; item row: one of its rows
- opener: reads the bytes of one media file
- waiting media: what is stored of a file, kept in a temporary folder until all files have proved to be good
- fault: one thing that is wrong, with file, row and field; all are reported at once and nothing is stored
- target: the project as it was when the import was checked
"""
