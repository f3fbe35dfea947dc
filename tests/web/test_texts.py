"""Texts and names from outside: what is refused leaves nothing behind, and a long text takes no longer than a short."""

import tracemalloc

from tercet.web.texts import fault_of_name, fault_of_text

MEGABYTE = 2**20


def test_refused_names_leave_nothing_in_memory() -> None:
    assert fault_of_name("x") is None
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(20):
        assert "at most 200" in str(fault_of_name(f"{number}" + "x" * MEGABYTE))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < MEGABYTE


def test_names() -> None:
    assert fault_of_name("Swainson's thrush") is None
    assert fault_of_name("x" * 200) is None
    assert fault_of_name("") == "must not be empty"
    assert fault_of_name("x" * 201) == "has 201 characters; at most 200 are allowed"
    assert fault_of_name(" x") == "must not begin or end with blanks"
    assert fault_of_name("a\x07b") == "has the character U+0007, which cannot be printed"


def test_texts() -> None:
    assert fault_of_text("café 🐦\n") is None
    assert fault_of_text("ab\0c") == "character 3 (U+0000) is not allowed in a text"
    assert fault_of_text("\ud83d") == "character 1 (U+D83D) is not allowed in a text"
