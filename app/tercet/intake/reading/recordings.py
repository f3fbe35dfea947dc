"""Long recordings, and the selection tables that cut them into items: the recording is the bag of its items."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from tercet.errors import FieldError, Invalid
from tercet.intake.faults import fail
from tercet.intake.reading.columns import FileIndex
from tercet.intake.reading.drafts import Findings, ItemDraft, Report
from tercet.intake.reading.kinds import Recognised
from tercet.intake.reading.plan import FileReport, MediaSource, ReadOptions, SourceFile
from tercet.sounds.decoding import SoundInfo
from tercet.sounds.segments import segment_recording
from tercet.sounds.selection import Selection, SelectionsError
from tercet.sounds.selection_tables import NOTHING_CALLED
from tercet.sounds.selections import FIRST_BYTES, read_selections, selection_format

SLACK = 0.1  # seconds that a selection may reach beyond the end of its recording
Sounds = Mapping[SourceFile, SoundInfo]
Cuts = dict[SourceFile, list[Selection]]


def selections_of(tables: Sequence[Recognised], sounds: Sounds, options: ReadOptions, findings: Findings) -> Cuts:
    """Return the selections of each recording that a selection table belongs to, none where nothing was selected."""
    cuts: Cuts = {}
    for table in tables:
        if options.cut == "never":
            findings.note(FileReport(table.path, "skipped", "cutting by selection tables is turned off"))
            continue
        try:
            pairs = _pairs(table, sounds, findings)
        except Invalid as problem:
            findings.refuse(table.path, problem)
            continue
        of_table: Cuts = {}
        for recording, selection in pairs:
            of_table.setdefault(recording, []).extend([selection] if selection else [])
        for recording, selections in of_table.items():
            cuts.setdefault(recording, []).extend(selections)
        findings.note(FileReport(table.path, "selections", _words(table, of_table), sum(map(len, of_table.values()))))
    return cuts


def _words(table: Recognised, of_table: Cuts) -> str:
    """Return a sentence on what a table cuts, and in what it selects nothing."""
    format_name = selection_format(table.source.local.read_bytes()[:FIRST_BYTES]) or "selections"
    cut = sum(bool(selections) for selections in of_table.values())
    words = [f"cuts {_recordings(cut)}"] if cut or not of_table else []
    if cut < len(of_table):
        words.append(f"selects nothing in {_recordings(len(of_table) - cut)}: no item is made there")
    return f"{format_name}: {', and '.join(words)}"


def _recordings(count: int) -> str:
    return "1 recording" if count == 1 else f"{count} recordings"


def _pairs(table: Recognised, sounds: Sounds, findings: Findings) -> list[tuple[SourceFile, Selection | None]]:
    """Return the selections of a table, each with its recording, or None with one in which nothing is selected.

    Selections that are not within their recording are faults and left out.
    """
    index, of_table = FileIndex(sounds), None
    pairs: list[tuple[SourceFile, Selection | None]] = []
    selections = _read(table)
    if not selections and (of_table := recording_of(table.source, [*sounds])):
        pairs.append((of_table, None))
    for selection in selections:
        recording = _named(selection, index, table) if selection.recording else None
        if recording is None:
            of_table = recording = of_table or recording_of(table.source, [*sounds])
        if selection.label == NOTHING_CALLED:
            pairs += [(recording, None)] if recording else []
            continue
        if recording is None:
            raise fail("recording", _why_no_recording(table, selection), row=selection.row or None, file=table.path)
        if detail := _fault_of(selection, recording, sounds[recording].seconds):
            findings.faults.add("end", detail, row=selection.row, file=table.path)
        else:
            pairs.append((recording, selection))
    return pairs


def _read(table: Recognised) -> list[Selection]:
    try:
        return read_selections(table.source.local, table.source.path.name)
    except SelectionsError as error:
        faults = [FieldError(fault.column, fault.detail, fault.row, table.path) for fault in error.faults]
        raise Invalid(f"{table.path}: {error}", faults) from error
    except ValueError as error:
        raise fail("selections", str(error), file=table.path) from error


def _named(selection: Selection, index: FileIndex, table: Recognised) -> SourceFile | None:
    try:
        return index.find(selection.recording, table.source.path.parent)
    except ValueError as error:
        raise fail("recording", str(error), row=selection.row, file=table.path) from error


def _why_no_recording(table: Recognised, selection: Selection) -> str:
    if selection.recording:
        return f"the recording '{selection.recording}' was not sent"
    stem = table.source.path.name.split(".")[0]
    return f"belongs to no recording: name it like one, as {stem}.txt goes with {stem}.wav"


def recording_of(table: SourceFile, sounds: Sequence[SourceFile]) -> SourceFile | None:
    """Return the recording with a table's name, preferably in its folder, or else the only recording in its folder."""
    by_stem = defaultdict(list)
    for sound in sounds:
        by_stem[sound.path.stem.casefold()].append(sound)
        by_stem[sound.path.name.casefold()].append(sound)
    for stem in _stems(table.path):
        candidates = by_stem.get(stem.casefold(), [])
        beside = [sound for sound in candidates if sound.path.parent == table.path.parent]
        if len(beside or candidates) == 1:
            return (beside or candidates)[0]
    beside = [sound for sound in sounds if sound.path.parent == table.path.parent]
    return beside[0] if len(beside) == 1 else None


def _stems(path: PurePosixPath) -> Iterator[str]:
    """Yield the name of a table, shortened by one ending at a time: rec.Table.1.selections, rec.Table.1, ..."""
    name = path.name
    while "." in name[1:]:
        name = name.rpartition(".")[0]
        yield name
        yield re.sub(r"[ _-](selections?|labels?|table|birdnet)$", "", name, flags=re.IGNORECASE)


def _fault_of(selection: Selection, recording: SourceFile, seconds: float) -> str | None:
    if selection.begin_s < seconds and selection.end_s <= seconds + SLACK:
        return None
    return f"{selection.begin_s:g} to {selection.end_s:g} s is not within '{recording.path}', which has {seconds:.2f} s"


def cut_drafts(
    drafts: Sequence[ItemDraft], cuts: Cuts, sounds: Sounds, options: ReadOptions, report: Report
) -> list[ItemDraft]:
    """Return the drafts, with one for each selection in place of those of recordings that are cut."""
    result: list[ItemDraft] = []
    for number, draft in enumerate(drafts):
        file = draft.media.file if draft.media else None
        if file is None or file not in sounds:
            result.append(draft)
            continue
        seconds = sounds[file].seconds
        if file in cuts:
            result += _pieces(draft, cuts[file], seconds)
        elif options.cut == "segments":
            note = f"Looking for segments in {file.path.name}, {number + 1:,} of {len(drafts):,}"
            report(number / len(drafts), note)
            segments = [replace(piece, label=None) for piece in segment_recording(file.local, options.segments)]
            result += _pieces(draft, segments, seconds) or [draft]
        else:
            result.append(draft)
    return result


def _pieces(draft: ItemDraft, selections: Sequence[Selection], seconds: float) -> list[ItemDraft]:
    """Return a draft for each selection, with the recording's metadata and bag labels and the selection's place."""
    assert draft.media is not None
    places = Counter(_place(selection) for selection in selections)
    seen: Counter[str] = Counter()
    pieces = []
    for selection in sorted(selections, key=lambda selection: (selection.begin_s, selection.end_s)):
        place = _place(selection)
        seen[place] += 1
        key = f"{draft.row.key}_{place}" + (f"_{seen[place]}" if places[place] > 1 else "")
        row = replace(draft.row, key=key, bag=draft.row.bag or draft.row.key, media=None)
        row = replace(row, details={"recording": _recording(draft), **draft.row.details, **_details(selection)})
        end = min(selection.end_s, seconds)
        media = MediaSource(draft.media.file, selection.begin_s, end, selection.low_hz, selection.high_hz)
        pieces.append(replace(draft, row=row, media=media))
    return pieces


def _recording(draft: ItemDraft) -> str:
    """Return the name of a draft's recording, with the folder of the draft's key."""
    assert draft.media is not None
    return str(PurePosixPath(draft.row.key).parent / draft.media.file.path.name)


def _place(selection: Selection) -> str:
    return f"{selection.begin_s:.3f}"


def _details(selection: Selection) -> dict[str, float | str]:
    """Return the metadata from a selection; missing values are left out."""
    values = {
        "label": selection.label,
        "begin_s": round(selection.begin_s, 6),
        "end_s": round(selection.end_s, 6),
        "low_hz": selection.low_hz,
        "high_hz": selection.high_hz,
    }
    return {name: value for name, value in values.items() if value is not None and value != ""}
