"""How sure a posterior should be: the temperature at which it predicts answers that it was not fitted to.

A clustering is surer than right: separation (Eq 8) draws p(y | x) towards 0 and 1, mean field counts dependent evidence
more than once, and clusters that mix classes do not know it. One number for all items mends that on average
(temperature scaling; C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, ICML 2017). The posterior p of an item becomes

    p_T(k) = p(k)^(1/T) / sum_l p(l)^(1/T),

so that its log odds are divided by T and its likeliest cluster stays the likeliest. Classes are not known, but answers
are: with three items independent, those that the posterior was not fitted to have the likelihood

    log L(T) = sum_m w_m log sum_r P(answer_m | pattern r) P_T(pattern r of triplet m).

The temperature is the geometric mean of T under the posterior density, L(T) times a log-normal prior. It changes little
from one answer to the next, and without answers it is that of the prior.
"""

import numpy as np
from scipy.special import log_softmax, softmax

from tercet_algorithms.answers.patterns import Array, answer_probabilities

# Temperatures that are compared, three to each doubling.
TEMPERATURES = np.geomspace(1 / 4, 16, 19)
# The prior of log T: fits are surer than right, by a factor that differs much between projects.
_USUAL, _SPREAD = 1.5, 0.5
# No answer is impossible.
_LEAST = 1e-6


def tempered(posterior: Array, temperature: float) -> Array:
    """Return a posterior (N, K) with its log odds divided by a temperature."""
    logs = np.log(np.maximum(posterior, np.finfo(posterior.dtype).tiny))
    cooled: Array = softmax(logs / posterior.dtype.type(temperature), axis=1)
    return cooled


def log_likelihoods(
    posterior: Array, triplets: Array, columns: Array, table: Array, weights: Array | None = None
) -> Array:
    """Return log L(T) of answers at each of the temperatures, (19,).

    Parameters
    ----------
    posterior : array of shape (N, K)
        Of a fit that had not used these answers.
    triplets : array of int, shape (M, 3)
    columns : array of int, shape (M,)
        The column of each answer in the table.
    table : array of shape (5, A)
        P(answer | pattern).
    weights : array of shape (M,), optional
        How much each answer counts; 1 by default.
    """
    asked, rows = np.unique(triplets, return_inverse=True)
    P = np.asarray(posterior, dtype=np.float64)[asked]
    places, counts = rows.reshape(-1, 3), np.ones(len(columns)) if weights is None else weights
    likelihoods = np.zeros(len(TEMPERATURES))
    for number, temperature in enumerate(TEMPERATURES):
        probabilities = answer_probabilities(tempered(P, temperature), places, table)[np.arange(len(columns)), columns]
        likelihoods[number] = counts @ np.log(np.maximum(probabilities, _LEAST))
    return likelihoods


def temperature_of(likelihoods: Array) -> float:
    """Return the temperature by log L(T) at each of those compared, (19,)."""
    logs = np.log(TEMPERATURES)
    prior = -(((logs - np.log(_USUAL)) / _SPREAD) ** 2) / 2
    shares = np.exp(log_softmax(likelihoods + prior))
    return float(np.exp(shares @ logs))
