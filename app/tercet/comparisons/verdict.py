"""The verdict of a comparison in sentences: which system is recommended, why, and how sure that is."""

from typing import Any

from tercet.catalogue.compared_systems import KMEANS, LEAST_ANSWERS


def sentence(metrics: dict[str, Any], titles: dict[str, str]) -> str:
    """Return what the figures mean; empty for a comparison that is not done."""
    if "systems" not in metrics:
        return ""
    if "recommended" not in metrics:
        return _too_few(metrics["n_answers"])
    rows = {row["name"]: row for row in metrics["systems"]}
    best = rows[metrics["recommended"]]
    sentences = [_best(best, metrics["n_answers"], titles)]
    for rival in metrics["rivals"]:
        is_plain = rival["name"] == KMEANS
        sentences.append(_baseline(rival) if is_plain else _lead(rival, best, rows[rival["name"]], titles))
    if metrics["guess_log_score"] >= best["held_out_log_score"]:
        sentences.append(
            "Guessing by the frequencies of the answers is better still: these clusters do not explain the answers. "
            "Check the number of clusters and the labelers."
        )
    return " ".join(part for part in sentences if part)


def _too_few(answers: int) -> str:
    beginning = "There are no answers" if not answers else f"There are too few answers, {answers}"
    return f"{beginning}: with fewer than {LEAST_ANSWERS} any difference would be luck, so no system is recommended."


def _best(row: dict[str, Any], answers: int, titles: dict[str, str]) -> str:
    return (
        f"{titles[row['name']]} predicts answers best: of {answers:,} that its fits had not seen it predicted "
        f"{row['held_out_accuracy']:.0%}, with a mean log probability of {row['held_out_log_score']:.3f}."
    )


def _lead(rival: dict[str, Any], best: dict[str, Any], row: dict[str, Any], titles: dict[str, str]) -> str:
    lead, error = rival["lead"], rival["standard_error"]
    ahead = f"It is {lead:.3f} ahead of {titles[row['name']]}"
    if lead > error:
        return f"{ahead}, more than the standard error of that difference ({error:.3f}), so it is worth having."
    times = best["seconds"] / max(row["seconds"], 1e-9)
    quicker = f" The other is {times:.1f} times as fast." if times > 1.5 else ""
    return (
        f"{ahead}, which is within the standard error of that difference ({error:.3f}): it may be luck, so speed or "
        f"stability may as well decide.{quicker}"
    )


def _baseline(rival: dict[str, Any]) -> str:
    lead, error = rival["lead"], rival["standard_error"]
    if lead > error:
        return ""
    how = "better" if lead < -error else "as good"
    return (
        f"But plain K-means, which reads no answers, is {how} ({lead:+.3f}, with a standard error of {error:.3f}): "
        "so far these answers say little that the features do not."
    )
