/* Signals, misfit and priors of the sampler, and what a move makes of them; sticks.cl says what is where,
   and which constants there are. */

#define GROUP 32u
#define PER_ITEM ((N + GROUP - 1u) / GROUP)

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

DEVICE_FN u32 fibre_of(u32 slot) { return slot < SLOT_FIBRES ? 0u : (slot - SLOT_FIBRES) / 3u; }

DEVICE_FN i32 is_theta(u32 slot) {
    return slot >= SLOT_FIBRES && slot < MOST_SLOTS && (slot - SLOT_FIBRES) % 3u == 0u;
}

DEVICE_FN i32 is_fraction(u32 slot) {
    return slot >= SLOT_FIBRES && slot < MOST_SLOTS && (slot - SLOT_FIBRES) % 3u == 2u;
}

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
    if (is_theta(slot)) {
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
    if (slot < SLOT_FIBRES || slot == JOINT) return ALL;
    return is_theta(slot) ? ONE_STICK : MORE_STICK;
}

/* The misfit's part of this item with the parameters p, of which `change` says what is another; `more`
   is that of a fraction. What the change makes of the measurements goes to the rows `made`: signals,
   ball, then sticks. */
DEVICE_FN f32 try_change(const Item *it, ROWS_PTR const f32 *measured, ROWS_PTR f32 *made,
                         GLOBAL const f32 *all_roots, GLOBAL const f32 *all_b, const f32 *bend,
                         u32 me, u32 change, LOCAL_PTR const f32 *p, u32 fibre, f32 more,
                         const f32 *new_v) {
    f32 s0 = p[SLOT_S0];
    f32 tau = p[SLOT_PRECISION];
    Curve curve;
    if (change == ALL || change == ONE_STICK) {
        make_curve(&curve, p[SLOT_DIFFUSIVITY], p[SLOT_SPREAD], p[SLOT_RATIO]);
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
