"""Folders and archives: subfolders, litter, links, foreign files, texts, and ZIPs that mean no good."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from tercet.errors import Invalid
from tercet.intake.reading import archives
from tercet.intake.reading.folders import gather
from tercet.intake.reading.plan import ReadOptions
from tercet.intake.reading.reader import read_files
from tests.intake.conftest import image, wav
from tests.intake.reading.conftest import Read, became, keys, reason


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_subfolders_become_a_column_and_bags_where_wanted(read: Read) -> None:
    files = {"top.png": image(), "creek/a.png": image(), "creek/may/b.png": image()}
    plan = read(files)
    folders = {row.key: row.details.get("folder") for row in plan.rows}
    assert folders == {"top": None, "a": "creek", "b": "creek/may"}
    assert {row.bag for row in plan.rows} == {None}
    assert {row.key: row.bag for row in read(bags_from_folders=True).rows} == folders


def test_the_same_name_in_two_folders_gets_the_folder_in_front(read: Read) -> None:
    plan = read({"x/1.png": image(), "y/1.png": image(), "y/2.png": image(), "y/2.wav": wav()})
    assert keys(plan) == ["x/1", "y/1", "y/2.png", "y/2.wav"]
    assert plan.content == "mixed"


def test_litter_is_passed_over_in_silence(read: Read) -> None:
    litter = dict.fromkeys((".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX/._a.png", ".git/a.png"), b"x")
    plan = read({"a.png": image(), **litter})
    assert became(plan) == {"a.png": "picture"}
    assert plan.faults == ()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("paper.pdf", b"%PDF-1.7\n\x00\x01", "is a PDF"),
        ("model.pkl", b"\x80\x05\x95\0\0", "a pickle"),
        ("clip.mp4", b"\0\0\0\x18ftypisom" + b"\0" * 20, "save its sound as WAV or FLAC"),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is SVG"),
        ("script.py", b"print(1)", "a text of another kind"),
        ("data.xyz", b"\x01\x02\x03\x04", "begins with 01 02 03 04"),
        ("empty.dat", b"", "is empty"),
        ("sheet.xlsx", zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "save the sheet as CSV"),
        ("notes.txt", b"a note about nothing in particular", "name it like a sound or picture"),
    ],
)
def test_foreign_files_are_listed_with_the_reason(read: Read, name: str, content: bytes, says: str) -> None:
    plan = read({"a.png": image(), name: content})
    assert plan.faults == ()
    assert became(plan)[name] == "skipped"
    assert says in reason(plan, name)
    assert keys(plan) == ["a"]


def test_links_are_listed_and_never_followed(read: Read, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.png").write_bytes(image())
    (folder / "link.png").symlink_to(outside / "secret.png")
    (folder / "away").symlink_to(outside, target_is_directory=True)
    os.mkfifo(folder / "pipe.png")
    plan = read({"a.png": image()})
    assert keys(plan) == ["a"]
    assert "links are not followed" in reason(plan, "link.png")
    assert "links are not followed" in reason(plan, "away")
    assert "not a plain file" in reason(plan, "pipe.png")


def test_files_and_folders_come_together(tmp_path: Path) -> None:
    for name in ("one/a.png", "two/a.png", "b.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(image())
    sources = gather([tmp_path / "two", tmp_path / "b.png", tmp_path / "one", tmp_path / "b.png"])
    assert [str(source.path) for source in sources] == ["b.png", "one/a.png", "two/a.png"]
    plan = read_files(sources, ReadOptions(), lambda _share, _words: None, tmp_path / "scratch")
    assert keys(plan) == ["b", "one/a", "two/a"]
    with pytest.raises(Invalid, match="no file or folder"):
        gather([tmp_path / "nowhere"])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.png").write_bytes(image())
    with pytest.raises(Invalid, match=r"two files come under the path 'b\.png'"):
        gather([tmp_path / "b.png", tmp_path / "other" / "b.png"])


def test_reading_can_be_cancelled(folder: Path, tmp_path: Path) -> None:
    (folder / "a.png").write_bytes(image())

    def cancel(_share: float, _words: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_files(gather([folder]), ReadOptions(), cancel, tmp_path / "scratch")


def test_progress_rises_to_its_end(folder: Path, tmp_path: Path) -> None:
    for number in range(5):
        (folder / f"{number}.png").write_bytes(image())
    shares: list[float] = []
    read_files(gather([folder]), ReadOptions(), lambda share, _words: shares.append(share), tmp_path / "scratch")
    assert shares == sorted(shares)
    assert len(set(shares)) >= 3
    assert 0 <= shares[0] <= shares[-1] <= 1


def test_texts_are_items_with_their_content(read: Read) -> None:
    plan = read(
        {"a.txt": "One line.\r\nAnother.\r\n", "sub/b.md": "# Title\n\nWords.", "c.txt": "Größe".encode("utf-16")}
    )
    assert {row.key: row.text for row in plan.rows} == {
        "a": "One line.\nAnother.",
        "b": "# Title\n\nWords.",
        "c": "Größe",
    }
    assert plan.content == "texts"
    assert plan.media == {}


def test_a_lone_text_is_one_item_and_texts_txt_one_a_line(read: Read, folder: Path) -> None:
    assert len(read({"story.txt": "one\ntwo\nthree\n"}).rows) == 1
    (folder / "story.txt").unlink()
    plan = read({"texts.txt": "one\n\n two \nthree\n"})
    assert [(row.key, row.text) for row in plan.rows] == [("1", "one"), ("3", "two"), ("4", "three")]
    assert reason(plan, "texts.txt") == "one item a line"


def test_a_text_called_like_a_picture_is_its_text(read: Read) -> None:
    plan = read({"a.png": image(), "a.txt": "a grey field", "b.png": image()})
    assert {row.key: row.text for row in plan.rows} == {"a": "a grey field", "b": ""}


def test_a_table_may_name_texts(read: Read) -> None:
    plan = read({"t.csv": "file,topic\nx.txt,rain\ny.txt,sun\n", "x.txt": "It pours.", "y.txt": "It shines."})
    assert [(row.key, row.text, row.details) for row in plan.rows] == [
        ("x", "It pours.", {"topic": "rain"}),
        ("y", "It shines.", {"topic": "sun"}),
    ]


def test_an_archive_is_read_like_the_folder_it_holds(read: Read) -> None:
    inner = zipped({"c.png": image()})
    plan = read(
        {
            "songs.zip": zipped(
                {
                    "songs/clips.csv": b"file,site\na.wav,creek\nb.wav,ridge\n",
                    "songs/a.wav": wav(),
                    "songs/b.wav": wav(),
                    "__MACOSX/songs/._a.wav": b"x",
                    "songs/.DS_Store": b"x",
                    "songs/more.zip": inner,
                }
            )
        }
    )
    assert plan.faults == ()
    assert [(row.key, row.details) for row in plan.rows] == [("a", {"site": "creek"}), ("b", {"site": "ridge"})]
    assert "archive within an archive" in reason(plan, "more.zip")
    assert became(plan)["songs.zip"] == "archive"
    assert all(source.file.local.is_file() for source in plan.media.values())


def test_names_in_an_archive_are_utf8_even_where_it_does_not_say_so(read: Read) -> None:
    content = zipped({"gr\u00f6\u00dfe.png": image()})
    silent = bytearray(content)
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        place = silent.index(start) + (6 if start == b"PK\x03\x04" else 8)
        silent[place + 1] &= 0xF7
    assert keys(read({"a.zip": bytes(silent)})) == ["größe"]


@pytest.mark.parametrize("name", ["../out.png", "/etc/out.png", "a/../../out.png", "..\\out.png", "C:\\out.png"])
def test_paths_that_climb_out_refuse_the_archive(read: Read, tmp_path: Path, name: str) -> None:
    plan = read({"bad.zip": zipped({"good.png": image(), name: image()})})
    assert "leads out of the archive" in plan.faults[0].detail
    assert plan.rows == ()
    assert not list(tmp_path.rglob("out.png"))


def test_links_and_control_characters_in_an_archive(read: Read) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("passwd.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a.png", image())
    plan = read({"links.zip": out.getvalue()})
    assert keys(plan) == ["a"]
    assert "links are not followed" in reason(plan, "passwd.png")
    assert "cannot be printed" in read({"links.zip": zipped({"a\x07.png": image()})}).faults[0].detail


def test_a_bomb_is_refused_before_it_is_unpacked(read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "ALWAYS_UNPACKED", 2**20)
    plan = read({"bomb.zip": zipped({f"{n}.wav": b"\0" * 2**20 for n in range(4)})})
    assert "times its size" in plan.faults[0].detail
    assert not [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()]
    monkeypatch.setattr(archives, "MOST_FILES", 3)
    assert "holds 4 files" in read({"bomb.zip": zipped({f"{n}.txt": b"x" for n in range(4)})}).faults[0].detail


def test_an_archive_that_lies_about_its_sizes_is_damaged(read: Read) -> None:
    content = bytearray(zipped({"a.txt": b"word " * 10_000}))
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = (100).to_bytes(4, "little")
    plan = read({"lie.zip": bytes(content)})
    assert "is damaged" in plan.faults[0].detail
    torn = read({"lie.zip": zipped({"a.txt": os.urandom(5_000)})[:3_000]})
    assert "not a ZIP archive that can be read" in torn.faults[0].detail


def test_encrypted_files_are_listed(read: Read) -> None:
    content = bytearray(zipped({"a.png": image(), "b.png": image()}))
    content[content.index(b"PK\x03\x04") + 6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    plan = read({"a.zip": bytes(content)})
    assert keys(plan) == ["b"]
    assert "without a password" in reason(plan, "a.png")
