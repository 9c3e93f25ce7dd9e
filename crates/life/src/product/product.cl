/* Products with M, as crates/life/src/product/mod.rs describes them. A group works on one voxel;
   columns have STRIDE numbers, a multiple of 16; GROUP is a multiple of TEAM, both powers of 2. */

/* y = M w - b, voxel by voxel; without b where has_b is 0. Item t makes element t, t + GROUP ... */
GROUP_KERNEL(life_residual, GROUP)(GLOBAL const u64 *RESTRICT start,
                                   GLOBAL const u32 *RESTRICT atom,
                                   GLOBAL const u32 *RESTRICT streamline,
                                   GLOBAL const f32 *RESTRICT value,
                                   GLOBAL const f32 *RESTRICT columns,
                                   GLOBAL const f32 *RESTRICT w, GLOBAL const f32 *RESTRICT b,
                                   u32 has_b, GLOBAL f32 *RESTRICT y) {
    u64 voxel = GROUP_ID();
    u64 end = start[voxel + 1];
    for (u32 t = (u32)LOCAL_ID(); t < STRIDE; t += GROUP) {
        f32 sum = has_b ? -b[voxel * STRIDE + t] : 0.0f;
        for (u64 k = start[voxel]; k < end; k++) {
            f32 weight = w[streamline[k]];
            if (weight != 0.0f) {
                sum = FMA(weight * value[k], columns[(u64)atom[k] * STRIDE + t], sum);
            }
        }
        y[voxel * STRIDE + t] = sum;
    }
}

/* Of every entry, its value times the inner product of its column with y. TEAM items share an
   entry. */
GROUP_KERNEL(life_products, GROUP)(GLOBAL const u64 *RESTRICT start,
                                   GLOBAL const u32 *RESTRICT atom,
                                   GLOBAL const f32 *RESTRICT value,
                                   GLOBAL const f32 *RESTRICT columns,
                                   GLOBAL const f32 *RESTRICT y, GLOBAL f32 *RESTRICT products) {
    LOCAL f32 of_voxel[STRIDE];
    LOCAL f32 sums[GROUP];
    u32 me = (u32)LOCAL_ID();
    u32 lane = me % TEAM;
    u64 voxel = GROUP_ID();
    u64 end = start[voxel + 1];
    for (u32 t = me; t < STRIDE; t += GROUP) of_voxel[t] = y[voxel * STRIDE + t];
    BARRIER();
    for (u64 first = start[voxel]; first < end; first += GROUP / TEAM) {
        u64 k = first + me / TEAM;
        f32 sum = 0.0f;
        if (k < end) {
            u64 column = (u64)atom[k] * STRIDE;
            for (u32 t = lane; t < STRIDE; t += TEAM) {
                sum = FMA(columns[column + t], of_voxel[t], sum);
            }
        }
        sums[me] = sum;
        for (u32 reach = TEAM / 2; reach > 0; reach /= 2) {
            BARRIER();
            if (lane < reach) sums[me] += sums[me + reach];
        }
        if (lane == 0 && k < end) products[k] = value[k] * sums[me];
        BARRIER(); /* sums is used again */
    }
}

/* g: of every streamline the sum of its entries' products, compensated (Kahan). */
KERNEL(life_gather)(u64 streamlines, GLOBAL const u64 *RESTRICT start,
                    GLOBAL const u32 *RESTRICT entry, GLOBAL const f32 *RESTRICT products,
                    GLOBAL f32 *RESTRICT g) {
    u64 f = GLOBAL_ID();
    if (f >= streamlines) return;
    f32 sum = 0.0f, lost = 0.0f;
    u64 end = start[f + 1];
    for (u64 k = start[f]; k < end; k++) {
        f32 term = products[entry[k]] - lost;
        f32 next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    g[f] = sum;
}
