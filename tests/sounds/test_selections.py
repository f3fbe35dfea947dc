"""Selections as Raven, Audacity, BirdNET-Analyzer, Kaleidoscope and Praat write them, and files that are damaged."""

from pathlib import Path

import pytest

from tercet.sounds.selection import Selection, SelectionsError
from tercet.sounds.selections import is_selections, read_selections, selection_format, write_audacity, write_raven

RAVEN = (
    "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\t"
    "Delta Time (s)\tAnnotation\n"
    "1\tWaveform 1\t1\t0.512000000\t1.250000000\t1500.0\t7820.513\t0.7380\tsong\n"
    "1\tSpectrogram 1\t1\t0.512000000\t1.250000000\t1500.0\t7820.513\t0.7380\tsong\n"
    "2\tWaveform 1\t1\t2.000000000\t2.100000000\t900\t5000\t0.1000\t\n"
    "2\tSpectrogram 1\t1\t2.000000000\t2.100000000\t900\t5000\t0.1000\t\n"
)
# A table of several files: the begin counts through all of them.
RAVEN_OF_FILES = (
    "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\t"
    "Begin File\tFile Offset (s)\n"
    "1\tSpectrogram 1\t1\t1.5\t2.5\t500\t4000\tmonday.wav\t1.5\n"
    "2\tSpectrogram 1\t1\t61.5\t62.0\t500\t4000\ttuesday.wav\t1.5\n"
)
BIRDNET_RAVEN = (
    "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tCommon Name\tSpecies Code\t"
    "Confidence\tBegin Path\tFile Offset (s)\n"
    "1\tSpectrogram 1\t1\t3.0\t6.0\t0\t15000\tBlack-capped Chickadee\tbkcchi\t0.8141\tC:\\rec\\a b.wav\t3.0\n"
    "2\tSpectrogram 1\t1\t60.0\t63.0\t0\t15000\tnocall\tnocall\t1.0\tC:\\rec\\quiet.wav\t0\n"
)
BIRDNET_CSV = (
    "Start (s),End (s),Scientific name,Common name,Confidence,File\n"
    "0.0,3.0,Poecile atricapillus,Black-capped Chickadee,0.8141,/data/rec/soundscape.wav\n"
    '3.0,6.0,Haemorhous mexicanus,"Finch, House",0.6394,/data/rec/soundscape.wav\n'
)
BIRDNET_R = (
    "filepath,start,end,scientific_name,common_name,confidence,lat,lon,week,overlap,sensitivity,min_conf,species_list,"
    "model\n/data/rec/soundscape.wav,9.0,12.0,Junco hyemalis,Dark-eyed Junco,0.4930,-1.0000,-1.0000,-1,0.0,1.0,0.1,,x\n"
)
BIRDNET_KALEIDOSCOPE = (
    "INDIR,FOLDER,IN FILE,OFFSET,DURATION,scientific_name,common_name,confidence,lat,lon,week,overlap,sensitivity\n"
    "/data,rec,soundscape.wav,3.0,3.0,Poecile atricapillus,Black-capped Chickadee,0.8141,-1.0000,-1.0000,-1,0.0,1.0\n"
)
BIRDNET_AUDACITY = "0.0\t3.0\tPoecile atricapillus, Black-capped Chickadee\t0.8141\n3.0\t6.0\tJunco, Junco\t0.3\n"
AUDACITY = (
    "1.000000\t1.000000\tThis point was clicked at 6928.456055 Hz\n\\\t6928.456055\t6928.456055\n"
    "2.000000\t2.500000\tLow frequency undefined\n\\\t-1.000000\t6334.588867\n"
    "4.000000\t4.500000\t\n\\\t1484.669312\t2969.338523\n5.5\t6.25\n"
)


def interval_tier(number: int, name: str, *intervals: tuple[str, str, str]) -> str:
    """Write a tier from 0 to 3 s in the long form; an interval is its begin, end and text as the file has them."""
    lines = [f"    item [{number}]:", '        class = "IntervalTier" ', f'        name = "{name}" ']
    lines += ["        xmin = 0 ", "        xmax = 3 ", f"        intervals: size = {len(intervals)} "]
    for place, (begin, end, text) in enumerate(intervals, 1):
        lines += [f"        intervals [{place}]:", f"            xmin = {begin} ", f"            xmax = {end} "]
        lines.append(f'            text = "{text}" ')
    return "\n".join(lines) + "\n"


# The long and the short form of Praat 6.3, blanks at the ends of lines included.
TEXTGRID = (
    """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0\x20
xmax = 3\x20
tiers? <exists>\x20
size = 3\x20
item []:\x20
"""
    + interval_tier(1, "song", ("0", "0.5", ""), ("0.5", "1.25", 'say ""hi"" 3'), ("1.25", "3", ""))
    + """    item [2]:
        class = "TextTier"\x20
        name = "spot"\x20
        xmin = 0\x20
        xmax = 3\x20
        points: size = 1\x20
        points [1]:
            number = 1.5\x20
            mark = "peak"\x20
"""
    + interval_tier(3, "call", ("0", "2", ""), ("2", "3", "rür ü"))
)
SHORT_TEXTGRID = """File type = "ooTextFile"
Object class = "TextGrid"

0
3
<exists>
3
"IntervalTier"
"song"
0
3
3
0
0.5
""
0.5
1.25
"say ""hi"" 3"
1.25
3
""
"TextTier"
"spot"
0
3
1
1.5
"peak"
"IntervalTier"
"call"
0
3
2
0
2
""
2
3
"rür ü"
"""
# By Praat's manual this is the same again: remarks, units and line ends do not count.
FREE_TEXTGRID = """"ooTextFile"
"TextGrid" ! made by hand, on 3 lines
0s 3s <exists> 3 "IntervalTier" "song" 0 3 3 0 0.5 "" 0.5 1.25 "say ""hi"" 3" 1.25 3 ""
"TextTier" "spot" 0 3 1 1.5 "peak"
"IntervalTier" "call" 0 3 2 0 2 "" 2 3 "rür ü"
"""
BY_NAME = "file;onset_ms;offset_ms;low_khz;high_khz;call type\na.wav;500;1250,5;1;7,5;trill\nb.wav;0;100;;;\n"


def read(tmp_path: Path, content: str | bytes) -> list[Selection]:
    path = tmp_path / "anything"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_selections(path, "anything")


@pytest.mark.parametrize(
    ("content", "name", "selections"),
    [
        (
            RAVEN,
            "Raven selection table",
            [(0.512, 1.25, 1500, 7820.513, "song", None, 1), (2.0, 2.1, 900, 5000, None, None, 3)],
        ),
        (
            RAVEN_OF_FILES,
            "Raven selection table",
            [(1.5, 2.5, 500, 4000, None, "monday.wav", 1), (1.5, 2.0, 500, 4000, None, "tuesday.wav", 2)],
        ),
        (
            BIRDNET_RAVEN,
            "BirdNET-Analyzer selection table",
            [
                (3.0, 6.0, 0, 15_000, "Black-capped Chickadee", "C:/rec/a b.wav", 1),
                (0.0, 3.0, 0, 15_000, "nocall", "C:/rec/quiet.wav", 2),
            ],
        ),
        (
            BIRDNET_CSV,
            "BirdNET-Analyzer table",
            [
                (0.0, 3.0, None, None, "Black-capped Chickadee", "/data/rec/soundscape.wav", 1),
                (3.0, 6.0, None, None, "Finch, House", "/data/rec/soundscape.wav", 2),
            ],
        ),
        (
            BIRDNET_R,
            "BirdNET-Analyzer table",
            [(9.0, 12.0, None, None, "Dark-eyed Junco", "/data/rec/soundscape.wav", 1)],
        ),
        (
            BIRDNET_KALEIDOSCOPE,
            "Kaleidoscope table",
            [(3.0, 6.0, None, None, "Black-capped Chickadee", "rec/soundscape.wav", 1)],
        ),
        (
            BIRDNET_AUDACITY,
            "Audacity labels",
            [
                (0.0, 3.0, None, None, "Poecile atricapillus, Black-capped Chickadee", None, 1),
                (3.0, 6.0, None, None, "Junco, Junco", None, 2),
            ],
        ),
        (
            AUDACITY,
            "Audacity labels",
            [
                (2.0, 2.5, None, 6334.588867, "Low frequency undefined", None, 3),
                (4.0, 4.5, 1484.669312, 2969.338523, None, None, 5),
                (5.5, 6.25, None, None, None, None, 7),
            ],
        ),
        (
            BY_NAME,
            "table with begin and end",
            [(0.5, 1.2505, 1_000, 7_500, "trill", "a.wav", 1), (0.0, 0.1, None, None, None, "b.wav", 2)],
        ),
        ("start,duration\n0:01:02.5,2\n", "table with begin and end", [(62.5, 64.5, None, None, None, None, 1)]),
    ],
)
def test_what_each_program_writes(
    tmp_path: Path, content: str, name: str, selections: list[tuple[float | str | None]]
) -> None:
    assert selection_format(content.encode()) == name
    listed = [(s.begin_s, s.end_s, s.low_hz, s.high_hz, s.label, s.recording, s.row) for s in read(tmp_path, content)]
    assert [row[4:] for row in listed] == [row[4:] for row in selections]
    for row, expected in zip(listed, selections, strict=True):
        assert row[:4] == pytest.approx(expected[:4])


@pytest.mark.parametrize("text", [TEXTGRID, SHORT_TEXTGRID, FREE_TEXTGRID])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_textgrids(tmp_path: Path, text: str, encoding: str, newline: str) -> None:
    content = text.replace("\n", newline).encode(encoding)
    content = b"\xfe\xff" + content if encoding == "utf-16-be" else content
    assert selection_format(content[:1_000]) == "Praat TextGrid"
    song, call = read(tmp_path, content)
    assert (song.begin_s, song.end_s, song.label, song.tier) == (0.5, 1.25, 'say "hi" 3', "song")
    assert (call.begin_s, call.end_s, call.label, call.tier) == (2.0, 3.0, "rür ü", "call")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@pytest.mark.parametrize("text", [RAVEN, AUDACITY, BIRDNET_CSV])
def test_tables_of_every_encoding(tmp_path: Path, text: str, encoding: str, newline: str) -> None:
    content = text.replace("\n", newline).encode(encoding)
    assert is_selections(content)
    assert read(tmp_path, content) == read(tmp_path, text)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"key,text\na,b\n",
        b"key,start,end\na,today,tomorrow\n",
        b"begin\n1\n",
        b"\x89PNG\r\n\x1a\n\0\0\0",
        b"RIFF\0\0\0\0WAVE",
        b"1,2,3\n4,5,6\n",
        b"file,xmin,xmax,ymin,ymax\na.png,1,2,3,4\n",
        "Grüße".encode("utf-16"),
    ],
)
def test_other_files_are_no_selections(tmp_path: Path, content: bytes) -> None:
    assert not is_selections(content)
    with pytest.raises(ValueError, match=r"holds no selections|is no text"):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (RAVEN.replace("2.000000000\t", "two\t"), (3, "Begin Time (s)", "'two' is no number")),
        (RAVEN.replace("\t900\t", "\tlow\t"), (3, "Low Freq (Hz)", "'low' is no number")),
        (BIRDNET_CSV + "9,8,x,y,1,f\n", (3, "end", "8 s is not after the begin at 9 s")),
        (BIRDNET_CSV + "-1,8,x,y,1,f\n", (3, "begin", "-1 s is no time in a recording")),
        (BIRDNET_CSV + "nan,8,x,y,1,f\n", (3, "begin", "nan s is no time")),
        (BIRDNET_CSV + "1,inf,x,y,1,f\n", (3, "end", "inf s is not after")),
        (BIRDNET_CSV + ",8,x,y,1,f\n", (3, "Start (s)", "is empty")),
        (RAVEN.replace("900\t5000", "5000\t900"), (3, "frequency", "5000 to 900 Hz is no range")),
        (AUDACITY + "later\t9\n", (8, "begin", "'later' is no number of seconds")),
    ],
)
def test_faults_are_named_with_row_and_column(tmp_path: Path, content: str, place: tuple[int, str, str]) -> None:
    with pytest.raises(SelectionsError) as caught:
        read(tmp_path, content)
    fault = caught.value.faults[0]
    assert (fault.row, fault.column) == place[:2]
    assert place[2] in fault.detail
    assert f"row {place[0]}" in str(caught.value)


def test_every_fault_is_named(tmp_path: Path) -> None:
    with pytest.raises(SelectionsError, match="3 faults in all") as caught:
        read(tmp_path, "begin,end\n1,2\nx,2\n3,2\n1,\n")
    assert [fault.row for fault in caught.value.faults] == [2, 4, 3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXTGRID[:400], "breaks off or is damaged after 2 intervals"),
        (TEXTGRID.replace('text = "rür ü"', "text = 7"), "breaks off or is damaged after 6 intervals"),
        (TEXTGRID.replace("rür ü", "").replace('say ""hi"" 3', " "), "no interval with a text"),
        ("1.0\tpoint\n2.0\t2.0\tpoint\n", "only points"),
        (b"ooBinaryFile\x08TextGrid\0\0\0", "anything is a binary TextGrid: save it from Praat as a text file"),
    ],
)
def test_files_without_a_selection_say_why(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert is_selections(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    selections = [
        Selection(0.5, 1.25, 100.5, 9_000.0, "song", row=1),
        Selection(2.0, 2.000001, None, None, None, row=2),
        Selection(3.0, 4.0, None, 500.0, "two\twords\nand a line", row=3),
    ]
    raven = read(tmp_path, write_raven(selections))
    assert [(s.begin_s, s.end_s, s.label) for s in raven] == [
        (0.5, 1.25, "song"),
        (2.0, 2.000001, None),
        (3.0, 4.0, "two words and a line"),
    ]
    assert (raven[0].low_hz, raven[0].high_hz, raven[1].high_hz) == (100.5, 9_000.0, 9_000.0)
    audacity = read(tmp_path, write_audacity(selections))
    assert [(s.low_hz, s.high_hz) for s in audacity] == [(100.5, 9_000.0), (None, None), (None, 500.0)]
    assert write_audacity([]) == ""


def test_raven_tables_with_files_and_columns_of_ones_own(tmp_path: Path) -> None:
    selections = [Selection(61.0, 62.0, label="a", recording="x.wav"), Selection(1.0, 2.0, recording="y.wav")]
    text = write_raven(selections, {"Cluster": ["3", "1"]})
    header, first, _ = text.splitlines()
    assert header.split("\t")[-4:] == ["Begin File", "File Offset (s)", "Cluster", "Annotation"]
    assert first.split("\t")[-2:] == ["3", "a"]
    assert [(s.begin_s, s.recording) for s in read(tmp_path, text)] == [(61.0, "x.wav"), (1.0, "y.wav")]
