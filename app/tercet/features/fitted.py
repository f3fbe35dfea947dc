"""What a recipe learned from the items of a project, as plain arrays: new items are measured by it.

Numpy alone, so that a web page may pass it on; `computing.py` learns it and measures by it.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.features.recipes import Recipe, SoundRange
from tercet.features.tables import Column

Array = np.ndarray[Any, Any]
HEADER, COLUMNS = "recipe", "columns"
MOST_BYTES = 2**28  # twice what the longest words of texts, with a thousand numbers each, take
LOST = "what the recipe learned is not there, or damaged"
# What numpy and zipfile raise on files that are broken in one way or another.
DAMAGED = (OSError, ValueError, EOFError, SyntaxError, RuntimeError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True)
class FittedRecipe:
    """A recipe, the range of frequencies it looks at, and what each kind of group learned.

    Of every kind its `factor` on the common scale; where raw rows are reduced, `mean` and `matrix` of that; beside
    them patterns, words and their weights, or the columns of the table.
    """

    recipe: Recipe
    sound_range: SoundRange | None
    learned: dict[str, dict[str, Array]]

    def keep_columns(self, kind: str, columns: Sequence[Column]) -> None:
        """Keep what is done with the columns of a table."""
        text = json.dumps([column.as_dict() for column in columns])
        self.learned[kind][COLUMNS] = np.frombuffer(text.encode(), dtype=np.uint8)

    def columns(self, kind: str) -> list[Column]:
        """Return what is done with the columns of a table."""
        return [Column(**column) for column in json.loads(self.learned[kind][COLUMNS].tobytes())]

    def arrays(self) -> dict[str, Array]:
        """Return everything as arrays with names, none of them of Python objects."""
        header = json.dumps({"recipe": self.recipe.as_dict(), "sound_range": self.sound_range})
        arrays = {f"{kind}/{name}": array for kind, learned in self.learned.items() for name, array in learned.items()}
        return {HEADER: np.array(header), **arrays}

    @classmethod
    def of_file(cls, content: bytes) -> "FittedRecipe":
        """Read what `arrays` returned from the bytes of an .npz; raise ValueError if it is none."""
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as members:
                size = sum(member.file_size for member in members.infolist())
            arrays = dict(np.load(io.BytesIO(content), allow_pickle=False)) if size <= MOST_BYTES else None
        except DAMAGED as error:
            raise ValueError(LOST) from error
        if arrays is None:
            raise ValueError(f"what the recipe learned would take {size:,} bytes")
        return cls.of_arrays(arrays)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> "FittedRecipe":
        """Read what `arrays` returned; raise ValueError if something is missing."""
        try:
            header = json.loads(str(arrays[HEADER]))
            recipe, sound_range = Recipe.from_dict(header["recipe"]), header["sound_range"]
        except (KeyError, TypeError) as error:
            raise ValueError(LOST) from error
        learned: dict[str, dict[str, Array]] = {group.kind: {} for group in recipe.groups}
        for name, array in arrays.items():
            kind, _, what = name.rpartition("/")
            if kind in learned:
                learned[kind][what] = array
        return cls(recipe, None if sound_range is None else (float(sound_range[0]), float(sound_range[1])), learned)
