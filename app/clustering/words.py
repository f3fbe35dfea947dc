"""A run in two sentences: what the algorithm did with which answers, and what the run's numbers mean."""

from app.clustering.schemas import RunOut
from app.models import RunStatus

SCORES = {"log_score": "the mean log probability of such an answer, 0 at best", "accuracy": "the share foretold"}


def describe(run: RunOut) -> str:
    """Say what a run that is done did; empty for one that is not, or whose metrics say too little."""
    if run.status != RunStatus.DONE or "lower_bound" not in run.metrics:
        return ""
    return {"dcrc": _dcrc, "dcrc-cv": _dcrc_cv, "sklr": _sklr}[run.algorithm](run)


def _dcrc(run: RunOut) -> str:
    return (
        f"DCRC {_began(run)} and fitted {_clusters(run)}{_ended(run)}. "
        f"Its bound, {run.metrics['lower_bound']:.4g}, is higher the better clusters and answers fit, and compares "
        "only runs of the same parameters and answers; confidence is the probability that the model gives an item's "
        "cluster."
    )


def _dcrc_cv(run: RunOut) -> str:
    chosen, score = run.metrics["chosen"], run.metrics["held_out_score"]
    values = ", ".join(f"{name} {chosen[name]:.3g}" for name in ("epsilon", "tau", "lam"))
    kept = "kept the parameters of the last search" if run.metrics["warm_start"] else "chose parameters"
    did = f"DCRC {kept} ({values}) and fitted {_clusters(run)}{_ended(run)}."
    if score is None:
        return f"{did} There were too few answers to hold some back, so parameters near the defaults were taken."
    return f"{did} Answers held back in the search had a score of {score:.3f}: {SCORES[run.parameters['scoring']]}."


def _sklr(run: RunOut) -> str:
    metrics = run.metrics
    against = "" if metrics["feasible"] else " The answers contradict each other, so they were not taken as certain."
    return (
        f"SKLR {_began(run)}, learned from {_answers(run)} how similar items are, as a kernel of "
        f"{metrics['rank']:,} dimensions, and cut {metrics['n_clusters']:,} clusters in it{_ended(run)}. "
        f"Its divergence, {metrics['divergence']:.4g}, is how far answers bent the kernel of the features, 0 not at "
        "all; confidence says how much nearer an item is to the middle of its own cluster than to the others."
        f"{against}"
    )


def _began(run: RunOut) -> str:
    return "went on from the run before" if run.metrics["warm_start"] else "began from nothing"


def _clusters(run: RunOut) -> str:
    return f"{run.metrics['n_clusters']:,} clusters to {run.metrics['n_items']:,} items and {_answers(run)}"


def _answers(run: RunOut) -> str:
    count = run.metrics["n_answers"]
    return f"{count:,} answer{'' if count == 1 else 's'}"


def _ended(run: RunOut) -> str:
    return "" if run.metrics["converged"] else ", without converging in the iterations allowed"
