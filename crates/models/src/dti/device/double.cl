/* All tensor fits in double precision, one voxel per item at a time: the operations of dti/oracle in their
   order. The explanations are there. Exponentials and logarithms are the runtime's.

   Constants: N_VOLUMES; FLOOR_KIND (0 smallest positive, 1 absolute, 2 of the largest, 3 of S0) and
   FLOOR_VALUE; FIRST_WEIGHTS (0 one, 1 measured, 2 measured and not raised); REWEIGHTED_PASSES;
   REFINEMENT (0 none, 1 non-linear, 2 robust) and FLOOR_NONLINEAR; SIGMA (0 where the residuals tell) and
   OWN_SCALE_IN_WEIGHTS; S0_AT_LEAST_MEAN; WANTS_RESIDUAL; the limits of the oracle by their names; rows of
   the parameters and codes of the status by their names. */

/* A voxel's samples, every n-th, with the tables; working memory, every slots-th. */
typedef struct {
    GLOBAL const f64 *rows;    /* [volume][7] */
    GLOBAL const f64 *inverse; /* [volume][7] */
    GLOBAL const f32 *samples;
    GLOBAL f64 *weights;   /* of samples, in robust fits */
    GLOBAL f64 *residuals; /* of robust fits */
    GLOBAL f64 *sorted;    /* of robust fits */
    u64 n;
    u64 slots;
    f64 least; /* what samples are raised to */
} Voxel;

DEVICE_FN f64 larger(f64 a, f64 b) { return a < b ? b : a; }

DEVICE_FN f64 measured(const Voxel *voxel, u32 v) { return (f64)voxel->samples[v * voxel->n]; }

DEVICE_FN f64 raised(const Voxel *voxel, u32 v) { return larger(measured(voxel, v), voxel->least); }

/* What non-linear fits see. */
DEVICE_FN f64 aim(const Voxel *voxel, u32 v) {
    return FLOOR_NONLINEAR ? raised(voxel, v) : measured(voxel, v);
}

DEVICE_FN f64 weight(const Voxel *voxel, u32 v) {
    return REFINEMENT == 2 ? voxel->weights[v * voxel->slots] : 1.0;
}

DEVICE_FN f64 predict(const Voxel *voxel, u32 v, const f64 *p) {
    f64 sum = 0.0;
    for (u32 k = 0; k < 7; k++) sum += voxel->rows[v * 7 + k] * p[k];
    return sum;
}

/* Normal equations. */
typedef struct {
    f64 matrix[7][7];
    f64 rhs[7];
} Normal;

DEVICE_FN void clear(Normal *normal) {
    for (u32 i = 0; i < 7; i++) {
        for (u32 j = 0; j <= i; j++) normal->matrix[i][j] = 0.0;
        normal->rhs[i] = 0.0;
    }
}

DEVICE_FN void add(Normal *normal, const Voxel *voxel, u32 v, f64 w, f64 wr) {
    GLOBAL const f64 *x = voxel->rows + v * 7;
    for (u32 i = 0; i < 7; i++) {
        for (u32 j = 0; j <= i; j++) normal->matrix[i][j] += w * x[i] * x[j];
        normal->rhs[i] += wr * x[i];
    }
}

/* Their solution with so many times the diagonal added; 0 where it is not unique. */
DEVICE_FN i32 solve(const Normal *normal, f64 damping, f64 *x) {
    f64 l[7][7];
    for (u32 i = 0; i < 7; i++) {
        for (u32 j = 0; j <= i; j++) {
            f64 element = normal->matrix[i][j];
            if (i == j) element *= 1.0 + damping;
            f64 sum = 0.0;
            for (u32 k = 0; k < j; k++) sum += l[i][k] * l[j][k];
            f64 rest = element - sum;
            if (j < i) {
                l[i][j] = rest / l[j][j];
            } else if (rest > SMALLEST_PIVOT * element) {
                l[i][i] = sqrt(rest);
            } else {
                return 0;
            }
        }
    }
    for (u32 i = 0; i < 7; i++) {
        x[i] = normal->rhs[i];
        for (u32 k = 0; k < i; k++) x[i] -= l[i][k] * x[k];
        x[i] /= l[i][i];
    }
    for (u32 up = 0; up < 7; up++) {
        u32 i = 6 - up;
        for (u32 k = i + 1; k < 7; k++) x[i] -= l[k][i] * x[k];
        x[i] /= l[i][i];
    }
    return 1;
}

#if FLOOR_KIND == 3
DEVICE_FN f64 fraction_of_s0(const Voxel *voxel, f64 mean) {
    f64 log_s0 = 0.0;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f64 s = measured(voxel, v);
        log_s0 += voxel->inverse[v * 7] * (s > 0.0 ? log(s) : 0.0);
    }
    return FLOOR_VALUE * larger(exp(log_s0), mean);
}
#endif

/* All linear passes; 0 where one has no solution. */
DEVICE_FN i32 fit_logarithms(const Voxel *voxel, f64 *p) {
    for (u32 k = 0; k < 7; k++) p[k] = 0.0;
    if (FIRST_WEIGHTS == 0) {
        for (u32 v = 0; v < N_VOLUMES; v++) {
            f64 y = log(raised(voxel, v));
            for (u32 k = 0; k < 7; k++) p[k] += voxel->inverse[v * 7 + k] * y;
        }
    }
    for (u32 pass = 0; pass < (FIRST_WEIGHTS != 0) + REWEIGHTED_PASSES; pass++) {
        Normal normal;
        clear(&normal);
        for (u32 v = 0; v < N_VOLUMES; v++) {
            f64 s = measured(voxel, v);
            f64 w;
            if (FIRST_WEIGHTS != 0 && pass == 0) {
                if (FIRST_WEIGHTS == 1) s = raised(voxel, v);
                w = s > 0.0 ? s * s : 1.0;
            } else {
                w = exp(2.0 * predict(voxel, v, p));
            }
            add(&normal, voxel, v, w, w * log(raised(voxel, v)));
        }
        if (!solve(&normal, 0.0, p)) return 0;
    }
    return 1;
}

#if REFINEMENT != 0
DEVICE_FN f64 sum_of_squares(const Voxel *voxel, const f64 *p) {
    f64 sum = 0.0;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f64 r = aim(voxel, v) - exp(predict(voxel, v, p));
        sum += weight(voxel, v) * (r * r);
    }
    return sum;
}

/* Weighted non-linear least squares from p; 0 where the iteration does not come to rest. */
DEVICE_FN i32 fit_signals(const Voxel *voxel, f64 *p) {
    f64 rounding = 0.0;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f64 s = aim(voxel, v);
        rounding += weight(voxel, v) * s * s;
    }
    rounding *= EPSILON * EPSILON;
    f64 damping = FIRST_DAMPING;
    f64 sum = sum_of_squares(voxel, p);
    for (u32 step = 0; step < MAX_STEPS; step++) {
        Normal normal;
        clear(&normal);
        for (u32 v = 0; v < N_VOLUMES; v++) {
            f64 predicted = exp(predict(voxel, v, p));
            f64 w = weight(voxel, v);
            f64 pull = w * predicted * (aim(voxel, v) - predicted);
            add(&normal, voxel, v, w * predicted * predicted, pull);
        }
        f64 by[7];
        if (!solve(&normal, damping, by)) {
            if (damping > LAST_DAMPING) break;
            damping *= 10.0;
            continue;
        }
        f64 decrease = 0.0;
        f64 next[7];
        for (u32 k = 0; k < 7; k++) {
            decrease += by[k] * normal.rhs[k];
            next[k] = p[k] + by[k];
        }
        f64 next_sum = sum_of_squares(voxel, next);
        i32 settled = decrease <= SMALLEST_DECREASE * sum + rounding;
        if (next_sum <= sum) {
            for (u32 k = 0; k < 7; k++) p[k] = next[k];
            sum = next_sum;
            damping *= 0.1;
        } else {
            damping *= 10.0;
        }
        if (settled || damping > LAST_DAMPING) return 1;
    }
    return 0;
}
#endif

#if REFINEMENT == 2
/* The median of what is in `sorted`, which it sorts (Shell). */
DEVICE_FN f64 median(const Voxel *voxel) {
    GLOBAL f64 *x = voxel->sorted;
    u64 slots = voxel->slots;
    u32 gap = 1;
    while (gap < N_VOLUMES / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (u32 i = gap; i < N_VOLUMES; i++) {
            f64 value = x[i * slots];
            u32 at = i;
            for (; at >= gap && x[(at - gap) * slots] > value; at -= gap) {
                x[at * slots] = x[(at - gap) * slots];
            }
            x[at * slots] = value;
        }
    }
    u32 middle = N_VOLUMES / 2;
    f64 upper = x[middle * slots];
    return N_VOLUMES % 2 == 1 ? upper : 0.5 * (x[(middle - 1) * slots] + upper);
}

/* The noise level that the residuals imply. */
DEVICE_FN f64 own_scale(const Voxel *voxel) {
    u64 slots = voxel->slots;
    for (u32 v = 0; v < N_VOLUMES; v++) voxel->sorted[v * slots] = voxel->residuals[v * slots];
    f64 middle = median(voxel);
    for (u32 v = 0; v < N_VOLUMES; v++) {
        voxel->sorted[v * slots] = fabs(voxel->residuals[v * slots] - middle);
    }
    return SIGMA_OF_MAD * sqrt((f64)N_VOLUMES / ((f64)N_VOLUMES - 7.0)) * median(voxel);
}

DEVICE_FN void keep_residuals(const Voxel *voxel, const f64 *p) {
    for (u32 v = 0; v < N_VOLUMES; v++) {
        voxel->residuals[v * voxel->slots] = aim(voxel, v) - exp(predict(voxel, v, p));
    }
}

/* True where a residual is an outlier's at this scale; only others keep their weight then, where asked. */
DEVICE_FN i32 has_outliers(const Voxel *voxel, f64 c, i32 drops) {
    i32 any = 0;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        i32 is_outlier = fabs(voxel->residuals[v * voxel->slots]) > OUTLIER_SIGMAS * c;
        any |= is_outlier;
        if (drops) voxel->weights[v * voxel->slots] = is_outlier ? 0.0 : 1.0;
    }
    return any;
}

DEVICE_FN i32 fit_without_outliers(const Voxel *voxel, f64 mean, f64 *p) {
    f64 least = MIN_RELATIVE_SCALE * mean;
    for (u32 v = 0; v < N_VOLUMES; v++) voxel->weights[v * voxel->slots] = 1.0;
    i32 converged = fit_signals(voxel, p);
    keep_residuals(voxel, p);
    f64 c = larger(SIGMA > 0.0 ? SIGMA : own_scale(voxel), least);
    if (!has_outliers(voxel, c, 0)) return converged;
    for (u32 round = 0; round < MAX_ROBUST_FITS; round++) {
        c = larger(SIGMA > 0.0 && !OWN_SCALE_IN_WEIGHTS ? SIGMA : own_scale(voxel), least);
        for (u32 v = 0; v < N_VOLUMES; v++) {
            f64 r = voxel->residuals[v * voxel->slots];
            f64 share = c * c / (c * c + r * r);
            voxel->weights[v * voxel->slots] = share * share;
        }
        f64 before[7];
        for (u32 k = 0; k < 7; k++) before[k] = p[k];
        converged = fit_signals(voxel, p);
        keep_residuals(voxel, p);
        f64 moved = 0.0;
        f64 diffusion = 0.0;
        for (u32 k = 0; k < 7; k++) {
            moved += (p[k] - before[k]) * (p[k] - before[k]);
            if (k > 0) diffusion += p[k] * p[k];
        }
        f64 from_mean = p[0] - log(mean);
        f64 size = from_mean * from_mean + diffusion;
        if (moved < ROBUST_CHANGE * ROBUST_CHANGE * size) break;
    }
    return has_outliers(voxel, c, 1) ? fit_signals(voxel, p) : converged;
}
#endif

DEVICE_FN void fit_voxel(Voxel *voxel, GLOBAL f32 *parameters) {
    u64 n = voxel->n;
    f64 total = 0.0;
    f64 largest = measured(voxel, 0);
    f64 least = LARGEST;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f64 s = measured(voxel, v);
        total += s;
        largest = larger(largest, s);
        if (s > 0.0 && s < least) least = s;
    }
    f64 mean = total / (f64)N_VOLUMES;
    /* False of what is no number, too. */
    i32 good = largest > 0.0 && mean > 0.0 && mean <= LARGEST;
    f64 p[7];
    f64 s0 = 0.0;
    f64 residual = 0.0;
    u32 n_raised = 0;
    f32 status = STATUS_BAD_SIGNAL;
    if (good) {
#if FLOOR_KIND == 1
        least = FLOOR_VALUE;
#elif FLOOR_KIND == 2
        least = FLOOR_VALUE * largest;
#elif FLOOR_KIND == 3
        least = fraction_of_s0(voxel, mean);
#endif
        voxel->least = least;
        for (u32 v = 0; v < N_VOLUMES; v++) n_raised += measured(voxel, v) < least;
        status = fit_logarithms(voxel, p) ? STATUS_FITTED : STATUS_SINGULAR;
    }
    if (status == STATUS_FITTED) {
#if REFINEMENT == 1
        if (!fit_signals(voxel, p)) status = STATUS_NOT_CONVERGED;
#elif REFINEMENT == 2
        if (!fit_without_outliers(voxel, mean, p)) status = STATUS_NOT_CONVERGED;
#endif
        s0 = exp(p[0]);
        if (S0_AT_LEAST_MEAN) s0 = larger(s0, mean);
        if (WANTS_RESIDUAL) {
            for (u32 v = 0; v < N_VOLUMES; v++) {
                f64 r = measured(voxel, v) - exp(predict(voxel, v, p));
                residual += r * r;
            }
            residual = sqrt(residual / (f64)N_VOLUMES);
        }
    } else {
        for (u32 k = 0; k < 7; k++) p[k] = 0.0;
    }
    parameters[ROW_S0 * n] = (f32)s0;
    for (u32 k = 0; k < 6; k++) parameters[(ROW_TENSOR + k) * n] = (f32)p[k + 1];
    parameters[ROW_RESIDUAL * n] = (f32)residual;
    parameters[ROW_RAISED * n] = (f32)n_raised;
    parameters[ROW_STATUS * n] = status;
}

KERNEL(dti_fit_double)(u64 n, u64 slots, GLOBAL const f64 *RESTRICT rows,
                       GLOBAL const f64 *RESTRICT inverse, GLOBAL const f32 *RESTRICT series,
                       GLOBAL f64 *RESTRICT scratch, GLOBAL f32 *RESTRICT parameters) {
    u64 slot = GLOBAL_ID();
    if (slot >= slots) return;
    Voxel voxel;
    voxel.rows = rows;
    voxel.inverse = inverse;
    voxel.weights = scratch + slot;
    voxel.residuals = voxel.weights + N_VOLUMES * slots;
    voxel.sorted = voxel.residuals + N_VOLUMES * slots;
    voxel.n = n;
    voxel.slots = slots;
    voxel.least = 0.0;
    for (u64 at = slot; at < n; at += slots) {
        voxel.samples = series + at;
        fit_voxel(&voxel, parameters + at);
    }
}
