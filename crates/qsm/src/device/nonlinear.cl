/* Steps downhill of the phase: the map stays a spectrum, an item for each of its elements. */

/* chi = chi - step slope */
KERNEL(step_down)(u64 n, f32 step, GLOBAL const f32x2 *RESTRICT slope,
                  GLOBAL f32x2 *RESTRICT chi) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32x2 by = slope[k], from = chi[k];
    chi[k] = F32X2(from.x - by.x * step, from.y - by.y * step);
}

/* The size of each element. */
KERNEL(sizes)(u64 n, GLOBAL const f32x2 *RESTRICT spectrum, GLOBAL f32 *RESTRICT size) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32x2 x = spectrum[k];
    size[k] = fb_sqrt(x.x * x.x + x.y * x.y);
}

/* The map and, as imaginary part, its field. */
KERNEL(with_field)(u32 nx, u32 ny, u32 nz, GLOBAL const f32 *RESTRICT dipole,
                   GLOBAL const f32x2 *RESTRICT chi, GLOBAL f32x2 *RESTRICT both) {
    u64 k = GLOBAL_ID();
    if (k >= (u64)nx * ny * nz) return;
    f32 d = dipole[half_of(k, nx, ny, nz)];
    f32x2 map = chi[k];
    both[k] = F32X2(map.x - d * map.y, map.y + d * map.x);
}

/* What the field of the map leaves of the phase of each unknown, w sin(s r) w / s, to its place; the map, its
   field, and the root of 2 w^2 (1 - cos s r) / s^2. */
KERNEL(explain)(u64 n, f32 s, GLOBAL const u32 *RESTRICT place, GLOBAL const f32 *RESTRICT field,
                GLOBAL const f32 *RESTRICT weight, GLOBAL const f32x2 *RESTRICT both,
                GLOBAL f32x2 *RESTRICT pull, GLOBAL f32 *RESTRICT inside,
                GLOBAL f32 *RESTRICT predicted, GLOBAL f32 *RESTRICT off) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    u64 at = place[i];
    f32x2 here = both[at];
    f32 angle = s * (here.y - field[i]), w = weight[i];
    inside[i] = here.x;
    predicted[i] = here.y;
    off[i] = w * fb_div(2.0f * fb_sin(0.5f * angle), s);
    pull[at] = F32X2(fb_div(w * w * fb_sin(angle), s), 0.0f);
}

/* The slope: D times the transform of that, + lambda chi. */
KERNEL(slope_of)(u32 nx, u32 ny, u32 nz, f32 lambda, GLOBAL const f32 *RESTRICT dipole,
                 GLOBAL const f32x2 *RESTRICT pull, GLOBAL const f32x2 *RESTRICT chi,
                 GLOBAL f32x2 *RESTRICT slope) {
    u64 k = GLOBAL_ID();
    if (k >= (u64)nx * ny * nz) return;
    f32 d = dipole[half_of(k, nx, ny, nz)];
    f32x2 of_pull = pull[k], map = chi[k];
    slope[k] = F32X2(of_pull.x * d + map.x * lambda, of_pull.y * d + map.y * lambda);
}
