"""Collects the faults of files, so that all of them are reported at once and nothing is stored."""

from collections.abc import Sequence

from tercet.errors import FieldError, Invalid, Problem

MOST_SHOWN = 100


class Faults:
    """The faults of one upload: all are counted, the first hundred are listed."""

    def __init__(self) -> None:
        """Start without faults."""
        self.shown: list[FieldError] = []
        self.count = 0

    @classmethod
    def of(cls, faults: Sequence[FieldError]) -> "Faults":
        """Return the faults of a list."""
        collected = cls()
        for fault in faults:
            collected.add(fault.field, fault.detail, row=fault.row, file=fault.file)
        return collected

    def add(self, field: str, detail: str, *, row: int | None = None, file: str | None = None) -> None:
        """Add a fault."""
        self.count += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(FieldError(_sendable(field), _sendable(detail), row, file))

    def raise_any(self, kind: type[Problem] = Invalid) -> None:
        """Raise a problem that lists the faults, if there are any."""
        if self.count:
            faults = "1 fault" if self.count == 1 else f"{self.count} faults"
            more = f"; the first {MOST_SHOWN} are listed" if self.count > MOST_SHOWN else ""
            raise kind(f"{self.shown[0].detail} ({faults}{more}). Nothing was stored.", self.shown)


def fail(field: str, detail: str, *, row: int | None = None, file: str | None = None) -> Invalid:
    """Return the error for a fault that ends the reading of a file."""
    where = ", ".join(part for part in (file, f"row {row}" if row else "") if part)
    detail = _sendable(detail)
    return Invalid(f"{where}: {detail}" if where else detail, [FieldError(_sendable(field), detail, row, file)])


def _sendable(text: str) -> str:
    """Return a text with lone surrogates escaped: text quoted from a bad file must not break the response."""
    return text.encode("utf-8", "backslashreplace").decode()
