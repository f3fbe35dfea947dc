"""Shared by all pages and routes: rendering, errors, security, logs, health, texts, numbers, CSV.

- problem: an error with a status and a sentence, sent as `application/problem+json` to programs and as a page to people
- fault: one thing that is wrong with what was sent, with its field, row and file
- text, name: validated texts of requests; a name is short and on one line
- count, id, position: integers of requests, bounded as the columns of the database are
- guarded cell: a cell of a CSV file that a spreadsheet shows and does not compute
"""
