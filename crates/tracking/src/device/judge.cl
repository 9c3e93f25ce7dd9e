/* What regions make of a streamline, and whether it comes back on itself: the judge and the loop check of the
   threads, asked the same questions in the same order. The Rust code in rules.rs has the explanations.

   Regions are bits of each voxel of the seed space: in word 0 those to avoid, to stop in and to stop on leaving,
   then waypoints, then the regions of a network; see labels.rs. */

typedef struct {
    f32 x, y, z;
} vec3;

#if ELSEWHERE
CONSTANT_TABLE f32 TO_SAMPLES[12] = {TO_SAMPLES_ROWS};
CONSTANT_TABLE f32 FROM_SAMPLES[12] = {FROM_SAMPLES_ROWS};

DEVICE_FN vec3 to_samples(vec3 v) {
    vec3 to;
    to.x = TO_SAMPLES[0] * v.x + TO_SAMPLES[1] * v.y + TO_SAMPLES[2] * v.z + TO_SAMPLES[3];
    to.y = TO_SAMPLES[4] * v.x + TO_SAMPLES[5] * v.y + TO_SAMPLES[6] * v.z + TO_SAMPLES[7];
    to.z = TO_SAMPLES[8] * v.x + TO_SAMPLES[9] * v.y + TO_SAMPLES[10] * v.z + TO_SAMPLES[11];
    return to;
}

DEVICE_FN vec3 from_samples(vec3 v) {
    vec3 to;
    to.x = FROM_SAMPLES[0] * v.x + FROM_SAMPLES[1] * v.y + FROM_SAMPLES[2] * v.z + FROM_SAMPLES[3];
    to.y = FROM_SAMPLES[4] * v.x + FROM_SAMPLES[5] * v.y + FROM_SAMPLES[6] * v.z + FROM_SAMPLES[7];
    to.z = FROM_SAMPLES[8] * v.x + FROM_SAMPLES[9] * v.y + FROM_SAMPLES[10] * v.z + FROM_SAMPLES[11];
    return to;
}
#else
DEVICE_FN vec3 to_samples(vec3 v) { return v; }
DEVICE_FN vec3 from_samples(vec3 v) { return v; }
#endif

/* The voxel of a grid that holds a point plus 1, by radiological index; 0 outside the grid. */
DEVICE_FN u32 voxel_plus_1_of(vec3 pos, u32 nx, u32 ny, u32 nz) {
    /* Left of the first voxel it is negative, and as unsigned far beyond the last. */
    u32 i = (u32)I32_OF_F32(FLOOR(pos.x + 0.5f));
    u32 j = (u32)I32_OF_F32(FLOOR(pos.y + 0.5f));
    u32 k = (u32)I32_OF_F32(FLOOR(pos.z + 0.5f));
    if (i >= nx || j >= ny || k >= nz) return 0u;
    return i + nx * (j + ny * k) + 1u;
}

#if PLACES_ELSEWHERE
CONSTANT_TABLE f32 TO_PLACES[12] = {TO_PLACES_ROWS};

/* The same on the other grid, of a point of the seed space. */
DEVICE_FN u32 voxel_elsewhere_plus_1(vec3 v) {
    vec3 to = v;
#if PLACES_TRANSFORMED
    to.x = TO_PLACES[0] * v.x + TO_PLACES[1] * v.y + TO_PLACES[2] * v.z + TO_PLACES[3];
    to.y = TO_PLACES[4] * v.x + TO_PLACES[5] * v.y + TO_PLACES[6] * v.z + TO_PLACES[7];
    to.z = TO_PLACES[8] * v.x + TO_PLACES[9] * v.y + TO_PLACES[10] * v.z + TO_PLACES[11];
#endif
    return voxel_plus_1_of(to, PLACES_NX, PLACES_NY, PLACES_NZ);
}
#endif

DEVICE_FN u32 label(GLOBAL const u32 *labels, u32 voxel_plus_1, u32 word) {
    return voxel_plus_1 == 0u ? 0u : labels[(u64)(voxel_plus_1 - 1u) * LABEL_WORDS + word];
}

typedef struct {
    /* Waypoints reached, and before this half; in their order so far. */
    u32 reached, reached_before;
    i32 is_ordered;
    /* Regions to leave in which the half is, having been outside. */
    u32 inside, outside;
    /* This half. */
    u32 n_points;
    i32 is_avoided, has_network;
    /* Regions of the network reached. */
    u32 network[NETWORK_WORDS], network_before[NETWORK_WORDS];
} judge;

DEVICE_FN void begin_sample(judge *j) {
    j->reached = 0u;
    j->is_ordered = 1;
    for (u32 word = 0; word < NETWORK_WORDS; word++) j->network[word] = 0u;
}

DEVICE_FN void begin_half(judge *j) {
    if (BY_EACH_HALF) {
        j->reached = 0u;
        j->is_ordered = 1;
    }
    if (HALF_BY_HALF) j->is_ordered = 1;
    j->n_points = 0u;
    j->inside = j->outside = 0u;
    j->is_avoided = j->has_network = 0;
    j->reached_before = j->reached;
    for (u32 word = 0; word < NETWORK_WORDS; word++) j->network_before[word] = j->network[word];
}

/* Waypoints that a step reaches, lowest first. */
DEVICE_FN void reach(judge *j, u32 met) {
    met &= ~j->reached;
    while (met != 0u) {
        u32 before = (met & (0u - met)) - 1u;
        j->is_ordered = j->is_ordered && (j->reached & before) == before;
        j->reached |= before + 1u;
        met &= met - 1u;
    }
}

/* The next point, in this voxel: 0, or why the half ends there. own: the region of the network it starts in. */
DEVICE_FN u32 entered(judge *j, GLOBAL const u32 *labels, u32 voxel_plus_1, u32 own,
                      GLOBAL u32 *network, u64 n, u64 i) {
    i32 is_first = j->n_points == 0u;
    j->n_points += 1u;
#if HAS_REGIONS
    u32 word = label(labels, voxel_plus_1, 0u);
    if (HAS_AVOID && (word & 1u) && !(is_first && FORCE_FIRST_STEP)) {
        j->is_avoided = 1;
        j->reached = j->reached_before;
        for (u32 w = 0; w < NETWORK_WORDS; w++) j->network[w] = j->network_before[w];
        return AVOID;
    }
#if N_WAYPOINTS
    u32 way = (label(labels, voxel_plus_1, WAYPOINT_WORD) >> WAYPOINT_SHIFT) & WAYPOINT_MASK;
    if (HALF_BY_HALF && !is_first) reach(j, way);
#endif
#if LEAVE_MASK
    u32 met = word >> 2 & LEAVE_MASK;
    if (j->inside & ~met) return STOP_ON_LEAVING;
    j->inside |= j->outside & met;
    j->outside = ~met & LEAVE_MASK;
#endif
    if (is_first) return 0u;
#if N_WAYPOINTS
    if (!HALF_BY_HALF) reach(j, way);
#endif
#if N_NETWORK
    for (u32 w = 0; w < NETWORK_WORDS; w++) {
        u32 there = label(labels, voxel_plus_1, NETWORK_WORD + w);
        if (own / 32u == w) there &= ~(1u << (own & 31u));
        if (there != 0u) j->has_network = 1;
        u32 fresh = there & ~j->network[w];
        j->network[w] |= fresh;
        for (u32 region = 32u * w; fresh != 0u; region++, fresh >>= 1) {
            if (fresh & 1u) network[(u64)region * n + i] = j->n_points - 1u;
        }
    }
#endif
    if (HAS_STOP && (word & 2u) && j->n_points >= (FORCE_FIRST_STEP ? 3u : 2u)) return STOP;
#endif
    return 0u;
}

/* 0 kept, 1 rejected, 2 open: the second half decides. */
DEVICE_FN u32 by_waypoints(const judge *j) {
#if N_WAYPOINTS
    i32 in_order = !IN_ORDER || j->is_ordered;
    if (j->reached == 0u) return 1u;
    if (j->reached == WAYPOINT_MASK) return in_order ? 0u : 1u;
    if (ANY_WAYPOINT) return 0u;
    return BY_EACH_HALF || !in_order ? 1u : 2u;
#else
    return 0u;
#endif
}

DEVICE_FN u32 steps_of(u32 points) { return points == 0u ? 0u : points - 1u; }

DEVICE_FN f32 length_mm(u32 steps) { return F32_OF_I32((i32)steps) * STEP_MM; }

DEVICE_FN u32 verdict_of_half(const judge *j, u32 points) {
    if (j->is_avoided || length_mm(steps_of(points)) < LEAST_MM) return 1u;
    if (N_NETWORK && !j->has_network) return 1u;
    return by_waypoints(j);
}

/* Which halves are kept: bit 0 the first, bit 1 the second. */
DEVICE_FN u32 kept_halves(const judge *j, u32 first, u32 second, i32 is_avoided, u32 points_first,
                          u32 points_second) {
#if HALF_BY_HALF
    u32 keeps_second = second == 0u;
    u32 keeps_first = first == 0u || (first == 2u && keeps_second);
    return keeps_first | keeps_second << 1;
#else
    i32 is_kept = !is_avoided && points_first > 0u
        && length_mm(steps_of(points_first) + steps_of(points_second)) >= LEAST_MM;
#if N_NETWORK
    u32 any = 0u;
    for (u32 word = 0; word < NETWORK_WORDS; word++) any |= j->network[word];
    is_kept = is_kept && any != 0u;
#endif
    if (BY_EACH_HALF) is_kept = is_kept && first == 0u && second == 0u;
    else is_kept = is_kept && by_waypoints(j) == 0u;
    return is_kept ? 3u : 0u;
#endif
}

#if LOOP_CHECK
/* The blocks of 5 x 5 x 5 voxels that a half has been in: blocks[(4 * entry + word) * n + item], a block and its
   last direction. That of the block it is in stands here. */
typedef struct {
    u32 n_entries, entry, block;
    vec3 last;
} loop_check;

DEVICE_FN u32 block_of(vec3 pos) {
    i32 x = I32_OF_F32(FLOOR(fb_div(pos.x, 5.0f) + 0.5f)) - BLOCK_X;
    i32 y = I32_OF_F32(FLOOR(fb_div(pos.y, 5.0f) + 0.5f)) - BLOCK_Y;
    i32 z = I32_OF_F32(FLOOR(fb_div(pos.z, 5.0f) + 0.5f)) - BLOCK_Z;
    return (u32)x + BLOCKS_X * ((u32)y + BLOCKS_Y * (u32)z);
}

DEVICE_FN i32 turns_back(vec3 a, vec3 b) { return (a.x * b.x + a.y * b.y) + a.z * b.z < 0.0f; }

/* A point is reached along dir: whether its block was last left the other way. */
DEVICE_FN i32 is_loop(loop_check *l, GLOBAL u32 *blocks, u64 n, u64 i, vec3 pos, vec3 dir) {
    u32 block = block_of(pos);
    if (l->n_entries != 0u) {
        if (block == l->block) {
            if (turns_back(dir, l->last)) return 1;
            l->last = dir;
            return 0;
        }
        u64 at = (u64)l->entry * 4u * n + i;
        blocks[at] = l->block;
        blocks[at + n] = F32_BITS(l->last.x);
        blocks[at + 2 * n] = F32_BITS(l->last.y);
        blocks[at + 3 * n] = F32_BITS(l->last.z);
    }
    u32 entry = l->n_entries;
    while (entry != 0u && blocks[(u64)(entry - 1u) * 4u * n + i] != block) entry -= 1u;
    if (entry != 0u) {
        entry -= 1u;
        u64 at = (u64)entry * 4u * n + i;
        vec3 known;
        known.x = BITS_F32(blocks[at + n]);
        known.y = BITS_F32(blocks[at + 2 * n]);
        known.z = BITS_F32(blocks[at + 3 * n]);
        if (turns_back(dir, known)) return 1;
    } else {
        entry = l->n_entries;
        l->n_entries += 1u;
    }
    l->entry = entry;
    l->block = block;
    l->last = dir;
    return 0;
}
#endif
