/* One sample per item: both halves of a streamline, the same operations in the same order as the
   oracle and the lanes, and so the same bits. The Rust code beside it has the explanations.

   points[((side * HALF_POINTS + point) * 3 + axis) * n + item]; ends[word * n + item]: how many points the halves have,
   why they ended (plus 256 where they are kept), and how many runs they have, on the grid of the seeds and on another. The sticks lie in as many
   buffers as the device's largest one asks for. */

typedef struct {
    vec3 dir;
    f32 fraction;
    i32 has_direction;
} stick;

typedef struct {
    stick chosen;
    f32 fraction;
    i32 has_samples;
} found;

/* What numbers depend on. */
typedef struct {
    u64 seed;
    u32 stream;
    u64 item;
    u32 step;
} key;

DEVICE_FN f32 dot3(vec3 a, vec3 b) {
    return FMA(a.x, b.x, FMA(a.y, b.y, a.z * b.z));
}

DEVICE_FN vec3 along(vec3 v, f32 cosine) {
    f32 sign = 0.0f < cosine ? 1.0f : -1.0f;
    v.x = sign * v.x;
    v.y = sign * v.y;
    v.z = sign * v.z;
    return v;
}

DEVICE_FN vec3 moved(vec3 pos, vec3 dir) {
    pos.x = FMA(dir.x, SCALE_X, pos.x);
    pos.y = FMA(dir.y, SCALE_Y, pos.y);
    pos.z = FMA(dir.z, SCALE_Z, pos.z);
    return pos;
}

DEVICE_FN f32 corner_along(f32 x, f32 u) {
    f32 below = FLOOR(x);
    f32 distance = x - below;
    return below + (u <= distance && 0.0f < distance ? 1.0f : 0.0f);
}

/* A whole coordinate from -1 to last, counted from 0. */
DEVICE_FN u32 clamped(f32 x, f32 last) {
    x = -1.0f < x ? x : -1.0f;
    x = x < last ? x : last;
    return (u32)I32_OF_F32(x + 1.0f);
}

DEVICE_FN u32 place(f32 x, f32 y, f32 z) {
    return clamped(x, LAST_X) + clamped(y, LAST_Y) * ROW + clamped(z, LAST_Z) * SLICE;
}

DEVICE_FN u32 voxel_place(vec3 pos) {
    return place(FLOOR(pos.x + 0.5f), FLOOR(pos.y + 0.5f), FLOOR(pos.z + 0.5f));
}

DEVICE_FN f32 coordinate(u32 word) {
    return (F32_OF_I32((i32)word) - 8388607.0f) * COORDINATE_STEP;
}

DEVICE_FN f32 fraction_of(u32 high) {
    return F32_OF_I32((i32)(high >> 16)) * 1.52587890625e-5f;
}

DEVICE_FN stick unpacked(u32 low, u32 high) {
    f32 u = coordinate(low & 0xffffffu);
    f32 v = coordinate((low >> 24) | ((high & 0xffffu) << 8));
    f32 z = (1.0f - FABS(u)) - FABS(v);
    f32 fold = 0.0f < -z ? -z : 0.0f;
    f32 x = u - (u < 0.0f ? -fold : fold);
    f32 y = v - (v < 0.0f ? -fold : fold);
    f32 scale = fb_div(1.0f, fb_sqrt(FMA(x, x, FMA(y, y, z * z))));
    stick s;
    s.dir.x = x * scale;
    s.dir.y = y * scale;
    s.dir.z = z * scale;
    s.fraction = fraction_of(high);
    s.has_direction = u <= 1.0f;
    return s;
}

/* The fibre a half starts with, by the rule chosen; u to choose by. */
DEVICE_FN i32 first_fibre_of(GLOBAL const u32 *sticks, u64 at, f32 u) {
#if FIRST_FIBRE_RULE == 0
    return FIRST_FIBRE;
#elif FIRST_FIBRE_RULE == 3
    i32 nth = I32_OF_F32((f32)N_FIBRES * u);
    return nth < N_FIBRES - 1 ? nth : N_FIBRES - 1;
#else
    i32 n = 0;
    f32 total = 0.0f;
    for (i32 fibre = 0; fibre < N_FIBRES; fibre++) {
        f32 fraction = fraction_of(sticks[at + 2 * (u64)fibre + 1]);
        if (FIBRE_THRESHOLD < fraction) {
            n += 1;
            total += fraction;
        }
    }
    if (n == 0) return 0;
#if FIRST_FIBRE_RULE == 1
    i32 nth = I32_OF_F32(F32_OF_I32(n) * u);
    nth = nth < n - 1 ? nth : n - 1;
    f32 rest = 1.0f;
#else
    f32 rest = u * total;
#endif
    i32 chosen = -1;
    for (i32 fibre = 0; fibre < N_FIBRES; fibre++) {
        f32 fraction = fraction_of(sticks[at + 2 * (u64)fibre + 1]);
        if (FIBRE_THRESHOLD < fraction && chosen < 0) {
#if FIRST_FIBRE_RULE == 1
            if (nth == 0) chosen = fibre;
            nth -= 1;
#else
            rest -= fraction;
            if (rest <= 0.0f) chosen = fibre;
#endif
        }
    }
    return chosen < 0 ? 0 : chosen;
#endif
}

/* The stick to follow from a random sample at a random corner: at the first point of a half by the
   rule for it, else the one nearest to dir. */
DEVICE_FN found lookup(GLOBAL const u32 *slot_plus_1, key k, u32 what, vec3 pos, vec3 dir,
                       i32 is_first STICKS_PARAMETERS) {
    fb_words words = fb_random(k.seed, k.stream + what, k.item, k.step);
    u32 slot = slot_plus_1[place(corner_along(pos.x, fb_uniform(words.w[0])),
                                 corner_along(pos.y, fb_uniform(words.w[1])),
                                 corner_along(pos.z, fb_uniform(words.w[2])))];
    found f;
    f.has_samples = slot != 0u;
    /* Outside, the first voxel's samples are read and not used. */
    u32 voxel = f.has_samples ? slot - 1u : 0u;
    u32 part = voxel / SLOTS_PER_PART;
    GLOBAL const u32 *sticks = STICKS_OF(part);
    voxel -= part * SLOTS_PER_PART;
    f32 u = fb_uniform(words.w[3]);
#if HALF_WEIGHT_ENDS
    f32 index = FLOOR(u * (N_SAMPLES_F - 1.0f) + 0.5f);
#else
    f32 index = FLOOR(u * N_SAMPLES_F);
    index = index < N_SAMPLES_F - 1.0f ? index : N_SAMPLES_F - 1.0f;
#endif
    u64 at = ((u64)voxel * N_SAMPLES + (u64)I32_OF_F32(index)) * N_FIBRES * 2u;
    i32 first_fibre = 0;
    if (is_first) {
        f32 choice = 0.0f;
#if FIRST_FIBRE_RULE
        choice = fb_uniform(fb_random(k.seed, k.stream + CHOICES, k.item, k.step).w[0]);
#endif
        first_fibre = first_fibre_of(sticks, at, choice);
    }
    f.chosen = unpacked(sticks[at], sticks[at + 1]);
    f.fraction = f.chosen.fraction;
    f32 cosine = FABS(dot3(f.chosen.dir, dir));
    f32 best = FIBRE_THRESHOLD < f.chosen.fraction && f.chosen.has_direction ? cosine : 0.0f;
    for (i32 fibre = 1; fibre < N_FIBRES; fibre++) {
        stick s = unpacked(sticks[at + 2 * (u64)fibre], sticks[at + 2 * (u64)fibre + 1]);
        cosine = FABS(dot3(s.dir, dir));
        i32 better = FIBRE_THRESHOLD < s.fraction && s.has_direction && best < cosine;
        if (is_first) {
            if (fibre == first_fibre) f.chosen = s;
        } else if (better) {
            f.chosen = s;
            f.fraction = s.fraction;
            best = cosine;
        }
    }
    return f;
}

/* A place in the sphere around a seed, as `jittered` of the threads. */
DEVICE_FN vec3 jittered(key k, vec3 seed) {
#if HAS_JITTER
    for (u32 attempt = 0; attempt < JITTER_TRIALS; attempt++) {
        fb_words words = fb_random(k.seed, k.stream + JITTER, k.item, attempt);
        vec3 v;
        v.x = (2.0f * fb_uniform(words.w[0]) - 1.0f) * JITTER_MM;
        v.y = (2.0f * fb_uniform(words.w[1]) - 1.0f) * JITTER_MM;
        v.z = (2.0f * fb_uniform(words.w[2]) - 1.0f) * JITTER_MM;
        if ((v.x * v.x + v.y * v.y) + v.z * v.z <= JITTER_MM * JITTER_MM) {
            seed.x = seed.x + fb_div(v.x, SEED_SPACING_X);
            seed.y = seed.y + fb_div(v.y, SEED_SPACING_Y);
            seed.z = seed.z + fb_div(v.z, SEED_SPACING_Z);
            return seed;
        }
    }
#endif
    return seed;
}

/* seeds: keys, then regions; starts: of seeds, or where they are given of items; kept: how many samples are,
   and their items. */
KERNEL(track)(u64 n, u64 first, u64 rng_seed, GLOBAL const u32 *RESTRICT slot_plus_1,
              GLOBAL const u32 *RESTRICT seeds, GLOBAL const f32 *RESTRICT starts,
              GLOBAL const u32 *RESTRICT labels, GLOBAL f32 *RESTRICT points,
              GLOBAL u32 *RESTRICT runs, GLOBAL u32 *RESTRICT runs_elsewhere, GLOBAL u32 *RESTRICT blocks, GLOBAL u32 *RESTRICT ends,
              GLOBAL u32 *RESTRICT kept,
              GLOBAL u32 *RESTRICT network KERNEL_STICKS_PARAMETERS) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    u64 seed = (first + i) / SAMPLES_OF_SEED;
    u32 own = seeds[N_SEEDS + seed];
    key k;
    k.seed = rng_seed;
    k.stream = own * STREAMS_OF_REGION;
    k.item = (u64)seeds[seed] | ((first + i) - seed * SAMPLES_OF_SEED) << 32;
    vec3 start, dir, first_dir;
#if STARTS_GIVEN
    start.x = starts[i];
    start.y = starts[n + i];
    start.z = starts[2 * n + i];
#else
    start.x = starts[seed];
    start.y = starts[N_SEEDS + seed];
    start.z = starts[2 * N_SEEDS + seed];
    start = to_samples(jittered(k, start));
#endif
    dir.x = dir.y = dir.z = 0.0f;
    first_dir = dir;
    i32 has_first = 0;
#if JUDGES
    judge j;
    begin_sample(&j);
    u32 verdicts[2];
    i32 is_avoided = 0;
#endif
    u32 counts[2], reasons[2];
    for (u32 side = 0; side < 2u; side++) {
        vec3 pos = start;
        i32 moves = 0;
        dir.x = dir.y = dir.z = 0.0f;
        if (side == 1u && has_first) {
            moves = 1;
            dir.x = -first_dir.x;
            dir.y = -first_dir.y;
            dir.z = -first_dir.z;
        }
#if JUDGES
        begin_half(&j);
#endif
#if LOOP_CHECK
        loop_check loops;
        loops.n_entries = loops.entry = loops.block = 0u;
        loops.last = dir;
#endif
#if KEEP_RUNS
        u32 n_runs = 0u, run_voxel = 0u;
#endif
#if COUNT_PRODUCTS
        vec3 before = pos;
#endif
#if PLACES_ELSEWHERE
        u32 n_elsewhere = 0u, run_elsewhere = 0u;
#endif
        u32 reason = slot_plus_1[voxel_place(pos)] == 0u ? OUTSIDE_MASK : 0u;
        u32 point = 0;
        while (reason == 0u) {
            if (point == HALF_POINTS) {
                reason = LENGTH;
                break;
            }
            i32 is_in_mask = slot_plus_1[voxel_place(pos)] != 0u;
#if ENDS_INSIDE
            if (!is_in_mask) {
                reason = OUTSIDE_MASK;
                break;
            }
#endif
#if LOOP_CHECK
            if (is_loop(&loops, blocks, n, i, pos, dir)) {
                reason = LOOP;
                break;
            }
#endif
#if KEEP_POINTS
            u64 at = ((u64)side * HALF_POINTS + point) * 3u * n + i;
            points[at] = pos.x;
            points[at + n] = pos.y;
            points[at + 2 * n] = pos.z;
#endif
            k.step = side << 31 | point;
            point += 1u;
#if JUDGES && (HAS_REGIONS || KEEP_RUNS)
            vec3 here = from_samples(pos);
            u32 voxel_plus_1 = voxel_plus_1_of(here, SEED_NX, SEED_NY, SEED_NZ);
            reason = entered(&j, labels, voxel_plus_1, own, network, n, i);
            if (reason == STOP_ON_LEAVING) {
                point -= 1u;
                break;
            }
#endif
#if KEEP_RUNS
            if (point == 1u || voxel_plus_1 != run_voxel) {
                u64 run = (((u64)side * HALF_POINTS + n_runs) * RUN_WORDS) * n + i;
                runs[run] = voxel_plus_1;
                if (RUN_WORDS > 1u) runs[run + n] = point - 1u;
#if COUNT_PRODUCTS
                runs[run + 2 * n] = F32_BITS(here.x - before.x);
                runs[run + 3 * n] = F32_BITS(here.y - before.y);
                runs[run + 4 * n] = F32_BITS(here.z - before.z);
#endif
                run_voxel = voxel_plus_1;
                n_runs += 1u;
            }
#endif
#if COUNT_PRODUCTS
            before = here;
#endif
#if PLACES_ELSEWHERE
            u32 elsewhere_plus_1 = voxel_elsewhere_plus_1(here);
            if (point == 1u || elsewhere_plus_1 != run_elsewhere) {
                u64 run = (((u64)side * HALF_POINTS + n_elsewhere) * 2u) * n + i;
                runs_elsewhere[run] = elsewhere_plus_1;
                runs_elsewhere[run + n] = point - 1u;
                run_elsewhere = elsewhere_plus_1;
                n_elsewhere += 1u;
            }
#endif
            if (reason != 0u) break;
            found f = lookup(slot_plus_1, k, HERE, pos, dir, point == 1u STICKS);
            fb_words numbers;
            numbers.w[1] = numbers.w[2] = numbers.w[3] = 0u;
            if (USE_FRACTION || !moves) {
                numbers = fb_random(k.seed, k.stream + CHOICES, k.item, k.step);
            }
            f32 limit = USE_FRACTION ? fb_uniform(numbers.w[1]) : 0.0f;
            vec3 v = f.chosen.dir;
            f32 cosine = dot3(v, dir);
            if (!f.has_samples) reason = OUTSIDE_SAMPLES;
            else if (!(limit < f.fraction)) reason = FRACTION;
            else if (moves && !(MIN_COS < FABS(cosine))) reason = CURVATURE;
            else if (!f.chosen.has_direction) reason = NO_DIRECTION;
            else if (!is_in_mask) reason = OUTSIDE_MASK;
            if (reason != 0u) break;
#if MODIFIED_EULER
            vec3 trial = moved(pos, along(v, moves ? cosine : fb_uniform(numbers.w[3]) - 0.5f));
            found ahead = lookup(slot_plus_1, k, AHEAD, trial, dir, 0 STICKS);
            vec3 w = ahead.chosen.dir;
            if (!(ahead.has_samples && ahead.chosen.has_direction)) {
                w.x = w.y = 0.0f;
                w.z = 1.0f;
            }
            w = along(w, dot3(v, w));
            w.x = v.x + w.x;
            w.y = v.y + w.y;
            w.z = v.z + w.z;
            f32 scale = fb_div(1.0f, fb_sqrt(dot3(w, w)));
            v.x = w.x * scale;
            v.y = w.y * scale;
            v.z = w.z * scale;
            cosine = dot3(v, dir);
#endif
            dir = along(v, moves ? cosine : fb_uniform(numbers.w[2]) - 0.5f);
            moves = 1;
            if (side == 0u && !has_first) {
                first_dir = dir;
                has_first = 1;
            }
            pos = moved(pos, dir);
        }
        counts[side] = point;
        reasons[side] = reason;
#if JUDGES
        verdicts[side] = verdict_of_half(&j, point);
        is_avoided = is_avoided || j.is_avoided;
#endif
#if KEEP_RUNS
        ends[(4u + side) * n + i] = n_runs;
#endif
#if PLACES_ELSEWHERE
        ends[(6u + side) * n + i] = n_elsewhere;
#endif
    }
    u32 keeps = 0u;
#if JUDGES
    keeps = kept_halves(&j, verdicts[0], verdicts[1], is_avoided, counts[0], counts[1]);
#if N_NETWORK
    for (u32 region = 0; region < N_NETWORK; region++) {
        if (!(j.network[region >> 5] >> (region & 31u) & 1u)) network[(u64)region * n + i] = 0u;
    }
#endif
#endif
    for (u32 side = 0; side < 2u; side++) {
        ends[side * n + i] = counts[side];
        ends[(2u + side) * n + i] = reasons[side] | (keeps >> side & 1u) << 8;
    }
#if KEEP_RUNS
    if (keeps != 0u) kept[1u + ATOMIC_ADD_U32(kept, 1u)] = (u32)i;
#endif
}

/* The vectors of halves from begin to end, one after the other: those of half h are
   firsts[h] .. firsts[h + 1]. */
KERNEL(gather)(u64 n, u64 begin, u64 end, GLOBAL const u64 *RESTRICT firsts,
               GLOBAL const f32 *RESTRICT from, GLOBAL f32 *RESTRICT to) {
    u64 at_half = begin + GLOBAL_ID();
    if (at_half >= end) return;
    u64 side = at_half < n ? 0 : 1;
    u64 item = at_half - side * n;
    u64 first = firsts[at_half];
    u64 count = firsts[at_half + 1] - first;
    u64 out = 3 * (first - firsts[begin]);
    for (u64 point = 0; point < count; point++) {
        u64 at = (side * HALF_POINTS + point) * 3u * n + item;
        to[out + 3 * point] = from[at];
        to[out + 3 * point + 1] = from[at + n];
        to[out + 3 * point + 2] = from[at + 2 * n];
    }
}
