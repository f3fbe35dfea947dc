"""Features of texts: texts of one subject are near, empty ones are average."""

import numpy as np

from tercet.features.texts import text_rows

BIRDS = [f"the {bird} sings at dawn in the forest" for bird in ("wren", "robin", "blackbird", "thrush", "tit")]
STONES = [f"a heavy {stone} rock lies below layers of sediment" for stone in ("granite", "basalt", "chalk", "flint")]


def test_texts_of_one_subject_are_near():
    rows, readable = text_rows([*BIRDS, *STONES], 4, seed=0)
    assert readable.all()
    distances = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert distances[:5, :5].max() < distances[:5, 5:].min()


def test_length_does_not_matter():
    rows, _ = text_rows([*BIRDS, *STONES, " ".join([BIRDS[0]] * 40)], 5, seed=0)
    assert ((rows[0] - rows[-1]) ** 2).sum() < 0.05


def test_empty_texts_are_average():
    rows, readable = text_rows([*BIRDS, "", "   "], 3, seed=0)
    assert readable.tolist() == [True] * 5 + [False] * 2
    assert not rows[5:].any()


def test_texts_without_a_word():
    rows, readable = text_rows(["", ""], 3, seed=0)
    assert rows.shape == (2, 0)
    assert not readable.any()


def test_letters_of_any_script():
    rows, readable = text_rows(["зяблик поёт", "зяблик спит", "金翅雀 歌唱", "金翅雀 睡觉"] * 3, 3, seed=0)
    assert readable.all()
    assert ((rows[0] - rows[1]) ** 2).sum() < ((rows[0] - rows[2]) ** 2).sum()


def test_the_same_seed_makes_the_same_rows():
    first, second = (text_rows([*BIRDS, *STONES], 4, seed=1)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
