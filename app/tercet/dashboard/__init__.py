"""The analyst's view of a project: answers, people, runs and clusters, as a page and as JSON.

- summary: the figures of the dashboard.
- labeler: a person who has answered, with figures about their answers.
- tally: the number of answers of each labeler up to an answer number, cached between requests.
- prediction: the share of new answers that the run before them predicted (prequential accuracy).
- map items: the items at given rows of a run's map.
"""
