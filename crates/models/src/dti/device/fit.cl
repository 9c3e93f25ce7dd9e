/* The linear tensor fits (OLS, WLS, IWLS), one voxel per item: the operations of dti/lanes in
   their order, so that both give the same bits. The explanations are there. Unlike the lanes,
   an item keeps no array of its samples: it reads them again and takes their logarithm anew.

   Constants: N_VOLUMES; FLOOR_KIND (0 smallest positive, 1 absolute, 2 of the largest, 3 of S0) and
   FLOOR_VALUE; FIRST_WEIGHTS (0 one, 1 measured, 2 measured and not raised); REWEIGHTED_PASSES;
   S0_AT_LEAST_MEAN; WANTS_RESIDUAL; the limits of the lanes by their names; rows of the
   parameters and codes of the status by their names. */

/* Samples over their mean, and how they enter a logarithm. */
typedef struct {
    f32 mean;
    f32 scale;
    f32 floor;
    f32 raised;
    i32 good;
} Bundle;

DEVICE_FN f32 clamped(f32 log) { return fb_min(fb_max(log, -LARGEST_LOG), LARGEST_LOG); }

DEVICE_FN f32 predict(GLOBAL const f32 *x, const f32 *p) {
    f32 log = p[0];
    UNROLL for (u32 k = 0; k < 6; k++) log = FMA(p[k + 1], x[k], log);
    return clamped(log);
}

/* Element `row` of the normal matrix's lower triangle, in place: Cholesky by columns, the
   diagonal as reciprocals. */
DEVICE_FN void factor(f32 l[7][7], i32 *singular, i32 *doubtful) {
    UNROLL for (u32 j = 0; j < 7; j++) {
        f32 diagonal = l[j][j];
        UNROLL for (u32 i = j; i < 7; i++) {
            f32 sum = l[i][j];
            UNROLL for (u32 k = 0; k < j; k++) sum = FMA(-l[i][k], l[j][k], sum);
            l[i][j] = sum;
        }
        i32 enough = diagonal * SMALLEST_PIVOT < l[j][j]
            && FB_MIN_POSITIVE < diagonal * SMALLEST_PIVOT && diagonal < FB_MAX;
        *singular |= !enough;
        *doubtful |= l[j][j] < diagonal * DOUBTFUL_PIVOT;
        f32 inverse = fb_rsqrt_finite(enough ? l[j][j] : 1.0f);
        l[j][j] = inverse;
        UNROLL for (u32 i = j + 1; i < 7; i++) l[i][j] = l[i][j] * inverse;
    }
}

/* p += x, the solution of L L' x = b; p stays where the system is singular. */
DEVICE_FN void add_solution(f32 l[7][7], f32 b[7], i32 singular, f32 p[7]) {
    UNROLL for (u32 i = 0; i < 7; i++) {
        UNROLL for (u32 k = 0; k < i; k++) b[i] = FMA(-l[i][k], b[k], b[i]);
        b[i] = b[i] * l[i][i];
    }
    UNROLL for (u32 up = 0; up < 7; up++) {
        u32 i = 6 - up;
        UNROLL for (u32 k = i + 1; k < 7; k++) b[i] = FMA(-l[k][i], b[k], b[i]);
        b[i] = b[i] * l[i][i];
    }
    UNROLL for (u32 i = 0; i < 7; i++) p[i] = p[i] + (singular ? 0.0f : b[i]);
}

DEVICE_FN f32 smallest_positive(GLOBAL const f32 *signals, u64 n, f32 scale) {
    f32 smallest = FB_INFINITY;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f32 x = signals[v * n] * scale;
        smallest = fb_min(0.0f < x ? x : smallest, smallest);
    }
    return smallest;
}

/* FSL's floor. */
DEVICE_FN f32 fraction_of_s0(GLOBAL const f32 *signals, u64 n, const Bundle *bundle,
                             GLOBAL const f32 *pseudo_inverse) {
    f32 unit_log = fb_ln_finite(bundle->good ? bundle->scale : 1.0f);
    f32 log_s0 = 0.0f;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f32 x = signals[v * n] * bundle->scale;
        f32 y = 0.0f < x ? fb_ln_finite(fb_max(x, SMALLEST)) : unit_log;
        log_s0 = FMA(y, pseudo_inverse[v * 7], log_s0);
    }
    return fb_max(fb_exp_finite(clamped(log_s0)), 1.0f) * FLOOR_VALUE;
}

DEVICE_FN void survey(GLOBAL const f32 *signals, u64 n, GLOBAL const f32 *pseudo_inverse,
                      Bundle *bundle) {
    f32 sum = 0.0f;
    f32 least = FB_INFINITY;
    f32 largest = -FB_INFINITY;
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f32 s = signals[v * n];
        sum = sum + s;
        least = fb_min(s, least);
        largest = fb_max(s, largest);
    }
    f32 mean = fb_div(sum, (f32)N_VOLUMES);
    bundle->good = SMALLEST < mean && mean < LARGEST_MEAN;
    bundle->mean = bundle->good ? mean : 1.0f;
    bundle->scale = bundle->good ? fb_div(1.0f, bundle->mean) : 0.0f;
    f32 floor;
#if FLOOR_KIND == 0
    floor = least <= 0.0f ? smallest_positive(signals, n, bundle->scale) : least * bundle->scale;
#elif FLOOR_KIND == 1
    floor = bundle->scale * FLOOR_VALUE;
#elif FLOOR_KIND == 2
    floor = largest * bundle->scale * FLOOR_VALUE;
#else
    floor = fraction_of_s0(signals, n, bundle, pseudo_inverse);
#endif
    bundle->floor = bundle->good ? fb_max(floor, SMALLEST) : 1.0f;
    bundle->raised = 0.0f;
    if (bundle->good && least * bundle->scale < bundle->floor) {
        for (u32 v = 0; v < N_VOLUMES; v++) {
            if (signals[v * n] * bundle->scale < bundle->floor) bundle->raised += 1.0f;
        }
    }
}

/* A pass: the weight of a sample and its residual times that. */
DEVICE_FN f32 weigh(const Bundle *bundle, u32 pass, f32 sample, f32 log) {
    if (FIRST_WEIGHTS != 0 && pass == 0) {
        f32 x = sample * bundle->scale;
        f32 s = FIRST_WEIGHTS == 2 ? (0.0f < x ? x : bundle->scale) : fb_max(x, bundle->floor);
        return s * s;
    }
    f32 predicted = fb_exp_finite(log);
    return predicted * predicted;
}

KERNEL(dti_fit)(u64 n, GLOBAL const f32 *RESTRICT rows, GLOBAL const f32 *RESTRICT pseudo_inverse,
                GLOBAL const f32 *RESTRICT quartics, GLOBAL const f32 *RESTRICT series,
                GLOBAL f32 *RESTRICT parameters) {
    u64 voxel = GLOBAL_ID();
    if (voxel >= n) return;
    GLOBAL const f32 *signals = series + voxel;
    Bundle bundle;
    survey(signals, n, pseudo_inverse, &bundle);

    f32 p[7] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 v = 0; v < N_VOLUMES; v++) {
        f32 y = fb_ln_finite(fb_max(signals[v * n] * bundle.scale, bundle.floor));
        UNROLL for (u32 k = 0; k < 7; k++) p[k] = FMA(y, pseudo_inverse[v * 7 + k], p[k]);
    }

    i32 singular = 0;
    for (u32 pass = 0; pass < (FIRST_WEIGHTS != 0) + REWEIGHTED_PASSES; pass++) {
        f32 l[7][7];
        f32 b[7];
        f32 q[15];
        f32 before[7]; /* the estimate that the weights come from */
        UNROLL for (u32 k = 0; k < 7; k++) {
            l[k][0] = 0.0f;
            b[k] = 0.0f;
            before[k] = p[k];
        }
        UNROLL for (u32 k = 0; k < 15; k++) q[k] = 0.0f;
        for (u32 v = 0; v < N_VOLUMES; v++) {
            GLOBAL const f32 *x = rows + v * 6;
            f32 sample = signals[v * n];
            f32 y = fb_ln_finite(fb_max(sample * bundle.scale, bundle.floor));
            f32 log = predict(x, before);
            f32 w = weigh(&bundle, pass, sample, log);
            f32 r = w * (y - log);
            l[0][0] = l[0][0] + w;
            b[0] = b[0] + r;
            UNROLL for (u32 k = 0; k < 6; k++) {
                l[k + 1][0] = FMA(w, x[k], l[k + 1][0]);
                b[k + 1] = FMA(r, x[k], b[k + 1]);
            }
            UNROLL for (u32 k = 0; k < 15; k++) q[k] = FMA(w, quartics[v * 15 + k], q[k]);
        }
        /* The monomial of each pair of tensor elements, and how many times it occurs. */
        l[1][1] = q[0];
        l[2][1] = q[1] * 2.0f;
        l[2][2] = q[3] * 4.0f;
        l[3][1] = q[2] * 2.0f;
        l[3][2] = q[4] * 4.0f;
        l[3][3] = q[5] * 4.0f;
        l[4][1] = q[3];
        l[4][2] = q[6] * 2.0f;
        l[4][3] = q[7] * 2.0f;
        l[4][4] = q[10];
        l[5][1] = q[4] * 2.0f;
        l[5][2] = q[7] * 4.0f;
        l[5][3] = q[8] * 4.0f;
        l[5][4] = q[11] * 2.0f;
        l[5][5] = q[12] * 4.0f;
        l[6][1] = q[5];
        l[6][2] = q[8] * 2.0f;
        l[6][3] = q[9] * 2.0f;
        l[6][4] = q[12];
        l[6][5] = q[13] * 2.0f;
        l[6][6] = q[14];
        i32 singular_now = 0;
        i32 doubtful = 0;
        factor(l, &singular_now, &doubtful);
        add_solution(l, b, singular_now, p);
        singular |= singular_now;
        for (u32 round = 0; round < REFINEMENTS && doubtful && bundle.good; round++) {
            UNROLL for (u32 k = 0; k < 7; k++) b[k] = 0.0f;
            for (u32 v = 0; v < N_VOLUMES; v++) {
                GLOBAL const f32 *x = rows + v * 6;
                f32 sample = signals[v * n];
                f32 y = fb_ln_finite(fb_max(sample * bundle.scale, bundle.floor));
                f32 w = weigh(&bundle, pass, sample, predict(x, before));
                f32 r = w * (y - predict(x, p));
                b[0] = b[0] + r;
                UNROLL for (u32 k = 0; k < 6; k++) b[k + 1] = FMA(r, x[k], b[k + 1]);
            }
            add_solution(l, b, singular_now, p);
        }
    }

    i32 fitted = bundle.good && !singular;
    f32 s0 = fb_exp(p[0]) * bundle.mean;
    if (S0_AT_LEAST_MEAN) s0 = fb_max(s0, bundle.mean);
    f32 residual = 0.0f;
    if (WANTS_RESIDUAL) {
        f32 sum = 0.0f;
        for (u32 v = 0; v < N_VOLUMES; v++) {
            f32 predicted = fb_exp_finite(predict(rows + v * 6, p));
            f32 r = FMA(signals[v * n], bundle.scale, -predicted);
            sum = FMA(r, r, sum);
        }
        residual = fb_sqrt(fb_div(sum, (f32)N_VOLUMES)) * bundle.mean;
    }
    parameters[ROW_S0 * n + voxel] = fitted ? s0 : 0.0f;
    for (u32 k = 0; k < 6; k++) {
        parameters[(ROW_TENSOR + k) * n + voxel] = fitted ? p[k + 1] : 0.0f;
    }
    parameters[ROW_RESIDUAL * n + voxel] = fitted ? residual : 0.0f;
    parameters[ROW_RAISED * n + voxel] = bundle.raised;
    f32 status = singular ? STATUS_SINGULAR : STATUS_FITTED;
    parameters[ROW_STATUS * n + voxel] = bundle.good ? status : STATUS_BAD_SIGNAL;
}
