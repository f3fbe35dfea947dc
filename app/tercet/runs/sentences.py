"""A run in sentences: what the algorithm did with which answers, what its numbers mean, whose clusters are shown."""

from tercet.features.recipes import KINDS, PLUGIN
from tercet.models import RunStatus
from tercet.runs import outlook
from tercet.runs.schemas import RunOut

REASONS = {"answers": "new answers", "features": "new features", "request": "asked for", "adopted": "restored"}
# For a run that leaves the current clustering alone, its purpose says more than its reason.
PURPOSES = {"alternative": "another clustering", "comparison": "comparison"}
SCORES = {"log_score": "the mean log probability of such an answer, 0 at best", "accuracy": "the share predicted"}

# What the candidates of DCRC go by.
STRUCTURES = {
    "features": "A model of the features",
    "graph": "A model of the features and of a graph of neighbours",
}


def why(run: RunOut) -> str:
    """Return why a run was made, in a few words: its name, if it has one."""
    return run.name or PURPOSES.get(run.purpose) or REASONS.get(run.reason, run.reason)


def restored(run: RunOut | None, algorithm: str) -> str:
    """Return that clusters are those of an earlier run, and what becomes of them; empty where they are not."""
    source = None if run is None else run.metrics.get("adopted_from")
    if source is None:
        return ""
    further = "goes on from them and learns from all answers"
    if algorithm != "dcrc":  # the others have no clusters to begin from
        further = "is computed anew from all answers, and may look otherwise"
    return f"These are the clusters of run {source}, restored. The next run {further}."


def describe(run: RunOut) -> str:
    """Return what a finished run did, in sentences; empty if it has not ended well or its metrics say too little."""
    if run.status != RunStatus.DONE or "n_iter" not in run.metrics:
        return ""
    about_clusters = outlook.of_supported_clusters(run.metrics), outlook.of_first_clusters(run.metrics)
    parts = (DESCRIPTIONS[run.algorithm](run), *about_clusters)
    return " ".join(part for part in parts if part)


def _dcrc(run: RunOut) -> str:
    return (
        f"{_points(run)}DCRC {_began(run)} and fitted {_clusters(run)}{_ended(run)}. {_structure(run)}"
        f"Its bound, {run.metrics['lower_bound']:.4g}, is higher the better clusters and answers fit, and compares "
        "only runs of the same parameters and answers; confidence is the probability that the model gives an item's "
        f"cluster{_temperature(run)}."
    )


def _temperature(run: RunOut) -> str:
    """Return what was done to the model's probabilities; empty for runs from before that was done."""
    temperature = run.metrics.get("temperature")
    if temperature is None:
        return ""
    return f", with its log odds divided by {temperature:.2g}: as sure as runs foresaw the newest answers"


def _points(run: RunOut) -> str:
    """Return what was learned from the answers of where items lie; empty where runs go by features."""
    dimensions = run.metrics.get("learned_dimensions")
    if not dimensions:
        return ""
    beside = "beside their features" if run.parameters.get("cluster_by") == "both" else "and features were not used"
    return f"Points in {dimensions} dimensions, where items lie, were learned from the answers, {beside}. "


def _structure(run: RunOut) -> str:
    """Return which candidate predicted answers best that were held out for it; empty where none were weighed."""
    weights = run.metrics.get("candidate_weights", {})
    if list(weights) in ([], ["features"]):
        return ""
    best = max(weights, key=lambda name: weights[name])
    share = f", and counts {weights[best]:.0%} beside others" if len(weights) > 1 else ""
    return f"{_words_of(best)} predicts answers best here{share}. "


def _words_of(candidate: str) -> str:
    """Return what a candidate goes by; it has the name of the group of features where it sees no others."""
    if candidate in STRUCTURES:
        return STRUCTURES[candidate]
    if candidate in KINDS:
        return f"A model of {KINDS[candidate].words.format(n='the numbers')} alone"
    return f"A model of the numbers from the plug-in “{candidate.removeprefix(PLUGIN)}” alone"


def _dcrc_cv(run: RunOut) -> str:
    chosen, score = run.metrics["chosen"], run.metrics["held_out_score"]
    values = ", ".join(f"{name} {chosen[name]:.3g}" for name in ("epsilon", "tau", "lam"))
    choice = "kept the parameters of the last search" if run.metrics["warm_start"] else "chose parameters"
    fit = f"DCRC {choice} ({values}) and fitted {_clusters(run)}{_ended(run)}."
    if score is None:
        return f"{fit} There were too few answers to hold some back, so parameters near the defaults were taken."
    return f"{fit} Held-out answers of the search had a score of {score:.3f}: {SCORES[run.parameters['scoring']]}."


def _sklr(run: RunOut) -> str:
    metrics = run.metrics
    against = "" if metrics["feasible"] else ", taken with doubt as they contradict each other,"
    return (
        f"SKLR {_began(run)}, learned from {_answers(run)}{against} how similar items are, as a kernel of "
        f"{metrics['rank']:,} dimensions, and cut {metrics['n_clusters']:,} clusters in it{_ended(run)}. "
        f"Its divergence, {metrics['divergence']:.4g}, is how far answers bent the kernel of the features, 0 not at "
        "all; confidence says how much nearer an item is to the middle of its own cluster than to the others."
    )


def _cmbc(run: RunOut) -> str:
    metrics, known_nmi = run.metrics, run.metrics["known_nmi"]
    n_found, n_clusters = metrics["clusters_found"], metrics["n_clusters"]
    fewer = "" if n_found == n_clusters else f" of the {n_clusters:,} asked for"
    unlike = f"unlike {listed(list(known_nmi))}" if known_nmi else "with nothing known to differ from"
    shares = [f"{share:.0%} of {name}" for name, share in known_nmi.items()]
    tells = f"Knowing its clusters tells {listed(shares)}, where 0% is nothing at all; confidence" if known_nmi else ""
    return (
        f"CMBC ({run.parameters['method']}) put {metrics['n_items']:,} items into {n_found:,}{fewer} clusters {unlike}"
        f"{_ended(run)}; it read no answers. {tells or 'Confidence'} is the probability that the model gives an "
        "item's cluster, surer than it should be where features go together."
    )


def _bags(run: RunOut) -> str:
    metrics = run.metrics
    labels = f" and {_bag_labels(run)}" if metrics.get("n_labelled_bags") else ""
    return (
        f"Spectral clustering cut {metrics['n_clusters']:,} clusters by the features of {metrics['n_items']:,} items"
        f"{labels}{_ended(run)}; it read no answers. Confidence says how near an item is to the middle of its own "
        "cluster among the eigenvectors."
    )


def listed(names: list[str]) -> str:
    """Return names as a list in a sentence: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _bag_labels(run: RunOut) -> str:
    bags, labels = run.metrics["n_labelled_bags"], run.metrics["n_bag_labels"]
    return f"{labels:,} label{'' if labels == 1 else 's'} of {bags:,} bag{'' if bags == 1 else 's'}"


def _began(run: RunOut) -> str:
    return "went on from the run before" if run.metrics["warm_start"] else "began from nothing"


def _clusters(run: RunOut) -> str:
    learned = [f"{run.metrics['n_items']:,} items", _answers(run)]
    if run.metrics.get("n_labelled_bags"):
        learned.insert(1, _bag_labels(run))
    return f"{run.metrics['n_clusters']:,} clusters to {listed(learned)}"


def _answers(run: RunOut) -> str:
    count = run.metrics["n_answers"]
    return f"{count:,} answer{'' if count == 1 else 's'}"


def _ended(run: RunOut) -> str:
    return "" if run.metrics["converged"] else ", without converging in the iterations allowed"


DESCRIPTIONS = {"dcrc": _dcrc, "dcrc-cv": _dcrc_cv, "sklr": _sklr, "cmbc": _cmbc, "bags": _bags}
