"""Reads the tokens of the design language from the style sheet itself, so that its help page cannot drift from it."""

import re
from dataclasses import dataclass
from functools import cache

from tercet.settings import asset

BLOCK = re.compile(r":root\s*\{(.*?)\}", re.DOTALL)
TOKEN = re.compile(r"--([\w-]+):\s*([^;]+);[ \t]*(?:/\*\s*(.*?)\s*\*/)?")


@dataclass(frozen=True)
class Token:
    """A custom property with its value in the light and in the dark theme, and what it is for, where that is said."""

    name: str
    light: str
    dark: str
    words: str

    @property
    def is_color(self) -> bool:
        """Whether it can be shown as a patch."""
        return self.light.startswith("#")


@cache
def read_tokens() -> list[Token]:
    """Return the tokens in the order of the style sheet; what the dark theme does not change is the same in both."""
    light, dark = (BLOCK.findall((asset("static") / "web" / "style.css").read_text(encoding="utf-8")))[:2]
    changed = {name: value for name, value, _ in TOKEN.findall(dark)}
    return [Token(name, value, changed.get(name, value), words) for name, value, words in TOKEN.findall(light)]
