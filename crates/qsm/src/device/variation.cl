/* The steps of total variation by alternating directions, an item for each voxel of the padded volume, whose
   ends meet; real volumes go through transforms in pairs, as real and imaginary part. */

/* pull = rho q + mu times the adjoint of differences of h; both = p + i pull. */
KERNEL(pull_together)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z, f32 mu, f32 rho,
                      GLOBAL const f32 *RESTRICT p, GLOBAL const f32 *RESTRICT q,
                      GLOBAL const f32 *RESTRICT h, GLOBAL f32 *RESTRICT pull,
                      GLOBAL f32x2 *RESTRICT both) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    f32 sum = rho * q[i] + mu * gathered_at(i, before_of(i, nx, ny, nz), h, per_x, per_y, per_z);
    pull[i] = sum;
    both[i] = F32X2(p[i], sum);
}

/* map = (pull + D p) P, and its field D map, of p + i pull; as map + i field. */
KERNEL(invert)(u32 nx, u32 ny, u32 nz, GLOBAL const f32 *RESTRICT dipole,
               GLOBAL const f32 *RESTRICT inverse, GLOBAL const f32x2 *RESTRICT both,
               GLOBAL f32x2 *RESTRICT map) {
    u64 k = GLOBAL_ID();
    if (k >= (u64)nx * ny * nz) return;
    u64 in_half = half_of(k, nx, ny, nz);
    f32x2 here = both[k], there = both[opposite_of(k, nx, ny, nz)];
    f32x2 p = first_of(here, there), pull = second_of(here, there);
    f32 d = dipole[in_half], by = inverse[in_half];
    f32 re = (pull.x + p.x * d) * by, im = (pull.y + p.y * d) * by;
    map[k] = F32X2(re - d * im, im + d * re);
}

/* Adds a column's map and field, so often. */
KERNEL(add_column)(u64 n, f32 number, GLOBAL const f32 *RESTRICT of_map,
                   GLOBAL const f32 *RESTRICT of_field, GLOBAL f32x2 *RESTRICT map) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    f32x2 sum = map[i];
    map[i] = F32X2(FMA(number, of_map[i], sum.x), FMA(number, of_field[i], sum.y));
}

KERNEL(split_parts)(u64 n, GLOBAL const f32x2 *RESTRICT both, GLOBAL f32 *RESTRICT map,
              GLOBAL f32 *RESTRICT field) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    map[i] = both[i].x;
    field[i] = both[i].y;
}

/* volume[place[i]] += number x[i]; each place once. */
KERNEL(add_image)(u64 n, f32 number, GLOBAL const u32 *RESTRICT place,
                  GLOBAL const f32 *RESTRICT x, GLOBAL f32 *RESTRICT volume) {
    u64 i = GLOBAL_ID();
    if (i < n) volume[place[i]] += number * x[i];
}

/* The least of squared (1 - cos s x) / s^2 + (x - d)^2 / 2 downhill from x = d, as on threads. */
DEVICE_FN f32 nearest(f32 d, f32 squared, f32 s) {
    f32 turns = RINT(fb_div(s * d, TURN));
    f32 away = s * d - TURN * turns;
    f32 sign = away < 0.0f ? -1.0f : 1.0f;
    away = FABS(away);
    f32 angle = 0.0f;
    for (u32 step = 0; step < STEPS; step++) {
        f32 sine, cosine;
        fb_sincos(angle, &sine, &cosine);
        f32 slope = squared * sine + angle - away;
        f32 next = angle - fb_div(slope, squared * cosine + 1.0f);
        next = fb_min(fb_max(next, angle), away);
        f32 moved = next - angle;
        angle = next;
        if (moved <= SETTLED) break;
    }
    return fb_div(TURN * turns + sign * angle, s);
}

/* The step of the field at each unknown: `volume` has the field of the map, and gets z less its multiplier.
   `off` is w times what the field is off by, or of a phase (s above 0) the root of 2 w^2 (1 - cos s r) / s^2. */
KERNEL(data_step)(u64 n, f32 s, GLOBAL const u32 *RESTRICT place, GLOBAL const f32 *RESTRICT field,
                  GLOBAL const f32 *RESTRICT weight, GLOBAL f32 *RESTRICT multiplier,
                  GLOBAL f32 *RESTRICT volume, GLOBAL f32 *RESTRICT predicted,
                  GLOBAL f32 *RESTRICT off) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    f32 of_map = volume[place[i]], b = field[i], w = weight[i];
    f32 wanted = of_map + multiplier[i], squared = w * w, z;
    predicted[i] = of_map;
    if (s > 0.0f) {
        off[i] = w * fb_div(2.0f * fb_sin(0.5f * s * (of_map - b)), s);
        z = b + nearest(wanted - b, squared, s);
    } else {
        off[i] = w * (of_map - b);
        z = fb_div(squared * b + wanted, squared + 1.0f);
    }
    multiplier[i] = wanted - z;
    volume[place[i]] = z - (wanted - z);
}

/* The step of the map's copy: inside the mask it is the map. */
KERNEL(outside_step)(u64 n, f32 before, f32 sum, GLOBAL const u32 *RESTRICT bits,
                     GLOBAL const f32 *RESTRICT map, GLOBAL f32 *RESTRICT copy) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    copy[i] = COUNTS(bits[i], 3) ? map[i] : (map[i] + copy[i] * before) * sum;
}
