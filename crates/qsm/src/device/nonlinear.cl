/* Steps downhill of the phase: the map stays half a spectrum, an item for each of its elements. */

/* chi = chi - step slope */
KERNEL(step_down)(u64 n, f32 step, GLOBAL const f32x2 *RESTRICT slope,
                  GLOBAL f32x2 *RESTRICT chi) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32x2 by = slope[k], from = chi[k];
    chi[k] = F32X2(from.x - by.x * step, from.y - by.y * step);
}

/* The size of each element, root two times as much where the other half has its conjugate: all but the first
   along x and, of an even length, the last. */
KERNEL(sizes)(u64 n, u32 nx, GLOBAL const f32x2 *RESTRICT spectrum, GLOBAL f32 *RESTRICT size) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    u64 x = k % (nx / 2 + 1);
    f32x2 value = spectrum[k];
    f32 times = x == 0 || 2 * x == nx ? 1.0f : 2.0f;
    size[k] = fb_sqrt(times * (value.x * value.x + value.y * value.y));
}

/* The spectra of the map and of its field, which inverse transforms may use up. */
KERNEL(with_field)(u64 n, GLOBAL const f32 *RESTRICT dipole, GLOBAL const f32x2 *RESTRICT chi,
                   GLOBAL f32x2 *RESTRICT map, GLOBAL f32x2 *RESTRICT of_map) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32 d = dipole[k];
    f32x2 value = chi[k];
    map[k] = value;
    of_map[k] = F32X2(d * value.x, d * value.y);
}

/* What the field of the map leaves of the phase of each unknown, w sin(s r) w / s, to its place; the map, its
   field, and the root of 2 w^2 (1 - cos s r) / s^2. */
KERNEL(explain)(u64 n, f32 s, GLOBAL const u32 *RESTRICT place, GLOBAL const f32 *RESTRICT field,
                GLOBAL const f32 *RESTRICT weight, GLOBAL const f32 *RESTRICT map,
                GLOBAL const f32 *RESTRICT of_map, GLOBAL f32 *RESTRICT pull,
                GLOBAL f32 *RESTRICT inside, GLOBAL f32 *RESTRICT predicted,
                GLOBAL f32 *RESTRICT off) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    u64 at = place[i];
    f32 there = of_map[at];
    f32 angle = s * (there - field[i]), w = weight[i];
    inside[i] = map[at];
    predicted[i] = there;
    off[i] = w * fb_div(2.0f * fb_sin(0.5f * angle), s);
    pull[at] = fb_div(w * w * fb_sin(angle), s);
}

/* The slope: D times the transform of that, + lambda chi. */
KERNEL(slope_of)(u64 n, f32 lambda, GLOBAL const f32 *RESTRICT dipole, GLOBAL const f32x2 *RESTRICT pull,
                 GLOBAL const f32x2 *RESTRICT chi, GLOBAL f32x2 *RESTRICT slope) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32 d = dipole[k];
    f32x2 of_pull = pull[k], map = chi[k];
    slope[k] = F32X2(of_pull.x * d + map.x * lambda, of_pull.y * d + map.y * lambda);
}
