/* Counts of the streamlines that are kept, one after the other per item, by whole numbers: no order of items changes
   them.

   A voxel counts once a streamline, and what a streamline has been in are its runs: the voxel plus 1 (0 outside the
   grid) of points one after the other in the same, with the steps from the seed to the first of them:
   runs[((side * HALF_POINTS + run) * RUN_WORDS + word) * n + item].

   Whether a voxel was in an earlier run a filter of 512 bits says of short streamlines: no for certain, or perhaps,
   and then the runs are looked through. Of more than LOOK_BACK runs that would take ever longer: their voxels are
   entered in a table, tables[slot * n_items + item], which is at most half full, so that the next free slot is
   near. */

typedef struct {
    GLOBAL const u32 *runs;
    u64 n, item;
    /* Runs of the first half, where it is kept. */
    u32 before;
    u32 seen[16];
    /* Its table: 32 less the bits of a slot; 32 where it needs none. */
    GLOBAL u32 *table;
    u64 n_tables;
    u32 shift;
} course;

DEVICE_FN u64 run_at(u64 n, u64 item, u32 side, u32 run) {
    return ((u64)side * HALF_POINTS + run) * RUN_WORDS * n + item;
}

DEVICE_FN u32 steps_to(const course *c, u32 side, u32 run) {
    return c->runs[run_at(c->n, c->item, side, run) + (RUN_WORDS - 1u) * c->n];
}

/* Adds to a sum of two words: low ones, and n further high ones. */
DEVICE_FN void add_steps(GLOBAL u32 *sums, u64 n, u64 at, u32 steps) {
    u32 before = ATOMIC_ADD_U32(&sums[at], steps);
    if (before + steps < before) ATOMIC_ADD_U32(&sums[n + at], 1u);
}

/* A streamline joins what is counted at a place, after these steps: samples, low and high words of sums. */
DEVICE_FN void join(GLOBAL u32 *joined, u64 n, u64 at, u32 steps) {
    ATOMIC_ADD_U32(&joined[at], 1u);
    add_steps(joined + n, n, at, steps);
}

/* An empty table for so many runs, or none for few. */
DEVICE_FN void begin_table(course *c, u32 n_runs) {
    c->shift = 32u;
#if TABLE_SLOTS
    if (n_runs <= LOOK_BACK) return;
    u32 slots = 1u;
    while (slots < 2u * n_runs) {
        slots <<= 1;
        c->shift -= 1u;
    }
    for (u32 slot = 0; slot < slots; slot++) c->table[(u64)slot * c->n_tables] = 0u;
#endif
}

/* Enters a voxel in the table: whether it was not there. */
DEVICE_FN i32 is_entered(const course *c, u32 voxel) {
    u32 last = (1u << (32u - c->shift)) - 1u;
    u32 slot = voxel * 2654435769u >> c->shift;
    for (;;) {
        u64 at = (u64)slot * c->n_tables;
        u32 there = c->table[at];
        if (there == voxel) return 0;
        if (there == 0u) {
            c->table[at] = voxel;
            return 1;
        }
        slot = (slot + 1u) & last;
    }
}

/* Whether a run is the first in its voxel. */
DEVICE_FN i32 is_fresh(course *c, u32 side, u32 run, u32 voxel) {
    if (c->shift < 32u) return is_entered(c, voxel);
    u32 hash = voxel * 2654435769u >> 23;
    u32 bit = 1u << (hash & 31u);
    if (!(c->seen[hash >> 5] & bit)) {
        c->seen[hash >> 5] |= bit;
        return 1;
    }
    i32 is_new = 1;
    for (u32 r = run; is_new && r != 0u; r--) {
        is_new = c->runs[run_at(c->n, c->item, side, r - 1u)] != voxel;
    }
    if (side == 1u) {
        for (u32 r = c->before; is_new && r != 0u; r--) {
            is_new = c->runs[run_at(c->n, c->item, 0u, r - 1u)] != voxel;
        }
    }
    return is_new;
}

/* The point of a half at which it is in the voxel of its seed again; 0 for none. */
DEVICE_FN u32 back_again(const course *c, u32 side, u32 n_runs, u32 n_points, u32 start) {
    if (n_points < 2u) return 0u;
    if (n_runs == 1u || steps_to(c, side, 1u) > 1u) return 1u;
    for (u32 run = 2; run < n_runs; run++) {
        if (c->runs[run_at(c->n, c->item, side, run)] == start) return steps_to(c, side, run);
    }
    return 0u;
}

/* n_seeds: those in this launch. visits: samples, and where they are asked for low and high words of sums, of each
   voxel; joined of each pair of regions, reached of each target and seed. */
DEVICE_FN void count_one(course *c, u64 first, u64 n_seeds, GLOBAL const u32 *seeds, GLOBAL const u32 *labels,
                         GLOBAL const u32 *ends, GLOBAL const u32 *network, GLOBAL u32 *visits,
                         GLOBAL u32 *joined, GLOBAL u32 *reached) {
    GLOBAL const u32 *runs = c->runs;
    u64 n = c->n;
    for (u32 word = 0; word < 16u; word++) c->seen[word] = 0u;
    u64 i = c->item;
    u32 keeps[2], n_runs[2];
    for (u32 side = 0; side < 2u; side++) {
        keeps[side] = ends[(2u + side) * n + i] >> 8;
        n_runs[side] = keeps[side] ? ends[(4u + side) * n + i] : 0u;
    }
    c->before = n_runs[0];
    begin_table(c, n_runs[0] + n_runs[1]);
#if N_TARGETS
    u32 start_side = n_runs[0] != 0u ? 0u : 1u;
    u32 start = n_runs[start_side] != 0u ? runs[run_at(n, i, start_side, 0u)] : 0u;
    u32 hit[TARGET_WORDS];
    u32 at_start = 0u, back = 0u;
    for (u32 word = 0; word < TARGET_WORDS; word++) {
        hit[word] = 0u;
        at_start |= label(labels, start, TARGET_WORD + word);
    }
    if (at_start != 0u) {
        for (u32 side = 0; side < 2u && back == 0u; side++) {
            if (n_runs[side] != 0u) {
                back = back_again(c, side, n_runs[side], ends[side * n + i], start);
            }
        }
    }
    u64 n_reached = (u64)N_TARGETS * n_seeds;
    u64 seed_here = (first + i) / SAMPLES_OF_SEED - first / SAMPLES_OF_SEED;
#endif
    for (u32 side = 0; side < 2u; side++) {
        for (u32 run = 0; run < n_runs[side]; run++) {
            u32 voxel = runs[run_at(n, i, side, run)];
            if (voxel == 0u || !is_fresh(c, side, run, voxel)) continue;
            ATOMIC_ADD_U32(&visits[voxel - 1u], 1u);
#if COUNT_STEPS
            u32 steps = steps_to(c, side, run);
#endif
#if COUNT_DISTANCES
            add_steps(visits + N_SEED_VOXELS, N_SEED_VOXELS, voxel - 1u, steps);
#endif
#if N_TARGETS
            if (steps == 0u) continue;
            for (u32 word = 0; word < TARGET_WORDS; word++) {
                u32 fresh = label(labels, voxel, TARGET_WORD + word) & ~hit[word];
                hit[word] |= fresh;
                u32 around = label(labels, start, TARGET_WORD + word);
                for (u32 target = 32u * word; fresh != 0u; target++, fresh >>= 1, around >>= 1) {
                    if (!(fresh & 1u)) continue;
                    u32 least = (around & 1u) && back != 0u && back < steps ? back : steps;
                    join(reached, n_reached, (u64)target * n_seeds + seed_here, least);
                }
            }
#endif
        }
    }
#if N_TARGETS
    for (u32 word = 0; word < TARGET_WORDS && back != 0u; word++) {
        u32 rest = label(labels, start, TARGET_WORD + word) & ~hit[word];
        for (u32 target = 32u * word; rest != 0u; target++, rest >>= 1) {
            if (rest & 1u) join(reached, n_reached, (u64)target * n_seeds + seed_here, back);
        }
    }
#endif
#if N_NETWORK && COUNT_NETWORK
    u64 seed = (first + i) / SAMPLES_OF_SEED;
    u32 own = seeds[N_SEEDS + seed];
    for (u32 region = 0; region < N_NETWORK; region++) {
        u32 steps = network[(u64)region * n + i];
        if (steps != 0u) join(joined, (u64)N_NETWORK * N_NETWORK, (u64)own * N_NETWORK + region, steps);
    }
#endif
}

/* Each of n_items takes one of those that are kept after the other. */
KERNEL(count)(u64 n, u64 n_items, u64 first, u64 n_seeds, GLOBAL const u32 *RESTRICT seeds,
              GLOBAL const u32 *RESTRICT labels, GLOBAL const u32 *RESTRICT runs,
              GLOBAL const u32 *RESTRICT ends, GLOBAL const u32 *RESTRICT kept,
              GLOBAL const u32 *RESTRICT network, GLOBAL u32 *RESTRICT tables,
              GLOBAL u32 *RESTRICT visits, GLOBAL u32 *RESTRICT joined, GLOBAL u32 *RESTRICT reached) {
    u64 item = GLOBAL_ID();
    if (item >= n_items) return;
    course c;
    c.runs = runs;
    c.n = n;
    c.table = tables + item;
    c.n_tables = n_items;
    for (u64 at = item; at < kept[0]; at += n_items) {
        c.item = kept[1 + at];
        count_one(&c, first, n_seeds, seeds, labels, ends, network, visits, joined, reached);
    }
}
