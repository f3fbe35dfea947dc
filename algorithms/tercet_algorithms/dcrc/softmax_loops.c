// The softmax of many items and its gradient, a few items at a time, so that these fit the processor's cache.
// What the arguments are is said in softmax_loops.py.
#include "../common/real.h"
#include "softmax_loops.h"

// This many items at a time fit the fastest cache of a processor.
enum { TILE = 512 };

static index smaller(index left, index right) { return left < right ? left : right; }

// Store one cluster's p (n), not yet normalised, and add it to the sum over the clusters.
static void exponentiate(index n, const real *restrict logit, const real *restrict largest, real *restrict p,
                         real *restrict total) {
    for (index i = 0; i < n; i++) {
        p[i] = exponential(logit[i] - largest[i]);
        total[i] += p[i];
    }
}

// Store one cluster's p and log p (n); return the sum of p.
static real normalise(index n, const real *restrict logit, const real *restrict largest, const real *restrict share,
                      const real *restrict log_total, real *restrict p, real *restrict log_p) {
    real mass = 0;
    for (index i = 0; i < n; i++) {
        p[i] *= share[i];
        mass += p[i];
        log_p[i] = logit[i] - largest[i] - log_total[i];
    }
    return mass;
}

void softmax(index K, index n, index N, index start, const real *logits, const real *largest, real *P, real *log_p,
             double *mass) {
    for (index first = 0; first < n; first += TILE) {
        const index size = smaller(TILE, n - first), begin = start + first;
        real total[TILE] = {0}, log_total[TILE];
        for (index k = 0; k < K; k++)
            exponentiate(size, logits + k * n + first, largest + first, P + k * N + begin, total);
        for (index i = 0; i < size; i++) {
            log_total[i] = (real)log(total[i]);
            total[i] = 1 / total[i];
        }
        for (index k = 0; k < K; k++)
            mass[k] += normalise(size, logits + k * n + first, largest + first, total, log_total, P + k * N + begin,
                                 log_p + k * N + begin);
    }
}

// Add one cluster's p (scale log p + pull) (n) to the mean over clusters; return the sum of scale p log p.
static real add_weighted(index n, const real *restrict p, const real *restrict log_p, const real *restrict scale,
                         real pull, real *restrict mean) {
    real total = 0;
    for (index i = 0; i < n; i++) {
        total += scale[i] * p[i] * log_p[i];
        mean[i] += p[i] * (scale[i] * log_p[i] + pull);
    }
    return total;
}

// Write the derivative with respect to one cluster's logits (n).
static void chain(index n, const real *restrict p, const real *restrict log_p, const real *restrict scale, real pull,
                  const real *restrict mean, real *restrict derivative) {
    for (index i = 0; i < n; i++) derivative[i] = p[i] * (scale[i] * log_p[i] + pull - mean[i]);
}

// Through the softmax a derivative d by p becomes p (d - sum_k p d).
double derivatives(index K, index n, index N, index start, const real *P, const real *log_p, const real *scale,
                   const real *pull, real *out) {
    double value = 0;
    for (index first = 0; first < n; first += TILE) {
        const index size = smaller(TILE, n - first), begin = start + first;
        real mean[TILE] = {0};
        for (index k = 0; k < K; k++)
            value += add_weighted(size, P + k * N + begin, log_p + k * N + begin, scale + first, pull[k], mean);
        for (index k = 0; k < K; k++)
            chain(size, P + k * N + begin, log_p + k * N + begin, scale + first, pull[k], mean, out + k * n + first);
    }
    return value;
}

void exponentials(index n, const real *x, real *out) {
    for (index i = 0; i < n; i++) out[i] = exponential(x[i]);
}
