"""Reads any files into an import plan; nothing is stored, and all faults are reported at once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from tercet.errors import Invalid
from tercet.intake import media
from tercet.intake.faults import fail
from tercet.intake.reading import archives, columns, encodings
from tercet.intake.reading.columns import FileIndex
from tercet.intake.reading.drafts import Findings, ItemDraft, Report, good_drafts, keys_of_files
from tercet.intake.reading.folders import common_folder, is_litter
from tercet.intake.reading.json_tables import read_json
from tercet.intake.reading.kinds import Recognised, ending_of, holds_files, recognise
from tercet.intake.reading.numbers import fit, holds_numbers, read_numbers, rows_of_features
from tercet.intake.reading.parquet import read_parquet
from tercet.intake.reading.plan import Content, FileReport, ImportPlan, Kind, MediaSource, ReadOptions, SourceFile
from tercet.intake.reading.recordings import Cuts, cut_drafts, selections_of
from tercet.intake.reading.tables import Table, read_delimited
from tercet.intake.tables import ItemRow
from tercet.sounds.decoding import SoundInfo, describe_sound

LONGEST_TEXT = 1_000_000  # bytes of one text
ONE_A_LINE = "texts"  # a file of this name holds one item a line
STEP = 200  # files between two reports of progress


def read_files(files: Sequence[SourceFile], options: ReadOptions, report: Report, scratch: Path) -> ImportPlan:
    """Return the plan of the items that files would become; archives are unpacked into `scratch`.

    `report` is called with the progress and a sentence, and may raise to cancel. The plan holds the good items and all
    faults; the caller refuses a plan with faults unless `skip_bad` is set.
    """
    findings = Findings()
    reading = Reading(options, report, findings)
    reading.sort(_unpacked(files, scratch, findings))
    reading.check_media()
    drafts = reading.drafts()
    if not drafts and not reading.number_files and not findings.faults.count:
        findings.faults.add("files", "there is nothing to import: no sound, picture, text or table")
    return _plan(drafts, reading)


def source_files(files: Sequence[SourceFile], scratch: Path) -> dict[str, SourceFile]:
    """Return the files that the media of a plan may come from, by path, with those of archives."""
    return {str(source.path): source for source in _unpacked(files, scratch, Findings())}


def _unpacked(files: Sequence[SourceFile], scratch: Path, findings: Findings) -> list[SourceFile]:
    """Return the files without litter, archives replaced by their files; archives within archives are not unpacked."""
    sources = []
    for number, source in enumerate(sorted(files, key=lambda file: file.path)):
        if is_litter(source.path):
            continue
        if not holds_files(source):
            sources.append(source)
            continue
        try:
            unpacked = archives.unpack(source, scratch / f"archive-{number}")
        except Invalid as problem:
            findings.refuse(str(source.path), problem)
            continue
        sources += unpacked.sources
        findings.note(FileReport(str(source.path), "archive", f"unpacked: {len(unpacked.sources)} files"))
        for skipped in unpacked.skipped:
            findings.note(skipped)
    return sources


@dataclass
class Reading:
    """The files of one import by kind, and what was learned about them."""

    options: ReadOptions
    report: Report
    findings: Findings
    root: PurePosixPath = field(default_factory=PurePosixPath)
    by_kind: dict[Kind, list[Recognised]] = field(default_factory=dict)
    sounds: dict[SourceFile, SoundInfo] = field(default_factory=dict)
    pictures: list[SourceFile] = field(default_factory=list)
    number_files: list[Recognised] = field(default_factory=list)

    def of_kind(self, *kinds: Kind) -> list[Recognised]:
        """Return the files of some kinds, in the order of their paths."""
        files = [file for kind in kinds for file in self.by_kind.get(kind, [])]
        return sorted(files, key=lambda file: file.source.path)

    def sort(self, sources: Sequence[SourceFile]) -> None:
        """Recognise all files; foreign ones are reported as skipped."""
        self.root = common_folder([source.path for source in sources])
        for number, source in enumerate(sources):
            if number % STEP == 0:
                self.report(0.2 * number / len(sources), f"Looking at {number + 1:,} of {len(sources):,} files")
            try:
                file = recognise(source)
            except Invalid as problem:
                self.findings.refuse(str(source.path), problem)
                continue
            if file.kind in ("foreign", "archive"):
                detail = file.detail or "is an archive within an archive: unpack it first"
                self.findings.note(FileReport(file.path, "skipped", detail))
            else:
                self.by_kind.setdefault(file.kind, []).append(file)
        if not self.by_kind.get("sound"):  # without a recording to cut, selection tables are texts or tables
            for file in self.by_kind.pop("selections", []):
                kind: Kind = "text" if ending_of(file.source.path) in (".txt", ".textgrid") else "table"
                self.by_kind.setdefault(kind, []).append(replace(file, kind=kind))

    def check_media(self) -> None:
        """Check the header of every sound and picture."""
        files = self.of_kind("sound", "picture")
        for number, file in enumerate(files):
            if number % STEP == 0:
                note = f"Reading {number + 1:,} of {len(files):,} sounds and pictures"
                self.report(0.2 + 0.6 * number / len(files), note)
            try:
                if file.kind == "sound":
                    self.sounds[file.source] = describe_sound(file.source.local)
                else:
                    media.check_image(file.source.local)
                    self.pictures.append(file.source)
            except (ValueError, OSError) as error:
                self.findings.refuse(file.path, fail("media", str(error), file=file.path))
            else:
                self.findings.note(FileReport(file.path, "sound" if file.kind == "sound" else "picture", items=1))

    def drafts(self) -> list[ItemDraft]:
        """Return the items from tables, media and texts, with recordings cut."""
        self.report(0.8, "Reading tables and texts")
        texts = self._texts()
        cuts = selections_of(self.of_kind("selections"), self.sounds, self.options, self.findings)
        index = FileIndex([*self.sounds, *self.pictures, *texts])
        drafts = [draft for table in self._tables(bool(index)) for draft in self._rows(*table, index)]
        drafts = self._with_files(drafts, texts, cuts)
        drafts = cut_drafts(drafts, cuts, self.sounds, self.options, self.report)
        counts = Counter(str(draft.media.file.path) for draft in drafts if draft.media)
        for path, report in list(self.findings.files.items()):
            if report.became in ("sound", "picture"):
                self.findings.count(path, counts[path])
        return drafts

    def _texts(self) -> dict[SourceFile, str]:
        """Return the content of text files."""
        texts = {}
        for file in self.of_kind("text"):
            try:
                texts[file.source] = _read_text(file)
            except Invalid as problem:
                self.findings.refuse(file.path, problem)
        return texts

    def _tables(self, files_came: bool) -> list[tuple[Recognised, Table]]:
        """Return the tables of items; where there are other items, tables of numbers only are features."""
        candidates = self.of_kind("table", "json", "parquet")
        self.number_files = self.of_kind("array")
        numbers = [file for file in candidates if self._is_of_numbers(file)]
        if files_came or len(numbers) < len(candidates) or self.options.items_before:
            self.number_files += numbers
            candidates = [file for file in candidates if file not in numbers]
        tables = []
        for file in candidates:
            try:
                tables.append((file, self._read_table(file)))
            except Invalid as problem:
                self.findings.refuse(file.path, problem)
        return tables

    def _is_of_numbers(self, file: Recognised) -> bool:
        if file.kind != "table" or file.source.kind == "table":
            return False
        try:
            return holds_numbers(file.source.local, file.path)
        except Invalid:
            return False  # the fault is reported where it is read as a table

    def _read_table(self, file: Recognised) -> Table:
        local, name = file.source.local, file.path
        if file.kind == "parquet":
            return read_parquet(local, name)
        table, faults = read_json(local, name) if file.kind == "json" else read_delimited(local, name)
        for error in faults.shown:
            self.findings.faults.add(error.field, error.detail, row=error.row, file=error.file)
        return table

    def _rows(self, file: Recognised, table: Table, index: FileIndex) -> list[ItemDraft]:
        """Return a draft for each row of a table, with the file that the row names."""
        if not any(any(cell != "" for cell in cells) for cells in table.rows):
            self.findings.note(FileReport(file.path, "skipped", "has no rows below the names of its columns"))
            return []
        try:
            is_declared = file.source.kind == "table"
            roles = columns.roles_of(table, index, self.options.media_column, file.path, text_by_name=is_declared)
        except Invalid as problem:
            self.findings.refuse(file.path, problem)
            return []
        self.findings.columns += columns.report_columns(table, roles, file.path)
        read = columns.reader_of(table, roles)
        drafts = []
        for number, cells in enumerate(table.rows, start=1):
            if any(cell != "" for cell in cells):
                draft = self._draft(file, number, read(cells), index, roles.file or roles.key or "media")
                drafts += [draft] if draft else []
            table.rows[number - 1] = []  # frees its memory: the draft holds the values
        if index and not any(draft.media or draft.row.media for draft in drafts) and roles.text is None:
            detail = "no column has the names of the sounds and pictures: put them into a column 'file'"
            self.findings.note(FileReport(file.path, "skipped", detail))
            return []
        words = table.words + (f"; the column '{roles.file}' names the files" if roles.file else "")
        self.findings.note(FileReport(file.path, "table", words, len(drafts)))
        return drafts

    def _draft(
        self, file: Recognised, number: int, values: dict[str, Any], index: FileIndex, column: str
    ) -> ItemDraft | None:
        """Return the draft of a row; None, with a fault added, if the file in its `column` was not sent.

        `media` of its row is also the path of a text file.
        """
        cell = values.get("file", "").strip()
        key = values.get("key", "").strip()
        try:
            source = index.find(cell or key, file.source.path.parent) if cell or key else None
        except ValueError as error:
            self.findings.faults.add(column, str(error), row=number, file=file.path)
            return None
        if cell and source is None:
            self.findings.faults.add(column, f"the file '{cell[:200]}' was not sent", row=number, file=file.path)
            return None
        labels = (label.strip() for label in values.get("bag_labels", "").split(";"))
        row = ItemRow(
            key=key,
            text=values.get("text", ""),
            bag=values.get("bag", "").strip() or None,
            bag_labels=tuple(label for label in labels if label),
            media=str(source.path) if source else None,
            details=values["details"],
        )
        return ItemDraft(row, MediaSource(source) if source else None, file.path, number)

    def _with_files(self, drafts: list[ItemDraft], texts: dict[SourceFile, str], cuts: Cuts) -> list[ItemDraft]:
        """Complete the drafts of tables from their files, and add drafts for files where no table names any.

        A recording with selections gets a draft even if no table names it.
        """
        all_media = [*self.sounds, *self.pictures]
        named = {draft.media.file for draft in drafts if draft.media}
        keys = keys_of_files(texts, self.root) | keys_of_files(all_media, self.root)
        if named.isdisjoint(all_media):
            drafts = drafts + [_draft_of_file(file) for file in sorted(all_media, key=lambda file: file.path)]
        else:
            unnamed = sorted((file for file in all_media if file not in named), key=lambda file: file.path)
            self._leave_out([file for file in unnamed if file not in cuts], drafts)
            drafts = drafts + [_draft_of_file(file) for file in unnamed if file in cuts]
        drafts = self._with_texts(drafts, texts)
        media_files = {*all_media}
        return [self._completed(draft, keys, media_files) for draft in drafts]

    def _leave_out(self, files: Sequence[SourceFile], drafts: Sequence[ItemDraft]) -> None:
        tables = ", ".join(sorted({f"'{draft.file}'" for draft in drafts if draft.media}))
        for file in files:
            detail = f"no row of {tables} names it: add a row, or leave the table out"
            self.findings.note(FileReport(str(file.path), "skipped", detail))

    def _with_texts(self, drafts: list[ItemDraft], texts: dict[SourceFile, str]) -> list[ItemDraft]:
        """Add each text to the draft of the file with the same name; where there are no other drafts, make it one."""
        owners = {(d.media.file.path.parent, d.media.file.path.stem): d for d in drafts if d.media}
        result = list(drafts)
        for file, content in texts.items():
            owner = owners.get((file.path.parent, file.path.stem))
            if owner is not None:
                owner.row = replace(owner.row, text=owner.row.text or content)
                self.findings.note(FileReport(str(file.path), "text", f"the text of '{owner.file}'"))
            elif drafts:
                detail = "a text beside other items: name it like a sound or picture to be its text"
                self.findings.note(FileReport(str(file.path), "skipped", detail))
            else:
                pieces = _text_drafts(file, content, alone=len(texts) == 1)
                result += pieces
                words = "one item a line" if len(pieces) > 1 else ""
                self.findings.note(FileReport(str(file.path), "text", words, len(pieces)))
        return result

    def _completed(self, draft: ItemDraft, keys: dict[SourceFile, str], media_files: set[SourceFile]) -> ItemDraft:
        """Complete a draft from its file: key, folder and, with `bags_from_folders`, bag."""
        source = draft.media.file if draft.media else None
        row = replace(draft.row, key=draft.row.key or (keys[source] if source else str(draft.number)), media=None)
        folder = str(source.path.parent.relative_to(self.root)) if source else "."
        if folder != ".":
            row = replace(row, details={"folder": folder, **row.details})
            if self.options.bags_from_folders:
                row = replace(row, bag=row.bag or folder)
        return replace(draft, row=row, media=draft.media if source in media_files else None)


def _read_text(file: Recognised) -> str:
    if file.source.local.stat().st_size > LONGEST_TEXT:
        raise fail(
            "text", f"is longer than {LONGEST_TEXT:,} bytes: split it into texts that people can read", file=file.path
        )
    codec, _ = encodings.encoding_of(file.source.local, file.path)
    return "".join(encodings.lines_of(file.source.local, codec, file.path)).replace("\r\n", "\n").strip()


def _draft_of_file(file: SourceFile) -> ItemDraft:
    return ItemDraft(ItemRow(key=""), MediaSource(file), str(file.path))


def _text_drafts(file: SourceFile, content: str, alone: bool) -> list[ItemDraft]:
    """Return the draft of a text, or of each line of a file `texts.txt` that has no other texts beside it."""
    if alone and file.path.stem.lower() == ONE_A_LINE:
        lines = [(number, line.strip()) for number, line in enumerate(content.splitlines(), start=1)]
        return [ItemDraft(ItemRow(str(number), line), None, str(file.path), number) for number, line in lines if line]
    return [ItemDraft(ItemRow("", content), MediaSource(file), str(file.path))]


def _plan(drafts: list[ItemDraft], reading: Reading) -> ImportPlan:
    findings = reading.findings
    features = read_numbers(reading.number_files, findings)
    if features is not None and not drafts and not reading.options.items_before:
        drafts = [
            ItemDraft(row, None, features.file, number) for number, row in enumerate(rows_of_features(features), 1)
        ]
    good = good_drafts(drafts, findings.faults)
    features = fit(features, [draft.row.key for draft in drafts], good, reading.options, findings)
    return ImportPlan(
        rows=tuple(drafts[place].row for place in good),
        media={drafts[place].row.key: source for place in good if (source := drafts[place].media)},
        files=tuple(sorted(findings.files.values(), key=lambda report: report.path)),
        columns=tuple(findings.columns),
        faults=tuple(findings.faults.shown),
        fault_count=findings.faults.count,
        features=features,
        content=_content([drafts[place] for place in good], reading),
    )


def _content(drafts: Sequence[ItemDraft], reading: Reading) -> Content:
    """Return what the items are, as a whole."""
    files = {draft.media.file for draft in drafts if draft.media}
    kinds: set[Content] = set()
    if not files.isdisjoint(reading.sounds):
        kinds.add("sounds")
    if not files.isdisjoint(reading.pictures):
        kinds.add("pictures")
    if not kinds:
        return "texts" if any(draft.row.text for draft in drafts) else "table"
    return kinds.pop() if len(kinds) == 1 else "mixed"
