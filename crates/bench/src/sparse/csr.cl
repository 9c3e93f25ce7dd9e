/* The product with a matrix in compressed rows. TEAM items make one row: item l sums entries l,
   l + TEAM ..., and the sums are added in pairs, as the CPU does with its partial sums, so
   that both give the same bits. GROUP is a multiple of TEAM. */
GROUP_KERNEL(csr_multiply, GROUP)(u64 rows, GLOBAL const u64 *RESTRICT row_start,
                                  GLOBAL const u32 *RESTRICT column,
                                  GLOBAL const f32 *RESTRICT value,
                                  GLOBAL const f32 *RESTRICT x, GLOBAL f32 *RESTRICT y) {
    LOCAL f32 sums[GROUP];
    u32 me = (u32)LOCAL_ID();
    u32 lane = me % TEAM;
    u64 row = GLOBAL_ID() / TEAM;
    f32 sum = 0.0f;
    if (row < rows) {
        u64 end = row_start[row + 1];
        for (u64 entry = row_start[row] + lane; entry < end; entry += TEAM) {
            sum = FMA(value[entry], x[column[entry]], sum);
        }
    }
    sums[me] = sum;
    for (u32 reach = TEAM / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (lane < reach) sums[me] += sums[me + reach];
    }
    if (lane == 0 && row < rows) y[row] = sums[me];
}
