"""Checks that take minutes together: `pytest benchmarks/checks`. They share the fixtures of the tests."""

from tests.conftest import *  # noqa: F403
