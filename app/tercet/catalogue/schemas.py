"""JSON of algorithms and their parameters."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from tercet.catalogue.algorithms import Algorithm

ALGORITHM_EXAMPLE: dict[str, Any] = {
    "name": "dcrc",
    "title": "DCRC",
    "summary": "Clusters from features and answers, robust to wrong ones. Right for most projects.",
    "parameters": {
        "type": "object",
        "required": ["n_clusters"],
        "properties": {
            "n_clusters": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Number of clusters."},
            "tau": {"type": "number", "minimum": 0, "default": 1.0, "description": "Weight of cluster separation."},
        },
    },
}


class AlgorithmOut(BaseModel):
    """An algorithm that projects and runs may name, and its parameters as a JSON schema."""

    name: str
    title: str
    summary: str
    parameters: dict[str, Any]

    @classmethod
    def of(cls, algorithm: Algorithm) -> "AlgorithmOut":
        """Return the schema of an algorithm."""
        schema = algorithm.parameters.model_json_schema()
        return cls(name=algorithm.name, title=algorithm.title, summary=algorithm.summary, parameters=schema)


class AlgorithmList(BaseModel):
    """Every algorithm; the first is a new project's."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"algorithms": [ALGORITHM_EXAMPLE]}]})

    algorithms: list[AlgorithmOut]
