"""Features of texts: words and parts of words, weighted by how rare they are, reduced to few columns (LSA)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Mask = NDArray[np.bool_]

MOST_WORDS, MOST_PARTS = 20_000, 20_000
COMMONEST = 0.5  # words in a larger share of the texts are left out, like "the"
FEW_TEXTS = 20  # with fewer texts no word is left out, neither common ones nor those of a single text
WORD = r"(?u)\b\w+\b"
LETTERS = (3, 5)  # in a part of a word


def text_rows(texts: Sequence[str], numbers: int, seed: int) -> tuple[Rows, Mask]:
    """Return at most `numbers` columns for each text, and which texts have a known word; the others get zeros.

    Rows have unit length before the mean is subtracted, so that the length of a text does not matter.
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
        except ValueError:  # no word is left: all texts are empty, or have the same words
            continue
    return hstack(counts, format="csr") if counts else csr_matrix(np.zeros((len(texts), 0), dtype=np.float32))
