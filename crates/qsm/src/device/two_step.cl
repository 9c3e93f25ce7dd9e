/* The iterations of rapid two-step, in real volumes whose ends meet and in half spectra. */

/* pull = the adjoint of differences of h */
KERNEL(pull_edges)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z, GLOBAL const f32 *RESTRICT h,
                   GLOBAL f32 *RESTRICT pull) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    pull[i] = gathered_at(i, before_of(i, nx, ny, nz), h, per_x, per_y, per_z);
}

/* The spectrum of the map, of that of what pulls at it, and that of its field. */
KERNEL(fill_in)(u64 n, f32 rho, GLOBAL const f32x2 *RESTRICT data, GLOBAL const f32 *RESTRICT inverse,
                GLOBAL const f32 *RESTRICT dipole, GLOBAL f32x2 *RESTRICT spectrum,
                GLOBAL f32x2 *RESTRICT of_field) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32x2 known = data[k], pull = spectrum[k];
    f32 by = inverse[k], d = dipole[k];
    f32 re = (known.x + pull.x * rho) * by, im = (known.y + pull.y * rho) * by;
    spectrum[k] = F32X2(re, im);
    of_field[k] = F32X2(re * d, im * d);
}

/* What the field of the map leaves of that which is known, elsewhere 0. */
KERNEL(leave)(u64 n, GLOBAL const f32 *RESTRICT known, GLOBAL const f32 *RESTRICT field,
              GLOBAL f32 *RESTRICT off) {
    u64 i = GLOBAL_ID();
    if (i < n) off[i] = known[i] != 0.0f ? field[i] - known[i] : 0.0f;
}

/* The map in the first of its voxels along each axis, 0 in the others. */
KERNEL(within)(u32 nx, u32 ny, u32 nz, u32 x_end, u32 y_end, u32 z_end, GLOBAL const f32 *RESTRICT map,
               GLOBAL f32 *RESTRICT kept) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    u32 is_kept = i % nx < x_end && i / nx % ny < y_end && i / ((u64)nx * ny) < z_end;
    kept[i] = is_kept ? map[i] : 0.0f;
}
