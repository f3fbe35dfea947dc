"""The algorithms a project may use, and the check of their parameters before a run is queued.

The web process imports this module, so it names the estimators without importing them; `worker/fits/systems.py`, which
only workers import, has the functions that fit them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tercet.catalogue.parameters.bags import BagsParameters
from tercet.catalogue.parameters.cmbc import CmbcParameters
from tercet.catalogue.parameters.common import Parameters
from tercet.catalogue.parameters.dcrc import DcrcCvParameters, DcrcParameters
from tercet.catalogue.parameters.sklr import SklrParameters
from tercet.errors import FieldError, Invalid
from tercet.models import Project
from tercet.web.known_names import fields_of, nearest


@dataclass(frozen=True)
class Algorithm:
    """One algorithm as people choose it."""

    name: str
    short: str
    title: str
    summary: str
    parameters: type[Parameters]


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "dcrc",
            "DCRC",
            "DCRC",
            "Clusters from features and answers, robust to wrong ones. Right for most projects.",
            DcrcParameters,
        ),
        Algorithm(
            "dcrc-cv",
            "DCRC, chosen",
            "DCRC, parameters chosen by cross-validation",
            "Chooses parameters, and the number of clusters if wanted, by held-out answers. A search takes a few times "
            "as long as a run and comes when answers have doubled; between searches it is as fast as DCRC.",
            DcrcCvParameters,
        ),
        Algorithm(
            "sklr",
            "SKLR",
            "SKLR",
            "Learns from the answers how similar items are, then forms any number of clusters from that: one run "
            "for every resolution.",
            SklrParameters,
        ),
        Algorithm(
            "cmbc",
            "CMBC",
            "CMBC, another clustering",
            "Finds a clustering unlike those already known: clusters of earlier runs, columns of metadata such as "
            "recorder or date. It uses no answers.",
            CmbcParameters,
        ),
        Algorithm(
            "bags",
            "Bag labels",
            "Spectral clustering with bag labels",
            "Clusters from features and bag labels, before anyone has answered. It uses no answers; DCRC uses both bag "
            "labels and answers.",
            BagsParameters,
        ),
    )
}


def find(name: str) -> Algorithm:
    """Return an algorithm by its name; raise Invalid if there is none."""
    if name not in ALGORITHMS:
        names = ", ".join(f"'{existing}'" for existing in ALGORITHMS)
        detail = f"there is no algorithm '{name}'; there are: {names}"
        raise Invalid("The algorithm is not known.", [FieldError("algorithm", detail)])
    return ALGORITHMS[name]


def resolve(project: Project, algorithm: str, parameters: dict[str, Any], n_items: int) -> dict[str, Any]:
    """Return every parameter of a run: its own, else the project's, else the default. Raise Invalid if one is wrong."""
    inherited = project.parameters if algorithm == project.algorithm else {}
    model = _validate(algorithm, {"n_clusters": project.n_clusters, **inherited, **parameters})
    if isinstance(model, BagsParameters) and (fault := model.fault_of_alpha(n_items)):
        raise Invalid("The parameters are not right.", [FieldError("parameters.alpha", fault)])
    resolved = model.model_dump()
    n_clusters = resolved.get("most_clusters") or resolved["n_clusters"]
    if n_clusters > n_items:
        detail = f"{n_clusters} clusters were asked for, but there are only {n_items} items with features"
        raise Invalid("More clusters than items.", [FieldError("n_clusters", detail)])
    return resolved


def read(algorithm: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return these parameters alone, each as its type, since forms send texts. Raise Invalid if one is wrong."""
    return _validate(algorithm, {"n_clusters": 1, **parameters}).model_dump(include=set(parameters))


def _validate(algorithm: str, values: dict[str, Any]) -> Parameters:
    model = find(algorithm).parameters
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise Invalid("The parameters are not right.", [_field_error(model, e) for e in error.errors()]) from error


def _field_error(model: type[Parameters], fault: Mapping[str, Any]) -> FieldError:
    field = ".".join(["parameters", *map(str, fault["loc"])])
    if fault["type"] == "extra_forbidden":
        return FieldError(field, f"is no parameter here{nearest(str(fault['loc'][-1]), frozenset(fields_of(model)))}")
    return FieldError(field, fault["msg"])
