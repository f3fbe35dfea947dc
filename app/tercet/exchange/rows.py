"""A row of an upload before it is checked, independent of the file format."""

from typing import Any, NamedTuple


class Fault(NamedTuple):
    """What is wrong with one row."""

    field: str
    detail: str


Raw = dict[str, Any] | Fault
Numbered = tuple[int, Raw]
