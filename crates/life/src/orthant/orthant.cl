/* What solvers need at the bounds x >= 0. */

KERNEL(hold)(u64 n, GLOBAL const f32 *RESTRICT x, GLOBAL const f32 *g, GLOBAL f32 *v) {
    u64 i = GLOBAL_ID();
    if (i < n && x[i] <= 0.0f && g[i] > 0.0f) v[i] = 0.0f;
}

KERNEL(restrict_to_face)(u64 n, GLOBAL const f32 *RESTRICT x, GLOBAL f32 *RESTRICT v) {
    u64 i = GLOBAL_ID();
    if (i < n && x[i] <= 0.0f) v[i] = 0.0f;
}

/* The least x / p of the elements of each block whose p is positive; largest f32 where none is. */
GROUP_KERNEL(longest_step, GROUP)(u64 n, GLOBAL const f32 *RESTRICT x,
                                  GLOBAL const f32 *RESTRICT p, GLOBAL f32 *RESTRICT least) {
    LOCAL f32 steps[GROUP];
    u32 me = (u32)LOCAL_ID();
    u64 first = GROUP_ID() * BLOCK;
    f32 step = 3.402823466e38f;
    for (u64 i = first + me; i < first + BLOCK && i < n; i += GROUP) {
        if (p[i] > 0.0f) step = FMIN(step, fb_div(x[i], p[i]));
    }
    steps[me] = step;
    for (u32 reach = GROUP / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (me < reach) steps[me] = FMIN(steps[me], steps[me + reach]);
    }
    if (me == 0) least[GROUP_ID()] = steps[0];
}
