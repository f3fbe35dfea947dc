void softmax(index K, index n, index N, index start, const real *logits, const real *largest, real *P, real *log_p,
             double *mass);

double derivatives(index K, index n, index N, index start, const real *P, const real *log_p, const real *scale,
                   const real *pull, real *out);

// e**x of each x, as the loops have it.
void exponentials(index n, const real *x, real *out);
