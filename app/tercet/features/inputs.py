"""Items in the form that features are computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class FeatureInput:
    """One item: its key, its text, its metadata, and its recording or picture on disk.

    A segment of a long recording is cut into a file before.
    """

    key: str
    text: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    media_type: str | None = None
    path: Path | None = None

    @property
    def medium(self) -> str | None:
        """Return "audio" or "image"; None for an item without a file of these."""
        kind = (self.media_type or "").partition("/")[0]
        return kind if self.path is not None and kind in ("audio", "image") else None
