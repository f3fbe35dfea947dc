"""The parameters of BagSpectralClustering, clusters from bag labels, that a project may set; see `parameters.py`."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from app.clustering.parameters import ADVANCED, Parameters

# Up to so many items the estimator compares all with all; of more, each with its neighbours.
MOST_DENSE = 6_000


class BagsParameters(Parameters):
    """Parameters of BagSpectralClustering."""

    left_out: ClassVar[dict[str, str]] = {"affinity": "items are rows of features, no table of likeness"}

    alpha: float = Field(
        0.7,
        ge=0,
        le=1000,
        title="Weight of bag labels",
        description="How much bag labels say against features; 0 leaves them out, and 0.5 to 1 is usually good.",
    )
    method: Literal[
        "bag", "both", "cannot-link", "links", "links-additive", "regularized", "bag-without-links", "spectral"
    ] = Field(
        "bag",
        title="What bag labels do",
        description="Bag: bags alike in labels are drawn to alike clusters. Cannot-link: items whose bags share no "
        "label are parted. Both does both; spectral uses features alone; the others are the paper's rivals.",
    )
    n_neighbors: int | None = Field(
        None,
        ge=1,
        le=10_000,
        title="Neighbours",
        description="How many neighbours each item is tied to; none is all of up to 6,000 items, 20 of more.",
        json_schema_extra=ADVANCED,
    )
    alpha_scale: Literal["auto", "absolute", "relative"] = Field(
        "auto",
        title="Scale of the weight",
        description="Relative weighs bag labels as alpha to features as 1 - alpha whatever the number of items; "
        "auto takes it where items are tied to some neighbours only, else absolute, the paper's.",
        json_schema_extra=ADVANCED,
    )
    local_k: int = Field(
        7,
        ge=1,
        le=10_000,
        title="Width by neighbour",
        description="Which nearest other item sets how far likeness reaches at an item.",
        json_schema_extra=ADVANCED,
    )
    center: Literal["identity", "ones"] = Field(
        "identity",
        title="Centre",
        description="What the mean likeness of bags is taken off: identity as printed in the paper, or ones as its "
        "sums give.",
        json_schema_extra=ADVANCED,
    )
    n_init: int = Field(
        10,
        ge=1,
        le=1000,
        title="Starts",
        description="Starts of k-means among the eigenvectors; the best one wins.",
        json_schema_extra=ADVANCED,
    )

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if fault := self.fault_of_alpha(0):
            raise ValueError(fault)
        if self.method == "bag-without-links" and self.center == "ones":
            raise ValueError("center 'ones' has no zeros for links: use 'identity' with method 'bag-without-links'")
        return self

    def fault_of_alpha(self, n_items: int) -> str:
        """Say what is wrong with alpha in the scale that so many items bring; empty if nothing is."""
        among_neighbors = self.n_neighbors is not None or n_items > MOST_DENSE
        relative = self.alpha_scale == "relative" or (self.alpha_scale == "auto" and among_neighbors)
        if not relative or self.alpha < 1:
            return ""
        many = n_items > MOST_DENSE and self.n_neighbors is None and self.alpha_scale == "auto"
        why = f", which 'auto' is with more than {MOST_DENSE:,} items" if many else ""
        return f"alpha must be below 1 in the relative scale{why}, got {self.alpha:g}"
