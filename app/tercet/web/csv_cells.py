"""Protects cells of CSV files from being computed as formulas by spreadsheets, and reverts it on import."""

DANGEROUS = ("=", "+", "-", "@", "\t", "\r")


def guard(cell: str) -> str:
    """Return the cell, with an apostrophe before what a spreadsheet would compute instead of show."""
    return f"'{cell}" if cell.lstrip("'").startswith(DANGEROUS) else cell


def unguard(cell: str) -> str:
    """Return the cell without the apostrophe of `guard`, so that what was exported can be imported."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(DANGEROUS) else cell
