/* Log-linear least squares, one problem per item at a time: the operations of linear/lanes in
   their order, so that both give the same bits. The explanations are there. What does not fit
   registers lies in device memory, `[row][slot]`, so that neighbouring items touch neighbouring
   words.

   Constants: N_SAMPLES, N_UNKNOWNS, N_MOMENTS; PANEL; FLOOR_KIND (0 smallest positive, 1 absolute,
   2 of the largest) and FLOOR_VALUE; FIRST_MEASURED; REWEIGHTED_PASSES; REFINEMENTS;
   WANTS_RESIDUAL; the limits of the lanes and the numbers of outcomes by their names. */

typedef struct {
    f32 mean;
    f32 scale;
    f32 floor;
    f32 raised;
    i32 good;
} Survey;

/* Where the working memory of one item begins. */
typedef struct {
    GLOBAL f32 *logs;
    GLOBAL f32 *weights;
    GLOBAL f32 *residuals;
    GLOBAL f32 *moments;
    GLOBAL f32 *factor;
    GLOBAL f32 *step;
    GLOBAL f32 *unknowns;
} Arrays;

DEVICE_FN f32 clamped(f32 log) { return fb_min(fb_max(log, -LARGEST_LOG), LARGEST_LOG); }

DEVICE_FN void survey(GLOBAL const f32 *samples, u64 n, Survey *found) {
    f32 sum = 0.0f;
    f32 least = FB_INFINITY;
    f32 largest = -FB_INFINITY;
    for (u32 i = 0; i < N_SAMPLES; i++) {
        f32 s = samples[i * n];
        sum = sum + s;
        least = fb_min(s, least);
        largest = fb_max(s, largest);
    }
    f32 mean = fb_div(sum, (f32)N_SAMPLES);
    found->good = SMALLEST < mean && mean < LARGEST_MEAN;
    found->mean = found->good ? mean : 1.0f;
    found->scale = found->good ? fb_div(1.0f, found->mean) : 0.0f;
    f32 floor;
#if FLOOR_KIND == 0
    floor = least * found->scale;
    if (least <= 0.0f) {
        floor = FB_INFINITY;
        for (u32 i = 0; i < N_SAMPLES; i++) {
            f32 x = samples[i * n] * found->scale;
            floor = fb_min(0.0f < x ? x : floor, floor);
        }
    }
#elif FLOOR_KIND == 1
    floor = found->scale * FLOOR_VALUE;
#else
    floor = largest * found->scale * FLOOR_VALUE;
#endif
    found->floor = found->good ? fb_max(floor, SMALLEST) : 1.0f;
    found->raised = 0.0f;
    if (found->good && least * found->scale < found->floor) {
        for (u32 i = 0; i < N_SAMPLES; i++) {
            if (samples[i * n] * found->scale < found->floor) found->raised += 1.0f;
        }
    }
}

/* The first outputs of a table's product with a vector; a panel's sums stay in registers. */
DEVICE_FN void product(GLOBAL const f32 *table, u32 n_terms, u32 n_outputs,
                       GLOBAL const f32 *vector, u64 slots, GLOBAL f32 *out) {
    for (u32 first = 0; first < n_outputs; first += PANEL) {
        f32 sums[PANEL];
        UNROLL for (u32 k = 0; k < PANEL; k++) sums[k] = 0.0f;
        for (u32 term = 0; term < n_terms; term++) {
            f32 v = vector[term * slots];
            UNROLL for (u32 k = 0; k < PANEL; k++) sums[k] = FMA(v, table[k], sums[k]);
            table += PANEL;
        }
        UNROLL for (u32 k = 0; k < PANEL; k++) {
            if (first + k < n_outputs) out[(first + k) * slots] = sums[k];
        }
    }
}

#define ELEMENT(i, j) (((i) * ((i) + 1) / 2 + (j)) * slots)

/* The Cholesky factor from the moments, its diagonal as reciprocals; true where singular. */
DEVICE_FN i32 factorise(GLOBAL const u32 *moment_of_pair, const Arrays *a, u64 slots) {
    GLOBAL f32 *l = a->factor;
    i32 singular = 0;
    for (u32 j = 0; j < N_UNKNOWNS; j++) {
        f32 inverse = 1.0f;
        for (u32 i = j; i < N_UNKNOWNS; i++) {
            f32 sum = a->moments[moment_of_pair[i * (i + 1) / 2 + j] * slots];
            f32 diagonal = sum;
            for (u32 k = 0; k < j; k++) sum = FMA(-l[ELEMENT(i, k)], l[ELEMENT(j, k)], sum);
            if (i == j) {
                i32 enough = diagonal * SMALLEST_PIVOT < sum
                    && FB_MIN_POSITIVE < diagonal * SMALLEST_PIVOT && diagonal < FB_MAX;
                singular |= !enough;
                inverse = fb_rsqrt_finite(enough ? sum : 1.0f);
                sum = 1.0f;
            }
            l[ELEMENT(i, j)] = sum * inverse;
        }
    }
    return singular;
}

/* Adds the solution for the residuals there are to the unknowns. */
DEVICE_FN void correct(GLOBAL const f32 *moments, const Arrays *a, i32 singular, u64 slots) {
    GLOBAL f32 *l = a->factor;
    GLOBAL f32 *x = a->step;
    product(moments, N_SAMPLES, N_UNKNOWNS, a->residuals, slots, x);
    for (u32 k = 0; k < N_UNKNOWNS; k++) {
        f32 x_k = x[k * slots] * l[ELEMENT(k, k)];
        x[k * slots] = x_k;
        for (u32 i = k + 1; i < N_UNKNOWNS; i++) {
            x[i * slots] = FMA(-l[ELEMENT(i, k)], x_k, x[i * slots]);
        }
    }
    for (u32 up = 0; up < N_UNKNOWNS; up++) {
        u32 k = N_UNKNOWNS - 1 - up;
        f32 x_k = x[k * slots] * l[ELEMENT(k, k)];
        for (u32 i = 0; i < k; i++) {
            x[i * slots] = FMA(-l[ELEMENT(k, i)], x_k, x[i * slots]);
        }
        if (!singular) a->unknowns[k * slots] = a->unknowns[k * slots] + x_k;
    }
}

/* Weighted residuals of the unknowns as they are now. */
DEVICE_FN void find_residuals(GLOBAL const f32 *prediction, const Arrays *a, u64 slots) {
    product(prediction, N_UNKNOWNS, N_SAMPLES, a->unknowns, slots, a->residuals);
    for (u32 i = 0; i < N_SAMPLES; i++) {
        f32 rest = a->logs[i * slots] - clamped(a->residuals[i * slots]);
        a->residuals[i * slots] = a->weights[i * slots] * rest;
    }
}

DEVICE_FN void fit_problem(u64 n, GLOBAL const f32 *prediction, GLOBAL const f32 *moments,
                           GLOBAL const f32 *pseudo_inverse, GLOBAL const u32 *moment_of_pair,
                           GLOBAL const f32 *inverse_scales, GLOBAL const f32 *samples,
                           const Arrays *a, u64 slots, GLOBAL f32 *results) {
    Survey found;
    survey(samples, n, &found);
    i32 singular = 0;
    f32 residual = 0.0f;
    if (found.good) {
        for (u32 i = 0; i < N_SAMPLES; i++) {
            f32 x = fb_max(samples[i * n] * found.scale, found.floor);
            a->logs[i * slots] = fb_ln_finite(x);
        }
        product(pseudo_inverse, N_SAMPLES, N_UNKNOWNS, a->logs, slots, a->unknowns);
#if FIRST_MEASURED + REWEIGHTED_PASSES == 0
        for (u32 i = 0; i < N_SAMPLES; i++) a->weights[i * slots] = 1.0f;
        find_residuals(prediction, a, slots);
        product(pseudo_inverse, N_SAMPLES, N_UNKNOWNS, a->residuals, slots, a->step);
        for (u32 k = 0; k < N_UNKNOWNS; k++) {
            a->unknowns[k * slots] = a->unknowns[k * slots] + a->step[k * slots];
        }
#endif
        for (u32 pass = 0; pass < FIRST_MEASURED + REWEIGHTED_PASSES; pass++) {
            product(prediction, N_UNKNOWNS, N_SAMPLES, a->unknowns, slots, a->residuals);
            for (u32 i = 0; i < N_SAMPLES; i++) {
                f32 predicted = clamped(a->residuals[i * slots]);
                f32 root = FIRST_MEASURED && pass == 0
                    ? fb_max(samples[i * n] * found.scale, found.floor)
                    : fb_exp_finite(predicted);
                f32 w = root * root;
                a->weights[i * slots] = w;
                a->residuals[i * slots] = w * (a->logs[i * slots] - predicted);
            }
            product(moments, N_SAMPLES, N_MOMENTS, a->weights, slots, a->moments);
            i32 now = factorise(moment_of_pair, a, slots);
            correct(moments, a, now, slots);
            for (u32 round = 0; round < REFINEMENTS; round++) {
                find_residuals(prediction, a, slots);
                correct(moments, a, now, slots);
            }
            singular |= now;
        }
#if WANTS_RESIDUAL
        product(prediction, N_UNKNOWNS, N_SAMPLES, a->unknowns, slots, a->residuals);
        f32 sum = 0.0f;
        for (u32 i = 0; i < N_SAMPLES; i++) {
            f32 predicted = fb_exp_finite(clamped(a->residuals[i * slots]));
            f32 r = FMA(samples[i * n], found.scale, -predicted);
            sum = FMA(r, r, sum);
        }
        residual = fb_sqrt(fb_div(sum, (f32)N_SAMPLES)) * found.mean;
#endif
    }
    i32 fitted = found.good && !singular;
    results[0] = fitted ? fb_exp_finite(clamped(a->unknowns[0])) * found.mean : 0.0f;
    for (u32 k = 1; k < N_UNKNOWNS; k++) {
        results[k * n] = fitted ? a->unknowns[k * slots] * inverse_scales[k] : 0.0f;
    }
    results[N_UNKNOWNS * n] = fitted ? residual : 0.0f;
    results[(N_UNKNOWNS + 1) * n] = found.raised;
    f32 outcome = singular ? OUTCOME_SINGULAR : OUTCOME_FITTED;
    results[(N_UNKNOWNS + 2) * n] = found.good ? outcome : OUTCOME_BAD_SIGNAL;
}

KERNEL(log_linear_fit)(u64 n, u64 slots, GLOBAL const f32 *RESTRICT prediction,
                       GLOBAL const f32 *RESTRICT moments,
                       GLOBAL const f32 *RESTRICT pseudo_inverse,
                       GLOBAL const u32 *RESTRICT moment_of_pair,
                       GLOBAL const f32 *RESTRICT inverse_scales,
                       GLOBAL const f32 *RESTRICT samples, GLOBAL f32 *RESTRICT scratch,
                       GLOBAL f32 *RESTRICT results) {
    u64 slot = GLOBAL_ID();
    if (slot >= slots) return;
    Arrays a;
    a.logs = scratch + slot;
    a.weights = a.logs + N_SAMPLES * slots;
    a.residuals = a.weights + N_SAMPLES * slots;
    a.moments = a.residuals + N_SAMPLES * slots;
    a.factor = a.moments + N_MOMENTS * slots;
    a.step = a.factor + N_UNKNOWNS * (N_UNKNOWNS + 1) / 2 * slots;
    a.unknowns = a.step + N_UNKNOWNS * slots;
    for (u64 problem = slot; problem < n; problem += slots) {
        fit_problem(n, prediction, moments, pseudo_inverse, moment_of_pair, inverse_scales,
                    samples + problem, &a, slots, results + problem);
    }
}
