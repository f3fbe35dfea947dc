"""Estimators that turn answers about triplets into clusters, scikit-learn style; they know nothing of the service.

- family: estimators with a package of their own; families share `answers` and `common`, and nothing else
- state: all that a fit needs to go on in another process; a callback gets one after every step
- answers: what people say about items, read and checked in one way for all estimators
"""

from typing import TYPE_CHECKING

from tercet_algorithms.common.first_use import importer

if TYPE_CHECKING:
    from tercet_algorithms.answers.bag_naming import bag_prior as bag_prior
    from tercet_algorithms.bags.bag_spectral_clustering import BagSpectralClustering as BagSpectralClustering
    from tercet_algorithms.bags.search import SpectralState as SpectralState
    from tercet_algorithms.cmbc.cmbc import CMBC as CMBC
    from tercet_algorithms.cmbc.search import CMBCState as CMBCState
    from tercet_algorithms.common.layout import cluster_map as cluster_map
    from tercet_algorithms.common.matching import match_clusters as match_clusters
    from tercet_algorithms.common.model_selection import TripletEstimator as TripletEstimator
    from tercet_algorithms.common.model_selection import TripletSplit as TripletSplit
    from tercet_algorithms.common.model_selection import answer_log_score as answer_log_score
    from tercet_algorithms.common.search import StopFit as StopFit
    from tercet_algorithms.dcrc.cross_validation import DCRCCV as DCRCCV
    from tercet_algorithms.dcrc.dcrc import DCRC as DCRC
    from tercet_algorithms.dcrc.held_out_scores import SearchState as SearchState
    from tercet_algorithms.dcrc.search import FitState as FitState
    from tercet_algorithms.embedding.answer_embedding import AnswerEmbedding as AnswerEmbedding
    from tercet_algorithms.embedding.search import EmbeddingState as EmbeddingState
    from tercet_algorithms.sklr.search import LearningState as LearningState
    from tercet_algorithms.sklr.sklr import SKLR as SKLR

_MODULES = {
    "AnswerEmbedding": "tercet_algorithms.embedding.answer_embedding",
    "BagSpectralClustering": "tercet_algorithms.bags.bag_spectral_clustering",
    "CMBC": "tercet_algorithms.cmbc.cmbc",
    "CMBCState": "tercet_algorithms.cmbc.search",
    "DCRC": "tercet_algorithms.dcrc.dcrc",
    "DCRCCV": "tercet_algorithms.dcrc.cross_validation",
    "EmbeddingState": "tercet_algorithms.embedding.search",
    "FitState": "tercet_algorithms.dcrc.search",
    "LearningState": "tercet_algorithms.sklr.search",
    "SKLR": "tercet_algorithms.sklr.sklr",
    "SearchState": "tercet_algorithms.dcrc.held_out_scores",
    "SpectralState": "tercet_algorithms.bags.search",
    "StopFit": "tercet_algorithms.common.search",
    "TripletEstimator": "tercet_algorithms.common.model_selection",
    "TripletSplit": "tercet_algorithms.common.model_selection",
    "answer_log_score": "tercet_algorithms.common.model_selection",
    "bag_prior": "tercet_algorithms.answers.bag_naming",
    "cluster_map": "tercet_algorithms.common.layout",
    "match_clusters": "tercet_algorithms.common.matching",
}
__all__ = list(_MODULES)


__getattr__ = importer(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
