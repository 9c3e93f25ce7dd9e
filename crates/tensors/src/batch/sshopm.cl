/* SS-HOPM: a group of items for each tensor, whose entries it holds in local memory; each item
   takes every GROUP-th start. The operations of batch/lanes/advance.rs in their order.

   Constants: GROUP, ORDER, DIMENSION, ENTRIES; PRODUCTS 0 general with tables, 1 plain, 2 shared;
   ADAPTIVE; MARGIN, NO_LENGTH. The unrolled functions contract, plain_value and plain_vector stand
   before this text, where they are used. */

#if ADAPTIVE
DEVICE_FN f32 smallest_eigenvalue(const f32 *b) {
    f32 mean = (b[0] + b[3] + b[5]) * 0.333333343f;
    f32 xx = b[0] - mean, yy = b[3] - mean, zz = b[5] - mean;
    f32 xy = b[1], xz = b[2], yz = b[4];
    f32 diagonal = FMA(zz, zz, FMA(yy, yy, xx * xx));
    f32 off = FMA(yz, yz, FMA(xz, xz, xy * xy));
    f32 size2 = FMA(off, 2.0f, diagonal) * 0.166666672f;
    f32 inverse = fb_rsqrt_finite(fb_max(size2, NO_LENGTH));
    f32 size = size2 * inverse;
    f32 determinant = FMA(xx, FMA(-yz, yz, yy * zz),
                          FMA(-xy, FMA(-xz, yz, xy * zz), xz * FMA(-yy, xz, xy * yz)));
    f32 r = determinant * inverse * inverse * inverse * 0.5f;
    r = fb_max(fb_min(r, 1.0f), -1.0f);
    f32 t = fb_abs(r);
    f32 x = FMA(FMA(FMA(0.01888711f, t, -0.08176201f), t, 0.33080833f), t, 1.7321238f);
    f32 x2 = x * x;
    f32 apart = x - fb_div(FMA(x2 - 3.0f, x, t * -2.0f), (x2 - 1.0f) * 3.0f);
    f32 pair = fb_sqrt(fb_max(FMA(-apart, apart * 3.0f, 12.0f), 0.0f));
    f32 root = 0.0f < r ? (apart + pair) * 0.5f : apart;
    return FMA(-root, size, mean);
}
#endif

#if PRODUCTS == 0
/* Indices and multinomials of every class, as the host lists them. */
DEVICE_FN f32 lambda_of(LOCAL_PTR const f32 *a, GLOBAL const u32 *indices,
                        GLOBAL const f32 *counts, const f32 *x) {
    f32 sum = 0.0f;
    for (u32 entry = 0; entry < ENTRIES; entry++) {
        f32 term = counts[entry] * a[entry];
        for (u32 k = 0; k < ORDER; k++) term *= x[indices[entry * ORDER + k]];
        sum += term;
    }
    return sum;
}

DEVICE_FN void vector_of(LOCAL_PTR const f32 *a, GLOBAL const u32 *indices,
                         GLOBAL const f32 *counts, const f32 *x, f32 *y) {
    for (u32 i = 0; i < DIMENSION; i++) y[i] = 0.0f;
    for (u32 entry = 0; entry < ENTRIES; entry++) {
        u32 k = 0;
        while (k < ORDER) {
            u32 i = indices[entry * ORDER + k];
            u32 first = k;
            while (k < ORDER && indices[entry * ORDER + k] == i) k++;
            /* The multinomial of the others is counts * (times i occurs) / ORDER. */
            f32 term = counts[entry] * (f32)(k - first) * (1.0f / (f32)ORDER) * a[entry];
            for (u32 j = 0; j < ORDER; j++) {
                if (j != first) term *= x[indices[entry * ORDER + j]];
            }
            y[i] += term;
        }
    }
}
#endif

/* Lambda at x, and the next x. */
#define ADVANCE(lambda, x)                                                                        \
    do {                                                                                          \
        f32 y[DIMENSION];                                                                         \
        f32 alpha = shift;                                                                        \
        PRODUCTS_OF(lambda, x, y, alpha);                                                         \
        f32 length2 = 0.0f;                                                                       \
        UNROLL for (u32 i = 0; i < DIMENSION; i++) {                                              \
            y[i] = FMA(alpha, x[i], y[i]);                                                        \
            length2 = i == 0 ? y[i] * y[i] : FMA(y[i], y[i], length2);                            \
        }                                                                                         \
        f32 scale = sign * fb_rsqrt_finite(length2);                                              \
        UNROLL for (u32 i = 0; i < DIMENSION; i++) {                                              \
            x[i] = NO_LENGTH < length2 ? y[i] * scale : x[i];                                     \
        }                                                                                         \
    } while (0)

#if PRODUCTS == 0
#define PRODUCTS_OF(lambda, x, y, alpha)                                                          \
    vector_of(a, indices, counts, x, y);                                                          \
    lambda = lambda_of(a, indices, counts, x)
#elif PRODUCTS == 1
#define PRODUCTS_OF(lambda, x, y, alpha)                                                          \
    plain_vector(a, x, y);                                                                        \
    lambda = plain_value(a, x)
#else
/* B x of a symmetric matrix by its unique entries, and xB x. */
DEVICE_FN f32 from_contraction(const f32 *b, const f32 *x, f32 *y) {
    UNROLL for (u32 i = 0; i < DIMENSION; i++) {
        UNROLL for (u32 j = 0; j < DIMENSION; j++) {
            u32 low = i < j ? i : j, high = i < j ? j : i;
            f32 entry = b[low * DIMENSION - low * (low + 1) / 2 + high];
            y[i] = j == 0 ? entry * x[j] : FMA(entry, x[j], y[i]);
        }
    }
    f32 sum = x[0] * y[0];
    UNROLL for (u32 i = 1; i < DIMENSION; i++) sum = FMA(x[i], y[i], sum);
    return sum;
}
#if ADAPTIVE
#define SHIFT_OF(b, alpha)                                                                        \
    alpha = fb_max(FMA(smallest_eigenvalue(b), 1.0f - ORDER, margin), 0.0f)
#else
#define SHIFT_OF(b, alpha)
#endif
#define PRODUCTS_OF(lambda, x, y, alpha)                                                          \
    f32 b[DIMENSION * (DIMENSION + 1) / 2];                                                       \
    contract(a, x, b);                                                                            \
    lambda = from_contraction(b, x, y);                                                           \
    SHIFT_OF(b, alpha)
#endif

/* A negative tolerance asks for exactly `most` iterations. */
GROUP_KERNEL(sshopm, GROUP)(u32 n_starts, u32 most, f32 tolerance, f32 shift,
                            GLOBAL const u32 *RESTRICT indices, GLOBAL const f32 *RESTRICT counts,
                            GLOBAL const f32 *RESTRICT tensors, GLOBAL const f32 *RESTRICT starts,
                            GLOBAL f32 *RESTRICT lambdas, GLOBAL f32 *RESTRICT ends,
                            GLOBAL u32 *RESTRICT iterations) {
    LOCAL f32 a[ENTRIES];
    u64 tensor = GROUP_ID();
    u32 me = (u32)LOCAL_ID();
    for (u32 k = me; k < ENTRIES; k += GROUP) a[k] = tensors[tensor * ENTRIES + k];
    BARRIER();
#if ADAPTIVE
    f32 largest = 0.0f;
    UNROLL for (u32 k = 0; k < ENTRIES; k++) largest = fb_max(largest, fb_abs(a[k]));
    f32 margin = MARGIN * largest;
#endif
    f32 sign = shift < 0.0f ? -1.0f : 1.0f;
    for (u32 start = me; start < n_starts; start += GROUP) {
        f32 x[DIMENSION], at[DIMENSION];
        UNROLL for (u32 i = 0; i < DIMENSION; i++) x[i] = starts[start * DIMENSION + i];
        f32 lambda = 0.0f, before = 0.0f;
        u32 step = 0;
        i32 rests = 0;
        /* The products of a step give lambda of the iterate before it. */
        for (;;) {
            UNROLL for (u32 i = 0; i < DIMENSION; i++) at[i] = x[i];
            before = lambda;
            ADVANCE(lambda, x);
            rests = step > 0 && fb_abs(lambda - before) <= tolerance * fb_abs(lambda);
            if (rests || step >= most) break;
            step++;
        }
        u64 place = tensor * n_starts + start;
        lambdas[place] = lambda;
        UNROLL for (u32 i = 0; i < DIMENSION; i++) ends[place * DIMENSION + i] = at[i];
        /* The highest bit: the tolerance was not met. */
        iterations[place] = step | (rests || tolerance < 0.0f ? 0u : 0x80000000u);
    }
}
