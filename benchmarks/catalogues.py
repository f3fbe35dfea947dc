"""Brings the catalogues of labelers' pages up to date: new messages come in, those that nothing says any more go.

    python -m benchmarks.catalogues

Translators fill in `msgstr` in `app/tercet/web/locales/<language>.po`; a test fails while one is empty.
"""

from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import write_po

from tercet.web.languages import ENGLISH, FOLDER, LANGUAGES, catalogue

ROOT = Path(__file__).resolve().parent.parent
KEYWORDS = {
    "_": None,
    "gettext": None,
    "to_translate": None,
    "ngettext": (1, 2),
    "say": None,
    "say_many": (1, 2),
    "sayMany": (1, 2),
}
OPTIONS = {"parse_template_string": "true"}  # of scripts: what is said within `...` too
TEMPLATES = (
    "labeling/label.html",
    "accounts/join.html",
    "accounts/invitation.html",
    "accounts/sign_in.html",
    "accounts/password_sign_in.html",
    "web/base.html",
    "web/error.html",
)
ABOUT = {
    "header_comment": "# What labelers' pages say; benchmarks/catalogues.py brings the messages up to date.",
    "project": "Tercet",
    "version": "",
    "msgid_bugs_address": "none",
    "last_translator": "Tercet",
    "language_team": "none",
}
PACKAGES = ("labeling", "history", "accounts", "web")


def messages() -> Catalog:
    """Return all messages of the labelers' pages, with the files that say them."""
    template = Catalog(project="Tercet", charset="utf-8")
    for path, method in sources():
        for _, message, _, _ in extract_from_file(method, path, keywords=KEYWORDS, options=OPTIONS):
            template.add(message, locations=[(path.relative_to(ROOT).as_posix(), 0)])
    return template


def sources() -> Iterator[tuple[Path, str]]:
    """Yield the files that say messages, with the name of babel's way to read them."""
    for name in TEMPLATES:
        yield ROOT / "templates" / name, "jinja2"
    for path in sorted((ROOT / "static" / "labeling").glob("*.js")):
        yield path, "javascript"
    yield ROOT / "app" / "tercet" / "errors.py", "python"
    for package in PACKAGES:
        for path in sorted((ROOT / "app" / "tercet" / package).glob("*.py")):
            yield path, "python"


def main() -> None:
    """Write the catalogue of each language but English."""
    template = messages()
    for language in LANGUAGES:
        if language != ENGLISH:
            path = FOLDER / f"{language}.po"
            current = catalogue(language) if path.exists() else Catalog(language, **ABOUT, fuzzy=False)
            current.update(template, no_fuzzy_matching=True)
            with path.open("wb") as file:
                write_po(file, current, ignore_obsolete=True, omit_header=False, sort_output=True, width=100)
            print(f"{path.relative_to(ROOT)} is written: {len(current)} messages.")


if __name__ == "__main__":
    main()
