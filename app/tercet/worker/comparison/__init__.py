"""The job of a comparison run: which system serves a project best, judged by answers that its fits have not seen.

`fits.py` makes all fits and stores what each found; `figures.py` turns that into the run's metrics.

- fold: a part of the answers, held out together; each fold is predicted by a fit to the others.
- seed: the random seed of a fit to all answers; fits with other seeds show how much of a result is luck.
- planned fit: one fit of one system, for a fold or for a seed.
- give way: leave the workers to another run of the project that people wait for, and queue again.
"""
