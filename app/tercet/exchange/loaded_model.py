"""The model of a run away from its server: clusters of rows of features, and of files, which it measures itself."""

from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from tercet.errors import FieldError, Problem
from tercet.features.fitted import FittedRecipe
from tercet.intake.reading.folders import gather
from tercet.prediction.inputs import Array
from tercet.prediction.model import ClusterModel, read_model


class FilePredictions(NamedTuple):
    """Items by their keys, their clusters (n,) from 1, the probability of every cluster (n, K), and what is wrong."""

    items: list[str]
    labels: Array
    posterior: Array
    faults: list[str]


class LoadedModel(ClusterModel):
    """A model that takes files as well as rows of features."""

    def predict_files(self, *places: str | Path) -> FilePredictions:
        """Return the clusters of the items that files and folders hold, read as an import reads them.

        Their features are made as those of the run were, with what was learned from its items: of sounds, pictures,
        texts (a file each, or a line each of `texts.txt`), tables and archives. What cannot be read or measured is
        among the `faults`. Raises ValueError where there is no such file, or the run's features were uploaded:
        then `predict` takes rows that were made as those were.
        """
        if not self.recipe_:
            raise ValueError(
                "the model holds no feature recipe: its features were uploaded, or it was downloaded from a Tercet "
                "that kept none. Give rows of features to predict"
            )
        from tercet.intake.new_items import of_files  # and with it all that decodes and measures

        fitted = FittedRecipe.of_arrays(self.recipe_)
        try:
            new = of_files(gather(map(Path, places)), fitted, lambda share, words: None)
        except Problem as problem:
            raise ValueError(problem.detail) from problem
        posterior = self.predict_proba(new.values) if new.keys else np.zeros((0, len(self.classes_)))
        labels = self.classes_[posterior.argmax(axis=1)]
        return FilePredictions(new.keys, labels, posterior, [_words_of(fault) for fault in new.faults])


def load_model(file: str | Path | BinaryIO) -> LoadedModel:
    """Load the model of a run, as downloaded from its page.

    Parameters
    ----------
    file : str, Path or binary file
        The .npz.

    Returns
    -------
    LoadedModel
        With `predict`, `predict_proba`, `predict_files`, `n_features_in_`, `classes_`.

    Raises
    ------
    ValueError
        Where it is something else, or of a newer version. Nothing is ever unpickled.
    """
    model = read_model(file)
    return LoadedModel(model.arrays, model.about_, model.recipe_)


def _words_of(fault: FieldError) -> str:
    where = ", ".join([*([fault.file] if fault.file else []), *([f"row {fault.row}"] if fault.row else [])])
    return f"{where}: {fault.detail}" if where else fault.detail
