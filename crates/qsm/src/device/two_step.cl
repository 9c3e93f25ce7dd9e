/* The iterations of rapid two-step, in real volumes whose ends meet and in half spectra. */

/* pull = the adjoint of differences of h */
KERNEL(pull_edges)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z, GLOBAL const f32 *RESTRICT h,
                   GLOBAL f32 *RESTRICT pull) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    pull[i] = gathered_at(i, before_of(i, nx, ny, nz), h, per_x, per_y, per_z);
}

/* The spectrum of the map, of that of what pulls at it; and the size of what its field leaves of that given, root two
   times as much where the other half has its conjugate: all but the first along x and, of an even length, the last. */
KERNEL(fill_in)(u64 n, u32 nx, f32 rho, GLOBAL const f32x2 *RESTRICT field, GLOBAL const f32 *RESTRICT pull,
                GLOBAL const f32 *RESTRICT inverse, GLOBAL const f32 *RESTRICT dipole,
                GLOBAL f32x2 *RESTRICT spectrum, GLOBAL f32 *RESTRICT left) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32x2 b = field[k], of_edges = spectrum[k];
    f32 by = inverse[k], d = dipole[k], of_field = pull[k];
    f32 re = (b.x * of_field + of_edges.x * rho) * by, im = (b.y * of_field + of_edges.y * rho) * by;
    spectrum[k] = F32X2(re, im);
    f32 off_re = re * d - b.x, off_im = im * d - b.y;
    u64 x = k % (nx / 2 + 1);
    f32 times = x == 0 || 2 * x == nx ? 1.0f : 2.0f;
    left[k] = fb_sqrt(times * (off_re * off_re + off_im * off_im));
}

/* The map in the first of its voxels along each axis, 0 in the others. */
KERNEL(within)(u32 nx, u32 ny, u32 nz, u32 x_end, u32 y_end, u32 z_end, GLOBAL const f32 *RESTRICT map,
               GLOBAL f32 *RESTRICT kept) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    u32 is_kept = i % nx < x_end && i / nx % ny < y_end && i / ((u64)nx * ny) < z_end;
    kept[i] = is_kept ? map[i] : 0.0f;
}
