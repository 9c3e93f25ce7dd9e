/* Maps of fitted kurtosis parameters, one voxel per item: the operations of dki/lanes in their
   order, so that both give the same bits. The explanations are there. Follows eigen.cl.

   Constants: N_NODES, N_GRID, N_CLIMBS, N_STEPS, LONGEST, NEAR, LEAST_CURVATURE,
   LEAST_DIFFUSIVITY, LEAST_MEAN, CLIP_LOW and CLIP_HIGH; RAISES and MIN_DIFFUSIVITY; HAS_EXTREMES; rows of the
   parameters and codes of the status by their names; MAP_MK and so on, the first row of each map,
   -1 where it is not wanted. */

#define MM2_PER_S 1e-3f
#define N_W 15u

/* The quartic entry whose indices are those of two entries of a matrix together. */
CONSTANT_TABLE u32 OF_PAIRS[36] = {0u, 1u, 2u,  3u,  4u,  5u,  1u, 3u, 4u, 6u,  7u,  8u,
                                   2u, 4u, 5u,  7u,  8u,  9u,  3u, 6u, 7u, 10u, 11u, 12u,
                                   4u, 7u, 8u,  11u, 12u, 13u, 5u, 8u, 9u, 12u, 13u, 14u};
CONSTANT_TABLE u32 FIRST_OF_PAIR[6] = {0u, 0u, 0u, 1u, 1u, 2u};
CONSTANT_TABLE u32 SECOND_OF_PAIR[6] = {0u, 1u, 2u, 1u, 2u, 2u};
CONSTANT_TABLE f32 OFTEN[15] = {1.0f, 4.0f,  4.0f, 6.0f, 12.0f, 6.0f, 4.0f, 12.0f,
                                12.0f, 4.0f, 1.0f, 4.0f, 6.0f,  4.0f, 1.0f};
/* The powers of the axes in each entry. */
CONSTANT_TABLE u32 POWERS[45] = {4u, 0u, 0u, 3u, 1u, 0u, 3u, 0u, 1u, 2u, 2u, 0u, 2u, 1u, 1u,
                                 2u, 0u, 2u, 1u, 3u, 0u, 1u, 2u, 1u, 1u, 1u, 2u, 1u, 0u, 3u,
                                 0u, 4u, 0u, 0u, 3u, 1u, 0u, 2u, 2u, 0u, 1u, 3u, 0u, 0u, 4u};

DEVICE_FN void products(const f32 *a, const f32 *b, f32 *m) {
    m[0] = a[0] * b[0];
    m[1] = FMA(a[0], b[1], a[1] * b[0]);
    m[2] = FMA(a[0], b[2], a[2] * b[0]);
    m[3] = a[1] * b[1];
    m[4] = FMA(a[1], b[2], a[2] * b[1]);
    m[5] = a[2] * b[2];
}

DEVICE_FN void contracted(const f32 *w, const f32 *m, f32 *out) {
    UNROLL for (u32 p = 0; p < 6; p++) {
        f32 sum = w[OF_PAIRS[p * 6]] * m[0];
        UNROLL for (u32 q = 1; q < 6; q++) sum = FMA(w[OF_PAIRS[p * 6 + q]], m[q], sum);
        out[p] = sum;
    }
}

/* The entries of the form w along the axes of a frame. */
DEVICE_FN void in_frame(const f32 *w, f32 frame[3][3], f32 *out) {
    for (u32 ab = 0; ab < 6; ab++) {
        f32 both[6], m[6];
        products(frame[FIRST_OF_PAIR[ab]], frame[SECOND_OF_PAIR[ab]], both);
        contracted(w, both, m);
        for (u32 cd = ab; cd < 6; cd++) {
            products(frame[FIRST_OF_PAIR[cd]], frame[SECOND_OF_PAIR[cd]], both);
            f32 sum = m[0] * both[0];
            UNROLL for (u32 k = 1; k < 6; k++) sum = FMA(m[k], both[k], sum);
            out[OF_PAIRS[ab * 6 + cd]] = sum;
        }
    }
}

/* Means over the azimuth of cos^4 / D^2, sin^4 / D^2 and cos^2 sin^2 / D^2. */
DEVICE_FN void azimuth(f32 b, f32 c, f32 *cos4, f32 *sin4, f32 *both) {
    f32 inverse_b = fb_rsqrt_finite(b);
    f32 inverse_c = fb_rsqrt_finite(c);
    f32 root_b = b * inverse_b;
    f32 root_c = c * inverse_c;
    f32 sum = root_b + root_c;
    f32 common = fb_div(0.5f, sum * sum);
    *cos4 = (root_b + sum) * (inverse_b * inverse_b * inverse_b) * common;
    *sin4 = (root_c + sum) * (inverse_c * inverse_c * inverse_c) * common;
    *both = inverse_b * inverse_c * common;
}

DEVICE_FN f32 radial_kurtosis(const f32 *l, const f32 *v) {
    f32 cos4, sin4, both;
    azimuth(l[1], l[2], &cos4, &sin4, &both);
    f32 cross = both * v[12] * 6.0f;
    return FMA(cos4, v[10], FMA(sin4, v[14], cross));
}

/* `nodes` holds the nodes, then the weights. */
DEVICE_FN f32 mean_kurtosis(const f32 *l, const f32 *v, GLOBAL const f32 *nodes) {
    f32 width = fb_sqrt(fb_sqrt(fb_div(l[1], l[0]) * fb_div(l[2], l[0])));
    f32 last = fb_atan2(1.0f, width);
    f32 sum = 0.0f;
    for (u32 k = 0; k < N_NODES; k++) {
        f32 sine, cosine, cos4, sin4, both;
        fb_sincos(last * nodes[k], &sine, &cosine);
        f32 slope = fb_div(1.0f, cosine);
        f32 tangent = sine * slope;
        f32 u = width * tangent;
        f32 u2 = u * u;
        f32 v2 = 1.0f - u2;
        f32 along = l[0] * u2;
        azimuth(FMA(l[1], v2, along), FMA(l[2], v2, along), &cos4, &sin4, &both);
        f32 cos2 = cos4 + both;
        f32 sin2 = sin4 + both;
        f32 axial = (cos2 + sin2) * v[0];
        f32 mixed = FMA(cos2, v[3], sin2 * v[5]) * 6.0f;
        f32 cross = both * v[12] * 6.0f;
        f32 radial = FMA(cos4, v[10], FMA(sin4, v[14], cross));
        f32 value = FMA(u2, FMA(u2, axial, v2 * mixed), v2 * v2 * radial);
        sum = FMA(slope * slope * nodes[N_NODES + k], value, sum);
    }
    return sum * width * last;
}

DEVICE_FN void invariants(const f32 *w, f32 *mean, f32 *anisotropy) {
    f32 diagonal = w[0] + w[10] + w[14];
    *mean = FMA(w[3] + w[5] + w[12], 2.0f, diagonal) * 0.2f;
    f32 all = 0.0f;
    f32 deviating = 0.0f;
    UNROLL for (u32 k = 0; k < N_W; k++) {
        f32 isotropic = k == 0 || k == 10 || k == 14 ? *mean
            : k == 3 || k == 5 || k == 12 ? *mean * 0.333333343f : 0.0f;
        f32 rest = w[k] - isotropic;
        all = FMA(w[k] * OFTEN[k], w[k], all);
        deviating = FMA(rest * OFTEN[k], rest, deviating);
    }
    i32 there = 1e-30f < all;
    f32 ratio = fb_div(deviating, there ? all : 1.0f);
    *anisotropy = there ? fb_sqrt(fb_min(ratio, 1.0f)) : 0.0f;
}

#if HAS_EXTREMES
DEVICE_FN f32 form_value(const f32 *w, GLOBAL const f32 *terms) {
    f32 even = w[0] * terms[0];
    f32 odd = w[1] * terms[1];
    UNROLL for (u32 k = 2; k < 14; k += 2) {
        even = FMA(w[k], terms[k], even);
        odd = FMA(w[k + 1], terms[k + 1], odd);
    }
    even = FMA(w[14], terms[14], even);
    return even + odd;
}

DEVICE_FN void newton(const f32 *x, const f32 *matrix, const f32 *gradient, f32 value, f32 *step) {
    f32 e1[3], e2[3], m1[3], m2[3];
    across(x, e1, e2);
    times(matrix, e1, m1);
    times(matrix, e2, m2);
    f32 c11 = product3(e1, m1) * 3.0f;
    f32 c12 = product3(e1, m2) * 3.0f;
    f32 c22 = product3(e2, m2) * 3.0f;
    f32 g1 = product3(e1, gradient);
    f32 g2 = product3(e2, gradient);
    f32 h = (c11 - c22) * 0.5f;
    f32 middle = (c11 + c22) * 0.5f - value;
    f32 radius = fb_sqrt(FMA(h, h, c12 * c12));
    f32 least = FMA(fb_abs(value), LEAST_CURVATURE, 1e-20f);
    f32 high = fb_div(1.0f, fb_max(fb_abs(middle + radius), least));
    f32 low = fb_div(1.0f, fb_max(fb_abs(middle - radius), least));
    f32 mean = (high + low) * 0.5f;
    f32 skew = fb_div((high - low) * 0.5f, fb_max(radius, 1e-20f));
    f32 t1 = FMA(mean, g1, skew * FMA(h, g1, c12 * g2));
    f32 t2 = FMA(mean, g2, skew * FMA(-h, g2, c12 * g1));
    f32 length = fb_sqrt(FMA(t1, t1, t2 * t2));
    f32 shorten = fb_min(fb_div(LONGEST, fb_max(length, 1e-20f)), 1.0f);
    t1 = t1 * shorten;
    t2 = t2 * shorten;
    UNROLL for (u32 i = 0; i < 3; i++) step[i] = FMA(t1, e1[i], e2[i] * t2);
}

/* Climbs from the unit vector `top`, which becomes the end. */
DEVICE_FN f32 climb(const f32 *w, f32 *top) {
    f32 value = -FB_MAX;
    f32 step[3] = {0.0f, 0.0f, 0.0f};
    for (u32 round = 0; round <= N_STEPS; round++) {
        f32 x[3], both[6], matrix[6], gradient[3], next[3];
        UNROLL for (u32 i = 0; i < 3; i++) x[i] = FMA(1.0f, step[i], top[i]);
        f32 inverse = fb_rsqrt_finite(product3(x, x));
        UNROLL for (u32 i = 0; i < 3; i++) x[i] = x[i] * inverse;
        products(x, x, both);
        contracted(w, both, matrix);
        times(matrix, x, gradient);
        f32 here = product3(x, gradient);
        i32 better = value < here;
        newton(x, matrix, gradient, here, next);
        UNROLL for (u32 i = 0; i < 3; i++) {
            top[i] = better ? x[i] : top[i];
            step[i] = better ? next[i] : step[i] * 0.25f;
        }
        value = better ? here : value;
    }
    return value;
}

/* The largest value of the form w on the unit sphere. */
DEVICE_FN f32 highest(const f32 *w, GLOBAL const f32 *terms, GLOBAL const f32 *points) {
    f32 highest = -FB_MAX;
    f32 ends[N_CLIMBS][3];
    for (u32 round = 0; round < N_CLIMBS; round++) {
        f32 best = -FB_MAX;
        f32 start[3] = {0.0f, 0.0f, 0.0f};
        for (u32 k = 0; k < N_GRID; k++) {
            f32 g[3] = {points[k * 3], points[k * 3 + 1], points[k * 3 + 2]};
            f32 value = form_value(w, terms + k * N_W);
            for (u32 e = 0; e < round; e++) {
                if (NEAR < fb_abs(product3(g, ends[e]))) value = -FB_MAX;
            }
            if (best < value) {
                best = value;
                UNROLL for (u32 i = 0; i < 3; i++) start[i] = g[i];
            }
        }
        f32 value = climb(w, start);
        highest = fb_max(value, highest);
        UNROLL for (u32 i = 0; i < 3; i++) ends[round][i] = start[i];
    }
    return highest;
}
#endif

DEVICE_FN void put(GLOBAL f32 *maps, u64 n, u64 voxel, i32 row, f32 value) {
    if (row >= 0) maps[(u64)row * n + voxel] = value;
}

/* NaN where the voxel was fitted but the value is not defined. */
DEVICE_FN f32 where_defined(i32 fitted, i32 defined, f32 value) {
    return fitted ? (defined ? value : BITS_F32(0x7fc00000u)) : 0.0f;
}

DEVICE_FN f32 clipped(f32 kurtosis) { return fb_min(fb_max(kurtosis, CLIP_LOW), CLIP_HIGH); }

KERNEL(dki_maps)(u64 n, GLOBAL const f32 *RESTRICT nodes, GLOBAL const f32 *RESTRICT terms,
                 GLOBAL const f32 *RESTRICT points, GLOBAL const f32 *RESTRICT parameters,
                 GLOBAL f32 *RESTRICT maps) {
    u64 voxel = GLOBAL_ID();
    if (voxel >= n) return;
    f32 status = parameters[ROW_STATUS * n + voxel];
    f32 tensor[6], form[15], l[3], e[3][3], v[15], w[15];
    UNROLL for (u32 k = 0; k < 6; k++) tensor[k] = parameters[(ROW_TENSOR + k) * n + voxel];
    UNROLL for (u32 k = 0; k < N_W; k++) form[k] = parameters[(ROW_QUARTIC + k) * n + voxel];
    i32 fitted = status <= STATUS_NOT_CONVERGED;
    Deviator deviator;
    find_deviator(tensor, &deviator);
    eigen(&deviator, l, e);
#if RAISES
    if (l[2] < MIN_DIFFUSIVITY && fitted) {
        UNROLL for (u32 k = 0; k < 3; k++) l[k] = fb_max(l[k], MIN_DIFFUSIVITY);
        tensor[0] = rebuilt(l, e, 0, 0);
        tensor[1] = rebuilt(l, e, 0, 1);
        tensor[2] = rebuilt(l, e, 0, 2);
        tensor[3] = rebuilt(l, e, 1, 1);
        tensor[4] = rebuilt(l, e, 1, 2);
        tensor[5] = rebuilt(l, e, 2, 2);
        find_deviator(tensor, &deviator);
        status = fb_max(STATUS_CONSTRAINED, status);
    }
#endif
    put(maps, n, voxel, MAP_FA, fractional_anisotropy(&deviator));
    put(maps, n, voxel, MAP_MD, deviator.mean * MM2_PER_S);
    put(maps, n, voxel, MAP_AD, l[0] * MM2_PER_S);
    put(maps, n, voxel, MAP_RD, (l[1] + l[2]) * 0.5f * MM2_PER_S);
    for (i32 i = 0; i < 3; i++) {
        put(maps, n, voxel, MAP_V1 < 0 ? -1 : MAP_V1 + i, fitted ? e[0][i] : 0.0f);
    }
    for (i32 k = 0; k < 6; k++) {
        put(maps, n, voxel, MAP_TENSOR < 0 ? -1 : MAP_TENSOR + k, tensor[k] * MM2_PER_S);
    }
    put(maps, n, voxel, MAP_S0, parameters[ROW_S0 * n + voxel]);
    put(maps, n, voxel, MAP_RESIDUAL, parameters[ROW_RESIDUAL * n + voxel]);
    i32 diffuses = LEAST_MEAN < deviator.mean;
    i32 positive = LEAST_DIFFUSIVITY < l[2] && diffuses;
    put(maps, n, voxel, MAP_STATUS, fitted && !positive ? STATUS_UNDEFINED : status);

    f32 inverse = fb_div(1.0f, diffuses ? deviator.mean : 1.0f);
    put(maps, n, voxel, MAP_LINEARITY,
        where_defined(fitted, diffuses, (l[0] - l[1]) * inverse * 0.333333343f));
    put(maps, n, voxel, MAP_PLANARITY,
        where_defined(fitted, diffuses, (l[1] - l[2]) * inverse * 0.666666687f));
    put(maps, n, voxel, MAP_SPHERICITY, where_defined(fitted, diffuses, l[2] * inverse));
    f32 scale = inverse * inverse;
    UNROLL for (u32 k = 0; k < N_W; k++) w[k] = form[k] * scale;
    f32 mean, anisotropy;
    invariants(w, &mean, &anisotropy);
    for (i32 k = 0; k < 15; k++) {
        put(maps, n, voxel, MAP_KURTOSIS < 0 ? -1 : MAP_KURTOSIS + k,
            where_defined(fitted, diffuses, w[k]));
    }
    put(maps, n, voxel, MAP_MKT, where_defined(fitted, diffuses, mean));
    put(maps, n, voxel, MAP_KFA, where_defined(fitted, diffuses, anisotropy));

    UNROLL for (u32 k = 0; k < 3; k++) l[k] = positive ? l[k] : 1.0f;
    in_frame(form, e, v);
    put(maps, n, voxel, MAP_MK,
        where_defined(fitted, positive, clipped(mean_kurtosis(l, v, nodes))));
    put(maps, n, voxel, MAP_AK,
        where_defined(fitted, positive, clipped(fb_div(v[0], l[0] * l[0]))));
    put(maps, n, voxel, MAP_RK, where_defined(fitted, positive, clipped(radial_kurtosis(l, v))));
#if HAS_EXTREMES
    f32 root[3];
    UNROLL for (u32 i = 0; i < 3; i++) root[i] = fb_rsqrt_finite(l[i]);
    UNROLL for (u32 k = 0; k < N_W; k++) {
        w[k] = v[k];
        for (u32 i = 0; i < 3; i++) {
            for (u32 power = 0; power < POWERS[k * 3 + i]; power++) w[k] = w[k] * root[i];
        }
    }
    put(maps, n, voxel, MAP_KMAX,
        where_defined(fitted, positive, clipped(highest(w, terms, points))));
    UNROLL for (u32 k = 0; k < N_W; k++) w[k] = w[k] * -1.0f;
    put(maps, n, voxel, MAP_KMIN,
        where_defined(fitted, positive, clipped(-highest(w, terms, points))));
#endif
}
