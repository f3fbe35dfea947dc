"""An algorithm and its parameters as fields of a form: what pages draw, and what a sent form says.

The fields of every algorithm are in the form, named `algorithm.parameter`, so that it works without JavaScript;
only the chosen algorithm's are read. A field left empty takes what holds otherwise.
"""

from dataclasses import dataclass
from typing import Any

from app.clustering import algorithms
from app.clustering.algorithms import ALGORITHMS, Algorithm

YES_NO = [("true", "yes"), ("false", "no")]
NONE = "none"


@dataclass(frozen=True)
class FormField:
    """One parameter: a number to type, or a choice where `choices` (value, words) are given."""

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
        """Say what holds if the field stays empty: the project's setting, or else the default."""
        words = dict(self.choices).get(setting, setting) if setting else self.default
        return f"{words} ({'as in the settings' if setting else 'default'})" if self.choices else words


@dataclass(frozen=True)
class Choice:
    """One algorithm with its fields; the usual ones first, then those that a form folds away."""

    algorithm: Algorithm
    usual: list[FormField]
    advanced: list[FormField]


def texts(algorithm: str, parameters: dict[str, Any]) -> dict[str, str]:
    """Give parameters as the texts that a form's fields hold, by the fields' names."""
    return {f"{algorithm}.{name}": _text(value) for name, value in parameters.items()}


def chosen(fields: dict[str, str]) -> dict[str, Any]:
    """Give the algorithm that a form chose and the parameters it set; nothing if it has no such fields."""
    if "algorithm" not in fields:
        return {}
    name = fields["algorithm"]
    start = f"{name}."
    given = {field.removeprefix(start): text for field, text in fields.items() if field.startswith(start) and text}
    values = {field: None if text == NONE else text for field, text in given.items()}
    return {"algorithm": name, "parameters": algorithms.read(name, values)}


def of_run(algorithm: str, fields: dict[str, str]) -> dict[str, Any]:
    """Give what a form asks of one run of a project that otherwise uses `algorithm`: only what differs."""
    choice = chosen({"algorithm": algorithm, **fields})
    if text := fields.get("n_clusters"):
        choice["parameters"] |= algorithms.read(choice["algorithm"], {"n_clusters": text})
    return {**choice, "algorithm": None} if choice["algorithm"] == algorithm else choice


def others(fields: dict[str, str]) -> dict[str, str]:
    """Give the fields of a form that say nothing about an algorithm."""
    return {name: text for name, text in fields.items() if name != "algorithm" and "." not in name}


def _text(value: Any) -> str:
    if value is None or value == []:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _words(value: Any) -> str:
    if isinstance(value, list) and value:
        return ", ".join(map(_words, value))
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
        default=_words(schema["default"]),
        choices=YES_NO if kind.get("type") == "boolean" else options,
        advanced=schema.get("advanced", False),
    )


def _choice(algorithm: Algorithm) -> Choice:
    schema = algorithm.parameters.model_json_schema()["properties"]
    # What is the algorithm's alone comes before what it shares with others.
    names = sorted(schema, key=lambda name: name not in algorithm.parameters.__annotations__)
    found = [_field(algorithm.name, name, schema[name]) for name in names if name != "n_clusters"]
    return Choice(algorithm, [f for f in found if not f.advanced], [f for f in found if f.advanced])


CHOICES = [_choice(algorithm) for algorithm in ALGORITHMS.values()]
