"""The demonstrations as files in a folder, as a newcomer would have them: what `tercet import` reads."""

import csv
from collections.abc import Sequence
from pathlib import Path

from tercet.demo.birdsong import make_syllables, to_wav
from tercet.demo.digits import N_DIGITS, make_digits
from tercet.demo.messages import N_MESSAGES, make_messages

N_SONGS = 600


def write_songs(folder: Path, n: int = N_SONGS, seed: int = 0) -> None:
    """Write one recording a song, and beside them a table with the bird, the site and the day of each."""
    syllables = make_syllables(n, seed)
    for syllable in syllables:
        (folder / f"{syllable.key}.wav").write_bytes(to_wav(syllable.samples, syllable.sample_rate))
    rows = [(f"{s.key}.wav", s.bird, s.site, s.recorded) for s in syllables]
    _write_table(folder / "songs.csv", ("file", "bird", "site", "recorded"), rows)


def write_pictures(folder: Path, n: int = N_DIGITS, seed: int = 0) -> None:
    """Write one PNG a digit."""
    for digit in make_digits(n, seed):
        (folder / f"{digit.key}.png").write_bytes(digit.content)


def write_texts(folder: Path, n: int = N_MESSAGES, seed: int = 0) -> None:
    """Write a table with one message a row."""
    rows = [(message.key, message.text) for message in make_messages(n, seed)]
    _write_table(folder / "messages.csv", ("key", "text"), rows)


def _write_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
