// The numbers that loops in C compute with: each loop is compiled for single and for double precision (see compiled.py).
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef SINGLE
typedef float real;
typedef int32_t bits;
enum { FRACTION = 23, BIAS = 127, N_TERMS = 7 };
// log 2 in two parts, the first with bits to spare, so that its product with an integer is exact.
static const real LOG_2[] = {0.693359375f, -2.1219444005469058e-04f};
#else
typedef double real;
typedef int64_t bits;
enum { FRACTION = 52, BIAS = 1023, N_TERMS = 12 };
static const real LOG_2[] = {0.693145751953125, 1.4286068203094173e-06};
#endif

typedef ptrdiff_t index;

// 1 / n!
static const double INVERSE_FACTORIALS[] = {
    1., 1., 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800,
    1. / 39916800, 1. / 479001600,
};

// e**x of x <= 0, but for its last bit or two; 0 where it would be subnormal.
//
// The C library's takes one number at a time; no other part of an evaluation of the bound took as long. This one is
// plain arithmetic, which the compiler turns into instructions for several numbers at once. With x = n log 2 + r it is
// 2**n e**r, where |r| <= log(2) / 2 needs few terms of the series.
static inline real exponential(real x) {
// The order of the steps matters here, whatever order sums may take in the loops around.
#pragma clang fp reassociate(off)
    const real least = (real)((2 - BIAS) * 0.69314718055994531), log2_e = (real)1.4426950408889634;
    // Adding this number leaves no bits for a fraction, which rounds to the integer n. The last bits of the sum are then
    // n + bias; shifted to where a real number keeps its exponent, they are 2**n.
    const real rounding = (real)1.5 * ((bits)1 << FRACTION) + BIAS;
    const real within = x > least ? x : least;
    const real shifted = within * log2_e + rounding, n = shifted - rounding;
    const real r = within - n * LOG_2[0] - n * LOG_2[1];
    real of_rest = 0;
    for (int term = N_TERMS; term >= 0; term--) of_rest = of_rest * r + (real)INVERSE_FACTORIALS[term];
    union { real as_real; bits as_bits; } power = {.as_real = shifted};
    power.as_bits = (bits)((uint64_t)power.as_bits << FRACTION);
    return x >= least ? of_rest * power.as_real : 0;
}
