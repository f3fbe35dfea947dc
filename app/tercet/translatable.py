"""Messages that are written in English and sent in the language of whoever reads them: see `web/languages.py`."""

from collections.abc import Mapping
from typing import Self


class Translatable(str):
    """A message in English with values in its places like `%(name)s`, which can still be said in another language."""

    form: str
    values: Mapping[str, object]

    def __new__(cls, form: str, values: Mapping[str, object]) -> Self:
        """Put the values into the form."""
        message = super().__new__(cls, form % values)
        message.form, message.values = form, values
        return message


def to_translate(message: str, **values: object) -> Translatable:
    """Return a message in English with its values, marked for the catalogues: it is translated where it is sent."""
    return Translatable(message, values)
