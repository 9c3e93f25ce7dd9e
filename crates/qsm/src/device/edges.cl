/* Edges of maps by alternating directions: differences along the axes, of volumes whose ends meet. */

/* Bits of a voxel: whether the difference along each axis counts, and whether it is of the mask. */
#define COUNTS(bits, a) ((bits) >> (a) & 1u)

/* The adjoint of differences of h, three numbers a voxel, at voxel i. */
DEVICE_FN f32 gathered_at(u64 i, Neighbours before, GLOBAL const f32 *RESTRICT h, f32 per_x, f32 per_y,
                          f32 per_z) {
    f32 sum = (h[3 * before.along[0]] - h[3 * i]) * per_x;
    sum += (h[3 * before.along[1] + 1] - h[3 * i + 1]) * per_y;
    sum += (h[3 * before.along[2] + 2] - h[3 * i + 2]) * per_z;
    return sum;
}

/* How much of a difference of `length` is left. */
DEVICE_FN f32 part_of(f32 length, f32 threshold) {
    return length > threshold ? 1.0f - fb_div(threshold, length) : 0.0f;
}

/* The part, 0 to 1, of the free difference g that is nearest to v. */
DEVICE_FN f32 part_of_free(const f32 *v, GLOBAL const f32 *g) {
    f32 square = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
    if (!(square > 0.0f)) return 0.0f;
    f32 along = v[0] * g[0] + v[1] * g[1] + v[2] * g[2];
    return fb_min(fb_max(fb_div(along, square), 0.0f), 1.0f);
}

/* The step of the edges: v = differences of the map + u, shrunken to y; leaves v - y in u and y less that in
   h, and the length of the differences themselves. With `each` every axis by itself. With `has_free` of every
   difference the nearest part of that of `free` costs nothing. */
KERNEL(shrink)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z, f32 threshold, u32 each,
               GLOBAL const u32 *RESTRICT bits, u32 has_free, GLOBAL const f32 *RESTRICT free,
               GLOBAL const f32 *RESTRICT map, GLOBAL f32 *RESTRICT u, GLOBAL f32 *RESTRICT h, GLOBAL f32 *RESTRICT lengths) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    Neighbours next = next_of(i, nx, ny, nz);
    f32 here = map[i];
    f32 rise[3], v[3];
    rise[0] = (map[next.along[0]] - here) * per_x;
    rise[1] = (map[next.along[1]] - here) * per_y;
    rise[2] = (map[next.along[2]] - here) * per_z;
    for (u32 a = 0; a < 3; a++) v[a] = rise[a] + u[3 * i + a];
    f32 part_free = 0.0f;
    if (has_free) {
        f32 of_rise = part_of_free(rise, &free[3 * i]);
        part_free = part_of_free(v, &free[3 * i]);
        for (u32 a = 0; a < 3; a++) {
            rise[a] -= of_rise * free[3 * i + a];
            v[a] -= part_free * free[3 * i + a];
        }
    }
    u32 counts = bits[i];
    f32 sum = 0.0f, square = 0.0f, of_v = 0.0f;
    for (u32 a = 0; a < 3; a++) {
        if (COUNTS(counts, a)) {
            sum += FABS(rise[a]);
            square += rise[a] * rise[a];
            of_v += v[a] * v[a];
        }
    }
    lengths[i] = each ? sum : fb_sqrt(square);
    f32 whole = part_of(fb_sqrt(of_v), threshold);
    for (u32 a = 0; a < 3; a++) {
        f32 part = each ? part_of(FABS(v[a]), threshold) : whole;
        f32 y = COUNTS(counts, a) ? part * v[a] : v[a];
        u[3 * i + a] = v[a] - y;
        h[3 * i + a] = y - (v[a] - y) + (has_free ? part_free * free[3 * i + a] : 0.0f);
    }
}
