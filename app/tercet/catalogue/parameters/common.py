"""Shared by the parameters of several algorithms: the base class, types, and lists from forms."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

ADVANCED: dict[str, Any] = {"advanced": True}
# Most clusters of a project or a run; the forms have the same number (tests/catalogue/test_algorithms.py).
MOST_CLUSTERS = 1_000


def advanced(title: str, **bounds: Any) -> Any:
    """Return the field of a parameter that forms show among the advanced ones."""
    return Field(title=title, json_schema_extra=ADVANCED, **bounds)


def split(value: Any) -> Any:
    """Return the values of a text separated by commas, as forms send lists, and an empty list for None."""
    if value is None:
        return []
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def number_or(kind: Any, names: tuple[str, ...], below: float) -> PlainValidator:
    """Return the validator of a `kind` that is one of some names or a number from 0 to `below`, as a text too."""
    wanted = f"{' or '.join(map(repr, names))} or a number of at least 0"
    if below < float("inf"):
        wanted += f" and below {below:.3g}"

    def read(value: Any) -> float | str:
        if value in names:
            return str(value)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if isinstance(value, bool) or not 0 <= number < below:
            raise ValueError(f"must be {wanted}")
        return number

    return PlainValidator(read, json_schema_input_type=kind)


_NumberOrAuto = float | Literal["auto"]
NumberOrAuto = Annotated[_NumberOrAuto, number_or(_NumberOrAuto, ("auto",), below=float("inf"))]
CommaSeparated = BeforeValidator(split)
Starts = Annotated[int, advanced("Starts", ge=1, le=1000)]
Iterations = Annotated[int, advanced("Most iterations", ge=1, le=100_000)]
Tolerance = Annotated[float, advanced("Tolerance", ge=0)]


def _join_lines(schema: dict[str, Any]) -> None:
    """Join the lines of descriptions."""
    for field in schema["properties"].values():
        field["description"] = " ".join(field["description"].split())


class Parameters(BaseModel):
    """The parameters that every algorithm has."""

    # The docstring below a field is its description.
    model_config = ConfigDict(
        extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True, json_schema_extra=_join_lines
    )
    left_out: ClassVar[dict[str, str]] = {}

    n_clusters: Annotated[int, Field(title="Clusters", ge=1, le=MOST_CLUSTERS)]
    """Number of clusters."""
    random_state: Annotated[int, advanced("Seed", ge=0, lt=2**32)] = 0
    """Seed of everything random; another one makes other starts."""
