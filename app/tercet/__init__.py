"""Tercet turns comparisons that people make into clusters.

The service asks, stores answers, refits clusters and shows them; the estimators behind it can be imported from
here, too: `from tercet import DCRC`. They are loaded on first use, so that `import tercet` alone loads nothing else.

- item: one thing to be clustered
- bag: a group that items come from
- triplet: anchor, left and right; the question is whether the anchor is more like left than like right
- answer: yes, no or don't know, by one labeler
- constraint: a triplet with an answer, from a labeler or an import
- skip: a question that a labeler does not want to see again
- lease: a triplet reserved for one labeler for a while
- run: one fit of one algorithm on one project's features and answers
- cluster: a group in a run's result
- confidence: the largest posterior probability of an item
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from tercet_algorithms.common.first_use import importer

if TYPE_CHECKING:
    from tercet.client.client import AsyncClient as AsyncClient
    from tercet.client.client import Client as Client
    from tercet.exchange.loaded_model import load_model as load_model
    from tercet_algorithms import CMBC as CMBC
    from tercet_algorithms import DCRC as DCRC
    from tercet_algorithms import DCRCCV as DCRCCV
    from tercet_algorithms import SKLR as SKLR
    from tercet_algorithms import AnswerEmbedding as AnswerEmbedding
    from tercet_algorithms import BagSpectralClustering as BagSpectralClustering
    from tercet_algorithms import TripletEstimator as TripletEstimator
    from tercet_algorithms import TripletSplit as TripletSplit

ESTIMATORS = ("CMBC", "DCRC", "DCRCCV", "SKLR", "AnswerEmbedding", "BagSpectralClustering")
MODEL_SELECTION = ("TripletEstimator", "TripletSplit")
_MODULES = {
    **dict.fromkeys((*ESTIMATORS, *MODEL_SELECTION), "tercet_algorithms"),
    **dict.fromkeys(("AsyncClient", "Client"), "tercet.client.client"),
    "load_model": "tercet.exchange.loaded_model",
}
__all__ = list(_MODULES)
__version__ = version("tercet")


__getattr__ = importer(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
