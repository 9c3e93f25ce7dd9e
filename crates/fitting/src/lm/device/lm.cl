/* Levenberg-Marquardt, one problem per item: the operations of lm/lanes in their order, so that in
   single precision both give the same bits. lm/rules.rs has the algorithm in words.

   Before this text stands lm_model, the signal with its derivatives, and for the Rician likelihood
   the polynomials of the Bessel functions. Constants: REAL and the
   operations on it (R_...); P, N_SAMPLES, N_COLUMNS, N_CONSTANTS; KIND (0 least squares, 1
   weighted, 2 offset-Gaussian, 3 Rician, 4 the mean of it); WEIGHTS (0 all one, 1 per sample, 2 per problem);
   OWN_STARTS; SIGMA_ROW (-1: SIGMA for all); WANTS_COVARIANCE; the rules by their names;
   codes of the status; and the tables lm_lower, lm_upper, lm_start, lm_fixed by parameter.
   Over many parameters loops stay loops, and arrays live in memory: unrolled, twelve parameters take all 255
   registers and spill 350 bytes. */

#if P <= 8
#define LM_UNROLL UNROLL
#else
#define LM_UNROLL ROLLED
#endif
#define AT(j, k) ((j) * P + (k))

/* What one pass over the samples gives; of the matrix the lower triangle. */
typedef struct {
    REAL cost;
    REAL squares;
    REAL gradient[P];
    REAL matrix[P * P];
} Point;

#if KIND == 3
/* ln(e^-z I0(z)) and I1(z) / I0(z). */
DEVICE_FN REAL lm_ln_i0e(REAL z, REAL *ratio) {
    REAL below = R_MIN(z, BESSEL_SPLIT);
    REAL t = R_DIV(below, BESSEL_SPLIT);
    t = t * t;
    REAL above = R_MAX(z, BESSEL_SPLIT);
    REAL u = R_DIV(BESSEL_SPLIT, above);
    i32 small = z <= BESSEL_SPLIT;
    REAL i0 = small ? lm_i0_small(t) : lm_i0_large(u);
    REAL i1 = small ? below * lm_i1_small(t) : lm_i1_large(u);
    REAL part = small ? below : R_LN(above) * (REAL)0.5;
    *ratio = R_DIV(i1, i0);
    return R_LN(i0) - part;
}
#endif

#if KIND == 4
/* The mean of the magnitude of f with noise sigma in each part, and its derivative by f. */
DEVICE_FN REAL lm_rician_mean(REAL f, REAL sigma, REAL *by) {
    i32 has_noise = 0 < sigma * sigma;
    REAL noise = has_noise ? sigma : (REAL)1;
    REAL half_ratio = R_DIV(f * (REAL)0.5, noise);
    REAL t = half_ratio * half_ratio;
    REAL below = R_MIN(t, BESSEL_SPLIT);
    REAL u = R_DIV(below, BESSEL_SPLIT);
    u = u * u;
    REAL fall = R_EXP(-below);
    REAL above = R_MAX(t, BESSEL_SPLIT);
    REAL v = R_DIV(BESSEL_SPLIT, above);
    REAL root = R_DIV((REAL)1, R_SQRT(above));
    i32 small = t <= BESSEL_SPLIT;
    REAL i0 = small ? lm_i0_small(u) * fall : lm_i0_large(v) * root;
    REAL i1 = small ? below * lm_i1_small(u) * fall : lm_i1_large(v) * root;
    REAL sum = i0 + i1;
    REAL mean = R_FMA(t * (REAL)2, sum, i0) * noise * ROOT_HALF_PI;
    *by = has_noise ? half_ratio * sum * ROOT_HALF_PI : (REAL)1;
    return has_noise ? mean : f;
}
#endif

DEVICE_FN void lm_evaluate(const REAL *p, const REAL *constants, REAL sigma,
                           GLOBAL const REAL *table, GLOBAL const f32 *samples,
                           GLOBAL const f32 *weights, u64 stride, Point *at) {
    REAL variance = sigma * sigma;
    REAL cost = 0;
    REAL squares = 0;
    LM_UNROLL for (u32 j = 0; j < P; j++) {
        at->gradient[j] = 0;
        LM_UNROLL for (u32 k = 0; k <= j; k++) at->matrix[AT(j, k)] = 0;
    }
    for (u32 i = 0; i < N_SAMPLES; i++) {
        REAL slope[P];
        REAL f = lm_model(p, constants, table + (u64)i * N_COLUMNS, slope);
        REAL y = (REAL)samples[i * stride];
#if WEIGHTS == 0
        REAL w = 1;
#elif WEIGHTS == 1
        REAL w = (REAL)weights[i];
#else
        REAL w = (REAL)weights[i * stride];
#endif
#if KIND == 2
        REAL with_offset = R_SQRT(R_FMA(f, f, variance));
        REAL by = R_DIV(f, R_MAX(with_offset, (REAL)FB_MIN_POSITIVE));
        LM_UNROLL for (u32 k = 0; k < P; k++) slope[k] = slope[k] * by;
        f = with_offset;
#endif
#if KIND == 4
        REAL by;
        f = lm_rician_mean(f, sigma, &by);
        LM_UNROLL for (u32 k = 0; k < P; k++) slope[k] = slope[k] * by;
#endif
        REAL residual = f - y;
        REAL pull = residual;
#if KIND == 3
        REAL ratio;
        REAL z = R_DIV(R_ABS(y * f), R_MAX(variance, LEAST_VARIANCE));
        REAL ln_i0e = lm_ln_i0e(z, &ratio);
        ratio = 0 < variance ? ratio : (REAL)1;
        REAL expected = (f < 0 ? -R_ABS(y) : R_ABS(y)) * ratio;
        pull = f - expected;
        cost = R_FMA(w, R_FMA(residual * (REAL)0.5, residual, -(variance * ln_i0e)), cost);
#endif
#if KIND == 0
        squares = R_FMA(residual, residual, squares);
#else
        squares = R_FMA(w * residual, residual, squares);
#endif
        LM_UNROLL for (u32 j = 0; j < P; j++) {
#if KIND == 0
            REAL weighted = slope[j];
#else
            REAL weighted = slope[j] * w;
#endif
            at->gradient[j] = R_FMA(weighted, pull, at->gradient[j]);
            LM_UNROLL for (u32 k = 0; k <= j; k++) {
                at->matrix[AT(j, k)] = R_FMA(weighted, slope[k], at->matrix[AT(j, k)]);
            }
        }
    }
    at->squares = squares;
    at->cost = KIND == 3 ? cost : squares * (REAL)0.5;
}

/* L with L L' = M, in place of its lower triangle, the diagonal as reciprocals; held parameters
   have the identity's rows. True where a pivot is rounding. */
DEVICE_FN i32 lm_factor(REAL *l, const i32 *held, REAL least) {
    i32 singular = 0;
    LM_UNROLL for (u32 j = 0; j < P; j++) {
        LM_UNROLL for (u32 i = j; i < P; i++) {
            REAL sum = l[AT(i, j)];
            if (held[i] || held[j]) sum = i == j ? 1 : 0;
            REAL diagonal = sum * least;
            LM_UNROLL for (u32 k = 0; k < j; k++) sum = R_FMA(-l[AT(i, k)], l[AT(j, k)], sum);
            if (i == j) {
                i32 good = diagonal < sum;
                singular |= !good;
                l[AT(j, j)] = R_RSQRT(good ? sum : (REAL)1);
            } else {
                l[AT(i, j)] = sum * l[AT(j, j)];
            }
        }
    }
    return singular;
}

/* x of L L' x = b, in place of b. */
DEVICE_FN void lm_solve(const REAL *l, REAL *x) {
    LM_UNROLL for (u32 j = 0; j < P; j++) {
        LM_UNROLL for (u32 k = 0; k < j; k++) x[j] = R_FMA(-l[AT(j, k)], x[k], x[j]);
        x[j] = x[j] * l[AT(j, j)];
    }
    LM_UNROLL for (u32 back = 0; back < P; back++) {
        u32 j = P - 1 - back;
        LM_UNROLL for (u32 i = j + 1; i < P; i++) x[j] = R_FMA(-l[AT(i, j)], x[i], x[j]);
        x[j] = x[j] * l[AT(j, j)];
    }
}

KERNEL(lm_fit)(u64 n, u64 stride, GLOBAL const REAL *RESTRICT table,
               GLOBAL const f32 *RESTRICT all_samples, GLOBAL const f32 *RESTRICT all_constants,
               GLOBAL const f32 *RESTRICT all_weights, GLOBAL const f32 *RESTRICT all_starts,
               GLOBAL f32 *RESTRICT all_results) {
    u64 problem = GLOBAL_ID();
    if (problem >= n) return;
    GLOBAL const f32 *samples = all_samples + problem;
    GLOBAL const f32 *weights = all_weights + (WEIGHTS == 2 ? problem : 0);
    GLOBAL f32 *results = all_results + problem;

    /* Not finite once a term is not: NaN and infinities do not cancel in a sum of squares. */
    REAL square = 0;
    REAL weight_sum = 0;
    for (u32 i = 0; i < N_SAMPLES; i++) {
        REAL y = (REAL)samples[i * stride];
        REAL w = WEIGHTS == 0 ? (REAL)1 : (REAL)weights[i * (WEIGHTS == 2 ? stride : 1)];
        square = square + w * y * y;
        weight_sum = weight_sum + w;
    }
    i32 finite = 0 < square && square <= R_LARGEST && R_ABS(weight_sum) <= R_LARGEST;
    REAL constants[N_CONSTANTS + 1];
    for (u32 k = 0; k < N_CONSTANTS; k++) {
        constants[k] = (REAL)all_constants[k * stride + problem];
        finite = finite && R_ABS(constants[k]) <= R_LARGEST;
    }
#if SIGMA_ROW < 0
    REAL sigma = SIGMA;
#else
    REAL sigma = (REAL)all_constants[SIGMA_ROW * stride + problem];
#endif
    finite = finite && R_ABS(sigma) <= R_LARGEST;
    REAL p[P];
    LM_UNROLL for (u32 k = 0; k < P; k++) {
        REAL start = lm_start[k];
        if (OWN_STARTS && !lm_fixed[k]) start = (REAL)all_starts[k * stride + problem];
        finite = finite && R_ABS(start) <= R_LARGEST;
        p[k] = R_MIN(R_MAX(start, lm_lower[k]), lm_upper[k]);
    }
    if (!finite) {
        for (u32 row = 0; row < N_ROWS; row++) results[row * stride] = 0;
        results[ROW_STATUS * stride] = STATUS_BAD_PROBLEM;
        return;
    }

    /* With a matrix of zeros all parameters are held: the first step is to the start itself. */
    Point here;
    REAL scale[P];
    here.cost = FB_INFINITY;
    here.squares = 0;
    LM_UNROLL for (u32 j = 0; j < P; j++) {
        here.gradient[j] = 0;
        scale[j] = 0;
        LM_UNROLL for (u32 k = 0; k <= j; k++) here.matrix[AT(j, k)] = 0;
    }
    REAL floor_of_cost = HALF_ROUNDING_SQUARED * square;
    REAL damping = FIRST_DAMPING;
    REAL growth = 2;
    REAL iterations = 0;
    i32 held[P];
    f32 status = 0;
    i32 done = 0;
    while (!done) {
        REAL l[P * P];
        REAL step[P];
        REAL next[P];
        LM_UNROLL for (u32 j = 0; j < P; j++) {
            i32 low = p[j] <= lm_lower[j] && 0 < here.gradient[j];
            i32 high = lm_upper[j] <= p[j] && here.gradient[j] < 0;
            held[j] = lm_fixed[j] || here.matrix[AT(j, j)] <= NO_INFLUENCE || low || high;
            LM_UNROLL for (u32 k = 0; k < j; k++) l[AT(j, k)] = here.matrix[AT(j, k)];
            l[AT(j, j)] = R_FMA(damping, scale[j], here.matrix[AT(j, j)]);
            step[j] = held[j] ? (REAL)0 : -here.gradient[j];
        }
        i32 singular = lm_factor(l, held, PIVOT);
        lm_solve(l, step);
        LM_UNROLL for (u32 k = 0; k < P; k++) {
            REAL moved = R_MIN(R_MAX(p[k] + step[k], lm_lower[k]), lm_upper[k]);
            next[k] = held[k] || singular ? p[k] : moved;
            step[k] = next[k] - p[k];
        }
        REAL predicted = 0;
        LM_UNROLL for (u32 j = 0; j < P; j++) {
            REAL curvature = here.matrix[AT(j, j)] * step[j] * (REAL)0.5;
            LM_UNROLL for (u32 k = 0; k < j; k++) {
                curvature = R_FMA(here.matrix[AT(j, k)], step[k], curvature);
            }
            predicted = R_FMA(-step[j], here.gradient[j] + curvature, predicted);
        }

        /* l is free again. */
        REAL newton[P];
        LM_UNROLL for (u32 j = 0; j < P; j++) {
            LM_UNROLL for (u32 k = 0; k <= j; k++) l[AT(j, k)] = here.matrix[AT(j, k)];
            newton[j] = held[j] ? (REAL)0 : -here.gradient[j];
        }
        i32 no_inverse = lm_factor(l, held, PIVOT);
        lm_solve(l, newton);
        REAL remaining = 0;
        LM_UNROLL for (u32 k = 0; k < P; k++) {
            remaining = R_FMA(newton[k], held[k] ? (REAL)0 : -here.gradient[k], remaining);
        }
        remaining = no_inverse ? R_LARGEST : remaining * (REAL)0.5;

        Point there;
        lm_evaluate(next, constants, sigma, table, samples, weights, stride, &there);

        REAL sum = there.cost;
        REAL length = 0;
        REAL size = 0;
        LM_UNROLL for (u32 j = 0; j < P; j++) {
            sum = sum + there.matrix[AT(j, j)];
            length = R_FMA(scale[j] * step[j], step[j], length);
            size = R_FMA(scale[j] * p[j], p[j], size);
        }
        i32 usable = R_ABS(sum) <= R_LARGEST && !singular;
        i32 fresh = !(here.cost <= R_LARGEST);
        REAL mixed = R_FMA(R_SQRT(here.cost * floor_of_cost), (REAL)2, floor_of_cost);
        REAL rounding = R_FMA(here.cost, FLAT, mixed);
        i32 flat = predicted <= rounding;
        i32 accept =
            usable && (there.cost < here.cost || (flat && there.cost <= here.cost + rounding));
        i32 still = length <= size * STEP_SQUARED;
        REAL last = R_FMA(here.cost, DECREASE, floor_of_cost);
        i32 arrived = 0 <= remaining && remaining <= last;
        i32 converged = usable && !fresh && -floor_of_cost <= predicted
            && (arrived || (damping <= LAST_DAMPING && (predicted <= last || still)));

        REAL by_slopes = 0;
        LM_UNROLL for (u32 k = 0; k < P; k++) {
            by_slopes = R_FMA(-step[k], here.gradient[k] + there.gradient[k], by_slopes);
        }
        by_slopes = R_DIV(by_slopes * (REAL)0.5, predicted);
        by_slopes = R_MIN(R_MAX(by_slopes, (REAL)-1), (REAL)1);
        REAL gain = flat ? by_slopes : R_DIV(here.cost - there.cost, predicted);
        gain = (predicted <= floor_of_cost ? (REAL)1 : gain) * (REAL)2 - (REAL)1;
        REAL factor = R_MAX(R_FMA(-(gain * gain), gain, (REAL)1), SHRINK);
        REAL changed = accept ? R_MAX(damping * factor, LEAST_DAMPING) : damping * growth;
        damping = fresh ? damping : changed;
        growth = accept ? (REAL)2 : growth * (REAL)2;
        iterations = iterations + (REAL)(fresh ? 0 : 1);

        i32 bad = fresh && !accept;
        i32 over = MOST_DAMPING < damping || MAX_ITERATIONS <= iterations;
        done = converged || bad || over;
        status = converged ? STATUS_CONVERGED : STATUS_NOT_CONVERGED;
        status = bad ? STATUS_BAD_PROBLEM : status;
        if (accept) {
            LM_UNROLL for (u32 j = 0; j < P; j++) {
                p[j] = next[j];
                here.gradient[j] = there.gradient[j];
                scale[j] = R_MAX(scale[j], there.matrix[AT(j, j)]);
                LM_UNROLL for (u32 k = 0; k <= j; k++) {
                    here.matrix[AT(j, k)] = there.matrix[AT(j, k)];
                }
            }
            here.cost = there.cost;
            here.squares = there.squares;
        }
    }

    i32 good = status < STATUS_BAD_PROBLEM;
    i32 converged = status == STATUS_CONVERGED;
    i32 bound = 0;
    i32 unknown = 0;
    REAL free_parameters = 0;
    LM_UNROLL for (u32 k = 0; k < P; k++) {
        i32 at_bound = p[k] <= lm_lower[k] || lm_upper[k] <= p[k];
        held[k] = lm_fixed[k] || at_bound;
        bound |= at_bound && !lm_fixed[k];
        REAL least = R_MAX(scale[k] * FADED, NO_INFLUENCE);
        unknown |= !(held[k] || least < here.matrix[AT(k, k)]);
        free_parameters = free_parameters + (REAL)(held[k] ? 0 : 1);
    }
    i32 singular = lm_factor(here.matrix, held, SINGULAR) || unknown;
    if (converged && bound) status = STATUS_AT_BOUND;
    if (converged && singular) status = STATUS_SINGULAR;
    REAL residual = R_SQRT(R_DIV(here.squares, weight_sum));
    for (u32 k = 0; k < P; k++) results[k * stride] = (f32)(good ? p[k] : (REAL)0);
    results[ROW_RESIDUAL * stride] = (f32)(good ? residual : (REAL)0);
    results[ROW_ITERATIONS * stride] = (f32)(good ? iterations : (REAL)0);
    results[ROW_STATUS * stride] = status;
#if WANTS_COVARIANCE
    REAL beyond = (REAL)N_SAMPLES - free_parameters;
    /* Without a sample to spare residuals are rounding. */
    REAL variance = beyond < (REAL)1 ? (REAL)0 : R_DIV(here.squares, R_MAX(beyond, (REAL)1));
    if (KIND == 3 && 0 < sigma) variance = sigma * sigma;
    u32 row = ROW_COVARIANCE;
    for (u32 i = 0; i < P; i++) {
        for (u32 j = i; j < P; j++) {
            REAL column[P];
            for (u32 k = 0; k < P; k++) column[k] = k == j ? 1 : 0;
            lm_solve(here.matrix, column);
            i32 known = converged && !singular && !held[i] && !held[j];
            results[row * stride] = (f32)(known ? column[i] * variance : (REAL)0);
            row++;
        }
    }
#endif
}
