"""The faults that `benchmarks.mutations` puts in: code moves on, and each has to find its place."""

from benchmarks.mutations import FAULTS, ROOT, check_places


def test_every_fault_has_its_place_and_its_tests() -> None:
    check_places(FAULTS, ROOT)
    assert all((ROOT / path).exists() for fault in FAULTS for path in fault.tests.split())
