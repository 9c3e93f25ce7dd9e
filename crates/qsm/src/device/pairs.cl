/* Sums over pairs of a source and a receiver: a group of TILE items is a tile of 4 x 4 x 4
   receivers. Candidates come BATCH at a time: those that meet are found and kept, and only these are
   evaluated. Which meet is the same in every product, so that they may be listed once; a list has them in
   the order in which they are found, so that sums have the same bits with it and without.

   SPHERES   1 for spheres (every pair meets), 0 for cylinders in their slab
   CULL      0 where every pair is evaluated
   SUPPORT   voxels that a source reaches along each axis; LIMITED 0 where there is no limit
   TILE      64; PER_ITEM candidates an item looks at, BATCH = TILE * PER_ITEM */

/* Twelve numbers, read in three pieces: where a source is, then of cylinders u, v, w as in
   pairs/source.rs, of spheres spacing, b, 3 unused. */
typedef struct { f32x4 a, b, c; } Source;

DEVICE_FN Source source_of(GLOBAL const f32x4 *RESTRICT sources, u64 i) {
    Source s;
    s.a = sources[3 * i];
    s.b = sources[3 * i + 1];
    s.c = sources[3 * i + 2];
    return s;
}

/* The kernel at receiver x, y, z, up to the source's strength. */
DEVICE_FN f32 pair_value(Source s, f32 x, f32 y, f32 z) {
    f32 dx = x - s.a.x, dy = y - s.a.y, dz = z - s.a.z;
#if LIMITED
    if (FMAX(FMAX(FABS(dx), FABS(dy)), FABS(dz)) > SUPPORT) return 0.0f;
#endif
#if SPHERES
    f32 px = dx * s.a.w, py = dy * s.b.x, pz = dz * s.b.y;
    f32 along = FMA(s.c.x, dz, FMA(s.b.w, dy, s.b.z * dx));
    f32 squared = FMA(pz, pz, FMA(py, py, px * px));
    /* At the source itself, where both terms vanish, anything finite will do. */
    f32 r = fb_rsqrt_finite(FMAX(squared, 1e-4f));
    f32 rr = r * r;
    return (3.0f * along * along - squared) * (rr * rr * r);
#else
    f32 u = FMA(s.b.y, dz, FMA(s.b.x, dy, s.a.w * dx));
    f32 v = FMA(s.c.x, dz, FMA(s.b.w, dy, s.b.z * dx));
    f32 w = FMA(s.c.w, dz, FMA(s.c.z, dy, s.c.y * dx));
    f32 h = FMAX(1.0f - FABS(w), 0.0f);
    f32 r = fb_rsqrt_finite(FMA(v, v, FMA(u, u, 1e-8f)));
    f32 steep = h * (r * r);
    return u * v * FMA(-2.0f, h, 3.0f) * (steep * steep);
#endif
}

/* Whether a source reaches a tile. */
DEVICE_FN u32 meets(GLOBAL const f32x4 *RESTRICT sources, u64 i, f32x4 tile) {
#if !CULL
    return 1u;
#else
    f32x4 at = sources[3 * i], of_w = sources[3 * i + 2];
    f32 x = tile.y + 1.5f, y = tile.z + 1.5f, z = tile.w + 1.5f;
    f32 w = FMA(of_w.w, z - at.z, FMA(of_w.z, y - at.y, of_w.y * (x - at.x)));
    f32 extent = FABS(of_w.y) + FABS(of_w.z) + FABS(of_w.w);
    return FABS(w) <= FMA(1.5f, extent, 1.01f) ? 1u : 0u;
#endif
}

/* Which of the item's candidates of a batch meet, a bit each: sources at a tile, tiles at a source. */
DEVICE_FN u32 sources_met(u32 n, GLOBAL const f32x4 *RESTRICT sources, f32x4 tile, u32 base) {
    u32 bits = 0;
    for (u32 j = 0; j < PER_ITEM; j++) {
        u32 i = base + j * TILE + (u32)LOCAL_ID();
        if (i < n && meets(sources, i, tile)) bits |= 1u << j;
    }
    return bits;
}

DEVICE_FN u32 tiles_met(u32 n, GLOBAL const f32x4 *RESTRICT tiles,
                        GLOBAL const f32x4 *RESTRICT sources, u64 source, u32 base) {
    u32 bits = 0;
    for (u32 j = 0; j < PER_ITEM; j++) {
        u32 i = base + j * TILE + (u32)LOCAL_ID();
        if (i < n && meets(sources, source, tiles[i])) bits |= 1u << j;
    }
    return bits;
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
DEVICE_FN u32 places(LOCAL_PTR u32 *counts, u32 bits, u32 *total) {
    u32 me = (u32)LOCAL_ID(), mine = 0;
    for (u32 j = 0; j < PER_ITEM; j++) mine += bits >> j & 1u;
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

/* Puts the item's hits, as numbers within the batch, where they go. */
#define PUT_HITS(hits, place, bits) \
    for (u32 j = 0; j < PER_ITEM; j++) { \
        if ((bits) >> j & 1u) (hits)[(place)++] = (u16)(j * TILE + (u32)LOCAL_ID()); \
    }

/* Without `fill` how many hits of group g are in batch b, to starts[g batches + b]; with it the hits, from
   there on, which the host has made the sum of all counts before. */
#define LIST_HITS(bits_of_batch) { \
    LOCAL u32 counts[TILE]; \
    u64 group = GROUP_ID(); \
    for (u32 batch = 0; batch < batches; batch++) { \
        u32 bits = bits_of_batch, total; \
        u32 place = places(counts, bits, &total); \
        u64 at = batches * group + batch; \
        if (fill) { \
            place += starts[at]; \
            PUT_HITS(hits, place, bits) \
        } else if (LOCAL_ID() == 0) { \
            starts[at] = total; \
        } \
    } \
}

/* The sources that each tile meets, and the tiles that each source meets: group g lists those of one. */
GROUP_KERNEL(list_sources, TILE)(u32 fill, u32 batches, u32 n, GLOBAL const f32x4 *RESTRICT sources,
                                 GLOBAL const f32x4 *RESTRICT tiles, GLOBAL u32 *RESTRICT starts,
                                 GLOBAL u16 *RESTRICT hits)
LIST_HITS(sources_met(n, sources, tiles[group], batch * BATCH))

GROUP_KERNEL(list_tiles, TILE)(u32 fill, u32 batches, u32 n, GLOBAL const f32x4 *RESTRICT sources,
                               GLOBAL const f32x4 *RESTRICT tiles, GLOBAL u32 *RESTRICT starts,
                               GLOBAL u16 *RESTRICT hits)
LIST_HITS(tiles_met(n, tiles, sources, group, batch * BATCH))

/* How much each source has: its strength times its unknown. */
KERNEL(amounts)(u64 n, GLOBAL const u32 *RESTRICT unknown, GLOBAL const f32 *RESTRICT strength,
                GLOBAL const f32 *RESTRICT x, GLOBAL f32 *RESTRICT amount) {
    u64 i = GLOBAL_ID();
    if (i < n) amount[i] = x[unknown[i]] * strength[i];
}

/* The item's place in a tile, in voxels along each axis. */
#define ITEM_X (f32)((u32)LOCAL_ID() % 4u)
#define ITEM_Y (f32)((u32)LOCAL_ID() / 4u % 4u)
#define ITEM_Z (f32)((u32)LOCAL_ID() / 16u)

/* The field in a tile: group g is tiles[g], .x its place in the volume, below 2^24 so that it is whole,
   .yzw its first voxel. */
GROUP_KERNEL(pair_field, TILE)(u32 n, GLOBAL const f32x4 *RESTRICT sources,
                               GLOBAL const f32 *RESTRICT amount,
                               GLOBAL const f32x4 *RESTRICT tiles, GLOBAL f32 *RESTRICT field) {
    LOCAL u32 counts[TILE];
    LOCAL u16 hits[BATCH];
    f32x4 tile = tiles[GROUP_ID()];
    f32 x = tile.y + ITEM_X, y = tile.z + ITEM_Y, z = tile.w + ITEM_Z;
    f32 sum = 0.0f, error = 0.0f;
    for (u32 base = 0; base < n; base += BATCH) {
        u32 bits = sources_met(n, sources, tile, base), total;
        u32 place = places(counts, bits, &total);
        PUT_HITS(hits, place, bits)
        BARRIER();
        f32 part = 0.0f;
        for (u32 k = 0; k < total; k++) {
            u32 i = base + hits[k];
            part = FMA(amount[i], pair_value(source_of(sources, i), x, y, z), part);
        }
        error += add_exactly(&sum, part);
        BARRIER(); /* hits are used again */
    }
    field[TILE * (u64)tile.x + LOCAL_ID()] = sum + error;
}

/* The same where the sources that meet are listed. */
GROUP_KERNEL(listed_field, TILE)(u32 batches, GLOBAL const f32x4 *RESTRICT sources,
                                 GLOBAL const f32 *RESTRICT amount,
                                 GLOBAL const f32x4 *RESTRICT tiles,
                                 GLOBAL const u32 *RESTRICT starts,
                                 GLOBAL const u16 *RESTRICT hits, GLOBAL f32 *RESTRICT field) {
    f32x4 tile = tiles[GROUP_ID()];
    f32 x = tile.y + ITEM_X, y = tile.z + ITEM_Y, z = tile.w + ITEM_Z;
    GLOBAL const u32 *RESTRICT start = starts + batches * GROUP_ID();
    u32 end = start[0];
    f32 sum = 0.0f, error = 0.0f;
    for (u32 batch = 0; batch < batches; batch++) {
        u32 k = end;
        end = start[batch + 1];
        f32 part = 0.0f;
        for (; k < end; k++) {
            u32 i = batch * BATCH + hits[k];
            part = FMA(amount[i], pair_value(source_of(sources, i), x, y, z), part);
        }
        error += add_exactly(&sum, part);
    }
    field[TILE * (u64)tile.x + LOCAL_ID()] = sum + error;
}

/* The item's part of what a source sees in a tile, added to `part`. */
#define SEE_TILE(part, s, tile) \
    part = FMA(field[TILE * (u64)tile.x + LOCAL_ID()], \
               pair_value(s, tile.y + ITEM_X, tile.z + ITEM_Y, tile.w + ITEM_Z), part)

/* What all items of a group see, to its source's unknown. */
#define PUT_SEEN(x, mine) { \
    f32 whole = GROUP_SUM_F32(sums, mine); \
    if (LOCAL_ID() == 0) (x)[unknown[group]] = whole * strength[group]; \
}

/* What a source sees of the field: group g is source g. */
GROUP_KERNEL(pair_seen, TILE)(u32 n, GLOBAL const f32x4 *RESTRICT sources,
                              GLOBAL const u32 *RESTRICT unknown,
                              GLOBAL const f32 *RESTRICT strength,
                              GLOBAL const f32x4 *RESTRICT tiles,
                              GLOBAL const f32 *RESTRICT field, GLOBAL f32 *RESTRICT x) {
    LOCAL u32 counts[TILE];
    LOCAL u16 hits[BATCH];
    LOCAL f32 sums[TILE];
    u64 group = GROUP_ID();
    Source s = source_of(sources, group);
    f32 sum = 0.0f, error = 0.0f;
    for (u32 base = 0; base < n; base += BATCH) {
        u32 bits = tiles_met(n, tiles, sources, group, base), total;
        u32 place = places(counts, bits, &total);
        PUT_HITS(hits, place, bits)
        BARRIER();
        f32 part = 0.0f;
        for (u32 k = 0; k < total; k++) {
            f32x4 tile = tiles[base + hits[k]];
            SEE_TILE(part, s, tile);
        }
        error += add_exactly(&sum, part);
        BARRIER(); /* hits are used again */
    }
    PUT_SEEN(x, sum + error)
}

/* The same where the tiles that meet are listed. */
GROUP_KERNEL(listed_seen, TILE)(u32 batches, GLOBAL const f32x4 *RESTRICT sources,
                                GLOBAL const u32 *RESTRICT unknown,
                                GLOBAL const f32 *RESTRICT strength,
                                GLOBAL const f32x4 *RESTRICT tiles,
                                GLOBAL const u32 *RESTRICT starts,
                                GLOBAL const u16 *RESTRICT hits,
                                GLOBAL const f32 *RESTRICT field, GLOBAL f32 *RESTRICT x) {
    LOCAL f32 sums[TILE];
    u64 group = GROUP_ID();
    Source s = source_of(sources, group);
    GLOBAL const u32 *RESTRICT start = starts + batches * group;
    u32 end = start[0];
    f32 sum = 0.0f, error = 0.0f;
    for (u32 batch = 0; batch < batches; batch++) {
        u32 k = end;
        end = start[batch + 1];
        f32 part = 0.0f;
        for (; k < end; k++) {
            f32x4 tile = tiles[batch * BATCH + hits[k]];
            SEE_TILE(part, s, tile);
        }
        error += add_exactly(&sum, part);
    }
    PUT_SEEN(x, sum + error)
}
