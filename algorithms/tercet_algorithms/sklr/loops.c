// The loops of SKLR. What the arguments are is said in loops.py.
#include "../common/real.h"
#include "loops.h"

void add_differences(index n_pairs, index s, const double *rows, const int64_t *i, const int64_t *j,
                     const double *weights, double *out) {
    for (index pair = 0; pair < n_pairs; pair++) {
        if (weights[pair] == 0) continue;
        const double *first = rows + i[pair] * s, *second = rows + j[pair] * s;
        double *of_first = out + i[pair] * s, *of_second = out + j[pair] * s;
        for (index column = 0; column < s; column++) {
            const double difference = weights[pair] * (first[column] - second[column]);
            of_first[column] += difference;
            of_second[column] -= difference;
        }
    }
}

void difference_products(index n_pairs, index s, const real *left, const real *right, const int64_t *i,
                         const int64_t *j, real *out) {
    for (index pair = 0; pair < n_pairs; pair++) {
        const real *left_i = left + i[pair] * s, *left_j = left + j[pair] * s;
        const real *right_i = right + i[pair] * s, *right_j = right + j[pair] * s;
        real total = 0;
        for (index column = 0; column < s; column++)
            total += (left_i[column] - left_j[column]) * (right_i[column] - right_j[column]);
        out[pair] = total;
    }
}

void fill_symmetric(index n_items, index n, const double *upper, const int64_t *items, double *K) {
    for (index i = 0; i < n_items; i++)
        for (index j = i; j < n_items; j++)
            K[i * n_items + j] = K[j * n_items + i] = upper[items[i] * n + items[j]];
}

// C_c is g xx' - h yy' with the differences x = a - b and y = a - e, so an entry follows from the squares of the four
// inner products between the differences of c and those of d.
void fill_curvature(index w, index n, const double *K, const int64_t (*places)[3], const double *g, const double *h,
                    double *H, double *of_x, double *of_y) {
    for (index c = 0; c < w; c++) {
        const double *a = K + places[c][0] * n, *b = K + places[c][1] * n, *e = K + places[c][2] * n;
        for (index i = 0; i < n; i++) {
            of_x[i] = a[i] - b[i];
            of_y[i] = a[i] - e[i];
        }
        for (index d = c; d < w; d++) {
            const int64_t *of_d = places[d];
            const double xx = of_x[of_d[0]] - of_x[of_d[1]], xy = of_x[of_d[0]] - of_x[of_d[2]];
            const double yx = of_y[of_d[0]] - of_y[of_d[1]], yy = of_y[of_d[0]] - of_y[of_d[2]];
            const double of_g = g[d] * xx * xx - h[d] * xy * xy, of_h = g[d] * yx * yx - h[d] * yy * yy;
            H[c * w + d] = g[c] * of_g - h[c] * of_h;
        }
    }
}

// Constraints g d(a, b) - h d(a, e) <= t, grouped by the three items i, j, k that they involve (Terms in loops.py).
typedef struct {
    const int64_t *starts, *number;
    const double *g, *h, *t;
    const int64_t *ab, *ae;
    const double *low, *high;
    const uint8_t *only_violated;
} Terms;

// The entries (uu, uv, vv) of a symmetric matrix in the plane of the differences u and v of a triple.
typedef struct {
    double uu, uv, vv;
} Plane;

// The multiplier of a constraint that no kernel meets; learning then ends because the dual is unbounded.
static const double UNBOUNDED_STEP = 1e12;
// Rounds over the constraints on one triple.
enum { ROUNDS = 2 };

// Return by how much a multiplier must move for its constraint to hold with equality.
static double best_step(double near, double excess, double t, double area) {
    if (t != 0) // a link, which has no second distance: near / (1 + alpha near) = t
        return near != 0 ? 1 / t - 1 / near : 0;
    if (2 * area <= fabs(excess) / UNBOUNDED_STEP) return copysign(UNBOUNDED_STEP, excess);
    return excess / (2 * area);
}

static double between(double low, double value, double high) {
    return value < low ? low : value > high ? high : value;
}

// Project in turn on the constraints of a triple with p = u'u, s = u'v and q = v'v under the learned kernel.
//
// A multiplier moves `relaxation` times as far as to its optimum; that of a link, which is no parabola, once. Return the
// change of Z'AZ in the plane of u and v, and add to the gain of f. `lam` is changed in place.
static Plane project(index triple, const Terms *terms, double *lam, double relaxation, double p, double s, double q,
                     double *gain) {
    Plane change = {0, 0, 0};
    for (int round = 0; round < ROUNDS; round++) {
        int n_moved = 0;
        for (index term = terms->starts[triple]; term < terms->starts[triple + 1]; term++) {
            const double g = terms->g[term], h = terms->h[term], t = terms->t[term];
            const int64_t ab = terms->ab[term], ae = terms->ae[term];
            const double distances[] = {p, q, p + q - 2 * s};
            const double near = g * distances[ab], excess = near - h * distances[ae];
            if (terms->only_violated[term] && excess <= t) continue; // an earlier projection has satisfied it
            const double before = lam[terms->number[term]], area = p * q - s * s;
            const double step = best_step(near, excess, t, g * h * area) * (t == 0 ? relaxation : 1);
            const double after = between(terms->low[term], before + step, terms->high[term]), alpha = after - before;
            if (alpha == 0) continue;
            n_moved++;
            lam[terms->number[term]] = after; // before + alpha may miss the bound by rounding
            const double determinant = 1 + alpha * excess - alpha * alpha * g * h * area;
            *gain += log(determinant) - alpha * t;
            const double of_u = alpha * (g * (ab == 0) - h * (ae == 0)), of_v = alpha * (g * (ab == 1) - h * (ae == 1));
            const double of_both = alpha * (g * (ab == 2) - h * (ae == 2));
            const double a = of_u + of_both, b = -of_both, d = of_v + of_both;
            change = (Plane){change.uu + a, change.uv + b, change.vv + d};
            p = (p + area * d) / determinant;
            s = (s - area * b) / determinant;
            q = (q + area * a) / determinant;
        }
        if (n_moved < 2) break;
    }
    return change;
}

// Return T with K - [u v] T [u v]' the new kernel where its inverse changes by `inverse` between u and v.
static Plane kernel_change(Plane inverse, double p, double s, double q) {
    const double uu = inverse.uu, uv = inverse.uv, vv = inverse.vv, area = uu * vv - uv * uv;
    const double determinant = 1 + p * uu + 2 * s * uv + q * vv + area * (p * q - s * s);
    return (Plane){(uu + area * q) / determinant, (uv - area * s) / determinant, (vv + area * p) / determinant};
}

// Subtract what earlier terms have changed from the products with u and v, up to column `end`.
static void subtract_terms(index n_squares, index u, index end, index width, const double *restrict squares,
                           const double *signs, double *restrict products_u, double *restrict products_v) {
    for (index earlier = 0; earlier < n_squares; earlier++) {
        const double *square = squares + earlier * width;
        const double of_u = signs[earlier] * square[u], of_v = signs[earlier] * square[u + 1];
        for (index column = u; column < end; column++) {
            products_u[column] -= of_u * square[column];
            products_v[column] -= of_v * square[column];
        }
    }
}

index project_block(index n_triples, const int64_t *triples, const int64_t *starts, const int64_t *number,
                    const double *g, const double *h, const double *t, const int64_t *ab, const int64_t *ae,
                    const double *low, const double *high, const uint8_t *only_violated, double *lam,
                    double relaxation, double *products, double *squares, double *signs, double *gain) {
    const Terms terms = {starts, number, g, h, t, ab, ae, low, high, only_violated};
    const index size = 2 * n_triples, width = 2 * size;
    index n_squares = 0;
    for (index place = 0; place < n_triples; place++) {
        const index u = 2 * place, end = size + u + 2;
        double *products_u = products + u * width, *products_v = products_u + width;
        subtract_terms(n_squares, u, end, width, squares, signs, products_u, products_v);
        const double p = products_u[u], s = products_u[u + 1], q = products_v[u + 1];
        Plane change = project(triples[place], &terms, lam, relaxation, p, s, q, gain);
        if (change.uu == 0 && change.uv == 0 && change.vv == 0) continue;
        // T is the sum of two rank-one terms, its eigenvectors, each with the sign of its eigenvalue.
        change = kernel_change(change, p, s, q);
        const double middle = (change.uu + change.vv) / 2, difference = change.uu - change.vv;
        const double radius = hypot(difference / 2, change.uv), angle = atan2(2 * change.uv, difference) / 2;
        const double values[] = {middle + radius, middle - radius};
        for (int turn = 0; turn < 2; turn++) {
            const double length = sqrt(fabs(values[turn]));
            const double of_u = length * (turn ? -sin(angle) : cos(angle));
            const double of_v = length * (turn ? cos(angle) : sin(angle));
            double *square = squares + n_squares * width;
            for (index column = u; column < end; column++)
                square[column] = of_u * products_u[column] + of_v * products_v[column];
            signs[n_squares++] = copysign(1, values[turn]);
        }
    }
    return n_squares;
}
