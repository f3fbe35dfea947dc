"""What several tests of the E-step compare it with."""

import numpy as np


def messages(field, q, item):
    """The expected log likelihood of all answers about an item in each cluster, up to a constant."""
    terms = slice(*field.messages.first[item : item + 2])
    left, right = q[field.messages.others[terms].T]
    of_left, of_right, of_both = field.messages.weights[terms].T[:, :, np.newaxis]
    return (of_left * left + of_right * right + of_both * left * right).sum(axis=0)
