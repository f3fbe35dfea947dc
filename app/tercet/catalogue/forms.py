"""An algorithm and its parameters as fields of a form: what pages draw, and how a sent form is read.

The fields of every algorithm are in the form, named `algorithm.parameter`, so that it works without JavaScript;
only the chosen algorithm's are read. A field left empty takes the project's setting or the default.
"""

from dataclasses import dataclass
from typing import Any

from tercet.catalogue import algorithms
from tercet.catalogue.algorithms import ALGORITHMS, Algorithm

YES_NO = [("true", "yes"), ("false", "no")]
NONE = "none"


@dataclass(frozen=True)
class FormField:
    """One parameter: a number to type, or a choice where there are `choices` (value, text)."""

    algorithm: str
    name: str
    label: str
    help: str
    default: str
    choices: list[tuple[str, str]]
    advanced: bool

    @property
    def full_name(self) -> str:
        """The field's name in the form, and its id on the page."""
        return f"{self.algorithm}.{self.name}"

    def otherwise(self, setting: str | None) -> str:
        """Return the value that an empty field stands for: the project's setting, or else the default."""
        value = dict(self.choices).get(setting, setting) if setting else self.default
        return f"{value} ({'as in the settings' if setting else 'default'})" if self.choices else value


@dataclass(frozen=True)
class Choice:
    """One algorithm with its fields; the usual ones first, then the advanced ones."""

    algorithm: Algorithm
    usual: list[FormField]
    advanced: list[FormField]


def texts(algorithm: str, parameters: dict[str, Any]) -> dict[str, str]:
    """Return parameters as the texts that a form's fields hold, by the fields' names."""
    return {f"{algorithm}.{name}": _text(value) for name, value in parameters.items()}


def describe(algorithm: str, parameters: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the labels and values of parameters for people, in the order of the algorithm's form."""
    labels = {"n_clusters": "Clusters"}
    for choice in CHOICES:
        if choice.algorithm.name == algorithm:
            labels |= {field.name: field.label for field in (*choice.usual, *choice.advanced)}
    values = {name: _text(parameters[name]) for name in labels if name in parameters}
    return [(labels[name], dict(YES_NO).get(value, value)) for name, value in values.items()]


def read_choice(fields: dict[str, str]) -> dict[str, Any]:
    """Return the algorithm that a sent form chose and the parameters it set; empty if it has no such fields."""
    if "algorithm" not in fields:
        return {}
    name = fields["algorithm"]
    prefix = f"{name}."
    texts = {field.removeprefix(prefix): text for field, text in fields.items() if field.startswith(prefix) and text}
    values = {field: None if text == NONE else text for field, text in texts.items()}
    return {"algorithm": name, "parameters": algorithms.read(name, values)}


def read_run_choice(algorithm: str, fields: dict[str, str]) -> dict[str, Any]:
    """Return what a sent form sets for one run, as far as it differs from the project."""
    choice = read_choice({"algorithm": algorithm, **fields})
    if text := fields.get("n_clusters"):
        choice["parameters"] |= algorithms.read(choice["algorithm"], {"n_clusters": text})
    return {**choice, "algorithm": None} if choice["algorithm"] == algorithm else choice


def without_choice(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields of a sent form that are not about algorithms."""
    return {name: text for name, text in fields.items() if name != "algorithm" and "." not in name}


def _text(value: Any) -> str:
    if value is None or value == []:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _short_text(value: Any) -> str:
    if isinstance(value, list) and value:
        return ", ".join(map(_short_text, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return dict(YES_NO).get(_text(value), _text(value))


def _field(algorithm: str, name: str, schema: dict[str, Any]) -> FormField:
    kind, *or_none = schema.get("anyOf", [schema])
    options = [(option, option) for option in kind.get("enum", [])]
    if options and or_none:
        options.append((NONE, NONE))
    return FormField(
        algorithm=algorithm,
        name=name,
        label=schema["title"],
        help=schema["description"],
        default=_short_text(schema["default"]),
        choices=YES_NO if kind.get("type") == "boolean" else options,
        advanced=schema.get("advanced", False),
    )


def _choice(algorithm: Algorithm) -> Choice:
    schema = algorithm.parameters.model_json_schema()["properties"]
    # Parameters of this algorithm alone come before those that it shares with others.
    names = sorted(schema, key=lambda name: name not in algorithm.parameters.__annotations__)
    fields = [_field(algorithm.name, name, schema[name]) for name in names if name != "n_clusters"]
    return Choice(algorithm, [f for f in fields if not f.advanced], [f for f in fields if f.advanced])


CHOICES = [_choice(algorithm) for algorithm in ALGORITHMS.values()]
