"""Features of texts: words and parts of words, weighted by how rare they are, reduced to few columns (LSA)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Readable = NDArray[np.bool_]
Array = np.ndarray[Any, Any]

MOST_WORDS, MOST_PARTS = 20_000, 20_000
COMMONEST = 0.5  # words in a larger share of the texts tell them apart no more than "the"
FEW_TEXTS = 20  # under so many, words of a single text are not left out
# How a text is taken apart: into whole words, and into parts of words of three to five letters.
PIECES: Mapping[str, Mapping[str, Any]] = {
    "words": {"token_pattern": r"(?u)\b\w+\b", "max_features": MOST_WORDS},
    "parts": {"analyzer": "char_wb", "ngram_range": (3, 5), "max_features": MOST_PARTS},
}


@dataclass
class TextWords:
    """The words and parts of words of the texts that it learned from, what each weighs, and their main directions."""

    vocabularies: dict[str, list[str]]
    weights: dict[str, Array]
    directions: Array  # (words and parts, R)
    mean: Array  # (R,) of the texts that hold a word

    @classmethod
    def learn(cls, texts: Sequence[str], numbers: int, seed: int) -> tuple["TextWords", Rows, Readable]:
        """Learn at most `numbers` directions of texts; return their rows too, which else would be read twice."""
        from sklearn.utils.extmath import randomized_svd

        words, counts = cls({}, {}, np.zeros((0, 0)), np.zeros(0)), []
        for name, vectorizer in _vectorizers(len(texts)).items():
            try:
                counts.append(vectorizer.fit_transform(texts))
            except ValueError:  # no word is left: all texts are empty, or all are of the same words
                continue
            words.vocabularies[name] = vectorizer.get_feature_names_out().tolist()
            words.weights[name] = vectorizer.idf_
        together = _beside(counts, len(texts))
        rank = min(numbers, *together.shape) if together.getnnz() else 0
        if rank:
            _, _, directions = randomized_svd(together, n_components=rank, random_state=seed, flip_sign=True)
            words.directions = directions.T.astype(np.float32)
        else:
            words.directions = np.zeros((together.shape[1], 0), dtype=np.float32)
        rows, readable = words._unit_rows(together)
        words.mean = rows[readable].mean(axis=0) if readable.any() else np.zeros(rank, dtype=np.float32)
        return words, *words._centred(rows, readable)

    def rows(self, texts: Sequence[str]) -> tuple[Rows, Readable]:
        """Return the numbers of each text, and which texts hold a word that was learned; the others get zeros.

        Each row has unit length before the mean is taken off: a long text is no further away than a short one.
        """
        counts = [
            _taught(name, words, self.weights[name]).transform(texts) for name, words in self.vocabularies.items()
        ]
        return self._centred(*self._unit_rows(_beside(counts, len(texts))))

    def _unit_rows(self, counts: Any) -> tuple[Rows, Readable]:
        from sklearn.preprocessing import normalize

        readable = np.asarray(counts.getnnz(axis=1) > 0)
        if not self.directions.size:
            return np.zeros((counts.shape[0], self.directions.shape[1]), dtype=np.float32), readable
        return np.asarray(normalize(counts @ self.directions), dtype=np.float32), readable

    def _centred(self, rows: Rows, readable: Readable) -> tuple[Rows, Readable]:
        return np.asarray(np.where(readable[:, None], rows - self.mean, 0), dtype=np.float32), readable

    def arrays(self) -> dict[str, Array]:
        """Return what was learned as plain arrays; words as JSON, since one may be as long as a text."""
        vocabularies = {name: _bytes(words) for name, words in self.vocabularies.items()}
        weights = {f"{name}_weights": weights for name, weights in self.weights.items()}
        return {**vocabularies, **weights, "directions": self.directions, "mean": self.mean}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> "TextWords":
        """Read what `arrays` returned."""
        there = [name for name in PIECES if name in arrays]
        vocabularies = {name: json.loads(arrays[name].tobytes()) for name in there}
        weights = {name: arrays[f"{name}_weights"] for name in there}
        return cls(vocabularies, weights, arrays["directions"], arrays["mean"])


def _vectorizers(n_texts: int) -> dict[str, Any]:
    rare = {"min_df": 1 if n_texts < FEW_TEXTS else 2, "max_df": COMMONEST if n_texts >= FEW_TEXTS else 1.0}
    return {name: _vectorizer(name, rare) for name in PIECES}


def _taught(name: str, words: list[str], weights: Array) -> Any:
    vectorizer = _vectorizer(name, {"vocabulary": words})
    vectorizer.idf_ = weights
    return vectorizer


def _vectorizer(name: str, options: Mapping[str, Any]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **PIECES[name], **options)


def _beside(counts: list[Any], n_texts: int) -> Any:
    from scipy.sparse import csr_matrix, hstack

    return hstack(counts, format="csr") if counts else csr_matrix(np.zeros((n_texts, 0), dtype=np.float32))


def _bytes(words: list[str]) -> Array:
    return np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
