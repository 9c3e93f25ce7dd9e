/* Arithmetic on device vectors. BLOCK elements make one partial inner product, by GROUP items. */

KERNEL(axpy)(u64 n, f32 alpha, GLOBAL const f32 *RESTRICT x, GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i < n) y[i] = FMA(alpha, x[i], y[i]);
}

KERNEL(scale)(u64 n, f32 alpha, GLOBAL f32 *x) {
    u64 i = GLOBAL_ID();
    if (i < n) x[i] *= alpha;
}

KERNEL(project_nonnegative)(u64 n, GLOBAL f32 *x) {
    u64 i = GLOBAL_ID();
    /* A NaN stays: a projection that hides it would hide the error. */
    if (i < n && x[i] < 0.0f) x[i] = 0.0f;
}

/* A sum and what rounding took from it. */
typedef struct {
    f32 high;
    f32 low;
} Sum;

/* high + low of both, with the rounding error of the high parts' sum kept (Knuth's two-sum). */
DEVICE_FN Sum plus(Sum a, Sum b) {
    f32 high = a.high + b.high;
    f32 of_b = high - a.high;
    f32 error = (a.high - (high - of_b)) + (b.high - of_b);
    Sum sum;
    sum.high = high;
    sum.low = error + (a.low + b.low);
    return sum;
}

GROUP_KERNEL(inner_product, GROUP)(u64 n, GLOBAL const f32 *RESTRICT x,
                                   GLOBAL const f32 *RESTRICT y,
                                   GLOBAL f32 *RESTRICT partial) {
    LOCAL Sum scratch[GROUP];
    u32 me = (u32)LOCAL_ID();
    u64 start = GROUP_ID() * BLOCK;
    u64 end = start + BLOCK < n ? start + BLOCK : n;
    Sum sum;
    sum.high = 0.0f;
    sum.low = 0.0f;
    for (u64 i = start + me; i < end; i += GROUP) {
        Sum product;
        product.high = x[i] * y[i];
        product.low = FMA(x[i], y[i], -product.high);
        sum = plus(sum, product);
    }
    scratch[me] = sum;
    for (u32 reach = GROUP / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (me < reach) scratch[me] = plus(scratch[me], scratch[me + reach]);
    }
    if (me == 0) {
        partial[2 * GROUP_ID()] = scratch[0].high;
        partial[2 * GROUP_ID() + 1] = scratch[0].low;
    }
}
