"""The facts about each item's media that the checks need, read from the files once and in blocks."""

import hashlib
from collections.abc import Callable, Mapping

import numpy as np

from tercet.intake.reading.plan import MediaSource
from tercet.intake.tables import ItemRow
from tercet.items.checks import ItemFacts
from tercet.sounds.decoding import describe_sound, read_blocks

FULL_SCALE = 0.999
STEP = 50  # items between two reports of progress


def facts_of(
    rows: Mapping[str, ItemRow], media: Mapping[str, MediaSource], report: Callable[[float, str], None]
) -> list[ItemFacts]:
    """Return the facts of the items by reading their files; `report` may raise to cancel."""
    facts = []
    for number, (key, row) in enumerate(rows.items()):
        if number % STEP == 0:
            report(number / len(rows), f"Checking {number + 1:,} of {len(rows):,} items")
        source = media.get(key)
        facts.append(_facts(row, source) if source else ItemFacts(key, False, row.text))
    return facts


def _facts(row: ItemRow, source: MediaSource) -> ItemFacts:
    try:
        info = describe_sound(source.file.local)
    except ValueError:
        with source.file.local.open("rb") as stream:
            return ItemFacts(row.key, True, row.text, hashlib.file_digest(stream, "sha256").hexdigest())
    end = min(source.end_s or info.seconds, info.seconds)
    begin = source.begin_s or 0.0
    digest, peak, clipped, count = hashlib.sha256(str(info.rate).encode()), 0.0, 0, 0
    try:
        for block in read_blocks(source.file.local, begin, end):
            digest.update(block.tobytes())
            loud = np.abs(block)
            peak = max(peak, float(loud.max(initial=0.0)))
            clipped += int(np.count_nonzero(loud >= FULL_SCALE))
            count += block.size
    except ValueError:
        return ItemFacts(row.key, True, row.text)  # the fault is reported, with the file's name, when it is stored
    share = clipped / max(count, 1)
    return ItemFacts(row.key, True, row.text, digest.hexdigest(), end - begin, info.rate, peak, share)
