/* The steps of total generalised variation: beside the map a vector field v, whose first two components go
   through a transform together, the third by itself. `second` has six entries a voxel: xx yy zz xy xz yz. */

DEVICE_FN u32 entry_of(u32 a, u32 b) { return a == b ? a : a + b + 2; }

DEVICE_FN f32x2 times(f32x2 a, f32x2 b) { return F32X2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

DEVICE_FN f32x2 conjugate(f32x2 a) { return F32X2(a.x, -a.y); }

DEVICE_FN f32x2 sum_of(f32x2 a, f32x2 b) { return F32X2(a.x + b.x, a.y + b.y); }

DEVICE_FN f32x2 scaled(f32x2 a, f32 by) { return F32X2(a.x * by, a.y * by); }

/* Component a of v at voxel i. */
DEVICE_FN f32 v_of(GLOBAL const f32x2 *v01, GLOBAL const f32x2 *v2, u32 a, u64 i) {
    return a == 0 ? v01[i].x : a == 1 ? v01[i].y : v2[i].x;
}

/* The right sides of the equations of v: weight E' second - mu h. */
KERNEL(pull_slopes)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z, f32 mu, f32 weight,
                    GLOBAL const f32 *RESTRICT h, GLOBAL const f32 *RESTRICT second,
                    GLOBAL f32x2 *RESTRICT v01, GLOBAL f32x2 *RESTRICT v2) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    Neighbours next = next_of(i, nx, ny, nz);
    f32 per[3], pull[3];
    per[0] = per_x;
    per[1] = per_y;
    per[2] = per_z;
    for (u32 a = 0; a < 3; a++) {
        f32 sum = 0.0f;
        for (u32 b = 0; b < 3; b++) {
            u32 entry = entry_of(a, b);
            sum += (second[6 * i + entry] - second[6 * next.along[b] + entry]) * per[b];
        }
        pull[a] = weight * sum - mu * h[3 * i + a];
    }
    v01[i] = F32X2(pull[0], pull[1]);
    v2[i] = F32X2(pull[2], 0.0f);
}

/* The map with its field, and v, of each k: from the copies in `both`, and the right sides of v. */
KERNEL(solve_slopes)(u32 nx, u32 ny, u32 nz, f32 mu, f32 second,
                     GLOBAL const f32x2 *RESTRICT of_x, GLOBAL const f32x2 *RESTRICT of_y,
                     GLOBAL const f32x2 *RESTRICT of_z, GLOBAL const f32 *RESTRICT dipole,
                     GLOBAL const f32 *RESTRICT inverse, GLOBAL const f32x2 *RESTRICT both,
                     GLOBAL const f32x2 *RESTRICT of_v01, GLOBAL const f32x2 *RESTRICT of_v2,
                     GLOBAL f32x2 *RESTRICT map, GLOBAL f32x2 *RESTRICT v01,
                     GLOBAL f32x2 *RESTRICT v2) {
    u64 k = GLOBAL_ID();
    if (k >= (u64)nx * ny * nz) return;
    u64 in_half = half_of(k, nx, ny, nz), opposite = opposite_of(k, nx, ny, nz);
    f32x2 here = both[k], there = both[opposite], slopes = of_v01[k], other = of_v01[opposite];
    f32 by = dipole[in_half];
    f32x2 chi = sum_of(second_of(here, there), scaled(first_of(here, there), by));
    f32x2 d[3], right[3];
    d[0] = of_x[k % nx];
    d[1] = of_y[k / nx % ny];
    d[2] = of_z[k / ((u64)nx * ny)];
    right[0] = first_of(slopes, other);
    right[1] = second_of(slopes, other);
    right[2] = of_v2[k];
    f32 length = 0.0f;
    f32x2 along = F32X2(0.0f, 0.0f), square = along, dot = along;
    for (u32 a = 0; a < 3; a++) {
        length += d[a].x * d[a].x + d[a].y * d[a].y;
        along = sum_of(along, times(conjugate(d[a]), right[a]));
        square = sum_of(square, times(d[a], d[a]));
        dot = sum_of(dot, times(d[a], right[a]));
    }
    f32 outer = 0.5f * second, first = mu + outer * length;
    f32 part = fb_div(outer, first + outer * length);
    f32x2 coupled = sum_of(along, scaled(times(conjugate(square), dot), -part));
    chi = scaled(sum_of(chi, scaled(coupled, fb_div(mu, first))), inverse[in_half]);
    dot = F32X2(0.0f, 0.0f);
    for (u32 a = 0; a < 3; a++) {
        right[a] = sum_of(right[a], scaled(times(d[a], chi), mu));
        dot = sum_of(dot, times(d[a], right[a]));
    }
    f32 over = fb_div(1.0f, first);
    for (u32 a = 0; a < 3; a++) {
        right[a] = scaled(sum_of(right[a], scaled(times(conjugate(d[a]), dot), -part)), over);
    }
    map[k] = F32X2(chi.x - by * chi.y, chi.y + by * chi.x);
    v01[k] = F32X2(right[0].x - right[1].y, right[0].y + right[1].x);
    v2[k] = right[2];
}

/* As `shrink`, of the differences less v. */
KERNEL(shrink_first)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z, f32 threshold,
                     GLOBAL const u32 *RESTRICT bits, GLOBAL const f32 *RESTRICT map,
                     GLOBAL const f32x2 *RESTRICT v01, GLOBAL const f32x2 *RESTRICT v2,
                     GLOBAL f32 *RESTRICT u, GLOBAL f32 *RESTRICT h, GLOBAL f32 *RESTRICT lengths) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    Neighbours next = next_of(i, nx, ny, nz);
    f32 here = map[i];
    f32 rise[3], sum[3];
    rise[0] = (map[next.along[0]] - here) * per_x;
    rise[1] = (map[next.along[1]] - here) * per_y;
    rise[2] = (map[next.along[2]] - here) * per_z;
    u32 counts = bits[i];
    f32 square = 0.0f, of_sum = 0.0f;
    for (u32 a = 0; a < 3; a++) {
        rise[a] -= v_of(v01, v2, a, i);
        sum[a] = rise[a] + u[3 * i + a];
        if (COUNTS(counts, a)) {
            square += rise[a] * rise[a];
            of_sum += sum[a] * sum[a];
        }
    }
    lengths[i] = fb_sqrt(square);
    f32 whole = part_of(fb_sqrt(of_sum), threshold);
    for (u32 a = 0; a < 3; a++) {
        f32 y = COUNTS(counts, a) ? whole * sum[a] : sum[a];
        u[3 * i + a] = sum[a] - y;
        h[3 * i + a] = y - (sum[a] - y);
    }
}

/* The same of E v, of the entries that are between voxels of the mask or, with `all`, of all. */
KERNEL(shrink_second)(u32 nx, u32 ny, u32 nz, f32 per_x, f32 per_y, f32 per_z, f32 threshold,
                      u32 all, GLOBAL const u32 *RESTRICT bits,
                      GLOBAL const f32x2 *RESTRICT v01, GLOBAL const f32x2 *RESTRICT v2,
                      GLOBAL f32 *RESTRICT u, GLOBAL f32 *RESTRICT h,
                      GLOBAL f32 *RESTRICT lengths) {
    u64 i = GLOBAL_ID();
    if (i >= (u64)nx * ny * nz) return;
    Neighbours before = before_of(i, nx, ny, nz);
    f32 per[3], rise[9];
    per[0] = per_x;
    per[1] = per_y;
    per[2] = per_z;
    for (u32 a = 0; a < 3; a++) {
        f32 here = v_of(v01, v2, a, i);
        for (u32 b = 0; b < 3; b++) {
            rise[3 * a + b] = (here - v_of(v01, v2, a, before.along[b])) * per[b];
        }
    }
    u32 is_in = COUNTS(bits[i], 3);
    f32 square = 0.0f, of_sum = 0.0f;
    f32 sum[6];
    u32 counts = 0;
    for (u32 a = 0; a < 3; a++) {
        for (u32 b = a; b < 3; b++) {
            u32 entry = entry_of(a, b);
            f32 strain = 0.5f * (rise[3 * a + b] + rise[3 * b + a]);
            f32 often = a == b ? 1.0f : 2.0f;
            sum[entry] = strain + u[6 * i + entry];
            u32 both = COUNTS(bits[before.along[a]], 3) & COUNTS(bits[before.along[b]], 3);
            if (all || (is_in & both)) {
                counts |= 1u << entry;
                square += often * (strain * strain);
                of_sum += often * (sum[entry] * sum[entry]);
            }
        }
    }
    lengths[i] = fb_sqrt(square);
    f32 whole = part_of(fb_sqrt(of_sum), threshold);
    for (u32 entry = 0; entry < 6; entry++) {
        f32 y = COUNTS(counts, entry) ? whole * sum[entry] : sum[entry];
        u[6 * i + entry] = sum[entry] - y;
        h[6 * i + entry] = y - (sum[entry] - y);
    }
}
