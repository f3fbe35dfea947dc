"""What every page and route needs and no domain owns: rendering, errors, security, logs, health, texts, numbers, CSV.

- problem: an error with a status and a sentence, sent as `application/problem+json` to programs and as a page to people
- fault: one thing that is wrong with what was sent, with its field, row and file
- text, name: texts from outside that can be stored; a name can also be printed on one line and is short
- count, id, position: whole numbers from outside, bounded as the columns of the database are
- guarded cell: a cell of a CSV file that a spreadsheet shows and does not compute
"""
