"""`python -m tercet.cli` is the `tercet` command."""

from tercet.cli import main

main()
