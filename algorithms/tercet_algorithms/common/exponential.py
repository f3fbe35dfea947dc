"""The exponential that the loops of softmax and E-step are made of.

The C library's takes one number at a time, and so does numpy's in double precision on processors without AVX-512;
no other part of an evaluation of the bound took as long. This one is plain arithmetic, which the compiler turns into
instructions for several numbers at once.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

Exponential = Callable[[float], float]


def exponential(x: float) -> float:
    """Return e**x of x <= 0 in the precision of x, but for its last bit or two; 0 where it would be subnormal."""
    return math.exp(x)


# The order of the steps matters here, whatever order sums may take in the loops around.
@overload(exponential, jit_options={"fastmath": {"contract"}}, strict=False)
def _compiled_exponential(x: types.Type) -> Exponential:
    return _single if x == types.float32 else _double


def _series(real: Any, whole: Any, fraction: int, log_2: tuple[float, float], n_terms: int) -> Exponential:
    """Return the exponential for reals with so many bits of fraction; `whole` is the integer type of that width.

    With x = n log 2 + r it is 2**n e**r, where |r| <= log(2) / 2 needs few terms of the series. `log_2` is in two
    parts, the first with bits to spare, so that its product with n is exact.
    """
    bias = np.finfo(real).maxexp - 1
    least, zero = real((2 - bias) * math.log(2)), real(0)
    log2_e, first, second = real(1 / math.log(2)), real(log_2[0]), real(log_2[1])
    # Adding this number leaves no bits for a fraction, which rounds to the integer n. The last bits of the sum are then
    # n + bias; shifted to where a float keeps its exponent, they are the float 2**n.
    rounding = real(1.5 * 2**fraction + bias)
    terms = tuple(real(1 / math.factorial(n)) for n in range(n_terms, -1, -1))

    def exponential(x: float) -> float:
        within = max(x, least)
        shifted = within * log2_e + rounding
        n = shifted - rounding
        r = within - n * first - n * second
        of_rest: float = zero
        for term in terms:
            of_rest = of_rest * r + term
        power: float = whole(real(shifted).view(whole) << fraction).view(real)
        return of_rest * power if x >= least else zero

    return exponential


_single = _series(np.float32, np.int32, 23, (0.693359375, -2.1219444005469058e-04), 7)
_double = _series(np.float64, np.int64, 52, (0.693145751953125, 1.4286068203094173e-06), 12)
