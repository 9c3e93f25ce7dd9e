/* One half of a streamline through densities per item, the same operations in the same order as the lanes,
   and so the same bits. The Rust code beside it has the explanations.

   starts[axis * n + item], position and then direction; points[(point * 3 + axis) * n + item], without the
   seed. Forms have ROOM numbers each, with multiplicities. */

typedef struct {
    f32 x, y, z;
} vec3;

typedef struct {
    f32 c[ROOM];
} form;

CONSTANT_TABLE f32 to_vox[] = {VOX_FROM_DIR};

DEVICE_FN f32 dot3(vec3 a, vec3 b) {
    return FMA(a.x, b.x, FMA(a.y, b.y, a.z * b.z));
}

/* Voxels along an axis of a vector in mm. */
DEVICE_FN f32 along_axis(vec3 v, i32 a) {
    return v.x * to_vox[3 * a] + v.y * to_vox[3 * a + 1] + v.z * to_vox[3 * a + 2];
}

DEVICE_FN vec3 normal(vec3 v) {
    f32 scale = fb_div(1.0f, fb_sqrt(v.x * v.x + v.y * v.y + v.z * v.z));
    v.x = v.x * scale;
    v.y = v.y * scale;
    v.z = v.z * scale;
    return v;
}

/* Two directions across t, and across each other. */
DEVICE_FN void across(vec3 t, vec3 *p, vec3 *q) {
#if MAXIMUM
    f32 sign = t.z < 0.0f ? -1.0f : 1.0f;
#else
    /* That of t.z, of zero too; made so that no compiler takes it for a library's function. */
    f32 sign = 1.0f - 2.0f * F32_OF_I32((i32)(F32_BITS(t.z) >> 31));
#endif
    f32 a = fb_div(-1.0f, sign + t.z);
    f32 b = t.x * t.y * a;
    p->x = 1.0f + sign * t.x * t.x * a;
    p->y = sign * b;
    p->z = -(sign * t.x);
    q->x = b;
    q->y = sign + t.y * t.y * a;
    q->z = -t.y;
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

DEVICE_FN i32 is_inside(GLOBAL const u32 *slot_plus_1, vec3 pos) {
    return slot_plus_1[place(FLOOR(pos.x + 0.5f), FLOOR(pos.y + 0.5f), FLOOR(pos.z + 0.5f))] != 0u;
}

/* The interpolated form at a point. */
DEVICE_FN form interpolated(GLOBAL const u32 *slot_plus_1, GLOBAL const f32 *forms, vec3 pos) {
    form sum;
    vec3 low, above;
    low.x = FLOOR(pos.x);
    low.y = FLOOR(pos.y);
    low.z = FLOOR(pos.z);
    above.x = pos.x - low.x;
    above.y = pos.y - low.y;
    above.z = pos.z - low.z;
    UNROLL
    for (i32 t = 0; t < TERMS; t++) sum.c[t] = 0.0f;
    for (i32 corner = 0; corner < 8; corner++) {
        i32 i = corner & 1;
        i32 j = (corner >> 1) & 1;
        i32 k = corner >> 2;
        f32 weight = (i ? above.x : 1.0f - above.x) * (j ? above.y : 1.0f - above.y);
        weight = weight * (k ? above.z : 1.0f - above.z);
        u32 slot = slot_plus_1[place(low.x + (f32)i, low.y + (f32)j, low.z + (f32)k)];
        GLOBAL const f32 *at = forms + (u64)slot * ROOM;
        UNROLL
        for (i32 t = 0; t < TERMS; t++) sum.c[t] = FMA(at[t], weight, sum.c[t]);
    }
    return sum;
}

/* x^i y^j z^k with i + j + k = degree, x first. */
DEVICE_FN void powers(f32 x, f32 *all, i32 degree) {
    all[0] = 1.0f;
    UNROLL
    for (i32 i = 1; i <= degree; i++) all[i] = all[i - 1] * x;
}

#if MAXIMUM

CONSTANT_TABLE f32 few_weights[] = {WEIGHTS};
CONSTANT_TABLE f32 over[] = {OVER};

/* A step of Newton's method; how far it went, and the value there. */
DEVICE_FN f32 climbed(const form *f, vec3 *u, f32 *value_there) {
    f32 xs[LESS + 1], ys[LESS + 1], zs[LESS + 1];
    powers(u->x, xs, LESS);
    powers(u->y, ys, LESS);
    powers(u->z, zs, LESS);
    f32 xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
    i32 at = 0;
    UNROLL
    for (i32 s = 0; s <= LESS; s++) {
        UNROLL
        for (i32 k = 0; k <= s; k++) {
            f32 weight = xs[LESS - s] * (ys[s - k] * zs[k]) * few_weights[at];
            i32 y = at + s + 1;
            i32 y2 = at + 2 * s + 3;
            xx = FMA(f->c[at], weight, xx);
            xy = FMA(f->c[y], weight, xy);
            xz = FMA(f->c[y + 1], weight, xz);
            yy = FMA(f->c[y2], weight, yy);
            yz = FMA(f->c[y2 + 1], weight, yz);
            zz = FMA(f->c[y2 + 2], weight, zz);
            at += 1;
        }
    }
    vec3 row[3], along, of_p, of_q, p, q;
    row[0].x = xx; row[0].y = xy; row[0].z = xz;
    row[1].x = xy; row[1].y = yy; row[1].z = yz;
    row[2].x = xz; row[2].y = yz; row[2].z = zz;
    along.x = dot3(row[0], *u);
    along.y = dot3(row[1], *u);
    along.z = dot3(row[2], *u);
    f32 value = dot3(*u, along);
    across(*u, &p, &q);
    of_p.x = dot3(row[0], p);
    of_p.y = dot3(row[1], p);
    of_p.z = dot3(row[2], p);
    of_q.x = dot3(row[0], q);
    of_q.y = dot3(row[1], q);
    of_q.z = dot3(row[2], q);
    f32 slope_p = dot3(p, along) * ORDER_F;
    f32 slope_q = dot3(q, along) * ORDER_F;
    f32 a = FMA(dot3(p, of_p), SECOND, value * -ORDER_F);
    f32 b = dot3(p, of_q) * SECOND;
    f32 c = FMA(dot3(q, of_q), SECOND, value * -ORDER_F);
    f32 middle = (a - c) * 0.5f;
    f32 largest = (a + c) * 0.5f + fb_sqrt(FMA(middle, middle, b * b));
    f32 least = fb_abs(value) * LEAST_F + FB_MIN_POSITIVE;
    f32 shift = fb_max(largest + least, 0.0f);
    a = a - shift;
    c = c - shift;
    f32 inverse = fb_div(-1.0f, FMA(-b, b, a * c));
    f32 step_p = (c * slope_p - b * slope_q) * inverse;
    f32 step_q = (a * slope_q - b * slope_p) * inverse;
    f32 length = fb_sqrt(FMA(step_p, step_p, step_q * step_q));
    f32 kept = fb_min(fb_div(LONGEST, fb_max(length, LONGEST)), 1.0f);
    f32 dp = step_p * kept;
    f32 dq = step_q * kept;
    vec3 moved;
    moved.x = FMA(p.x, dp, FMA(q.x, dq, u->x));
    moved.y = FMA(p.y, dp, FMA(q.y, dq, u->y));
    moved.z = FMA(p.z, dp, FMA(q.z, dq, u->z));
    f32 scale = fb_div(1.0f, fb_sqrt(dot3(moved, moved)));
    f32 rise = FMA(slope_p, dp, slope_q * dq);
    u->x = moved.x * scale;
    u->y = moved.y * scale;
    u->z = moved.z * scale;
    *value_there = FMA(rise, 0.5f, value);
    return length;
}

/* The maximum nearest to dir, so far ahead along it, and the value there. */
DEVICE_FN vec3 found(GLOBAL const u32 *slot_plus_1, GLOBAL const f32 *forms, vec3 pos, vec3 dir, f32 ahead,
                     f32 *value) {
    vec3 there;
    there.x = FMA(ahead, along_axis(dir, 0), pos.x);
    there.y = FMA(ahead, along_axis(dir, 1), pos.y);
    there.z = FMA(ahead, along_axis(dir, 2), pos.z);
    form f = interpolated(slot_plus_1, forms, there);
    UNROLL
    for (i32 t = 0; t < TERMS; t++) f.c[t] = f.c[t] * over[t];
    for (i32 n = 0; n < MAX_STEPS; n++) {
        f32 step = climbed(&f, &dir, value);
        if (!(step > SHORT)) break;
    }
    return dir;
}

/* The next place; 0, or why there is none. */
DEVICE_FN u32 next(GLOBAL const u32 *slot_plus_1, GLOBAL const f32 *forms, vec3 *pos, vec3 *dir) {
    f32 value = 0.0f;
    vec3 to = found(slot_plus_1, forms, *pos, *dir, 0.5f * STEP_MM, &value);
    if (!(value >= CUTOFF)) return CUTOFF_REASON;
    if (dot3(to, *dir) < LEAST_COS) return CURVATURE_REASON;
    *dir = to;
    pos->x = FMA(STEP_MM, along_axis(to, 0), pos->x);
    pos->y = FMA(STEP_MM, along_axis(to, 1), pos->y);
    pos->z = FMA(STEP_MM, along_axis(to, 2), pos->z);
    return 0u;
}

#else

CONSTANT_TABLE f32 cap[] = {CAP};
CONSTANT_TABLE i32 ring_sizes[] = {RING_SIZES};
CONSTANT_TABLE i32 reach[] = {REACH};

DEVICE_FN f32 monomial(const f32 *xs, const f32 *ys, const f32 *zs, i32 s, i32 k) {
    return xs[ORDER - s] * (ys[s - k] * zs[k]);
}

/* The value of a form, four sums side by side. */
DEVICE_FN f32 value_of(const form *f, vec3 dir) {
    f32 xs[ORDER + 1], ys[ORDER + 1], zs[ORDER + 1], sums[4];
    powers(dir.x, xs, ORDER);
    powers(dir.y, ys, ORDER);
    powers(dir.z, zs, ORDER);
    sums[0] = sums[1] = sums[2] = sums[3] = 0.0f;
    i32 at = 0;
    UNROLL
    for (i32 s = 0; s <= ORDER; s++) {
        UNROLL
        for (i32 k = 0; k <= s; k++) {
            i32 sum = at < TERMS - TERMS % 4 ? at % 4 : at - (TERMS - TERMS % 4);
            sums[sum] = FMA(monomial(xs, ys, zs, s, k), f->c[at], sums[sum]);
            at += 1;
        }
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

DEVICE_FN f32 hat(f32 x, f32 corner) {
    return fb_max(1.0f - fb_abs(x - corner), 0.0f);
}

/* The density at a point in a direction. */
DEVICE_FN f32 density(GLOBAL const u32 *slot_plus_1, GLOBAL const f32 *forms, vec3 pos, vec3 dir) {
    f32 xs[ORDER + 1], ys[ORDER + 1], zs[ORDER + 1];
    powers(dir.x, xs, ORDER);
    powers(dir.y, ys, ORDER);
    powers(dir.z, zs, ORDER);
    vec3 low;
    low.x = FLOOR(pos.x);
    low.y = FLOOR(pos.y);
    low.z = FLOOR(pos.z);
    f32 sum = 0.0f;
    for (i32 corner = 0; corner < 8; corner++) {
        f32 x = low.x + (f32)(corner & 1);
        f32 y = low.y + (f32)((corner >> 1) & 1);
        f32 z = low.z + (f32)(corner >> 2);
        GLOBAL const f32 *at = forms + (u64)slot_plus_1[place(x, y, z)] * ROOM;
        f32 value = 0.0f;
        i32 t = 0;
        UNROLL
        for (i32 s = 0; s <= ORDER; s++) {
            UNROLL
            for (i32 k = 0; k <= s; k++) {
                value = FMA(monomial(xs, ys, zs, s, k), at[t], value);
                t += 1;
            }
        }
        f32 weight = hat(pos.z, z) * hat(pos.y, y) * hat(pos.x, x);
        sum = FMA(weight, value, sum);
    }
    return sum;
}

/* The next place; 0, or why there is none: by the densities at the start, whether any is large enough. */
DEVICE_FN u32 next(GLOBAL const u32 *slot_plus_1, GLOBAL const f32 *forms, vec3 *pos, vec3 *dir, u64 seed,
                   u64 item, u32 region, u32 step) {
    vec3 p, q, there;
    across(*dir, &p, &q);
    there.x = pos->x + 0.5f * STEP_MM * along_axis(*dir, 0);
    there.y = pos->y + 0.5f * STEP_MM * along_axis(*dir, 1);
    there.z = pos->z + 0.5f * STEP_MM * along_axis(*dir, 2);
    form middle = interpolated(slot_plus_1, forms, there);
    f32 largest = 0.0f, sum = 0.0f;
    i32 ring = 0, looked = 0, begun = 0;
    f32 rings[N_RINGS];
    for (ring = 0; ring < N_RINGS; ring++) {
        begun += ring_sizes[ring];
        for (; looked < begun; looked++) {
            vec3 v;
            f32 t = cap[looked], a = cap[CAP_SIZE + looked], b = cap[2 * CAP_SIZE + looked];
            v.x = t * dir->x + a * p.x + b * q.x;
            v.y = t * dir->y + a * p.y + b * q.y;
            v.z = t * dir->z + a * p.z + b * q.z;
            f32 value = value_of(&middle, v);
            largest = value > largest ? value : largest;
        }
        rings[ring] = largest;
    }
    if (rings[N_RINGS - 1] * MARGIN < CUTOFF) return NONE_REASON;
    for (i32 n = 1; n <= PLACES; n++) {
        f32 weight = n == PLACES ? 0.5f : 1.0f;
        sum += weight * fb_ln(fb_max(rings[reach[n - 1]] * MARGIN, CUTOFF));
    }
    f32 bound = EXPONENT * sum;
    u32 in_vain = 0;
    i32 is_dense = 0;
    for (u32 trial = 0; trial < MAX_TRIALS; trial++) {
        if (trial % 16u == 0u && !(is_dense || in_vain < MAX_IN_VAIN)) break;
        fb_words words = fb_random(seed, step, item, region << TRIAL_BITS | trial);
        f32 sin_half = fb_sqrt(fb_uniform(words.w[0]) * HALF_HEIGHT);
        f32 cos_half = fb_sqrt(fb_max(FMA(-sin_half, sin_half, 1.0f), 0.0f));
        f32 angle = fb_atan2(sin_half, cos_half) * 2.0f;
        f32 sin_turn, cos_turn, sin_part, cos_part;
        fb_sincos_turns(fb_uniform(words.w[1]), &sin_turn, &cos_turn);
        f32 level = fb_ln(fb_uniform(words.w[2]));
        vec3 bend;
        bend.x = cos_turn * p.x + sin_turn * q.x;
        bend.y = cos_turn * p.y + sin_turn * q.y;
        bend.z = cos_turn * p.z + sin_turn * q.z;
        fb_sincos(fb_div(angle, PLACES_F), &sin_part, &cos_part);
        f32 radius = fb_div(STEP_MM, angle);
        vec3 at[PLACES], to[PLACES];
        f32 sine = sin_part, cosine = cos_part;
        for (i32 n = 0; n < PLACES; n++) {
            if (n > 0) {
                f32 before = sine;
                sine = FMA(before, cos_part, cosine * sin_part);
                cosine = FMA(cosine, cos_part, -(before * sin_part));
            }
            f32 ahead = radius * sine;
            f32 aside = fb_div(ahead * sine, cosine + 1.0f);
            vec3 mm;
            to[n].x = FMA(bend.x, sine, cosine * dir->x);
            to[n].y = FMA(bend.y, sine, cosine * dir->y);
            to[n].z = FMA(bend.z, sine, cosine * dir->z);
            mm.x = FMA(bend.x, aside, ahead * dir->x);
            mm.y = FMA(bend.y, aside, ahead * dir->y);
            mm.z = FMA(bend.z, aside, ahead * dir->z);
            at[n].x = along_axis(mm, 0) + pos->x;
            at[n].y = along_axis(mm, 1) + pos->y;
            at[n].z = along_axis(mm, 2) + pos->z;
        }
        f32 value = value_of(&middle, to[TELLING]) * MARGIN;
        i32 may_be = value >= CUTOFF;
        if (!may_be) in_vain += 1;
        if (may_be && bound + level <= fb_ln(fb_max(value, CUTOFF)) * WHOLE_EXPONENT) {
            in_vain += 1;
            i32 is_this_dense = 1;
            sum = 0.0f;
            for (i32 n = 0; n < PLACES; n++) {
                value = density(slot_plus_1, forms, at[n], to[n]);
                if (!(value >= CUTOFF)) is_this_dense = 0;
                sum += (n + 1 == PLACES ? 0.5f : 1.0f) * fb_ln(fb_max(value, CUTOFF));
            }
            if (is_this_dense) is_dense = 1;
            if (is_this_dense && bound + level <= EXPONENT * sum) {
                *pos = at[PLACES - 1];
                *dir = normal(to[PLACES - 1]);
                return 0u;
            }
        }
    }
    return NONE_REASON;
}

#endif

KERNEL(follow)(u64 n, u64 rng_seed, GLOBAL const u32 *RESTRICT slot_plus_1,
               GLOBAL const f32 *RESTRICT forms, GLOBAL const u32 *RESTRICT keys,
               GLOBAL const f32 *RESTRICT starts, GLOBAL f32 *RESTRICT points,
               GLOBAL u32 *RESTRICT counts, GLOBAL u32 *RESTRICT reasons) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    u64 item = (u64)keys[i] | ((u64)keys[n + i] << 32);
    u32 region = keys[2 * n + i];
    u32 half_of = keys[3 * n + i];
    vec3 pos, dir;
    pos.x = starts[i];
    pos.y = starts[n + i];
    pos.z = starts[2 * n + i];
    dir.x = starts[3 * n + i];
    dir.y = starts[4 * n + i];
    dir.z = starts[5 * n + i];
#if MAXIMUM
    f32 there = 0.0f;
    dir = found(slot_plus_1, forms, pos, dir, 0.0f, &there);
#endif
    if (half_of) {
        dir.x = -dir.x;
        dir.y = -dir.y;
        dir.z = -dir.z;
    }
    u32 point = 0;
    u32 reason = 0u;
    while (reason == 0u && point < HALF_POINTS) {
#if MAXIMUM
        reason = next(slot_plus_1, forms, &pos, &dir);
#else
        reason = next(slot_plus_1, forms, &pos, &dir, rng_seed, item, region, half_of << 31 | (point + 1u));
#endif
        if (reason == 0u) {
            u64 at = (u64)point * 3u * n + i;
            points[at] = pos.x;
            points[at + n] = pos.y;
            points[at + 2 * n] = pos.z;
            point += 1u;
            if (!is_inside(slot_plus_1, pos)) reason = OUTSIDE_REASON;
        }
    }
    counts[i] = point;
    reasons[i] = reason;
}

/* The points of halves from begin to end, one after the other: those of half h are firsts[h] .. firsts[h + 1]. */
KERNEL(gather)(u64 n, u64 begin, u64 end, GLOBAL const u64 *RESTRICT firsts,
               GLOBAL const f32 *RESTRICT from, GLOBAL f32 *RESTRICT to) {
    u64 half_at = begin + GLOBAL_ID();
    if (half_at >= end) return;
    u64 count = firsts[half_at + 1] - firsts[half_at];
    u64 out = 3 * (firsts[half_at] - firsts[begin]);
    for (u64 point = 0; point < count; point++) {
        u64 at = point * 3u * n + half_at;
        to[out + 3 * point] = from[at];
        to[out + 3 * point + 1] = from[at + n];
        to[out + 3 * point + 2] = from[at + 2 * n];
    }
}
