/* Counts of the streamlines that are kept, one after the other per item, by whole numbers: no order of items changes
   them.

   A voxel counts once a streamline, and what a streamline has been in are its runs: the voxel plus 1 (0 outside the
   grid) of points one after the other in the same, with the steps from the seed to the first of them, and the step
   that leads there: runs[((side * HALF_POINTS + run) * RUN_WORDS + word) * n + item].

   Of short streamlines a filter of 512 bits says whether a voxel was in an earlier run: no for certain, or perhaps,
   and then the runs are looked through. Of more than LOOK_BACK runs that would take ever longer: their voxels are
   entered in a table, tables[slot * n_items + item], which is at most half full, so that the next free slot is
   near.

   Runs that come first in voxels with places are marked with IS_MET, and handed back, each a voxel and the steps to
   it, with SECOND_HALF in the second half. */

/* Nobody marks runs without places, and grids may be larger then. */
#define VOXEL (HAS_PLACES ? 0x7fffffffu : 0xffffffffu)
#define IS_MET 0x80000000u
#define SECOND_HALF 0x80000000u

typedef struct {
    GLOBAL u32 *runs;
    u64 n, item;
    /* Numbers of a run. */
    u32 words;
    /* Runs of both halves, none where they are not kept. */
    u32 n_runs[2];
    u32 seen[16];
    /* Its table: 32 less the bits of a slot; 32 where it needs none. */
    GLOBAL u32 *table;
    u64 n_tables;
    u32 shift;
} course;

DEVICE_FN u64 run_at(const course *c, u32 side, u32 run) {
    return ((u64)side * HALF_POINTS + run) * c->words * c->n + c->item;
}

DEVICE_FN u32 steps_to(const course *c, u32 side, u32 run) {
    return c->runs[run_at(c, side, run) + c->n];
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

#if COUNT_PRODUCTS
/* Half a unit is a whole one away from zero. */
DEVICE_FN i64 rounded(f64 x) {
    i64 whole = (i64)x;
    f64 rest = x - (f64)whole;
    if (rest >= 0.5) whole += 1;
    if (rest <= -0.5) whole -= 1;
    return whole;
}

/* Adds a product of components to its sum in two's complement. */
DEVICE_FN void add_product(GLOBAL u32 *sums, u64 at, f64 product) {
    u64 units = (u64)rounded(product * PRODUCT_UNITS);
    u32 low = (u32)units, high = (u32)(units >> 32);
    u32 before = ATOMIC_ADD_U32(&sums[at], low);
    if (before + low < before) high += 1u;
    if (high != 0u) ATOMIC_ADD_U32(&sums[N_SEED_VOXELS + at], high);
}

/* Adds the dyad of a step that first leads to a voxel: the threads' operations in their order. */
DEVICE_FN void add_products(GLOBAL u32 *products, const course *c, u32 side, u32 run, u64 voxel) {
    u64 at = run_at(c, side, run);
    f64 x = (f64)BITS_F32(c->runs[at + 2 * c->n]) * SEED_SPACING_X_F64;
    f64 y = (f64)BITS_F32(c->runs[at + 3 * c->n]) * SEED_SPACING_Y_F64;
    f64 z = (f64)BITS_F32(c->runs[at + 4 * c->n]) * SEED_SPACING_Z_F64;
    f64 length = sqrt((x * x + y * y) + z * z);
    if (!(0.0 < length)) return;
    x = x / length;
    y = y / length;
    z = z / length;
    u64 next = 2u * (u64)N_SEED_VOXELS;
    add_product(products, voxel, x * x);
    add_product(products + next, voxel, x * y);
    add_product(products + 2 * next, voxel, x * z);
    add_product(products + 3 * next, voxel, y * y);
    add_product(products + 4 * next, voxel, y * z);
    add_product(products + 5 * next, voxel, z * z);
}
#endif

/* Nothing is seen yet: an empty filter, or for many runs an empty table. How many runs the halves have, those that
   are kept, stands in `row` of ends and the next. */
DEVICE_FN void begin_course(course *c, GLOBAL const u32 *ends, u32 row) {
    for (u32 side = 0; side < 2u; side++) {
        c->n_runs[side] = ends[(2u + side) * c->n + c->item] >> 8 ? ends[(row + side) * c->n + c->item] : 0u;
    }
    c->shift = 32u;
#if TABLE_SLOTS
    u32 n_runs = c->n_runs[0] + c->n_runs[1];
    if (n_runs > LOOK_BACK) {
        u32 slots = 1u;
        while (slots < 2u * n_runs) {
            slots <<= 1;
            c->shift -= 1u;
        }
        for (u32 slot = 0; slot < slots; slot++) c->table[(u64)slot * c->n_tables] = 0u;
        return;
    }
#endif
    for (u32 word = 0; word < 16u; word++) c->seen[word] = 0u;
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
        is_new = (c->runs[run_at(c, side, r - 1u)] & VOXEL) != voxel;
    }
    if (side == 1u) {
        for (u32 r = c->n_runs[0]; is_new && r != 0u; r--) {
            is_new = (c->runs[run_at(c, 0u, r - 1u)] & VOXEL) != voxel;
        }
    }
    return is_new;
}

/* Marks a run where its voxel has places: whether it has. */
DEVICE_FN u32 meets(const course *c, GLOBAL const u32 *places, u32 side, u32 run, u32 voxel) {
    if (!(places[(voxel - 1u) >> 5] >> ((voxel - 1u) & 31u) & 1u)) return 0u;
    c->runs[run_at(c, side, run)] = voxel | IS_MET;
    return 1u;
}

/* The point of a half at which it is in the voxel of its seed again; 0 for none. */
DEVICE_FN u32 back_again(const course *c, u32 side, u32 n_points, u32 start) {
    u32 n_runs = c->n_runs[side];
    if (n_runs == 0u || n_points < 2u) return 0u;
    if (n_runs == 1u || steps_to(c, side, 1u) > 1u) return 1u;
    for (u32 run = 2; run < n_runs; run++) {
        if (c->runs[run_at(c, side, run)] == start) return steps_to(c, side, run);
    }
    return 0u;
}

/* Where a launch counts. n_seeds: those in it. visits: samples, and where they are asked for low and high words of
   sums, of each voxel; products: of each product low words of all voxels, then high ones; joined of each pair of
   regions, reached of each target and seed. met: of each item how many voxels with places it has met, on the grid of
   the seeds, then on the other; returns: the point at which it is in its seed's voxel again, where that has places. */
typedef struct {
    GLOBAL u32 *visits, *products, *joined, *reached, *met, *returns;
    GLOBAL const u32 *seeds, *labels, *places, *ends, *network;
    u64 first, n_seeds;
} counts;

DEVICE_FN void count_one(course *c, const counts *to) {
    GLOBAL const u32 *ends = to->ends;
    GLOBAL const u32 *labels = to->labels;
    u64 n = c->n, i = c->item;
    begin_course(c, ends, 4u);
#if N_TARGETS || RETURNS
    u32 start_side = c->n_runs[0] != 0u ? 0u : 1u;
    u32 start = c->n_runs[start_side] != 0u ? c->runs[run_at(c, start_side, 0u)] : 0u;
    u32 back = 0u, back_side = 0u;
    i32 asks = RETURNS;
#if N_TARGETS
    u32 hit[TARGET_WORDS];
    for (u32 word = 0; word < TARGET_WORDS; word++) {
        hit[word] = 0u;
        if (label(labels, start, TARGET_WORD + word) != 0u) asks = 1;
    }
    u64 n_reached = (u64)N_TARGETS * to->n_seeds;
    u64 seed_here = (to->first + i) / SAMPLES_OF_SEED - to->first / SAMPLES_OF_SEED;
#endif
    if (asks && start != 0u) {
        back = back_again(c, 0u, ends[i], start);
        if (back == 0u) {
            back = back_again(c, 1u, ends[n + i], start);
            back_side = SECOND_HALF;
        }
    }
#endif
#if HAS_PLACES
    u32 n_met = 0u;
#endif
    for (u32 side = 0; side < 2u; side++) {
        for (u32 run = 0; run < c->n_runs[side]; run++) {
            u32 voxel = c->runs[run_at(c, side, run)];
            if (voxel == 0u || !is_fresh(c, side, run, voxel)) continue;
            ATOMIC_ADD_U32(&to->visits[voxel - 1u], 1u);
#if HAS_PLACES
            n_met += meets(c, to->places, side, run, voxel);
#endif
#if COUNT_STEPS
            u32 steps = steps_to(c, side, run);
#endif
#if COUNT_DISTANCES
            add_steps(to->visits + N_SEED_VOXELS, N_SEED_VOXELS, voxel - 1u, steps);
#endif
#if COUNT_PRODUCTS
            if (steps != 0u) add_products(to->products, c, side, run, voxel - 1u);
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
                    join(to->reached, n_reached, (u64)target * to->n_seeds + seed_here, least);
                }
            }
#endif
        }
    }
#if N_TARGETS
    for (u32 word = 0; word < TARGET_WORDS && back != 0u; word++) {
        u32 rest = label(labels, start, TARGET_WORD + word) & ~hit[word];
        for (u32 target = 32u * word; rest != 0u; target++, rest >>= 1) {
            if (rest & 1u) join(to->reached, n_reached, (u64)target * to->n_seeds + seed_here, back);
        }
    }
#endif
#if N_NETWORK && COUNT_NETWORK
    u64 seed = (to->first + i) / SAMPLES_OF_SEED;
    u32 own = to->seeds[N_SEEDS + seed];
    for (u32 region = 0; region < N_NETWORK; region++) {
        u32 steps = to->network[(u64)region * n + i];
        if (steps != 0u) join(to->joined, (u64)N_NETWORK * N_NETWORK, (u64)own * N_NETWORK + region, steps);
    }
#endif
#if HAS_PLACES
#if RETURNS
    if (back != 0u && c->runs[run_at(c, start_side, 0u)] & IS_MET) {
        to->returns[i] = back | back_side;
        n_met += 1u;
    }
#endif
    to->met[i] = n_met;
#endif
}

/* The places that a streamline meets on the other grid, where its course is. */
DEVICE_FN void meet_elsewhere(course *c, GLOBAL const u32 *ends, GLOBAL const u32 *places, GLOBAL u32 *met) {
    u32 n_met = 0u;
    begin_course(c, ends, 6u);
    for (u32 side = 0; side < 2u; side++) {
        for (u32 run = 0; run < c->n_runs[side]; run++) {
            u32 voxel = c->runs[run_at(c, side, run)];
            if (voxel != 0u && is_fresh(c, side, run, voxel)) n_met += meets(c, places, side, run, voxel);
        }
    }
    met[c->n + c->item] = n_met;
}

/* Each of n_items takes one of those that are kept after the other. */
KERNEL(count)(u64 n, u64 n_items, u64 first, u64 n_seeds, GLOBAL const u32 *RESTRICT seeds,
              GLOBAL const u32 *RESTRICT labels, GLOBAL const u32 *RESTRICT places,
              GLOBAL const u32 *RESTRICT places_elsewhere, GLOBAL u32 *RESTRICT runs,
              GLOBAL u32 *RESTRICT runs_elsewhere, GLOBAL const u32 *RESTRICT ends,
              GLOBAL const u32 *RESTRICT kept, GLOBAL const u32 *RESTRICT network,
              GLOBAL u32 *RESTRICT tables, GLOBAL u32 *RESTRICT visits, GLOBAL u32 *RESTRICT products,
              GLOBAL u32 *RESTRICT joined, GLOBAL u32 *RESTRICT reached, GLOBAL u32 *RESTRICT met,
              GLOBAL u32 *RESTRICT returns) {
    u64 item = GLOBAL_ID();
    if (item >= n_items) return;
    counts to;
    to.visits = visits;
    to.products = products;
    to.joined = joined;
    to.reached = reached;
    to.met = met;
    to.returns = returns;
    to.seeds = seeds;
    to.labels = labels;
    to.places = places;
    to.ends = ends;
    to.network = network;
    to.first = first;
    to.n_seeds = n_seeds;
    course c;
    c.n = n;
    c.table = tables + item;
    c.n_tables = n_items;
    for (u64 at = item; at < kept[0]; at += n_items) {
        c.item = kept[1 + at];
        c.runs = runs;
        c.words = RUN_WORDS;
        count_one(&c, &to);
#if PLACES_ELSEWHERE
        c.runs = runs_elsewhere;
        c.words = 2u;
        meet_elsewhere(&c, ends, places_elsewhere, met);
#endif
    }
}

/* What streamlines have met, one list after the other: of every item on the grid of the seeds, then on the other; those
   of list l are firsts[l] .. firsts[l + 1]. */
KERNEL(pack)(u64 n, u64 begin, u64 end, GLOBAL const u64 *RESTRICT firsts, GLOBAL u32 *RESTRICT runs,
             GLOBAL u32 *RESTRICT runs_elsewhere, GLOBAL const u32 *RESTRICT ends,
             GLOBAL const u32 *RESTRICT returns, GLOBAL u32 *RESTRICT to) {
    u64 list = begin + GLOBAL_ID();
    if (list >= end || firsts[list + 1] == firsts[list]) return;
    i32 is_elsewhere = list >= n;
    course c;
    c.n = n;
    c.item = is_elsewhere ? list - n : list;
    c.runs = is_elsewhere ? runs_elsewhere : runs;
    c.words = is_elsewhere ? 2u : RUN_WORDS;
    u64 out = 2 * (firsts[list] - firsts[begin]);
    for (u32 side = 0; side < 2u; side++) {
        if (!(ends[(2u + side) * n + c.item] >> 8)) continue;
        u32 n_runs = ends[((is_elsewhere ? 6u : 4u) + side) * n + c.item];
        for (u32 run = 0; run < n_runs; run++) {
            u32 word = c.runs[run_at(&c, side, run)];
            if (!(word & IS_MET)) continue;
            u32 steps = steps_to(&c, side, run);
            to[out] = (word & VOXEL) - 1u;
            to[out + 1] = steps | (side && steps ? SECOND_HALF : 0u);
            out += 2;
#if RETURNS
            if (!is_elsewhere && steps == 0u && returns[c.item] != 0u) {
                to[out] = (word & VOXEL) - 1u;
                to[out + 1] = returns[c.item];
                out += 2;
            }
#endif
        }
    }
}
