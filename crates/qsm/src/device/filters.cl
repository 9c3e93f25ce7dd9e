/* Weights of voxels, and of differences along the axes. */

/* y[i] = weight[i] volume[place[i]] */
KERNEL(weigh)(u64 n, GLOBAL const u32 *RESTRICT place, GLOBAL const f32 *RESTRICT weight,
              GLOBAL const f32 *RESTRICT volume, GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i < n) y[i] = weight[i] * volume[place[i]];
}

/* Its adjoint, into zeros. */
KERNEL(weigh_adjoint)(u64 n, GLOBAL const u32 *RESTRICT place, GLOBAL const f32 *RESTRICT weight,
                      GLOBAL const f32 *RESTRICT y, GLOBAL f32 *RESTRICT volume) {
    u64 i = GLOBAL_ID();
    if (i < n) volume[place[i]] = weight[i] * y[i];
}

/* Differences along the axes times weights, three numbers a voxel. */
KERNEL(slopes)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z,
               GLOBAL const f32 *RESTRICT weight, GLOBAL const f32 *RESTRICT map,
               GLOBAL f32 *RESTRICT slope) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    Neighbours next = next_of(i, nx, ny, nz);
    f32 here = map[i];
    slope[3 * i] = weight[3 * i] * ((map[next.along[0]] - here) * per_x);
    slope[3 * i + 1] = weight[3 * i + 1] * ((map[next.along[1]] - here) * per_y);
    slope[3 * i + 2] = weight[3 * i + 2] * ((map[next.along[2]] - here) * per_z);
}

/* Its adjoint. */
KERNEL(slopes_adjoint)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z,
                       GLOBAL const f32 *RESTRICT weight, GLOBAL const f32 *RESTRICT slope,
                       GLOBAL f32 *RESTRICT volume) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    Neighbours before = before_of(i, nx, ny, nz);
    f32 per[3], sum = 0.0f;
    per[0] = per_x;
    per[1] = per_y;
    per[2] = per_z;
    for (u32 a = 0; a < 3; a++) {
        u64 from = 3 * before.along[a] + a, here = 3 * i + a;
        sum += (weight[from] * slope[from] - weight[here] * slope[here]) * per[a];
    }
    volume[i] = sum;
}
