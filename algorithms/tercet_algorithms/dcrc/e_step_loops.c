// The loops of the E-step, one item and one answer at a time. What the arguments are is said in e_step_loops.py.
#include "../common/real.h"
#include "e_step_loops.h"

// The terms of the message to each item, item after item.
typedef struct {
    const int32_t *first;       // (n + 1) where the terms of an item begin
    const int32_t (*others)[2]; // (3 M) the other two items of each triplet that it is in
    const real (*weights)[3];   // (3 M) coefficients of their two posteriors and of the product of both
} Messages;

// Add to `logits` (K) the expected log likelihood of all answers about an item, up to a constant.
static void add_messages(index item, index K, const real *restrict q, const Messages *messages, real *restrict logits) {
    for (index n = messages->first[item]; n < messages->first[item + 1]; n++) {
        const real *left = q + messages->others[n][0] * K, *right = q + messages->others[n][1] * K;
        const real *weights = messages->weights[n], of_left = weights[0], of_right = weights[1], of_both = weights[2];
        for (index k = 0; k < K; k++)
            logits[k] += of_left * left[k] + of_right * right[k] + of_both * left[k] * right[k];
    }
}

static real largest_of(index K, const real *values) {
    real largest = values[0];
    for (index k = 1; k < K; k++) largest = values[k] > largest ? values[k] : largest;
    return largest;
}

// Set `logits` (K) to `log_p` for clusters whose message is within `tie` of the largest, else to -inf (Eq 14).
static void rule_out(index K, const real *log_p, double tie, real *logits) {
    const double least = largest_of(K, logits) - tie;
    for (index k = 0; k < K; k++) logits[k] = logits[k] >= least ? log_p[k] : -INFINITY;
}

// Store the softmax of `logits` (K) as the posterior of an item; return its largest change.
static real store_softmax(index K, real *restrict posterior, real *restrict logits) {
    const real largest = largest_of(K, logits);
    real total = 0, change = 0;
    for (index k = 0; k < K; k++) {
        logits[k] = exponential(logits[k] - largest);
        total += logits[k];
    }
    const real share = 1 / total;
    for (index k = 0; k < K; k++) {
        const real updated = share * logits[k], moved = updated > posterior[k] ? updated - posterior[k]
                                                                               : posterior[k] - updated;
        change = moved > change ? moved : change;
        posterior[k] = updated;
    }
    return change;
}

// Update an item (Eq 13, or Eq 14 when hard); return the largest change of its posterior.
static real update(index item, index K, real *q, const real *log_p, const Messages *messages, int hard, double tie,
                   real *logits) {
    for (index k = 0; k < K; k++) logits[k] = hard ? 0 : log_p[item * K + k];
    add_messages(item, K, q, messages, logits);
    if (hard) rule_out(K, log_p + item * K, tie, logits);
    return store_softmax(K, q + item * K, logits);
}

// After the first sweep an item is updated only if a neighbour has moved, since its update depends on nothing else; of
// many items all but a few settle in the first sweep.
index settle(index n_items, index K, real *q, const real *log_p, const int32_t *first, const int32_t (*others)[2],
             const real (*weights)[3], int hard, double tie, double tol, index max_sweeps, uint8_t *to_do,
             real *logits) {
    const Messages messages = {first, others, weights};
    for (index item = 0; item < n_items; item++) to_do[item] = 1;
    for (index sweep = 0; sweep < max_sweeps; sweep++) {
        int moved = 0;
        for (index item = 0; item < n_items; item++) {
            if (!to_do[item]) continue;
            to_do[item] = 0;
            if (update(item, K, q, log_p, &messages, hard, tie, logits) < tol) continue;
            moved = 1;
            for (index n = first[item]; n < first[item + 1]; n++) to_do[others[n][0]] = to_do[others[n][1]] = 1;
        }
        if (!moved) return sweep + 1;
    }
    return max_sweeps;
}

double expected_log_likelihood(index M, index K, const real *q, const int32_t (*triplets)[3], const real (*linear)[3],
                               const real *product) {
    double total = 0;
    for (index m = 0; m < M; m++) {
        const real *anchor = q + triplets[m][0] * K, *left = q + triplets[m][1] * K, *right = q + triplets[m][2] * K;
        const real without_anchor = linear[m][0], without_left = linear[m][1], without_right = linear[m][2];
        for (index k = 0; k < K; k++) {
            const real both = left[k] * right[k];
            const real about_anchor = product[m] * both + without_right * left[k] + without_left * right[k];
            total += anchor[k] * about_anchor + without_anchor * both;
        }
    }
    return total;
}
