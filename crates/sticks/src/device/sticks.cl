/* The sampler on a device: a group of 32 items per voxel, each with every 32nd measurement. The
   signals as they are stay in registers; what a proposal makes of them, and what was measured, in the
   group's memory, so that registers do not limit how many voxels a device has in hand; the
   acquisition, which all voxels share, where it came. The operations of lanes/ in their order, so
   that both give the same bits; rules.rs has the algorithm.

   Constants: N measurements, N_FIBRES; DIFFUSIVITY (1 single, 2 gamma, 3 zeppelin), IS_RICIAN,
   IS_BENT; BURN_IN, JUMPS, SAMPLE_EVERY, ADAPT_EVERY; N_SAMPLED and the tables sampled_slots and
   relevance; slots by their names; the limits of rules.rs by theirs; IN_GROUP_MEMORY, whether that
   has room for rows of all measurements (else they are each item's own). */

#define GROUP 32u
#define PER_ITEM ((N + GROUP - 1u) / GROUP)
#define PAIRS ((N_SAMPLED + 1u) / 2u)

typedef struct {
    f32 rate, scale, power, plain, along, everywhere;
} Curve;

DEVICE_FN f32 decay(f32 exponent) { return fb_exp_finite(fb_max(exponent, -MOST_EXPONENT)); }

DEVICE_FN void make_curve(Curve *c, f32 d, f32 s, f32 ratio) {
    c->rate = -d;
#if DIFFUSIVITY != 1
    i32 spreads = LEAST_SPREAD <= s;
    f32 safe = spreads ? s : 1.0f;
    f32 scale = fb_div(safe * safe, fb_max(d, LEAST_DIFFUSIVITY));
    f32 power = fb_div(-(d * d), safe * safe);
    c->scale = spreads ? scale : 0.0f;
    c->power = spreads ? power : 0.0f;
    c->plain = spreads ? 0.0f : -d;
#endif
#if DIFFUSIVITY == 3
    f32 factor = fb_div(d * -3.0f, FMA(ratio, 2.0f, 1.0f));
    c->along = factor * (1.0f - ratio);
    c->everywhere = factor * ratio;
#endif
}

#if DIFFUSIVITY != 1
DEVICE_FN f32 gamma_left(const Curve *c, f32 x) {
    f32 u = x * c->scale;
    f32 sum = u + 1.0f;
    f32 ln = fb_ln_finite(sum) + (u - (sum - 1.0f));
    return decay(FMA(ln, c->power, x * c->plain));
}
#endif

DEVICE_FN f32 ball_left(const Curve *c, f32 b) {
#if DIFFUSIVITY == 1
    return decay(b * c->rate);
#else
    return gamma_left(c, b);
#endif
}

DEVICE_FN f32 stick_left(const Curve *c, f32 b, f32 x) {
#if DIFFUSIVITY == 1
    return decay(x * c->rate);
#elif DIFFUSIVITY == 2
    return gamma_left(c, x);
#else
    return decay(FMA(x, c->along, b * c->everywhere));
#endif
}

#if IS_RICIAN
DEVICE_FN f32 ln_i0e(f32 x) {
    f32 near = fb_min(x, 3.75f) * (1.0f / 3.75f);
    f32 t = near * near;
    f32 series = FMA(FMA(FMA(FMA(FMA(FMA(0.0045813f, t, 0.0360768f), t, 0.2659732f), t,
                                 1.2067492f), t, 3.0899424f), t, 3.5156229f), t, 1.0f);
    f32 far = fb_max(x, 3.75f);
    f32 w = fb_div(3.75f, far);
    f32 asymptotic =
        FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0.00392377f, w, -0.01647633f), w, 0.02635537f), w,
                                -0.02057706f), w, 0.00916281f), w, -0.00157565f), w,
                    0.00225319f), w, 0.01328592f), w, 0.3989423f);
    i32 is_near = x < 3.75f;
    f32 inside = is_near ? series : asymptotic * fb_rsqrt_finite(far);
    return fb_ln_finite(inside) - (is_near ? x : 0.0f);
}
#endif

/* What a measurement adds to the misfit. */
DEVICE_FN f32 add_misfit(f32 part, f32 y, f32 m, f32 s0, f32 tau) {
    f32 residual = FMA(-s0, m, y);
#if IS_RICIAN
    f32 energy = residual * residual * (tau * 0.5f);
    return part + (energy - ln_i0e(tau * (s0 * m) * y));
#else
    return FMA(residual, residual, part);
#endif
}

/* The vector whose product with a nominal gradient is the stick's with the true one. */
DEVICE_FN void direction(f32 theta, f32 phi, const f32 *bend, f32 *v) {
    f32 sin_theta, cos_theta, sin_phi, cos_phi;
    fb_sincos_turns(theta, &sin_theta, &cos_theta);
    fb_sincos_turns(phi, &sin_phi, &cos_phi);
    f32 x = sin_theta * cos_phi;
    f32 y = sin_theta * sin_phi;
#if IS_BENT
    UNROLL for (u32 k = 0; k < 3; k++) {
        v[k] = FMA(bend[3 * k + 2], cos_theta, FMA(bend[3 * k + 1], y, bend[3 * k] * x));
    }
#else
    v[0] = x;
    v[1] = y;
    v[2] = cos_theta;
#endif
}

DEVICE_FN i32 is_angle(u32 slot) { return slot >= SLOT_FIBRES && (slot - SLOT_FIBRES) % 3u < 2u; }

/* f0 + sum of the fractions, without one slot. */
DEVICE_FN f32 sum_without(LOCAL_PTR const f32 *p, u32 slot) {
    f32 sum = slot == SLOT_OFFSET ? 0.0f : p[SLOT_OFFSET];
    for (u32 other = SLOT_FIBRES + 2u; other < SLOT_FIBRES + 3u * N_FIBRES; other += 3u) {
        if (other != slot) sum = sum + p[other];
    }
    return sum;
}

/* Whether a proposal is in range; what its prior adds. */
DEVICE_FN i32 judge(LOCAL_PTR const f32 *p, u32 slot, f32 new_value, f32 *added) {
    f32 old = p[slot];
    *added = 0.0f;
    if (slot == SLOT_S0) return 0.0f <= new_value;
    if (slot == SLOT_PRECISION) return 0.0f < new_value;
    if (slot == SLOT_DIFFUSIVITY) {
#if DIFFUSIVITY == 3
        *added = FMA(fb_ln(old) - fb_ln(new_value), 2.0f, (new_value - old) * 4.0f);
#endif
        return (0.0f <= new_value) & (new_value <= MOST_DIFFUSIVITY);
    }
    if (slot == SLOT_SPREAD) {
        *added = fb_ln(new_value) - fb_ln(old);
        return (0.0f < new_value) & (new_value <= MOST_SPREAD);
    }
    if (slot == SLOT_RATIO) {
        f32 after = fb_div(new_value - RATIO_MEAN, RATIO_STD);
        f32 before = fb_div(old - RATIO_MEAN, RATIO_STD);
        *added = after * after - before * before;
        return (RATIO_LEAST < new_value) & (new_value <= RATIO_MOST);
    }
    if (slot != SLOT_OFFSET && (slot - SLOT_FIBRES) % 3u == 0u) {
        f32 sin_old, sin_new, cosine;
        fb_sincos_turns(old, &sin_old, &cosine);
        fb_sincos_turns(new_value, &sin_new, &cosine);
        *added = fb_ln(fb_abs(sin_old)) - fb_ln(fb_abs(sin_new));
        return 1;
    }
    if (slot != SLOT_OFFSET && (slot - SLOT_FIBRES) % 3u == 1u) return 1;
    f32 exponent = relevance[slot];
    if (exponent != 0.0f) *added = (fb_ln(new_value) - fb_ln(old)) * exponent;
    f32 all = new_value + sum_without(p, slot);
    return (0.0f < new_value) & (new_value < 1.0f) & (all <= 1.0f);
}

/* Rows of measurements: the k-th of an item is at OWN(k). */
#if IN_GROUP_MEMORY
#define ROWS LOCAL
#define ROWS_PTR LOCAL_PTR
#define OWN(k) ((k) * GROUP + me)
#define ROW (PER_ITEM * GROUP)
#else
#define ROWS
#define ROWS_PTR
#define OWN(k) (k)
#define ROW PER_ITEM
#endif

/* The measurements of one item as they are: signals, and what they are made of. */
typedef struct {
    f32 m[PER_ITEM], ball[PER_ITEM], stick[N_FIBRES][PER_ITEM];
    f32 v[N_FIBRES][3];
} Item;

/* The weighting of a measurement; with gradients of its own that of their length. */
DEVICE_FN f32 weighting(GLOBAL const f32 *b, const f32 *root, const f32 *bend, u32 i) {
#if IS_BENT
    f32 square = 0.0f;
    UNROLL for (u32 l = 0; l < 3; l++) {
        f32 bent = bend[l] * root[0];
        bent = FMA(bend[3 + l], root[1], bent);
        bent = FMA(bend[6 + l], root[2], bent);
        square = FMA(bent, bent, square);
    }
    return square;
#else
    return b[i];
#endif
}

#define ALL 0u
#define SAME 1u
#define MORE_OFFSET 2u
#define MORE_STICK 3u
#define ONE_STICK 4u

DEVICE_FN u32 change_of(u32 slot) {
    if (slot == SLOT_S0 || slot == SLOT_PRECISION) return SAME;
    if (slot == SLOT_OFFSET) return MORE_OFFSET;
    if (slot < SLOT_FIBRES) return ALL;
    return is_angle(slot) ? ONE_STICK : MORE_STICK;
}

/* The misfit's part of this item after a change; p with slot `slot` replaced by new_value. What the
   change makes of the measurements goes to the rows `made`: signals, ball, then sticks. */
DEVICE_FN f32 try_change(const Item *it, ROWS_PTR const f32 *measured, ROWS_PTR f32 *made,
                         GLOBAL const f32 *all_roots, GLOBAL const f32 *all_b, const f32 *bend,
                         u32 me, u32 change, LOCAL_PTR const f32 *p, u32 slot, f32 new_value,
                         const f32 *new_v) {
    u32 fibre = slot < SLOT_FIBRES ? 0u : (slot - SLOT_FIBRES) / 3u;
    f32 s0 = slot == SLOT_S0 ? new_value : p[SLOT_S0];
    f32 tau = slot == SLOT_PRECISION ? new_value : p[SLOT_PRECISION];
    f32 more = new_value - p[slot];
    Curve curve;
    if (change == ALL || change == ONE_STICK) {
        f32 d = slot == SLOT_DIFFUSIVITY ? new_value : p[SLOT_DIFFUSIVITY];
        f32 s = slot == SLOT_SPREAD ? new_value : p[SLOT_SPREAD];
        make_curve(&curve, d, s, slot == SLOT_RATIO ? new_value : p[SLOT_RATIO]);
    }
    f32 rest = 1.0f - p[SLOT_OFFSET];
    UNROLL for (u32 j = 0; j < N_FIBRES; j++) rest = rest - p[SLOT_FIBRES + 3u * j + 2u];
    f32 part = 0.0f;
    UNROLL for (u32 k = 0; k < PER_ITEM; k++) {
        u32 i = k * GROUP + me;
        if (i < N) {
            f32 m = it->m[k];
            f32 root[3] = {0.0f, 0.0f, 0.0f};
            f32 b = 0.0f;
            if (change == ALL || change == ONE_STICK) {
                UNROLL for (u32 l = 0; l < 3; l++) root[l] = all_roots[l * N + i];
            }
            if (change == ALL || (change == ONE_STICK && DIFFUSIVITY == 3)) {
                b = weighting(all_b, root, bend, i);
            }
            if (change == ALL) {
                f32 ball = ball_left(&curve, b);
                made[ROW + OWN(k)] = ball;
                m = FMA(ball, rest, p[SLOT_OFFSET]);
            } else if (change == MORE_OFFSET) {
                m = FMA(-more, it->ball[k] - 1.0f, m);
            }
            UNROLL for (u32 j = 0; j < N_FIBRES; j++) {
                if (change == ALL || (change == ONE_STICK && j == fibre)) {
                    f32 x = change == ALL ? it->v[j][0] : new_v[0];
                    f32 y = change == ALL ? it->v[j][1] : new_v[1];
                    f32 z = change == ALL ? it->v[j][2] : new_v[2];
                    f32 along = FMA(z, root[2], FMA(y, root[1], x * root[0]));
                    f32 stick = stick_left(&curve, b, along * along);
                    made[(2u + j) * ROW + OWN(k)] = stick;
                    f32 change_of_stick = change == ALL ? stick : stick - it->stick[j][k];
                    m = FMA(p[SLOT_FIBRES + 3u * j + 2u], change_of_stick, m);
                } else if (change == MORE_STICK && j == fibre) {
                    m = FMA(more, it->stick[j][k] - it->ball[k], m);
                }
            }
            made[OWN(k)] = m;
            part = add_misfit(part, measured[OWN(k)], m, s0, tau);
        }
    }
    return part;
}

DEVICE_FN void keep_change(Item *it, ROWS_PTR const f32 *made, u32 me, u32 change, u32 fibre,
                           const f32 *new_v) {
    UNROLL for (u32 k = 0; k < PER_ITEM; k++) {
        if (change != SAME) it->m[k] = made[OWN(k)];
        if (change == ALL) it->ball[k] = made[ROW + OWN(k)];
        UNROLL for (u32 j = 0; j < N_FIBRES; j++) {
            if (change == ALL || (change == ONE_STICK && j == fibre)) {
                it->stick[j][k] = made[(2u + j) * ROW + OWN(k)];
            }
        }
    }
    UNROLL for (u32 j = 0; j < N_FIBRES; j++) {
        if (change == ONE_STICK && j == fibre) {
            UNROLL for (u32 l = 0; l < 3; l++) it->v[j][l] = new_v[l];
        }
    }
}

DEVICE_FN f32 finish_misfit(f32 sum, f32 tau) {
#if IS_RICIAN
    return FMA(-fb_ln(tau), (f32)N, sum);
#else
    return fb_max(sum, LEAST_SQUARES);
#endif
}

DEVICE_FN f32 first_step(u32 slot, f32 value) {
    if (slot == SLOT_OFFSET) return FIRST_STEP;
    if (slot == SLOT_PRECISION) return value * FIRST_PRECISION_SHARE;
    if (slot < SLOT_FIBRES) return value * FIRST_SHARE;
    return is_angle(slot) ? FIRST_TURN : FIRST_STEP;
}

GROUP_KERNEL(sample_sticks, 32)(u64 stride, u64 seed, GLOBAL const u32 *RESTRICT items,
                                GLOBAL const f32 *RESTRICT root, GLOBAL const f32 *RESTRICT b,
                                GLOBAL const f32 *RESTRICT y, GLOBAL const f32 *RESTRICT starts,
                                GLOBAL const f32 *RESTRICT bends, GLOBAL f32 *RESTRICT samples,
                                GLOBAL f32 *RESTRICT acceptance) {
    LOCAL f32 scratch[GROUP];
    LOCAL f32 p[MOST_SLOTS];
    LOCAL f32 step[MOST_SLOTS];
    LOCAL f32 taken[MOST_SLOTS];
    LOCAL f32 refused[MOST_SLOTS];
    LOCAL f32 normal[GROUP];
    LOCAL f32 chance[GROUP];
    ROWS f32 measured[ROW];
    ROWS f32 made[(2u + N_FIBRES) * ROW];
    u64 voxel = GROUP_ID();
    u32 me = (u32)LOCAL_ID();
    u64 item = (u64)items[voxel];

    if (me < MOST_SLOTS) {
        p[me] = starts[(u64)me * stride + voxel];
        step[me] = first_step(me, p[me]);
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
    f32 misfit = try_change(&it, measured, made, root, b, bend, me, ALL, p, SLOT_DIFFUSIVITY,
                            p[SLOT_DIFFUSIVITY], new_v);
    misfit = finish_misfit(GROUP_SUM_F32(scratch, misfit), p[SLOT_PRECISION]);
    keep_change(&it, made, me, ALL, 0u, new_v);

    f32 all_taken = 0.0f;
    u64 sample = 0;
    for (u32 jump = 0; jump < BURN_IN + JUMPS; jump++) {
        if (me < PAIRS) {
            fb_words words = fb_random(seed, 0u, item, jump * PAIRS + me);
            f32 first, second;
            fb_normal_pair(words.w[0], words.w[1], &first, &second);
            normal[2u * me] = first;
            normal[2u * me + 1u] = second;
            chance[2u * me] = fb_ln(fb_uniform(words.w[2]));
            chance[2u * me + 1u] = fb_ln(fb_uniform(words.w[3]));
        }
        BARRIER();
        for (u32 k = 0; k < N_SAMPLED; k++) {
            u32 slot = sampled_slots[k];
            u32 change = change_of(slot);
            u32 fibre = slot < SLOT_FIBRES ? 0u : (slot - SLOT_FIBRES) / 3u;
            f32 new_value;
            if (is_angle(slot)) {
                new_value = FMA(normal[k], fb_min(step[slot], WIDEST_TURN), p[slot]);
                new_value = new_value - ((new_value + 12582912.0f) - 12582912.0f);
                u32 theta = SLOT_FIBRES + 3u * fibre;
                direction(slot == theta ? new_value : p[theta],
                          slot == theta ? p[theta + 1u] : new_value, bend, new_v);
            } else {
                new_value = FMA(normal[k], step[slot], p[slot]);
            }
            f32 added;
            i32 inside = judge(p, slot, new_value, &added);
            f32 part = try_change(&it, measured, made, root, b, bend, me, change, p, slot,
                                  new_value, new_v);
            f32 tau = slot == SLOT_PRECISION ? new_value : p[SLOT_PRECISION];
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
            BARRIER(); /* all have read p and step */
            if (me == 0u) {
                if (take) p[slot] = new_value;
                taken[slot] = taken[slot] + (take ? 1.0f : 0.0f);
                refused[slot] = refused[slot] + (take ? 0.0f : 1.0f);
            }
            BARRIER();
        }
        if ((jump + 1u) % ADAPT_EVERY == 0u && me < MOST_SLOTS) {
            f32 ratio = fb_div(taken[me] + 1.0f, refused[me] + 1.0f);
            step[me] = fb_min(step[me] * fb_sqrt(ratio), WIDEST);
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
    if (me == 0u) acceptance[voxel] = fb_div(all_taken, (f32)JUMPS * (f32)N_SAMPLED);
}
