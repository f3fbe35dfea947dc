"""Cells of CSV files that spreadsheets open: none may become a formula."""

DANGEROUS = ("=", "+", "-", "@", "\t", "\r")


def guard(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would compute instead of show."""
    return f"'{cell}" if cell.startswith(DANGEROUS) else cell
