CONSTANT_TABLE u32 PRIMES[4] = {2u, 3u, 5u, 7u};

DEVICE_FN void swap_halves(LOCAL_PTR u32 *shared, u32 me) {
    u32 mine = shared[me ^ (GROUP / 2)];
    BARRIER();
    shared[me] = mine;
    BARRIER();
}

GROUP_KERNEL(use_everything, GROUP)(GLOBAL const f32 *RESTRICT x, GLOBAL const f32 *RESTRICT y,
                                    GLOBAL const u32 *RESTRICT words, GLOBAL u32 *RESTRICT out,
                                    GLOBAL u32 *RESTRICT counts, GLOBAL i64 *RESTRICT total) {
    LOCAL u32 shared[GROUP];
    LOCAL f32 scratch[GROUP];
    u64 item = GLOBAL_ID();
    u32 me = (u32)LOCAL_ID();
    f32 a = x[item], b = y[item];
    u32 w = words[item];
    GLOBAL u32 *o = out + item * SLOTS;

    o[0] = (u32)GLOBAL_ID();
    o[1] = (u32)GLOBAL_SIZE();
    o[2] = (u32)LOCAL_ID();
    o[3] = (u32)LOCAL_SIZE();
    o[4] = (u32)GROUP_ID();
    o[5] = (u32)(sizeof(i32) + 10 * sizeof(u32) + 100 * sizeof(i64) + 1000 * sizeof(u64))
        + 10000 * (u32)sizeof(f32);

    o[6] = F32_BITS(FMA(a, b, 1.0f));
    o[7] = F32_BITS(a * b + 1.0f);
    o[8] = F32_BITS(FABS(a));
    /* The smaller and the larger of a number and NaN is the number. */
    f32 b_or_nan = item == 5 ? BITS_F32(0x7fc00000u) : b;
    o[9] = F32_BITS(FMIN(a, b_or_nan));
    o[10] = F32_BITS(FMAX(a, b_or_nan));
    o[11] = F32_BITS(FLOOR(a));
    o[12] = F32_BITS(RINT(a));
    o[13] = F32_BITS(F32_OF_I32(w));
    o[14] = (u32)I32_OF_F32(a);
    o[15] = F32_BITS(BITS_F32(w & 0x3fffffffu));
    o[16] = MULHI_U32(w, 0xd2511f53u);
    u64 wide = (u64)w * w;
    o[17] = (u32)(wide >> 32);
    i64 negative = -(i64)wide;
    o[18] = (u32)(negative >> 40);
    o[19] = PRIMES[w % 4];
    f32x2 pair = F32X2(a, b);
    o[20] = F32_BITS(pair.y) ^ F32_BITS(pair.x);

    shared[me] = w;
    BARRIER();
    swap_halves(shared, me);
    o[21] = shared[me];
    /* Twice over the same scratch: the second must not begin before all have read the first. */
    f32 sum = GROUP_SUM_F32(scratch, a);
    o[22] = F32_BITS(sum - GROUP_SUM_F32(scratch, b));
    u32 loop = 0;
    UNROLL
    for (u32 k = 0; k < 8; k++) loop = 3 * loop + (w >> k) % 2;
    o[23] = loop;

    ATOMIC_ADD_U32(&counts[w % 4], w);
    ATOMIC_ADD_I32((GLOBAL i32 *)&counts[4 + w % 4], -(i32)(w & 0xffffu));
#if HAS_ATOMIC_I64
    ATOMIC_ADD_I64(total, -(i64)w);
#endif
    if (item == 0) counts[8] = HAS_ATOMIC_I64;

    /* Four at a time are the same numbers; of two 16-bit halves the low one comes first. */
    f32x4 four = ((GLOBAL const f32x4 *)x)[item / 4];
    o[25] = F32_BITS(four.x) - F32_BITS(four.y);
    o[26] = F32_BITS(four.z) - F32_BITS(four.w);
    o[27] = ((GLOBAL const u16 *)words)[2 * item];

#if HAS_F64
    o[24] = F32_BITS((f32)((f64)a / (f64)b));
#else
    o[24] = 0u;
#endif
}
