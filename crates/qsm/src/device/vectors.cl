/* What stands around the sums over pairs: moving numbers between lists of voxels and volumes. */

/* volume[place[i]] = weight[i] x[index[i]] */
KERNEL(scatter_plain)(u64 n, GLOBAL const u32 *RESTRICT place, GLOBAL const u32 *RESTRICT index,
                      GLOBAL const f32 *RESTRICT weight, GLOBAL const f32 *RESTRICT x,
                      GLOBAL f32 *RESTRICT volume) {
    u64 i = GLOBAL_ID();
    if (i < n) volume[place[i]] = weight[i] * x[index[i]];
}

KERNEL(multiply_spectrum)(u64 n, GLOBAL const f32 *RESTRICT kernel_spectrum,
                          GLOBAL f32x2 *RESTRICT spectrum) {
    u64 i = GLOBAL_ID();
    if (i < n) {
        f32x2 value = spectrum[i];
        spectrum[i] = F32X2(kernel_spectrum[i] * value.x, kernel_spectrum[i] * value.y);
    }
}

/* y[index[i]] = volume[place[i]] */
KERNEL(gather_plain)(u64 n, GLOBAL const u32 *RESTRICT place, GLOBAL const u32 *RESTRICT index,
                     GLOBAL const f32 *RESTRICT volume, GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i < n) y[index[i]] = volume[place[i]];
}

/* y[i] += volume[place[i]] */
KERNEL(add_plain)(u64 n, GLOBAL const u32 *RESTRICT place, GLOBAL const f32 *RESTRICT volume,
                  GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i < n) y[i] += volume[place[i]];
}

/* y[to[i]] += amount[i] x[from[i]]; each `to` once. */
KERNEL(add_inside)(u64 n, GLOBAL const u32 *RESTRICT from, GLOBAL const u32 *RESTRICT to,
                   GLOBAL const f32 *RESTRICT amount, GLOBAL const f32 *RESTRICT x,
                   GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i < n) y[to[i]] += amount[i] * x[from[i]];
}

KERNEL(multiply_weights)(u64 n, GLOBAL const f32 *RESTRICT weight, GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i < n) y[i] *= weight[i];
}

/* The sum over the 18 neighbours of voxel i of a box; NOBODY is no unknown. */
#define NOBODY 0xffffffffu
#define EACH_NEIGHBOUR(i, body) { \
    i32 cx = (i32)((i) % nx), cy = (i32)((i) / nx % ny), cz = (i32)((i) / ((u64)nx * ny)); \
    for (i32 dz = -1; dz <= 1; dz++) { \
        for (i32 dy = -1; dy <= 1; dy++) { \
            for (i32 dx = -1; dx <= 1; dx++) { \
                i32 far = dx * dx + dy * dy + dz * dz; \
                i32 jx = cx + dx, jy = cy + dy, jz = cz + dz; \
                if (far == 0 || far == 3 || jx < 0 || jy < 0 || jz < 0) continue; \
                if (jx >= (i32)nx || jy >= (i32)ny || jz >= (i32)nz) continue; \
                u64 j = (u64)jx + nx * ((u64)jy + ny * (u64)jz); \
                f32 weight = far == 1 ? FACE : EDGE; \
                body \
            } \
        } \
    } \
}

/* D x, an item for each voxel of the box. With FREE_EDGES rows are those of unknowns only. */
KERNEL(laplacian)(u32 nx, u32 ny, u32 nz, GLOBAL const u32 *RESTRICT unknown_at,
                  GLOBAL const f32 *RESTRICT centre, GLOBAL const f32 *RESTRICT x,
                  GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    u32 me = unknown_at[i];
    f32 sum = 0.0f;
    if (!FREE_EDGES || me != NOBODY) {
        EACH_NEIGHBOUR(i, {
            u32 other = unknown_at[j];
            if (other != NOBODY) sum = FMA(weight, x[other], sum);
        })
        if (me != NOBODY) sum -= centre[i] * x[me];
    }
    y[i] = sum;
}

/* D' y, an item for each unknown, at voxel voxel_of[i] of the box. */
KERNEL(laplacian_adjoint)(u32 nx, u32 ny, u32 nz, u64 n, GLOBAL const u32 *RESTRICT voxel_of,
                          GLOBAL const u32 *RESTRICT unknown_at,
                          GLOBAL const f32 *RESTRICT centre, GLOBAL const f32 *RESTRICT y,
                          GLOBAL f32 *RESTRICT x) {
    u64 item = GLOBAL_ID();
    if (item >= n) return;
    u64 i = voxel_of[item];
    f32 sum = 0.0f;
    EACH_NEIGHBOUR(i, {
        if (!FREE_EDGES || unknown_at[j] != NOBODY) sum = FMA(weight, y[j], sum);
    })
    x[item] = sum - centre[i] * y[i];
}
