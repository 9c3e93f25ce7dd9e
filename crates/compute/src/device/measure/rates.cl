/* Kernels whose bytes or operations are counted. Each item's result converges to 2 when it reads
   ones, or adds ones: a * 0.5 + 1. */

KERNEL(triad)(u64 n, f32 s, GLOBAL const f32 *RESTRICT b, GLOBAL const f32 *RESTRICT c,
              GLOBAL f32 *RESTRICT a) {
    u64 i = GLOBAL_ID();
    if (i < n) a[i] = FMA(s, c[i], b[i]);
}

/* READS numbers in each of `rounds`, over and over from the `n` (a power of two) of x. */
KERNEL(read_again)(u32 n, u32 rounds, GLOBAL const f32 *RESTRICT x, GLOBAL f32 *RESTRICT result) {
    u32 at = (u32)GLOBAL_ID();
    f32 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 round = 0; round < rounds; round++) {
        UNROLL
        for (u32 k = 0; k < READS; k++) {
            sum[k % 4] = FMA(sum[k % 4], 0.5f, x[at & (n - 1)]);
            at += GROUP;
        }
    }
    result[GLOBAL_ID()] = 0.25f * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

GROUP_KERNEL(read_local, GROUP)(u32 rounds, GLOBAL f32 *RESTRICT result) {
    LOCAL f32 scratch[READS * GROUP];
    u32 me = (u32)LOCAL_ID();
    for (u32 k = 0; k < READS; k++) scratch[k * GROUP + me] = 1.0f;
    BARRIER();
    f32 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 round = 0; round < rounds; round++) {
        UNROLL
        for (u32 k = 0; k < READS; k++) {
            /* The round turns the order, so that nothing can be kept in registers. */
            u32 slot = (k + round) % READS;
            sum[k % 4] = FMA(sum[k % 4], 0.5f, scratch[slot * GROUP + me]);
        }
    }
    result[GLOBAL_ID()] = 0.25f * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* CHAINS independent chains of READS multiply-adds in each of `rounds`. */
KERNEL(multiply_add)(u32 rounds, f32 factor, f32 addend, GLOBAL f32 *RESTRICT result) {
    f32 sum[CHAINS];
    UNROLL
    for (u32 c = 0; c < CHAINS; c++) sum[c] = (f32)c;
    for (u32 round = 0; round < rounds; round++) {
        UNROLL
        for (u32 k = 0; k < READS; k++) {
            UNROLL
            for (u32 c = 0; c < CHAINS; c++) sum[c] = FMA(sum[c], factor, addend);
        }
    }
    f32 total = 0.0f;
    UNROLL
    for (u32 c = 0; c < CHAINS; c++) total += sum[c];
    result[GLOBAL_ID()] = total * (1.0f / CHAINS);
}
