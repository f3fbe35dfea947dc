"""A Python client of any Tercet server: items in, questions asked and answered, runs started, clusters out.

- client: a connection to a server with a token, that waits (`Client`) or is awaited (`AsyncClient`)
- project client: one project of that server, with every operation on it
- operation: what a method does, as a generator of calls and pauses, written once for both kinds of client
- call: one request of an operation; one that is repeatable is sent again after a lost connection
- frame: a table of pandas or polars, whichever is installed
"""
