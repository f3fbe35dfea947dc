void add_differences(index n_pairs, index s, const double *rows, const int64_t *i, const int64_t *j,
                     const double *weights, double *out);

void difference_products(index n_pairs, index s, const real *left, const real *right, const int64_t *i,
                         const int64_t *j, real *out);

void fill_symmetric(index n_items, index n, const double *upper, const int64_t *items, double *K);

// `of_x` and `of_y` (n) are room for the inner products of the differences of a constraint with every item.
void fill_curvature(index w, index n, const double *K, const int64_t (*places)[3], const double *g, const double *h,
                    double *H, double *of_x, double *of_y);

// Terms (loops.py) are the arguments from `starts` to `only_violated`; the gain of f is added to `gain` (1).
index project_block(index n_triples, const int64_t *triples, const int64_t *starts, const int64_t *number,
                    const double *g, const double *h, const double *t, const int64_t *ab, const int64_t *ae,
                    const double *low, const double *high, const uint8_t *only_violated, double *lam,
                    double relaxation, double *products, double *squares, double *signs, double *gain);
