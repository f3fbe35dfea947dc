"""Recipes: which groups of features the items of a project get, as data and in words.

Web pages need only this; `computing.py`, which computes the features, imports much more.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tercet.features.inputs import FeatureInput

SoundRange = tuple[float, float]  # Hz

VERSION = 1
PLUGIN = "plugin:"
RAREST_MEDIUM = 0.05  # sounds or pictures that are a smaller share of the items get no groups
MOST_NUMBERS, MOST_WEIGHT = 1_000, 1_000.0


@dataclass(frozen=True)
class GroupKind:
    """One kind of group: its source, and its default number of columns and weight; see also `weightings`."""

    source: str
    numbers: int  # that it is reduced to; 0 for all
    words: str  # with {n} for the number of columns, such as "32 numbers"
    weight: float = 1.0


KINDS: Mapping[str, GroupKind] = {
    "sound_measures": GroupKind("audio", 0, "33 measurements of each sound"),
    "sound_codes": GroupKind("audio", 32, "{n} learned from these recordings", 0.5),
    "sound_outline": GroupKind("audio", 32, "{n} for the outline of each sound in time and pitch", 0.25),
    "picture_shapes": GroupKind("image", 32, "{n} for the shapes in each picture"),
    "picture_colours": GroupKind("image", 16, "{n} for the colours of each picture"),
    "picture_codes": GroupKind("image", 32, "{n} learned from these pictures"),
    "text_words": GroupKind("text", 50, "{n} for the words of each text"),
    "table_columns": GroupKind("table", 0, "{n} from the columns of the table: measurements, dates and categories"),
}
# What is measured tells songs apart whose notes rise and fall differently; for words and syllables, which differ in
# how their spectrum changes, codes and outlines do far better (`benchmarks/recipes.py`).
WEIGHTS_BY_SPECTRUM: Mapping[str, float] = {"sound_measures": 0.5, "sound_codes": 1.0, "sound_outline": 1.0}
DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "audio": ("sound_measures", "sound_codes", "sound_outline"),
    "image": ("picture_shapes", "picture_colours", "picture_codes"),
    "text": ("text_words",),
    "table": ("table_columns",),
}


@dataclass(frozen=True)
class GroupSettings:
    """One group of a recipe. `kind` is a name of KINDS, or "plugin:" and the name of a plug-in.

    `numbers` is how many columns the group is reduced to, 0 for all that it has; `weight` is its share of the total
    variance relative to the other groups.
    """

    kind: str
    numbers: int = 0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS and not (self.kind.startswith(PLUGIN) and self.kind != PLUGIN):
            raise ValueError(f"'{self.kind}' is not a kind of features; there are {', '.join(KINDS)} and plug-ins")
        if not 0 <= self.numbers <= MOST_NUMBERS:
            raise ValueError(f"a group has 0 to {MOST_NUMBERS} numbers, not {self.numbers}")
        if not 0.0 < self.weight <= MOST_WEIGHT:
            raise ValueError(f"a group's weight is above 0 and at most {MOST_WEIGHT:g}, not {self.weight:g}")

    @property
    def source(self) -> str:
        """Return what the group is computed from: "audio", "image", "text", "table" or "plugin"."""
        return KINDS[self.kind].source if self.kind in KINDS else "plugin"


@dataclass(frozen=True)
class Recipe:
    """Groups of features in the order of their columns; the same recipe and items always give the same numbers."""

    groups: tuple[GroupSettings, ...]
    seed: int = 0
    version: int = VERSION

    def __post_init__(self) -> None:
        if not self.groups:
            raise ValueError("a recipe needs at least one group of features")
        twice = [kind for kind, count in Counter(group.kind for group in self.groups).items() if count > 1]
        if twice:
            raise ValueError(f"'{twice[0]}' is in the recipe twice")
        if self.version != VERSION:
            raise ValueError(f"recipes of version {self.version} cannot be read here; this is version {VERSION}")

    def as_dict(self) -> dict[str, Any]:
        """Return the recipe as plain data for JSON."""
        return {"version": self.version, "seed": self.seed, "groups": [asdict(group) for group in self.groups]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Recipe":
        """Return the recipe that `as_dict` returned; raise ValueError with a sentence if it is not a recipe."""
        try:
            groups = tuple(
                GroupSettings(str(group["kind"]), int(group.get("numbers", 0)), float(group.get("weight", 1.0)))
                for group in data["groups"]
            )
            return cls(groups, int(data.get("seed", 0)), int(data.get("version", VERSION)))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("a recipe is an object with 'groups', each with 'kind', 'numbers' and 'weight'") from error


def usual_group(kind: str) -> GroupSettings:
    """Return a group with its default settings."""
    return GroupSettings(kind, KINDS[kind].numbers, KINDS[kind].weight) if kind in KINDS else GroupSettings(kind)


def default_recipe(inputs: Sequence[FeatureInput]) -> Recipe:
    """Return the default recipe: by recordings, pictures or both, if the items have them, else texts, else metadata."""
    media = Counter(item.medium for item in inputs)
    common = [medium for medium in ("audio", "image") if media[medium] > RAREST_MEDIUM * len(inputs)]
    sources = common or (["text"] if any(item.text.strip() for item in inputs) else ["table"])
    kinds = [kind for source in sources for kind in DEFAULTS[source]]
    return Recipe(tuple(map(usual_group, kinds)))


def weightings(recipe: Recipe) -> list[Recipe]:
    """Return the recipe with each choice of weights that is good for some items of its kind; with its own first."""
    if {group.kind for group in recipe.groups} != set(WEIGHTS_BY_SPECTRUM):
        return [recipe]
    choices = ({kind: KINDS[kind].weight for kind in WEIGHTS_BY_SPECTRUM}, WEIGHTS_BY_SPECTRUM)
    weighted = [replace(recipe, groups=tuple(replace(g, weight=by[g.kind]) for g in recipe.groups)) for by in choices]
    return [recipe, *(other for other in weighted if other != recipe)]


def describe(recipe: Recipe, sound_range: SoundRange | None = None, columns: Mapping[str, int] | None = None) -> str:
    """Return the recipe in words, such as "33 measurements of each sound between 0.3 and 11 kHz".

    `columns` is how many columns each kind of group has, once they are computed; groups in which no items differ, such
    as the colours of grey pictures, have none and are left out.
    """
    counts = {group.kind: (columns or {}).get(group.kind) for group in recipe.groups}
    groups = [group for group in recipe.groups if counts[group.kind] != 0] or recipe.groups
    parts = [_words_of(group, sound_range, counts[group.kind]) for group in groups]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _words_of(group: GroupSettings, sound_range: SoundRange | None, columns: int | None) -> str:
    n = f"up to {group.numbers} numbers" if group.numbers else "the numbers"
    if columns is not None:
        n = f"{columns} number{'' if columns == 1 else 's'}"
    template = KINDS[group.kind].words if group.kind in KINDS else "{n} from the plug-in '{plugin}'"
    words = template.format(n=n, plugin=group.kind.removeprefix(PLUGIN))
    if group.kind == "sound_measures" and sound_range:
        words += f" between {sound_range[0] / 1000:.2g} and {sound_range[1] / 1000:.3g} kHz"
    return words if group.weight == 1.0 else f"{words} (weight {group.weight:g})"
