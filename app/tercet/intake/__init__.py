"""Imports: files are uploaded, read, checked as a whole, then stored as items with media and features.

- import: files that somebody brings into a project, from the upload to the items that they become
- part: the bytes of a file that one request brought; the next upload continues after them
- table: a file with one row for each item; item row: one of its rows
- plan: the items that the files of an import would become, with their media and features; the preview shows it
- became: what a file was read as (sound, table, archive, ...) or that it was skipped
- fault: one thing that is wrong, with file, row and field; all are reported at once and nothing is stored
- finding: something about the items that would spoil labeling, such as equal sounds, with what to do about it
- target: the project as it was when the import was checked
- recipe: the groups of features that are computed for a project's items
- set aside: an item that no question, fit and list includes any more, while its answers stay
"""
