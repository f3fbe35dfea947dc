"""Every number that pages and the REST interface show: what it is, how it is computed, when to trust it.

`marks` are the names of the "?" beside it on the pages, `fields` those of REST: a test holds that none is missing here.
"""

from typing import NamedTuple


class Number(NamedTuple):
    """One number."""

    title: str
    marks: tuple[str, ...]
    fields: tuple[str, ...]
    what: str
    how: str
    trust: str


NUMBERS = {
    "Answers": (
        Number(
            "Answers",
            ("answers", "run-answers"),
            ("total", "last_hour", "withdrawn", "set_aside", "set_aside_at_once", "n_answers", "answers"),
            "How many answers people and programs gave, “don’t know” included.",
            "Counted from what is stored: withdrawn ones are left out, but not where a project is described over REST, "
            "and of a run also those that were set aside. The last hour goes by when answers were stored, not by when "
            "a labeler without a network gave them.",
            "Always.",
        ),
        Number(
            "Don’t know and median time",
            ("habits",),
            ("dnk_share", "median_ms"),
            "How often a person says “don’t know”, and how long they look.",
            "From the 5,000 newest answers of the project; on the page of answers from each person’s 200 newest. The "
            "time is from when a question is fully shown to the key press, less the time in another window.",
            "Twenty answers give a share to about twenty percent either way. One far from everybody else’s asks "
            "for a word with the person, no more.",
        ),
        Number(
            "Speed, shares of keys, agreement",
            ("people",),
            ("an_hour", "shares", "compared"),
            "How fast a person answers, which keys they press, how far they agree with others.",
            "From each person’s 200 newest answers. Breaks of five minutes and more do not count. Agreement is "
            "with others who got the same question.",
            "Agreement only where questions are asked of several people; the settings say of how many.",
        ),
        Number(
            "Krippendorff’s alpha",
            ("alpha",),
            (),
            "How far people agree beyond chance: 1 is always, 0 as if everybody guessed.",
            "From the newest 20,000 answers that the run used, of questions that several people answered; yes, no "
            "and don’t know are three unordered categories.",
            "The more such questions, the better. A low value says that the question is hard or vague, not that "
            "clusters are wrong.",
        ),
        Number(
            "Agreement and ceiling",
            (),
            ("questions", "agreement", "ceiling"),
            "How often two people agree, and the largest share of answers that any clusters could foresee then.",
            "Of the questions that several people answered, the share of pairs of answers that are the same; the "
            "ceiling is its square root.",
            "From thirty such questions on; below, no ceiling is said.",
        ),
        Number(
            "Probability of an answer",
            ("probability",),
            ("probability", "foreseen"),
            "How probable the run finds an answer: “expected” before any run had used it, “finds” by everything "
            "but itself.",
            "From the posteriors of the three items and the table of how people err.",
            "A small one is a place to look at, not a mistake: on hard items right answers are improbable too.",
        ),
        Number(
            "Expected answers of a person",
            ("expected",),
            ("expected",),
            "The share of a person’s answers that were the most probable ones before any run had used them.",
            "Counted over all of their answers that some run foresaw.",
            "As a comparison of people who got like questions: they are chosen because they are hard, so nobody "
            "reaches 100 %.",
        ),
        Number(
            "Quality of a person",
            ("quality", "counts", "unsure"),
            ("quality", "accuracy", "unsure", "doubt"),
            "How much a person’s answers say about the right ones, how often they are unsure, and how much runs "
            "believe them.",
            "A table of how each person errs is learned from what runs expected before they had used the answers "
            "and from what others answered, drawn to the average where there is little. What is probably "
            "unrelated to the items counts less; below a tenth, answers are held.",
            "The more answers, the better; of those who gave few it is close to the average of all.",
        ),
        Number(
            "Answers to known questions",
            ("known",),
            ("known", "known_right"),
            "How many questions with a known answer a person got right.",
            "An analyst named the right answer, or two or more other people agreed on it.",
            "The most direct of all figures about a person; twenty questions give the share to about twenty "
            "percent either way.",
        ),
        Number(
            "How people err",
            (),
            ("error_rates", "mixed_up", "invented", "n_clear", "n_unclear"),
            "How often people here say “don’t know” in clear cases, name the wrong item, or name one where none "
            "is right.",
            "Learned from the newest 20,000 answers: from what runs that had not used them foresaw, from questions "
            "that several people answered, and from known ones.",
            "From 200 clear cases on. While clusters are wrong, people seem to err more than they do.",
        ),
    ),
    "Whether clusters are right": (
        Number(
            "Answers predicted",
            ("predicted", "run-predicted", "foreseen"),
            (
                "prequential_accuracy",
                "prequential_answers",
                "random_accuracy",
                "random_answers",
                "random_expected",
                "random_accuracy_interval",
            ),
            "The share of new answers that the run before had predicted, before it saw them.",
            "Each answer is compared with the most probable one under the run before. Answers to random questions "
            "are counted apart where there are ten: the others were chosen because they are hard.",
            "The most honest figure there is, since nothing was fitted to these answers. Mind how many they are: "
            "twenty leave about twenty percent of room either way.",
        ),
        Number(
            "Whether to believe the clusters",
            ("believe", "timeline"),
            ("accuracy_curve",),
            "The same over time, with “don’t know” left out, and what guessing would reach.",
            "Each point is the answers between two numbers of answers, its bar the 95 % interval.",
            "When the interval lies above chance. It may stay level while clusters get better, for questions get "
            "harder.",
        ),
        Number(
            "Answers satisfied",
            ("run-satisfied",),
            ("answers_satisfied",),
            "The share of the answers that agree with the clusters.",
            "Counted over all answers, also those that the clusters were fitted to; pages show it of clusterings "
            "that read no answers alone.",
            "Of a clustering that was fitted to answers: never, it is high by nature.",
        ),
        Number(
            "Confidence",
            ("confidence", "run-confidence"),
            ("mean_confidence", "confidence", "temperature"),
            "The largest probability that the model gives an item for any cluster, from 0 to 1.",
            "The posterior of the fit, made as sure as earlier runs were right to be about the newest answers: "
            "its log odds are divided by the temperature.",
            "As a ranking: look at the least certain items first. As a probability where the run has a temperature.",
        ),
        Number(
            "Items moved",
            ("moved", "run-moved"),
            ("items_moved",),
            "Items whose cluster is another one than in the run before.",
            "Clusters of both runs are paired so that as many items as possible stay.",
            "Always. Few that move mean that answers change little, not that clusters are right.",
        ),
        Number(
            "Clusters that the answers support",
            ("supported",),
            ("clusters_supported",),
            "How many of the clusters answers tell apart.",
            "Two count as one if that makes the newest 1,000 answers 20 times as probable, each predicted by all "
            "others; nearly empty ones are joined unless answers are against it.",
            "As what the answers show so far: few answers tell few clusters apart, also of those that are real.",
        ),
        Number(
            "Confused pairs",
            (),
            ("confused_pairs",),
            "Up to three pairs of clusters between which most items are probably in the wrong one.",
            "Items whose two most probable clusters are the pair, and of which neither has 90 %.",
            "As a list of where to look.",
        ),
        Number(
            "First clusters",
            ("first-clusters",),
            ("first_clusters",),
            "Whether the clusters shown are still those from before the first answers, and how far the fit has come.",
            "Answers that are new to a run are predicted by both; once the fit’s clusters have made them "
            "10,000 times as probable, they are shown.",
            "Always: it keeps a few wrong answers from making clusters worse.",
        ),
        Number(
            "Score of a number of clusters",
            ("curve",),
            ("clusters_curve",),
            "How well clusters of each number predict answers that were held out.",
            "Answers are divided into folds, each predicted from the others; the bar is one standard error. The "
            "smallest number within one standard error of the best is chosen.",
            "The shape, more than the height: a flat top says that several numbers are as good.",
        ),
    ),
    "What comes next": (
        Number(
            "Next run",
            ("next",),
            ("after_answers",),
            "After how many answers, or when, the next run starts.",
            "The rule in the settings: after so many answers, or so many seconds after the last one, never later "
            "than a longest time after the first.",
            "Always; other projects’ runs may come first.",
        ),
        Number(
            "What further answers would change",
            ("gain",),
            ("expected_gain", "levels_off"),
            "How many items 50 or 200 more answers would move, how many more answers would be predicted, and "
            "after how many it levels off.",
            "From the run’s posteriors, corrected by what earlier answers of this project did, newer ones "
            "counting most; in brackets is an 80 % interval. Level is where 50 answers move fewer than one item "
            "in a hundred.",
            "The order of magnitude. It knows of earlier answers alone: where people begin to answer otherwise, "
            "it does not hold.",
        ),
        Number(
            "Clusters of another number",
            ("resolution",),
            (),
            "Clusters of any number, and the one that is suggested.",
            "Cut from what SKLR learned of how similar items are; suggested is the number after which the learned "
            "similarity has its largest ratio of one eigenvalue to the next.",
            "As a suggestion: several numbers can be right at once.",
        ),
        Number(
            "Time of a run",
            ("run-seconds",),
            ("seconds", "progress", "n_iter", "converged", "lower_bound", "warm_start", "searched_answers"),
            "How long a run took, and how its fit ended.",
            "From its start to its end, waiting for a worker included. The lower bound is what DCRC maximizes (Eq "
            "10); it compares only runs of the same parameters and answers.",
            "Times depend on the machine and on what else it does.",
        ),
    ),
    "Other clusterings": (
        Number(
            "What clusterings share",
            ("matrix", "shared", "told-"),
            (),
            "How much one grouping says about another: 0 is nothing, 1 or 100 % everything.",
            "Mutual information, in bits, or divided by the mean of the entropies and corrected for chance. What a run "
            "tells of a clustering that it avoids is divided by that one’s entropy, and not corrected.",
            "Small groupings share some by chance; the pages say how much.",
        ),
        Number(
            "Comparison of systems",
            ("log-score", "held-out", "stability", "seconds"),
            (),
            "How well each system predicts answers that were held out, and how alike its clusters are from seed "
            "to seed.",
            "The mean log probability of held-out answers, 0 being certainty, and the share of them that were the "
            "most probable ones; the mean of adjusted Rand indices between fits. The time is that of one fit to all "
            "answers.",
            "Differences larger than their intervals. A stable system can be stably wrong.",
        ),
        Number(
            "Map",
            ("map",),
            ("x", "y"),
            "Where each item lies: similar ones close together.",
            "Two coordinates from the features and the clusters; the axes have no meaning of their own.",
            "Neighbours, more than distances between far groups.",
        ),
        Number(
            "Sizes",
            (),
            ("n_items", "n_clusters", "size", "n_features"),
            "How many items, clusters, items of a cluster, and numbers for each item there are.",
            "Counted; items that are set aside are left out.",
            "Always.",
        ),
    ),
}
