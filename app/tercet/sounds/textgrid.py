"""TextGrids of Praat: every interval with a text, of every tier of intervals; points are left out.

By Praat's manual only free-standing numbers, texts in double quotes and flags in angle brackets count in its text
files; all else (`xmin =`, `intervals [1]:`, comments after an exclamation mark) is ignored. So the long, the short and
hand-made forms are one format.
"""

import re
from collections.abc import Iterator

from tercet.sounds.selection import Selection, checked

NAME = "Praat TextGrid"
TOKEN = re.compile(r'"(?P<text>(?:[^"]|"")*)"|<[^>\n]*>|\[[^\]\n]*\]|!.*|(?P<word>[^\s"\[]+)')
NUMBER = re.compile(r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)[a-z%]*")
BROKEN = "the TextGrid breaks off or is damaged {place}: save it again from Praat"


def format_of(text: str) -> str | None:
    """Return the name of the format if a text begins as a TextGrid does."""
    return NAME if '"ooTextFile' in text[:200] and '"TextGrid"' in text[:400] else None


def read(text: str) -> list[Selection]:
    """Return the labelled intervals of a TextGrid."""
    values = _values(text)
    selections: list[Selection] = []
    row = 0
    try:
        _skip_to(values, "TextGrid")
        _number(values), _number(values)
        n_tiers = int(_number(values))
        for _ in range(n_tiers):
            kind, tier = _text(values), _text(values)
            _number(values), _number(values)
            for _ in range(int(_number(values))):
                row += 1
                begin = _number(values)
                end = _number(values) if kind == "IntervalTier" else begin
                label = _text(values).strip()
                if label and end > begin:
                    selections.append(Selection(begin, end, label=label, row=row, tier=tier))
    except (StopIteration, TypeError) as error:
        raise ValueError(BROKEN.format(place=f"after {row} intervals")) from error
    if not selections:
        raise ValueError("the TextGrid holds no interval with a text")
    return checked(selections, [])


def _values(text: str) -> Iterator[str | float]:
    """Yield texts and free-standing numbers, in their order."""
    for token in TOKEN.finditer(text):
        if token["text"] is not None:
            yield token["text"].replace('""', '"')
        elif token["word"] and (number := NUMBER.fullmatch(token["word"])):
            yield float(number[1])


def _skip_to(values: Iterator[str | float], text: str) -> None:
    while next(values) != text:
        pass


def _number(values: Iterator[str | float]) -> float:
    value = next(values)
    if isinstance(value, str):
        raise TypeError("a text where a number has to stand")
    return value


def _text(values: Iterator[str | float]) -> str:
    value = next(values)
    if not isinstance(value, str):
        raise TypeError("a number where a text has to stand")
    return value
