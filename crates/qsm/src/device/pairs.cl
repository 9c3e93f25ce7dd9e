/* Sums over pairs of a source and a receiver: a group of TILE items is a tile of 4 x 4 x 4
   receivers. It looks at BATCH candidates at a time, keeps those that meet,
   and evaluates these only.

   SPHERES   1 for spheres (every pair meets), 0 for cylinders in their slab
   CULL      0 where every pair is evaluated
   SUPPORT   voxels that a source reaches along each axis; LIMITED 0 where there is no limit
   TILE      64; PER_ITEM candidates an item looks at, BATCH = TILE * PER_ITEM
   FIELDS    f32 of a source: position, then of cylinders u, v, w as in pairs/source.rs, of spheres
             spacing, b, 3 unused; then the strength, 3 unused */

/* The kernel at receiver `at`, up to the source's strength. */
DEVICE_FN f32 pair_value(GLOBAL const f32 *RESTRICT s, f32 x, f32 y, f32 z) {
    f32 dx = x - s[0], dy = y - s[1], dz = z - s[2];
#if LIMITED
    if (FMAX(FMAX(FABS(dx), FABS(dy)), FABS(dz)) > SUPPORT) return 0.0f;
#endif
#if SPHERES
    f32 px = dx * s[3], py = dy * s[4], pz = dz * s[5];
    f32 along = FMA(s[8], dz, FMA(s[7], dy, s[6] * dx));
    f32 squared = FMA(pz, pz, FMA(py, py, px * px));
    /* At the source itself, where both terms vanish, anything finite will do. */
    f32 r = fb_rsqrt(FMAX(squared, 1e-4f));
    f32 rr = r * r;
    return (3.0f * along * along - squared) * (rr * rr * r);
#else
    f32 u = FMA(s[5], dz, FMA(s[4], dy, s[3] * dx));
    f32 v = FMA(s[8], dz, FMA(s[7], dy, s[6] * dx));
    f32 w = FMA(s[11], dz, FMA(s[10], dy, s[9] * dx));
    f32 h = FMAX(1.0f - FABS(w), 0.0f);
    f32 r = fb_rsqrt(FMA(v, v, FMA(u, u, 1e-8f)));
    f32 steep = h * (r * r);
    return u * v * FMA(-2.0f, h, 3.0f) * (steep * steep);
#endif
}

/* Whether a source reaches the tile around `centre`. */
DEVICE_FN u32 meets(GLOBAL const f32 *RESTRICT s, f32 x, f32 y, f32 z) {
#if !CULL
    return 1u;
#else
    f32 w = FMA(s[11], z - s[2], FMA(s[10], y - s[1], s[9] * (x - s[0])));
    f32 extent = FABS(s[9]) + FABS(s[10]) + FABS(s[11]);
    return FABS(w) <= FMA(1.5f, extent, 1.01f) ? 1u : 0u;
#endif
}

/* Adds `value` to a sum and its rounding error. */
DEVICE_FN f32 add_exactly(f32 *sum, f32 value) {
    f32 next = *sum + value;
    f32 part = next - *sum;
    f32 error = (*sum - (next - part)) + (value - part);
    *sum = next;
    return error;
}

/* Where each item's hits go: the number of hits of the items before it; the total to all. */
DEVICE_FN u32 places(LOCAL_PTR u32 *counts, u32 mine, u32 *total) {
    u32 me = (u32)LOCAL_ID();
    counts[me] = mine;
    for (u32 reach = 1; reach < TILE; reach *= 2) {
        BARRIER();
        u32 before = me >= reach ? counts[me - reach] : 0u;
        BARRIER();
        counts[me] += before;
    }
    BARRIER();
    u32 place = counts[me] - mine;
    *total = counts[TILE - 1];
    BARRIER();
    return place;
}

/* The field in a tile: group g is tile tiles[4 g], whose first voxel is tiles[4 g + 1 ...]. */
GROUP_KERNEL(pair_field, TILE)(u32 sources, GLOBAL const f32 *RESTRICT source,
                               GLOBAL const u32 *RESTRICT unknown, GLOBAL const f32 *RESTRICT x,
                               GLOBAL const u32 *RESTRICT tiles, GLOBAL f32 *RESTRICT field) {
    LOCAL u32 counts[TILE];
    LOCAL u32 hits[BATCH];
    u32 me = (u32)LOCAL_ID();
    GLOBAL const u32 *RESTRICT tile = tiles + 4 * GROUP_ID();
    f32 ox = (f32)tile[1], oy = (f32)tile[2], oz = (f32)tile[3];
    f32 px = ox + (f32)(me % 4u), py = oy + (f32)(me / 4u % 4u), pz = oz + (f32)(me / 16u);
    f32 sum = 0.0f, error = 0.0f;
    for (u32 base = 0; base < sources; base += BATCH) {
        u32 mine = 0, bits = 0;
        for (u32 j = 0; j < PER_ITEM; j++) {
            u32 i = base + j * TILE + me;
            if (i < sources && meets(source + (u64)FIELDS * i, ox + 1.5f, oy + 1.5f, oz + 1.5f)) {
                bits |= 1u << j;
                mine++;
            }
        }
        u32 total;
        u32 place = places(counts, mine, &total);
        for (u32 j = 0; j < PER_ITEM; j++) {
            if (bits >> j & 1u) hits[place++] = base + j * TILE + me;
        }
        BARRIER();
        f32 part = 0.0f;
        for (u32 k = 0; k < total; k++) {
            u32 i = hits[k];
            GLOBAL const f32 *RESTRICT s = source + (u64)FIELDS * i;
            part = FMA(x[unknown[i]] * s[12], pair_value(s, px, py, pz), part);
        }
        error += add_exactly(&sum, part);
        BARRIER(); /* hits are used again */
    }
    field[(u64)TILE * tile[0] + me] = sum + error;
}

/* What a source sees of the field: group g is source g. */
GROUP_KERNEL(pair_seen, TILE)(u32 n_tiles, GLOBAL const f32 *RESTRICT source,
                              GLOBAL const u32 *RESTRICT unknown, GLOBAL const u32 *RESTRICT tiles,
                              GLOBAL const f32 *RESTRICT field, GLOBAL f32 *RESTRICT x) {
    LOCAL u32 counts[TILE];
    LOCAL u32 hits[BATCH];
    LOCAL f32 sums[TILE];
    u32 me = (u32)LOCAL_ID();
    u64 group = GROUP_ID();
    GLOBAL const f32 *RESTRICT s = source + FIELDS * group;
    f32 ax = (f32)(me % 4u), ay = (f32)(me / 4u % 4u), az = (f32)(me / 16u);
    f32 sum = 0.0f, error = 0.0f;
    for (u32 base = 0; base < n_tiles; base += BATCH) {
        u32 mine = 0, bits = 0;
        for (u32 j = 0; j < PER_ITEM; j++) {
            u32 i = base + j * TILE + me;
            if (i < n_tiles) {
                GLOBAL const u32 *RESTRICT tile = tiles + 4 * (u64)i;
                if (meets(s, (f32)tile[1] + 1.5f, (f32)tile[2] + 1.5f, (f32)tile[3] + 1.5f)) {
                    bits |= 1u << j;
                    mine++;
                }
            }
        }
        u32 total;
        u32 place = places(counts, mine, &total);
        for (u32 j = 0; j < PER_ITEM; j++) {
            if (bits >> j & 1u) hits[place++] = base + j * TILE + me;
        }
        BARRIER();
        f32 part = 0.0f;
        for (u32 k = 0; k < total; k++) {
            GLOBAL const u32 *RESTRICT tile = tiles + 4 * (u64)hits[k];
            f32 value = pair_value(s, (f32)tile[1] + ax, (f32)tile[2] + ay, (f32)tile[3] + az);
            part = FMA(field[(u64)TILE * tile[0] + me], value, part);
        }
        error += add_exactly(&sum, part);
        BARRIER(); /* hits are used again */
    }
    f32 whole = GROUP_SUM_F32(sums, sum + error);
    if (me == 0) x[unknown[group]] = whole * s[12];
}
