"""A run's outlook in sentences: whose clusters are shown, what answers gain, the ceiling, and how people err."""

from typing import Any

# Below so many questions with two answers agreement says nothing; below so many clear cases error rates do not.
FEWEST_QUESTIONS, FEWEST_CLEAR = 30, 200
# No forecast reaches further than so many answers.
FURTHEST_AHEAD = 800


def of_first_clusters(metrics: dict[str, Any]) -> str:
    """Return which clusters are shown, the fit's or those from before any answer; empty where no run compares them."""
    first = metrics.get("first_clusters")
    if not first:
        return ""
    if not first["shown"]:
        return (
            "From this run on, the clusters shown are those of the fit: new answers were "
            f"{_factor(first['factor'])} times as probable by them as by the clusters from before any answer."
        )
    return (
        "The clusters shown are still those from before any answer, but "
        f"{first['items_as_fitted']:,} items are where answers or edits place them. All are shown as "
        f"fitted once new answers were {_factor(first['needed'])} times as probable by the fit's clusters; so far the "
        f"factor is {_factor(first['factor'])}."
    )


def of_supported_clusters(metrics: dict[str, Any]) -> str:
    """Return that answers support fewer clusters than there are; empty where they do not say so."""
    supported = metrics.get("clusters_supported")
    if not supported or supported["n_clusters"] == metrics["n_clusters"]:
        return ""
    groups = "; ".join(f"{', '.join(map(str, group[:-1]))} and {group[-1]}" for group in supported["alike"])
    return (
        f"The answers so far support {supported['n_clusters']} clusters, not {metrics['n_clusters']}: nearly empty, or "
        f"not told apart by them, are {groups}."
    )


def of_gain(metrics: dict[str, Any]) -> str:
    """Return what the next answers will probably gain; empty where no run says so yet."""
    gains = metrics.get("expected_gain")
    if not gains:
        return ""
    near, far = gains
    moved, later = near["moved"], far["moved"]
    if later["high"] < 1:
        return f"Not even the next {far['answers']} answers will move an item, as far as can be foreseen."
    return (
        f"The next {near['answers']} answers will probably move {moved['median']:,.0f} items to another cluster "
        f"({_range(moved)}), the next {far['answers']} answers {later['median']:,.0f} ({_range(later)}). Of 100 "
        f"answers to random questions the clusters will then predict {_more(near['predicted'])}, or "
        f"{_more(far['predicted'])}."
    )


def of_ceiling(metrics: dict[str, Any]) -> str:
    """Return how much could be predicted at best, by how far people agree; or that too few questions say it."""
    if not metrics.get("n_answers"):
        return ""
    agreement = metrics.get("agreement", {"questions": 0})
    if agreement["questions"] < FEWEST_QUESTIONS:
        return (
            f"How much could be predicted at best is not known: that needs {FEWEST_QUESTIONS} questions which two "
            f"people or more have answered, and there are {agreement['questions']}."
        )
    return (
        f"On {agreement['questions']:,} questions that several people answered, two of them agree "
        f"in {agreement['agreement']:.0%}: no clusters could predict more than about {agreement['ceiling']:.0%}."
    )


def of_errors(metrics: dict[str, Any]) -> str:
    """Return how people err here; empty where too few answers say it."""
    rates = metrics.get("error_rates")
    if not rates or rates["n_clear"] < FEWEST_CLEAR:
        return ""
    return (
        f"People here say “don’t know” in about {rates['unsure']:.0%} of clear cases, name a wrong item in "
        f"{rates['mixed_up']:.0%} of them, and name one in {rates['invented']:.0%} of the cases where none is right."
    )


def _factor(factor: float) -> str:
    if factor > 10_000:
        return "more than 10,000"
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"


def _range(estimate: dict[str, float]) -> str:
    return f"{estimate['low']:,.0f} to {estimate['high']:,.0f}"


def _more(estimate: dict[str, float]) -> str:
    """Return how many more of 100 answers will be predicted, with the interval."""
    return f"{100 * estimate['median']:.1f} more ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f})"
