"""Computes a comparison run: which system predicts held-out answers best.

`fits.py` makes all fits and stores what each found; `figures.py` turns that into the run's metrics.

- fold: a part of the answers, held out together; each fold is predicted by a fit to the others.
- seed: the random seed of a fit to all answers; fits with other seeds show how much of a result is luck.
- planned fit: one fit of one system, for a fold or for a seed.
- give way: stop for another run of the project that people wait for, and queue again.
"""
