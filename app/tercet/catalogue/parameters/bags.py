"""The parameters of BagSpectralClustering, clusters from bag labels."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tercet.catalogue.parameters.common import Parameters, Starts, advanced

# Up to so many items the estimator compares all with all where no number of neighbours is set.
MOST_DENSE = 6_000


class BagsParameters(Parameters):
    """Parameters of BagSpectralClustering."""

    left_out: ClassVar[dict[str, str]] = {
        "affinity": "items are rows of features, no table of likeness",
        "n_jobs": "every worker has work of its own",
        "verbose": "a run shows its progress on its page",
    }

    alpha: Annotated[float, Field(title="Weight of bag labels", ge=0, le=1000)] = 0.7
    """How much bag labels say against features; 0 leaves them out, and 0.5 to 1 is usually good."""
    method: Annotated[
        Literal[
            "bag", "both", "cannot-link", "links", "links-additive", "regularized", "bag-without-links", "spectral"
        ],
        Field(title="What bag labels do"),
    ] = "both"
    """Bag draws bags of like labels to like clusters, cannot-link parts items whose bags share none, both does both,
    spectral neither; the others are the paper's rivals."""
    n_neighbors: Annotated[int | None, advanced("Neighbours", ge=1, le=10_000)] = 10
    """How many neighbours each item is tied to; none is all of up to 6,000 items, 20 of more."""
    alpha_scale: Annotated[Literal["auto", "absolute", "relative"], advanced("Scale of the weight")] = "auto"
    """Relative weighs bag labels as alpha to features as 1 - alpha whatever the number of items; auto takes it where
    items are tied to some neighbours only, else absolute, the paper's."""
    local_k: Annotated[int, advanced("Width by neighbour", ge=1, le=10_000)] = 7
    """Which nearest other item sets how far likeness reaches at an item."""
    center: Annotated[Literal["identity", "ones"], advanced("Centre")] = "identity"
    """What the mean likeness of bags is taken off: identity as printed in the paper, or ones as its sums give."""
    n_init: Starts = 10
    """Starts of k-means among the eigenvectors; the best one wins."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if fault := self.fault_of_alpha(0):
            raise ValueError(fault)
        if self.method == "bag-without-links" and self.center == "ones":
            raise ValueError("center 'ones' has no zeros for links: use 'identity' with method 'bag-without-links'")
        return self

    def fault_of_alpha(self, n_items: int) -> str:
        """Return what is wrong with alpha in the scale that applies to `n_items` items; empty if nothing is."""
        among_neighbors = self.n_neighbors is not None or n_items > MOST_DENSE
        relative = self.alpha_scale == "relative" or (self.alpha_scale == "auto" and among_neighbors)
        if not relative or self.alpha < 1:
            return ""
        many = n_items > MOST_DENSE and self.n_neighbors is None and self.alpha_scale == "auto"
        why = f", which 'auto' is with more than {MOST_DENSE:,} items" if many else ""
        return f"alpha must be below 1 in the relative scale{why}, got {self.alpha:g}"
