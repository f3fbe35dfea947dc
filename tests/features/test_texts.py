"""Features of texts: texts of one subject are near, empty ones are average."""

import numpy as np

from tercet.features.texts import TextWords

BIRDS = [f"the {bird} sings at dawn in the forest" for bird in ("wren", "robin", "blackbird", "thrush", "tit")]
STONES = [f"a heavy {stone} rock lies below layers of sediment" for stone in ("granite", "basalt", "chalk", "flint")]


def text_rows(texts, numbers, seed):
    return TextWords.learn(texts, numbers, seed)[1:]


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


def test_new_texts_are_read_by_the_words_that_were_learned():
    words, rows, _ = TextWords.learn([*BIRDS, *STONES] * 3, 4, seed=0)
    again = TextWords.of_arrays(words.arrays())
    old, _ = again.rows([*BIRDS, *STONES])
    np.testing.assert_allclose(old, rows[:9], atol=1e-5)
    new, readable = again.rows(["a robin sings in the garden at dawn", "layers of granite", "zzz", ""])
    assert readable.tolist() == [True, True, False, False]
    assert not new[2:].any()
    nearest = ((new[:2, None] - rows[None, :9]) ** 2).sum(axis=2).argmin(axis=1)
    assert nearest[0] < len(BIRDS) <= nearest[1]
