"""Callbacks of fits under test."""

from tercet_algorithms import StopFit


class StopAt:
    """Stops a fit at the first state for which `when` holds, by default at once; keeps the states that it saw."""

    def __init__(self, when=lambda state: True):
        self.when = when
        self.states = []

    def __call__(self, state):
        self.states.append(state)
        if self.when(state):
            raise StopFit
