"""Features of texts: words and parts of words, weighted by how rare they are, brought to a few numbers (LSA)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Kept = NDArray[np.bool_]

MOST_WORDS, MOST_PARTS = 20_000, 20_000
COMMONEST = 0.5  # words in a larger share of the texts tell them apart no more than "the"
FEW_TEXTS = 20  # under so many, words of a single text are not left out
WORD = r"(?u)\b\w+\b"
LETTERS = (3, 5)  # a part of a word: so many letters


def text_rows(texts: Sequence[str], numbers: int, seed: int) -> tuple[Rows, Kept]:
    """Return at most `numbers` numbers of each text, and which texts hold a word at all; the others get zeros.

    Each row has unit length before its mean is taken off: a long text is no further away than a short one.
    """
    from sklearn.preprocessing import normalize
    from sklearn.utils.extmath import randomized_svd

    counts = _weighted_words(texts)
    rank = min(numbers, *counts.shape) if counts.shape[1] else 0
    readable = np.asarray(counts.getnnz(axis=1) > 0)
    if rank == 0 or not readable.any():
        return np.zeros((len(texts), 0), dtype=np.float32), readable
    U, S, _ = randomized_svd(counts, n_components=rank, random_state=seed, flip_sign=True)
    rows = np.asarray(normalize(U * S), dtype=np.float32)
    rows[readable] -= rows[readable].mean(axis=0)
    rows[~readable] = 0.0
    return rows, readable


def _weighted_words(texts: Sequence[str]) -> Any:
    """Return TF-IDF of words and of parts of words side by side, sparse (texts, columns)."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    rarest = 1 if len(texts) < FEW_TEXTS else 2
    options = {"min_df": rarest, "max_df": COMMONEST if len(texts) >= FEW_TEXTS else 1.0, "dtype": np.float32}
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=WORD, max_features=MOST_WORDS, **options)
    parts = TfidfVectorizer(
        sublinear_tf=True, analyzer="char_wb", ngram_range=LETTERS, max_features=MOST_PARTS, **options
    )
    counts = []
    for vectorizer in (words, parts):
        try:
            counts.append(vectorizer.fit_transform(texts))
        except ValueError:  # no word is left: all texts are empty, or all are of the same words
            continue
    return hstack(counts, format="csr") if counts else csr_matrix(np.zeros((len(texts), 0), dtype=np.float32))
