"""The choice of an algorithm: its parameters are the estimator's, listed, read from forms, refused when wrong."""

import inspect
import re
from pathlib import Path

import pytest
from fastapi import FastAPI

import tercet_algorithms as estimators
from tercet.catalogue import forms
from tercet.catalogue.algorithms import ALGORITHMS, resolve
from tercet.catalogue.forms import CHOICES
from tercet.catalogue.parameters.common import MOST_CLUSTERS
from tercet.catalogue.parameters.dcrc import DcrcParameters
from tercet.database import Database
from tercet.errors import Invalid
from tercet.models import Project
from tercet_algorithms.sklr.sklr import SKLR
from tests.factories import make_user, signed_in

TEMPLATES = Path(__file__).parents[2] / "templates"
ESTIMATORS = {
    "dcrc": estimators.DCRC,
    "dcrc-cv": estimators.DCRCCV,
    "sklr": SKLR,
    "cmbc": estimators.CMBC,
    "bags": estimators.BagSpectralClustering,
}
# Where the app's default is another than the estimator's, and why.
OTHER_DEFAULTS = {
    "n_clusters": "is the project's",
    "n_moves": "a run may take longer than a call of fit",
    "random_state": "runs can be repeated",
    ("dcrc-cv", "balance"): "true, false or both, by names",
    ("dcrc", "weight"): "labelers are asked what is hard to tell, and runs begin with few answers",
}
# What is no parameter of the estimator itself: those of another inside, the range of clusters, what it gets to read.
FURTHER = {
    "dcrc": {"cluster_by"},
    "dcrc-cv": {"fewest_clusters", "most_clusters"} | set(DcrcParameters.model_fields),
    "cmbc": {"known_runs", "known_columns"},
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_parameters_are_the_estimators(name: str) -> None:
    """Every parameter of the estimator is offered with its default, or left out for a reason that is given."""
    model = ALGORITHMS[name].parameters
    theirs = inspect.signature(ESTIMATORS[name]).parameters
    offered, left_out = set(model.model_fields), set(model.left_out)
    assert (offered | left_out) - FURTHER.get(name, set()) <= set(theirs) <= offered | left_out
    assert not offered & left_out
    for field in offered & set(theirs):
        if field not in OTHER_DEFAULTS and (name, field) not in OTHER_DEFAULTS:
            default = theirs[field].default
            expected = list(default) if isinstance(default, tuple) else default
            assert model.model_fields[field].default == expected, field


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_parameter_says_what_it_does(name: str) -> None:
    model = ALGORITHMS[name].parameters
    properties = model.model_json_schema()["properties"]
    for field, info in model.model_fields.items():
        assert info.title, field
        assert re.fullmatch(r"[A-Z][^\n]{10,300}\.", properties[field]["description"]), field


def test_they_are_listed_for_programs(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        user = make_user(session)
    with signed_in(app, user) as client:
        listed = client.get("/api/v1/algorithms").json()["algorithms"]
    assert [algorithm["name"] for algorithm in listed] == list(ALGORITHMS)
    epsilon = listed[0]["parameters"]["properties"]["epsilon"]
    assert epsilon["default"] == "auto"
    assert epsilon["anyOf"] == [{"type": "number"}, {"enum": ["auto", "people"], "type": "string"}]
    assert "probability that an answer is wrong" in epsilon["description"]


def test_a_form_holds_what_it_was_given_and_gives_it_back() -> None:
    for choice in CHOICES:
        defaults = choice.algorithm.parameters(n_clusters=2).model_dump(exclude={"n_clusters"})
        fields = forms.texts(choice.algorithm.name, defaults)
        sent = {"algorithm": choice.algorithm.name, **fields, "n_clusters": "5", "name": "Songs"}
        assert forms.read_choice(sent) == {"algorithm": choice.algorithm.name, "parameters": defaults}
        assert forms.without_choice(sent) == {"n_clusters": "5", "name": "Songs"}


def test_empty_fields_and_those_of_other_algorithms_are_not_read() -> None:
    sent = {"algorithm": "dcrc", "dcrc.epsilon": "0.2", "dcrc.tau": "", "dcrc.balance": "false", "other.gamma": "9"}
    assert forms.read_choice(sent) == {"algorithm": "dcrc", "parameters": {"epsilon": 0.2, "balance": False}}
    assert forms.read_choice({"name": "Songs"}) == {}


def test_a_field_that_may_be_none_can_say_so() -> None:
    sent = {"algorithm": "dcrc", "dcrc.kernel": "none", "dcrc.gamma": "none"}
    assert forms.read_choice(sent)["parameters"] == {"kernel": None, "gamma": None}
    with pytest.raises(Invalid):
        forms.read_choice({"algorithm": "dcrc", "dcrc.epsilon": "none"})


def test_several_numbers_are_separated_by_commas() -> None:
    sent = {"algorithm": "dcrc-cv", "dcrc-cv.epsilon": "0.1, 0.2,0.3", "dcrc-cv.fewest_clusters": "2"}
    with pytest.raises(Invalid, match="parameters are not right"):
        forms.read_choice(sent)
    parameters = forms.read_choice({**sent, "dcrc-cv.most_clusters": "6"})["parameters"]
    assert parameters == {"epsilon": [0.1, 0.2, 0.3], "fewest_clusters": 2, "most_clusters": 6}
    assert forms.texts("dcrc-cv", parameters)["dcrc-cv.epsilon"] == "0.1, 0.2, 0.3"
    with pytest.raises(Invalid) as refused:
        forms.read_choice({"algorithm": "dcrc-cv", "dcrc-cv.epsilon": "0.1, much"})
    assert refused.value.errors[0].field == "parameters.epsilon.1"


def test_one_run_asks_only_for_what_differs() -> None:
    assert forms.read_run_choice("dcrc", {}) == {"algorithm": None, "parameters": {}}
    assert forms.read_run_choice("dcrc", {"algorithm": "dcrc", "n_clusters": "4"}) == {
        "algorithm": None,
        "parameters": {"n_clusters": 4},
    }


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"epsilon": 0.7}, "parameters.epsilon"),
        ({"epsilon": float("nan")}, "parameters.epsilon"),
        ({"tau": float("inf")}, "parameters.tau"),
        ({"n_init": 2.5}, "parameters.n_init"),
        ({"solver": "sgd"}, "parameters.solver"),
        ({"gama": 1}, "parameters.gama"),
        ({"epsilon": 0, "labeler_tables": "learn"}, "parameters"),
        ({"kernel": "sigmoid"}, "parameters.kernel"),
        ({"n_clusters": 6}, "n_clusters"),
    ],
)
def test_wrong_parameters_are_refused_by_name(parameters: dict, field: str) -> None:
    project = Project(n_clusters=3, algorithm="dcrc", parameters={})
    with pytest.raises(Invalid) as refused:
        resolve(project, "dcrc", parameters, n_items=5)
    assert [error.field for error in refused.value.errors] == [field]


def test_a_run_takes_its_own_then_the_projects_then_the_default() -> None:
    project = Project(n_clusters=3, algorithm="dcrc", parameters={"epsilon": 0.2, "tau": 2.0})
    resolved = resolve(project, "dcrc", {"tau": 3.0}, n_items=5)
    assert (resolved["tau"], resolved["epsilon"], resolved["n_init"], resolved["n_clusters"]) == (3.0, 0.2, 10, 3)


def test_forms_ask_for_as_many_clusters_as_algorithms_take() -> None:
    lines = [line for path in TEMPLATES.rglob("*.html") for line in path.read_text().splitlines()]
    fields = [line for line in lines if 'name="n_clusters" type="number"' in line or "set most_clusters" in line]
    assert len(fields) == 5
    assert [line for line in fields if str(MOST_CLUSTERS) not in line] == []
