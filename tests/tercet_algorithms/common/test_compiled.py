"""Loops are compiled wherever Tercet is installed."""

from tercet_algorithms.common.compiled import compiled


def test_a_loop_whose_machine_code_cannot_be_kept_is_compiled_all_the_same():
    unsaved = {}
    exec("def double(x):\n    return 2 * x", unsaved)  # numba keeps machine code beside the file, and there is none
    double = compiled(unsaved["double"])
    assert double(4) == 8
    assert double.nopython_signatures
