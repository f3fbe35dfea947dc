"""The languages of labelers' pages: gettext catalogues, and which of them a browser gets.

Messages are English; `locales/<language>.po` has their translations. Templates mark them with `{% trans %}` and `_`,
Python with `Words.say`, or with `to_translate` where the language is not known yet, as in refusals; scripts with `say`
of `static/web/words.js`. `python -m benchmarks.catalogues` brings the catalogues up to date; what has no translation is
shown in English.
"""

import io
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.translatable import Translatable

# Babel is imported where it is used: workers know these messages too, but send them to nobody.
if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
COOKIE = "tercet-language"
FOLDER = Path(__file__).parent / "locales"
SCRIPTS = "static/"
PLURALS_TO = 200  # of larger numbers the last two digits tell, in every rule that catalogues have


class Words:
    """The messages of one language."""

    def __init__(self, language: str) -> None:
        """Read the catalogue of a language."""
        from babel import Locale

        self.language = language
        self.direction = "rtl" if Locale.parse(language).text_direction == "rtl" else "ltr"
        self._translations = NullTranslations() if language == ENGLISH else _translations(catalogue(language))
        self.for_scripts = {} if language == ENGLISH else _for_scripts(catalogue(language))

    def say(self, message: str, **values: object) -> str:
        """Return a message in this language, with values in its places like `%(name)s`."""
        return self._translations.gettext(message) % values

    def say_many(self, one: str, many: str, count: int, **values: object) -> str:
        """Return the form of a message for a number, which its places `%(count)s` get."""
        return self._translations.ngettext(one, many, count) % {"count": f"{count:,}", **values}

    def translated(self, text: str) -> str:
        """Return a message in this language, with those of its values that are messages; any other text as it is."""
        if not isinstance(text, Translatable):
            return text
        values = text.values.items()
        return self.say(text.form, **{k: self.translated(v) if isinstance(v, str) else v for k, v in values})

    def plain(self, message: str) -> str:
        """Return a message for a template, which fills in the values itself."""
        return self._translations.gettext(message)

    def plain_many(self, one: str, many: str, count: int) -> str:
        """Return the form of a message for a number, for a template."""
        return self._translations.ngettext(one, many, count)


def catalogue(language: str) -> "Catalog":
    """Read the catalogue of a language."""
    from babel.messages.pofile import read_po

    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def _translations(messages: "Catalog") -> GNUTranslations:
    from babel.messages.mofile import write_mo

    compiled = io.BytesIO()
    write_mo(compiled, messages)
    compiled.seek(0)
    return GNUTranslations(compiled)


def _for_scripts(messages: "Catalog") -> Mapping[str, Any]:
    """Return the translations that scripts say, and which plural form each number has."""
    said = [message for message in messages if any(place.startswith(SCRIPTS) for place, _ in message.locations)]
    rule = _translations(messages).plural  # type: ignore[attr-defined]
    return {
        "messages": {
            message.id[0] if isinstance(message.id, tuple | list) else message.id: message.string
            for message in said
            if message.string and not message.fuzzy
        },
        "plurals": "".join(str(rule(number)) for number in range(PLURALS_TO)),
    }


@cache
def words_of(language: str) -> Words:
    """Return the messages of a language."""
    return Words(language)


def choose(chosen: str | None, accepted: str) -> str:
    """Return the language that a labeler has chosen, or the one that their browser likes best of ours."""
    from babel import negotiate_locale

    if chosen in LANGUAGES:
        return str(chosen)
    liked = []
    for part in accepted.split(",")[:20]:
        name, _, quality = part.strip().partition(";q=")
        try:
            liked.append((-float(quality or 1), name.strip()))
        except ValueError:
            continue
    names = [name for quality, name in sorted(liked, key=lambda pair: pair[0]) if quality < 0]
    return negotiate_locale(names, list(LANGUAGES), sep="-") or ENGLISH


# The messages of the page that is being rendered; pages that are in English only set none.
current: ContextVar[Words | None] = ContextVar("current", default=None)


def gettext(message: str) -> str:
    """Return a message of a template in the language of the page."""
    words = current.get()
    return message if words is None else words.plain(message)


def ngettext(one: str, many: str, count: int) -> str:
    """Return the form of a message of a template for a number."""
    words = current.get()
    return (one if count == 1 else many) if words is None else words.plain_many(one, many, count)
