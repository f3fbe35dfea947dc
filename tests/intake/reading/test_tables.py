"""Tables of every form: encoding, separator, columns and the files that rows name."""

import codecs
import io
import json
import sys

import numpy as np
import pytest

from tests.intake.conftest import image, npy, wav
from tests.intake.reading.conftest import Read, became, keys, reason

TEXT = "key,café,n\na,größe,1\nb,naïve,2\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TEXT.encode(), "UTF-8, separated by comma"),
        (codecs.BOM_UTF8 + TEXT.encode(), "UTF-8, separated by comma"),
        (TEXT.encode("utf-16"), "UTF-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "UTF-16"),
        (TEXT.encode("utf-16-le"), "UTF-16"),
        (TEXT.encode("utf-16-be"), "UTF-16"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (TEXT.encode("cp1252"), "Windows-1252, a guess"),
        (TEXT.encode("latin-1").replace(b"naive", b"nai\x81ve"), "a guess"),
        (TEXT.replace("\n", "\r\n").encode(), "UTF-8"),
        (TEXT.replace("\n", "\r").encode(), "UTF-8"),
        (b"key,caf\xc3\xa9,n\r\na,gr\xc3\xb6\xc3\x9fe,1\nb,na\xc3\xafve,2\r", "UTF-8"),
        (TEXT.replace(",", "\t").encode(), "separated by tab"),
        (TEXT.replace(",", ";").encode(), "separated by semicolon"),
        (TEXT.replace(",", "|").encode(), "separated by vertical bar"),
        (b"sep=;\r\n" + TEXT.replace(",", ";").encode(), "separated by semicolon"),
    ],
)
def test_encoding_and_separator_are_seen(read: Read, content: bytes, words: str) -> None:
    plan = read({"items.csv": content})
    assert plan.faults == ()
    assert words in reason(plan, "items.csv")
    assert [(row.key, row.details["café"]) for row in plan.rows] == [("a", "größe"), ("b", "naïve")]


def test_quoted_fields_hold_separators_and_lines(read: Read) -> None:
    plan = read({"items.csv": 'key;note;n\na;"x;y\nz";1\nb;"say ""hi"", then, go";2\n'})
    assert [row.details["note"] for row in plan.rows] == ["x;y\nz", 'say "hi", then, go']


def test_commas_within_semicolons_do_not_mislead(read: Read) -> None:
    plan = read({"items.csv": "key;length;note\na;1,5;x\nb;2,5;y\n"})
    assert [row.details for row in plan.rows] == [{"length": "1,5", "note": "x"}, {"length": "2,5", "note": "y"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("items.json", [{"key": "a", "n": 1, "tags": ["x", "y"]}, {"key": "b", "deep": {"p": [1]}}]),
        ("items.json", {"items": [{"key": "a", "n": 1, "tags": ["x", "y"]}, {"key": "b", "deep": {"p": [1]}}]}),
    ],
)
def test_json(read: Read, name: str, content: object) -> None:
    plan = read({name: json.dumps(content, indent=1)})
    assert [row.details for row in plan.rows] == [{"n": 1, "tags": "x;y"}, {"deep": '{"p": [1]}'}]
    assert reason(plan, name) == "JSON, UTF-8"


def test_ndjson_with_nested_metadata(read: Read) -> None:
    lines = '{"key": "a", "metadata": {"site": "creek"}, "bag": "r", "bag_labels": ["p", "q"]}\r\n\n{"key": "b"}\n'
    plan = read({"items.jsonl": lines})
    assert [(row.key, row.bag, row.bag_labels, row.details) for row in plan.rows] == [
        ("a", "r", ("p", "q"), {"site": "creek"}),
        ("b", None, (), {}),
    ]
    assert reason(plan, "items.jsonl") == "NDJSON, UTF-8"


@pytest.mark.parametrize(
    ("content", "row", "says"),
    [
        ('[{"key": "a"}, 7]', 2, "is not an object"),
        ('[{"key": "a"}, {"key": NaN}]', 2, "NaN is not a number in JSON"),
        ('[{"key": "a"}', None, "was cut off"),
        ('[{"key": "a"} {"key": "b"}]', None, "is not JSON at character"),
        ("[" * 100_000, 1, "nested too deeply"),
        ('[{"n": ' + "9" * 5_000 + "}]", 1, "is not JSON"),
        ('{"key": "a"}\n{"key": \n', 2, "is not JSON"),
        ('{"key": "a"}\n"b"\n', 2, "one object a line"),
    ],
)
def test_bad_json_is_named_by_its_row(read: Read, content: str, row: int | None, says: str) -> None:
    fault = read({"items.json": content}).faults[0]
    assert (fault.file, fault.row) == ("songs/items.json", row)
    assert says in fault.detail


def test_parquet(read: Read) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    pq.write_table(pa.table({"file": ["a.wav", "b.wav"], "n": [1, 2], "site": ["creek", None]}), out)
    plan = read({"clips.parquet": out.getvalue(), "a.wav": wav(), "b.wav": wav()})
    assert [(row.key, row.details) for row in plan.rows] == [("a", {"n": 1, "site": "creek"}), ("b", {"n": 2})]
    torn = read({"clips.parquet": out.getvalue()[:-30]})
    assert "not a Parquet file that can be read" in torn.faults[0].detail


def test_parquet_without_its_extra_is_a_sentence(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    plan = read({"clips.parquet": b"PAR1 and so on PAR1"})
    assert "install tercet[parquet]" in plan.faults[0].detail


@pytest.mark.parametrize("column", ["file", "media", "path", "Dateiname", "what"])
@pytest.mark.parametrize("form", ["{name}", "sub/{name}", "sub\\{name}", "/home/me/sub/{name}", "./sub/{name}"])
def test_the_column_that_names_files_is_seen_by_its_values(read: Read, column: str, form: str) -> None:
    rows = "".join(f"{form.format(name=name)},creek,{n}\n" for n, name in enumerate(("a.wav", "b.wav")))
    plan = read({"clips.csv": f"{column},site,n\n{rows}", "sub/a.wav": wav(), "sub/b.wav": wav()})
    assert plan.faults == ()
    assert keys(plan) == ["a", "b"] == list(plan.media)
    assert plan.rows[0].details == {"folder": "sub", "site": "creek", "n": "0"}
    assert [column.role for column in plan.columns] == ["file", "metadata", "metadata"]


def test_files_may_be_named_without_their_ending(read: Read) -> None:
    plan = read({"clips.csv": "clip,site\na,creek\nb,ridge\n", "a.wav": wav(), "b.wav": wav()})
    assert [(row.key, row.details["site"]) for row in plan.rows] == [("a", "creek"), ("b", "ridge")]


def test_a_row_whose_file_did_not_come_is_named(read: Read) -> None:
    plan = read({"clips.csv": "file,site\na.wav,x\nb.wav,y\nc.wav,z\n", "a.wav": wav(), "b.wav": wav()})
    fault = plan.faults[0]
    assert (fault.file, fault.row, fault.field) == ("songs/clips.csv", 3, "file")
    assert "'c.wav' was not sent" in fault.detail
    assert keys(plan) == ["a", "b"], "what is good is there for those who skip the bad"


def test_files_that_a_table_leaves_out_are_listed(read: Read) -> None:
    plan = read({"clips.csv": "file,site\na.wav,x\nb.wav,y\n", "a.wav": wav(), "b.wav": wav(), "c.wav": wav()})
    assert keys(plan) == ["a", "b"]
    assert "no row of 'songs/clips.csv' names it" in reason(plan, "c.wav")


def test_a_name_that_means_two_files_is_a_fault_until_the_folder_is_there(read: Read) -> None:
    files = {"x/a.wav": wav(), "y/a.wav": wav(), "clips.csv": "file\na.wav\n"}
    assert "may be any of 2 files" in read(files).faults[0].detail
    plan = read({"clips.csv": "file\ny/a.wav\nx/a.wav\n"})
    assert [row.details["folder"] for row in plan.rows] == ["y", "x"]
    assert keys(plan) == ["y/a", "x/a"]


def test_a_table_in_each_folder_belongs_to_the_files_beside_it(read: Read) -> None:
    files = {
        f"{site}/{name}": content
        for site in "xy"
        for name, content in (("a.wav", wav()), ("t.csv", "file,n\na.wav,1\n"))
    }
    plan = read(files)
    assert plan.faults == ()
    assert [(row.key, row.details["folder"]) for row in plan.rows] == [("x/a", "x"), ("y/a", "y")]


def test_keys_come_from_a_column_of_names_the_file_or_the_row(read: Read) -> None:
    files = {"a.wav": wav(), "b.wav": wav()}
    assert keys(read({"t.csv": "file,id\na.wav,s7\nb.wav,s8\n", **files})) == ["s7", "s8"]
    assert keys(read({"t.csv": "file,id\na.wav,s7\nb.wav,s7\n", **files})) == ["a", "b"], "an id that is there twice"
    (alone,) = (read({"t.csv": "file,id,key\na.wav,s7,k1\nb.wav,s8,k2\n"}),)
    assert keys(alone) == ["k1", "k2"]


def test_rows_without_names_are_numbered(read: Read) -> None:
    plan = read({"t.csv": "text,site\nA long and winding road,x\nA short one,y\n"})
    assert keys(plan) == ["1", "2"]
    assert plan.content == "texts"


def test_the_one_column_of_long_texts_is_the_text(read: Read) -> None:
    rows = "".join(f"{n},The train number {n} was late again and nobody told us why.,late\n" for n in range(5))
    plan = read({"messages.csv": f"id,what people wrote,topic\n{rows}"})
    assert plan.rows[3].text.startswith("The train number 3")
    assert keys(plan) == ["0", "1", "2", "3", "4"]
    assert [column.role for column in plan.columns] == ["key", "text", "metadata"]
    two = read(
        {
            "messages.csv": "p,q,n\n"
            + "".join(f"Sentence {n} that is long,Another one that is {n},1\n" for n in range(3))
        }
    )
    assert {row.text for row in two.rows} == {""}, "two columns of long texts: neither is the one"


def test_one_column_of_words_is_the_text(read: Read) -> None:
    plan = read({"words.csv": "word\nbird\nsong\ntree\n"})
    assert [row.text for row in plan.rows] == ["bird", "song", "tree"]


@pytest.mark.parametrize("name", ["X.npy", "features.csv", "keyed.csv"])
def test_numbers_beside_media_are_features(read: Read, name: str) -> None:
    contents = {
        "X.npy": npy([[1.0, 2.0], [3.0, 4.0]]),
        "features.csv": "p;q\n1;2\n3;4\n".encode("utf-16"),
        "keyed.csv": b"key,p,q\nb,3,4\na,1,2\n",
    }
    plan = read({"a.png": image(), "b.png": image(), name: contents[name]})
    assert plan.features is not None
    assert np.array_equal(plan.features.values, [[1, 2], [3, 4]])
    assert became(plan) == {"a.png": "picture", "b.png": "picture", name: "features"}


def test_numbers_alone_are_a_table_and_arrays_alone_are_items(read: Read) -> None:
    plan = read({"iris.csv": "length,width\n1,2\n3,4\n"})
    assert [row.details for row in plan.rows] == [{"length": "1", "width": "2"}, {"length": "3", "width": "4"}]
    assert plan.features is None


def test_an_array_alone_makes_items_unless_the_project_has_them(read: Read) -> None:
    plan = read({"X.npy": npy(np.eye(3))})
    assert keys(plan) == ["1", "2", "3"]
    assert plan.features is not None
    later = read(items_before=3)
    assert keys(later) == []
    assert later.features is not None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (npy(np.ones((3, 2))), "3 rows of features for 2 items"),
        (npy([[1.0], [np.nan]]), "nan is not a finite number"),
        (npy(np.array([[{}], [1]], object), allow_pickle=True), "a pickle"),
    ],
)
def test_features_that_do_not_fit_are_named(read: Read, content: bytes, says: str) -> None:
    plan = read({"a.png": image(), "b.png": image(), "X.npy": content})
    assert says in plan.faults[0].detail
    assert plan.features is None


def test_features_follow_the_items_that_are_kept(read: Read) -> None:
    plan = read({"t.csv": f"key\na\n{'k' * 201}\nc\n", "X.npy": npy([[1.0], [2.0], [3.0]])})
    assert plan.features is not None
    assert (keys(plan), plan.features.values.ravel().tolist(), plan.fault_count) == (["a", "c"], [1.0, 3.0], 1)


@pytest.mark.parametrize(
    ("content", "row", "field", "says"),
    [
        ("key,text,n\na,x\n", 1, "row", "2 cells where the header names 3 columns"),
        ('key,text\na,"x\n', None, "csv", "not proper CSV"),
        ("key,key\na,b\n", None, "header", "there twice"),
        ("key,text\na,x\na,y\n", 2, "key", "given twice; first in row 1 of 'songs/items.csv'"),
        ("key,bag,bag_labels\na,x,p\nb,x,q\n", 2, "bag_labels", "other labels in an earlier row: p"),
        ("key,text\na\x07b,x\n", 1, "key", "U+0007"),
        ("\n", None, "files", "nothing to import"),
        (b"key,\0text\n\0\0\0\0", None, "encoding", "is not a text"),
    ],
)
def test_bad_tables(read: Read, content: str | bytes, row: int | None, field: str, says: str) -> None:
    plan = read({"items.csv": content})
    assert (plan.faults[0].row, plan.faults[0].field) == (row, field)
    assert says in plan.faults[0].detail


def test_a_text_that_looks_like_a_table_of_selections_but_is_no_text(read: Read) -> None:
    plan = read({"labels.txt": b"begin,end,\x01\x01\x01", "note.txt": "a thrush"})
    assert [(fault.file, fault.field) for fault in plan.faults] == [("songs/labels.txt", "encoding")]


def test_a_named_column_must_be_there(read: Read) -> None:
    files = {"t.csv": "p,q\na.wav,b.wav\n", "a.wav": wav(), "b.wav": wav()}
    assert list(read(files, media_column="q").media) == ["b"]
    assert "there is no column 'r'" in read(files, media_column="r").faults[0].detail


def test_spreadsheets_leave_empty_columns_and_rows(read: Read) -> None:
    plan = read({"t.csv": 'key,site,n,,\na,x,1,,\n,,,,\n""\nb,y,2,,\n'})
    assert plan.faults == ()
    assert [(row.key, row.details) for row in plan.rows] == [
        ("a", {"site": "x", "n": "1"}),
        ("b", {"site": "y", "n": "2"}),
    ]
