/* The sampler on a device: a group of 32 items per voxel, each with every 32nd measurement. The
   signals as they are stay in registers; what a proposal makes of them, and what was measured, in the
   group's memory, so that registers do not limit how many voxels a device has in hand; the
   acquisition, which all voxels share, where it came. The operations of lanes/ in their order, so
   that both give the same bits; rules.rs has the algorithm.

   Constants: N measurements, N_FIBRES; DIFFUSIVITY (1 single, 2 gamma, 3 zeppelin), IS_RICIAN,
   IS_BENT; BURN_IN, JUMPS, SAMPLE_EVERY, ADAPT_EVERY; N_SAMPLED, N_MOVES and N_JOINT with
   the tables sampled_slots, moves and joint_slots; the table relevance; slots by their names; the
   limits of rules.rs by theirs; IN_GROUP_MEMORY, whether that has room for rows of all measurements
   (else they are each item's own). */

/* Moves of a jump, and one more for the random numbers of the joint move. */
#define CALLS (N_MOVES + 1u)
/* Entry (i, k) of the joint move's factor, k <= i. */
#define ENTRY(i, k) ((i) * ((i) + 1u) / 2u + (k))
#define N_ENTRIES ENTRY(N_JOINT, 0u)

DEVICE_FN f32 first_scale(u32 slot, f32 value) {
    if (slot == SLOT_OFFSET) return FIRST_STEP;
    if (slot == JOINT) return FIRST_JOINT;
    if (slot == SLOT_PRECISION) return value * FIRST_PRECISION_SHARE;
    if (slot < SLOT_FIBRES) return value * FIRST_SHARE;
    return is_fraction(slot) ? FIRST_STEP : FIRST_TURN;
}

DEVICE_FN f32 turned(f32 turns) { return turns - ((turns + 12582912.0f) - 12582912.0f); }

/* Sums that are learnt from: products of slopes, of the signal with the ball, and with each stick. */
#define N_SUMS (N_ENTRIES + 1u + N_FIBRES)

/* What shapes proposals: the joint move's factor, and of each fibre the sine of theta and the change of
   S0 that goes with more of its fraction; and the sums that they are made of. */
typedef struct {
    f32 factor[N_ENTRIES], sine[N_FIBRES], shear[N_FIBRES], sums[N_SUMS];
} Learnt;

/* This item's parts of the sums. */
DEVICE_FN void multiply(f32 *parts, const Item *it, GLOBAL const f32 *all_roots,
                        GLOBAL const f32 *all_b, const f32 *bend, u32 me, LOCAL_PTR const f32 *p) {
    Curve curves[N_JOINT - 1u];
    for (u32 a = 1; a < N_JOINT; a++) {
        u32 slot = joint_slots[a];
        f32 d = p[SLOT_DIFFUSIVITY], s = p[SLOT_SPREAD], ratio = p[SLOT_RATIO];
        if (slot == SLOT_DIFFUSIVITY) d = d + DIFFERENCE;
        if (slot == SLOT_SPREAD) s = s + DIFFERENCE;
        if (slot == SLOT_RATIO) ratio = ratio + DIFFERENCE;
        make_curve(&curves[a - 1u], d, s, ratio);
    }
    f32 per = p[SLOT_S0] * DIFFERENCES;
    f32 rest = 1.0f - p[SLOT_OFFSET];
    UNROLL for (u32 j = 0; j < N_FIBRES; j++) rest = rest - p[SLOT_FIBRES + 3u * j + 2u];
    for (u32 e = 0; e < N_SUMS; e++) parts[e] = 0.0f;
    UNROLL for (u32 k = 0; k < PER_ITEM; k++) {
        u32 i = k * GROUP + me;
        if (i < N) {
            f32 root[3];
            UNROLL for (u32 l = 0; l < 3; l++) root[l] = all_roots[l * N + i];
            f32 b = weighting(all_b, root, bend, i);
            f32 slope[N_JOINT];
            slope[0] = it->m[k];
            for (u32 a = 1; a < N_JOINT; a++) { /* not unrolled: most of the kernel would be this */
                f32 m = FMA(ball_left(&curves[a - 1u], b), rest, p[SLOT_OFFSET]);
                UNROLL for (u32 j = 0; j < N_FIBRES; j++) {
                    const f32 *v = it->v[j];
                    f32 along = FMA(v[2], root[2], FMA(v[1], root[1], v[0] * root[0]));
                    f32 stick = stick_left(&curves[a - 1u], b, along * along);
                    m = FMA(p[SLOT_FIBRES + 3u * j + 2u], stick, m);
                }
                slope[a] = (m - it->m[k]) * (joint_slots[a] == SLOT_SPREAD ? per * p[SLOT_SPREAD] : per);
            }
            for (u32 a = 0; a < N_JOINT; a++) {
                for (u32 c = 0; c <= a; c++) {
                    parts[ENTRY(a, c)] = FMA(slope[a], slope[c], parts[ENTRY(a, c)]);
                }
            }
            parts[N_ENTRIES] = FMA(it->m[k], it->ball[k], parts[N_ENTRIES]);
            UNROLL for (u32 j = 0; j < N_FIBRES; j++) {
                u32 e = N_ENTRIES + 1u + j;
                parts[e] = FMA(it->m[k], it->stick[j][k], parts[e]);
            }
        }
    }
}

/* What is made of the sums, by one item. */
DEVICE_FN void factorise(LOCAL_PTR Learnt *learnt, LOCAL_PTR const f32 *p, f32 misfit) {
#if IS_RICIAN
    f32 precision = p[SLOT_PRECISION];
#else
    f32 precision = fb_div((f32)N, misfit);
#endif
    LOCAL_PTR f32 *factor = learnt->factor;
    for (u32 a = 0; a < N_JOINT; a++) {
        for (u32 c = 0; c <= a; c++) {
            f32 all = learnt->sums[ENTRY(a, c)] * precision;
            if (a == c) {
                f32 width = joint_slots[a] == SLOT_RATIO ? RATIO_STD : JOINT_WIDTH;
                all = all + fb_div(1.0f, width * width);
            }
            f32 left = all;
            for (u32 t = 0; t < c; t++) left = FMA(-factor[ENTRY(a, t)], factor[ENTRY(c, t)], left);
            factor[ENTRY(a, c)] = a == c ? fb_sqrt(fb_max(left, all * LEAST_PIVOT))
                                         : fb_div(left, factor[ENTRY(c, c)]);
        }
    }
    f32 square = fb_max(learnt->sums[0], LEAST_SQUARES);
    for (u32 j = 0; j < N_FIBRES; j++) {
        f32 more = learnt->sums[N_ENTRIES + 1u + j] - learnt->sums[N_ENTRIES];
        f32 sine, cosine;
        fb_sincos_turns(p[SLOT_FIBRES + 3u * j], &sine, &cosine);
        learnt->shear[j] = -(p[SLOT_S0] * fb_div(more, square));
        learnt->sine[j] = fb_max(fb_abs(sine), LEAST_SINE);
    }
}

/* All that is learnt, by all items together. */
DEVICE_FN void learn(LOCAL_PTR Learnt *learnt, const Item *it, GLOBAL const f32 *all_roots,
                     GLOBAL const f32 *all_b, const f32 *bend, u32 me, LOCAL_PTR const f32 *p,
                     f32 misfit, LOCAL_PTR f32 *scratch) {
    f32 parts[N_SUMS];
    multiply(parts, it, all_roots, all_b, bend, me, p);
    for (u32 e = 0; e < N_SUMS; e++) {
        f32 sum = GROUP_SUM_F32(scratch, parts[e]);
        if (me == 0u) learnt->sums[e] = sum;
    }
    if (me == 0u) factorise(learnt, p, misfit);
    BARRIER();
}

/* The joint move of the k-th of its parameters by the normal numbers z. */
DEVICE_FN f32 shape(LOCAL_PTR const Learnt *learnt, const f32 *z, u32 k) {
    f32 x[N_JOINT];
    f32 wanted = 0.0f;
    UNROLL for (u32 back = 0; back < N_JOINT; back++) {
        u32 row = N_JOINT - 1u - back;
        f32 left = z[row];
        UNROLL for (u32 t = row + 1u; t < N_JOINT; t++) {
            left = FMA(-learnt->factor[ENTRY(t, row)], x[t], left);
        }
        x[row] = fb_div(left, learnt->factor[ENTRY(row, row)]);
        if (row == k) wanted = x[row];
    }
    return wanted;
}

/* The value of slot `me` with the move of `slot` made. */
DEVICE_FN f32 moved(LOCAL_PTR const Learnt *learnt, LOCAL_PTR const f32 *p, f32 scale, u32 me, u32 slot,
                    const f32 *z) {
    f32 old = p[me];
    if (slot == JOINT) {
        for (u32 k = 0; k < N_JOINT; k++) {
            if (joint_slots[k] == me) {
                f32 x = shape(learnt, z, k);
                if (me != SLOT_SPREAD) return FMA(x, scale, old);
                return old * fb_exp_finite(fb_min(fb_max(x * scale, -MOST_EXPONENT), MOST_EXPONENT));
            }
        }
        return old;
    }
    u32 fibre = fibre_of(slot);
    if (is_theta(slot)) {
        f32 turns = fb_min(scale, WIDEST_TURN);
        if (me == slot) return turned(FMA(z[0], turns, old));
        if (me == slot + 1u) return turned(FMA(z[1], fb_div(turns, learnt->sine[fibre]), old));
        return old;
    }
    if (me == slot) return FMA(z[0], scale, old);
    if (me == SLOT_S0 && is_fraction(slot)) {
        f32 f = p[slot];
        return FMA(learnt->shear[fibre], FMA(z[0], scale, f) - f, old);
    }
    return old;
}

/* What a move is in a jump: that of the curve is the joint one on even jumps, s alone on every fourth. */
DEVICE_FN u32 turn_of(u32 kind, u32 jump) {
    if (kind != SLOT_DIFFUSIVITY) return kind;
    if (jump % 2u == 0u) return JOINT;
    return DIFFUSIVITY != 1 && jump % 4u == 3u ? SLOT_SPREAD : kind;
}

/* Whether the proposal is in range; what its priors add. */
DEVICE_FN i32 judge_all(LOCAL_PTR const f32 *p, LOCAL_PTR const f32 *proposed, u32 slot, f32 *added) {
    i32 inside = 1;
    u32 n = slot == JOINT ? N_JOINT : (is_theta(slot) || is_fraction(slot)) ? 2u : 1u;
    *added = 0.0f;
    for (u32 k = 0; k < n; k++) {
        u32 one = slot == JOINT ? joint_slots[k] : k == 0u ? slot : is_theta(slot) ? slot + 1u : SLOT_S0;
        f32 more;
        inside = inside & judge(p, one, proposed[one], &more);
        /* A spread that is multiplied is proposed with the density of its prior. */
        *added = *added + (slot == JOINT && one == SLOT_SPREAD ? 0.0f : more);
    }
    return inside;
}

GROUP_KERNEL(sample_sticks, 32)(u64 stride, u64 seed, GLOBAL const u32 *RESTRICT items,
                                GLOBAL const f32 *RESTRICT root, GLOBAL const f32 *RESTRICT b,
                                GLOBAL const f32 *RESTRICT y, GLOBAL const f32 *RESTRICT starts,
                                GLOBAL const f32 *RESTRICT bends, GLOBAL f32 *RESTRICT samples,
                                GLOBAL f32 *RESTRICT acceptance) {
    LOCAL f32 scratch[GROUP];
    LOCAL f32 p[MOST_SLOTS];
    LOCAL f32 proposed[MOST_SLOTS];
    LOCAL f32 scale[MOST_SCALES];
    LOCAL f32 taken[MOST_SCALES];
    LOCAL f32 refused[MOST_SCALES];
    LOCAL f32 normal[2u * CALLS];
    LOCAL f32 chance[CALLS];
    LOCAL Learnt learnt;
    ROWS f32 measured[ROW];
    ROWS f32 made[(2u + N_FIBRES) * ROW];
    u64 voxel = GROUP_ID();
    u32 me = (u32)LOCAL_ID();
    u64 item = (u64)items[voxel];

    if (me < MOST_SLOTS) p[me] = starts[(u64)me * stride + voxel];
    if (me < MOST_SCALES) {
        scale[me] = first_scale(me, me < MOST_SLOTS ? p[me] : 0.0f);
        taken[me] = 0.0f;
        refused[me] = 0.0f;
    }
    BARRIER();

    f32 bend[9]; /* columns first */
#if IS_BENT
    UNROLL for (u32 k = 0; k < 3; k++) {
        UNROLL for (u32 l = 0; l < 3; l++) bend[3 * k + l] = bends[(u64)(3 * l + k) * stride + voxel];
    }
#else
    bend[0] = 1.0f;
#endif
    Item it;
    UNROLL for (u32 k = 0; k < PER_ITEM; k++) {
        u32 i = k * GROUP + me;
        it.m[k] = 0.0f;
        UNROLL for (u32 row = 0; row < 2u + N_FIBRES; row++) made[row * ROW + OWN(k)] = 0.0f;
        measured[OWN(k)] = i < N ? y[(u64)i * stride + voxel] : 0.0f;
    }
    UNROLL for (u32 j = 0; j < N_FIBRES; j++) {
        direction(p[SLOT_FIBRES + 3u * j], p[SLOT_FIBRES + 3u * j + 1u], bend, it.v[j]);
    }

    f32 new_v[3] = {0.0f, 0.0f, 0.0f};
    f32 misfit = try_change(&it, measured, made, root, b, bend, me, ALL, p, 0u, 0.0f, new_v);
    misfit = finish_misfit(GROUP_SUM_F32(scratch, misfit), p[SLOT_PRECISION]);
    keep_change(&it, made, me, ALL, 0u, new_v);

    f32 all_taken = 0.0f;
    u64 sample = 0;
    for (u32 jump = 0; jump < BURN_IN + JUMPS; jump++) {
        /* A loop, not a condition: its barriers then cost a compiler for processors less. */
        u32 learns = jump <= BURN_IN && jump % ADAPT_EVERY == 0u ? 1u : 0u;
        for (u32 once = 0; once < learns; once++) {
            learn(&learnt, &it, root, b, bend, me, p, misfit, scratch);
        }
        if (me < CALLS) {
            fb_words words = fb_random(seed, 0u, item, jump * CALLS + me);
            f32 first, second;
            fb_normal_pair(words.w[0], words.w[1], &first, &second);
            normal[2u * me] = first;
            normal[2u * me + 1u] = second;
            chance[me] = fb_ln(fb_uniform(words.w[2]));
        }
        BARRIER();
        for (u32 k = 0; k < N_MOVES; k++) {
            u32 slot = turn_of(moves[k], jump);
            u32 change = change_of(slot);
            u32 fibre = fibre_of(slot);
            if (me < MOST_SLOTS) {
                f32 z[4] = {normal[2u * k], normal[2u * k + 1u], normal[2u * N_MOVES],
                            normal[2u * N_MOVES + 1u]};
                proposed[me] = moved(&learnt, p, scale[slot], me, slot, z);
            }
            BARRIER();
            if (change == ONE_STICK) direction(proposed[slot], proposed[slot + 1u], bend, new_v);
            f32 added;
            i32 inside = judge_all(p, proposed, slot, &added);
            f32 more = slot == JOINT ? 0.0f : proposed[slot] - p[slot];
            f32 part = try_change(&it, measured, made, root, b, bend, me, change, proposed, fibre, more,
                                  new_v);
            f32 tau = proposed[SLOT_PRECISION];
            f32 new_misfit = finish_misfit(GROUP_SUM_F32(scratch, part), tau);
#if IS_RICIAN
            f32 noise = new_misfit - misfit;
#else
            f32 noise = fb_ln(fb_div(new_misfit, misfit)) * (0.5f * (f32)N);
#endif
            i32 take = inside & (chance[k] < -(noise + added));
            if (take) {
                misfit = new_misfit;
                all_taken = all_taken + 1.0f;
                keep_change(&it, made, me, change, fibre, new_v);
            }
            /* All have read p, proposed and scale: before the sum. */
            if (me < MOST_SLOTS && take) p[me] = proposed[me];
            if (me == 0u) {
                taken[slot] = taken[slot] + (take ? 1.0f : 0.0f);
                refused[slot] = refused[slot] + (take ? 0.0f : 1.0f);
            }
            BARRIER();
        }
        if ((jump + 1u) % ADAPT_EVERY == 0u && me < MOST_SCALES) {
            f32 ratio = fb_div(taken[me] + 1.0f, refused[me] + 1.0f);
            scale[me] = fb_min(scale[me] * fb_sqrt(ratio), WIDEST);
            taken[me] = 0.0f;
            refused[me] = 0.0f;
        }
        if (jump + 1u == BURN_IN) all_taken = 0.0f;
        if (jump >= BURN_IN && (jump + 1u - BURN_IN) % SAMPLE_EVERY == 0u) {
            if (me < N_SAMPLED) {
                samples[(sample * N_SAMPLED + me) * stride + voxel] = p[sampled_slots[me]];
            }
            sample++;
        }
        BARRIER();
    }
    if (me == 0u) acceptance[voxel] = fb_div(all_taken, (f32)JUMPS * (f32)N_MOVES);
}
