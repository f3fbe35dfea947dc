"""Recordings and the tables that cut them: which table belongs to which recording, and what the items are called."""

from pathlib import Path, PurePosixPath

import pytest

from tercet.intake.reading.plan import MediaSource, SourceFile
from tercet.intake.reading.recordings import recording_of
from tests.intake.conftest import wav
from tests.intake.reading.conftest import Read, became, keys, reason

RAVEN = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tAnnotation\n"
TWO = RAVEN + "1\tSpectrogram 1\t1\t0.5\t0.75\t800\t2000\tsong\n2\tSpectrogram 1\t1\t1.0\t1.5\t500\t3000\t\n"


@pytest.mark.parametrize(
    "table",
    [
        "rec1.Table.1.selections.txt",
        "rec1.txt",
        "rec1.wav.txt",
        "rec1.BirdNET.selection.table.txt",
        "rec1.selections.tsv",
        "rec1_labels.txt",
        "REC1.txt",
    ],
)
def test_a_table_cuts_the_recording_that_it_is_called_like(read: Read, table: str) -> None:
    plan = read({"rec1.wav": wav(2.0), "rec2.wav": wav(1.0), table: TWO})
    assert plan.faults == ()
    assert keys(plan) == ["rec1_0.500", "rec1_1.000", "rec2"]
    assert [row.bag for row in plan.rows] == ["rec1", "rec1", None]
    song, plain, _ = plan.rows
    place = {"begin_s": 0.5, "end_s": 0.75, "low_hz": 800.0, "high_hz": 2000.0}
    assert song.details == {"recording": song.details["recording"], "label": "song", **place}
    assert song.details["recording"].lower() == "rec1.wav"
    assert "label" not in plain.details
    source = plan.media["rec1_0.500"]
    assert (source.begin_s, source.end_s, source.low_hz, source.high_hz) == (0.5, 0.75, 800.0, 2000.0)
    assert plan.media["rec2"] == MediaSource(
        source.file.__class__(PurePosixPath("songs/rec2.wav"), plan.media["rec2"].file.local)
    )
    assert became(plan) == {"rec1.wav": "sound", "rec2.wav": "sound", table: "selections"}
    assert "cuts 1 recording" in reason(plan, table)


def test_its_begin_file_column_comes_first(read: Read) -> None:
    header = "Selection\tBegin Time (s)\tEnd Time (s)\tBegin File\n"
    table = header + "1\t0.1\t0.2\trec2.wav\n2\t0.3\t0.4\trec1.wav\n"
    plan = read({"rec1.wav": wav(1.0), "rec2.wav": wav(1.0), "rec1.txt": table})
    assert {row.bag for row in plan.rows} == {"rec1", "rec2"}
    gone = read({"rec1.txt": header + "1\t0.1\t0.2\trec9.wav\n2\t0.3\t0.4\trec1.wav\n"})
    assert set(keys(gone)) >= {"rec1_0.300"}


def test_a_lone_pair_needs_no_common_name(read: Read) -> None:
    plan = read({"creek.wav": wav(2.0), "labels.txt": "0.5\t0.75\tsong\n1.0\t1.5\tcall\n"})
    assert [(row.key, row.details["label"]) for row in plan.rows] == [("creek_0.500", "song"), ("creek_1.000", "call")]


def test_a_table_without_a_recording_is_a_fault(read: Read) -> None:
    plan = read({"a.wav": wav(2.0), "b.wav": wav(2.0), "creek.selections.txt": TWO})
    assert "belongs to no recording: name it like one, as creek.txt goes with creek.wav" in plan.faults[0].detail
    assert plan.faults[0].file == "songs/creek.selections.txt"


def test_the_nearest_recording_of_a_name_counts() -> None:
    def file(path: str) -> SourceFile:
        return SourceFile(PurePosixPath(path), Path(path))

    sounds = [file("x/rec.wav"), file("y/rec.wav"), file("z/other.wav")]
    assert recording_of(file("y/rec.txt"), sounds) == sounds[1]
    assert recording_of(file("tables/rec.txt"), sounds) is None, "either may be meant"
    assert recording_of(file("tables/other.txt"), sounds) == sounds[2]


def test_selections_beyond_the_end_are_named(read: Read) -> None:
    plan = read({"rec.wav": wav(1.0), "rec.txt": RAVEN + "1\tS\t1\t0.5\t0.9\t1\t2\tx\n2\tS\t1\t0.8\t5.0\t1\t2\ty\n"})
    fault = plan.faults[0]
    assert (fault.file, fault.row) == ("songs/rec.txt", 2)
    assert "not within 'songs/rec.wav', which has 1.00 s" in fault.detail
    assert keys(plan) == ["rec_0.500"]


@pytest.mark.parametrize("table", [RAVEN, RAVEN + "1\tS\t1\t0\t3\t0\t15000\tnocall\n"])
def test_a_recording_in_which_nothing_is_selected_is_no_item(read: Read, table: str) -> None:
    plan = read({"quiet.wav": wav(1.0), "quiet.Table.1.selections.txt": table, "rec.wav": wav(2.0), "rec.txt": TWO})
    assert plan.faults == ()
    assert keys(plan) == ["rec_0.500", "rec_1.000"]
    assert "selects nothing in 1 recording: no item is made there" in reason(plan, "quiet.Table.1.selections.txt")


def test_every_fault_of_a_table_is_listed(read: Read) -> None:
    plan = read({"rec.wav": wav(1.0), "rec.txt": RAVEN + "1\tS\t1\t0.5\t0.2\t1\t2\tx\n2\tS\t1\t0.8\t0.1\t1\t2\ty\n"})
    assert [fault.row for fault in plan.faults] == [1, 2]


def test_selections_that_begin_together_stay_apart(read: Read) -> None:
    plan = read({"rec.wav": wav(1.0), "rec.txt": "0.5\t0.6\tlow\n0.5\t0.7\thigh\n"})
    assert keys(plan) == ["rec_0.500_1", "rec_0.500_2"]


def test_what_a_table_says_of_a_recording_goes_to_its_items(read: Read) -> None:
    clips = "file,site,bag_labels,bag\nrec.wav,creek,p;q,rec\n"
    plan = read({"rec.wav": wav(2.0), "rec.txt": TWO, "clips.csv": clips})
    assert plan.faults == ()
    assert [(row.details["site"], row.bag, row.bag_labels) for row in plan.rows] == [("creek", "rec", ("p", "q"))] * 2


def test_a_recording_with_selections_needs_no_row_of_a_table(read: Read) -> None:
    files = {"clips.csv": "file,site\na.wav,creek\n", "a.wav": wav(0.5), "long.wav": wav(2.0), "long.txt": TWO}
    plan = read({**files, "b.wav": wav(0.5)})
    assert [key.partition("_")[0] for key in keys(plan)] == ["a", "long", "long"]
    assert "clips.csv' names it: add a row" in reason(plan, "b.wav")
    assert keys(read(files, cut="never")) == ["a"]


def test_cutting_can_be_turned_off(read: Read) -> None:
    plan = read({"rec.wav": wav(2.0), "rec.txt": TWO}, cut="never")
    assert keys(plan) == ["rec"]
    assert "turned off" in reason(plan, "rec.txt")


def test_segments_are_proposed_where_there_is_no_table(read: Read) -> None:
    quiet, tone = wav(1.0, hz=0.0)[44:], wav(0.3, hz=2_000.0)[44:]
    scene = quiet + tone + quiet + tone + quiet
    header = bytearray(wav(1.0)[:44])
    header[4:8] = (36 + len(scene)).to_bytes(4, "little")
    header[40:44] = len(scene).to_bytes(4, "little")
    plan = read({"long.wav": bytes(header) + scene, "cut.wav": wav(2.0), "cut.txt": TWO}, cut="segments")
    begins = [plan.media[key].begin_s for key in keys(plan) if key.startswith("long_")]
    assert begins == [pytest.approx(1.0, abs=0.15), pytest.approx(2.3, abs=0.15)]
    assert {row.bag for row in plan.rows} == {"long", "cut"}


def test_numbers_in_columns_cut_nothing_where_no_sound_came(read: Read) -> None:
    plan = read({"years.tsv": "key\tbegin\tend\na\t1990\t1995\nb\t1991\t1992\n"})
    assert [row.details for row in plan.rows] == [{"begin": "1990", "end": "1995"}, {"begin": "1991", "end": "1992"}]
