// `to_do` (n) and `logits` (K) are room to work in.
index settle(index n, index K, real *q, const real *log_p, const int32_t *first, const int32_t (*others)[2],
             const real (*weights)[3], int hard, double tie, double tol, index max_sweeps, uint8_t *to_do,
             real *logits);

double expected_log_likelihood(index M, index K, const real *q, const int32_t (*triplets)[3], const real (*linear)[3],
                               const real *product);
