/* All peaks of a voxel by one group of items: the operations of peaks/{matrix,scan,ascent,select}.rs
   in their order, so that both give the same bits. The explanations are there.

   Constants: GROUP; ENTRIES, ORDER, FROM_SH; DIRECTIONS and MOST, the most ascents of a voxel;
   N_PEAKS, ITERATIONS; numbers and statuses by their names. The unrolled function contract stands
   before this text. */

#define CLIMBING 0
#define DOUBTFUL 1
#define CERTIFIED 2

DEVICE_FN f32 inner3(const f32 *a, const f32 *b) {
    return FMA(a[2], b[2], FMA(a[1], b[1], a[0] * b[0]));
}

DEVICE_FN void times3(const f32 *b, const f32 *x, f32 *y) {
    y[0] = FMA(b[2], x[2], FMA(b[1], x[1], b[0] * x[0]));
    y[1] = FMA(b[4], x[2], FMA(b[3], x[1], b[1] * x[0]));
    y[2] = FMA(b[5], x[2], FMA(b[4], x[1], b[2] * x[0]));
}

DEVICE_FN void across(const f32 *x, f32 *u, f32 *v) {
    f32 sign = x[2] < 0.0f ? -1.0f : 1.0f;
    f32 a = -fb_div(sign, FMA(x[2], sign, 1.0f));
    f32 b = x[0] * x[1] * a;
    u[0] = FMA(sign * x[0] * x[0], a, 1.0f);
    u[1] = sign * b;
    u[2] = -(sign * x[0]);
    v[0] = b;
    v[1] = FMA(x[1] * x[1], a, sign);
    v[2] = -x[1];
}

/* One step; gives how the ascent stands. */
DEVICE_FN i32 climb(LOCAL_PTR const f32 *a, f32 *x, f32 *back, f32 *value_back, f32 *radius) {
    f32 b[6], bx[3], u[3], v[3], bu[3], bv[3], moved[3];
    contract(a, x, b);
    times3(b, x, bx);
    f32 value = inner3(x, bx);
    i32 up = *value_back - NOISE <= value;
    if (!up) *radius = *radius * SHRINK;
    across(x, u, v);
    f32 slope_u = inner3(u, bx), slope_v = inner3(v, bx);
    times3(b, u, bu);
    times3(b, v, bv);
    f32 uu = FMA(inner3(u, bu), ORDER - 1.0f, -value);
    f32 vv = FMA(inner3(v, bv), ORDER - 1.0f, -value);
    f32 uv = inner3(u, bv) * (ORDER - 1.0f);
    f32 mean = (uu + vv) * 0.5f;
    f32 half_gap = (uu - vv) * 0.5f;
    f32 spread = fb_sqrt(FMA(half_gap, half_gap, uv * uv));
    f32 top = mean + spread;
    f32 size = fb_abs(mean) + spread;
    i32 strict = top < size * STRICT;
    f32 shift = strict ? 0.0f : FMA(size, DAMPING, top);
    f32 p = shift - uu, q = shift - vv;
    f32 determinant = fb_max(FMA(p, q, -(uv * uv)), TINY);
    f32 inverse = fb_div(1.0f, determinant);
    f32 s = FMA(q, slope_u, uv * slope_v) * inverse;
    f32 t = FMA(p, slope_v, uv * slope_u) * inverse;
    f32 length2 = FMA(s, s, t * t);
    f32 scale = 1.0f;
    if (*radius * *radius < length2) scale = *radius * fb_rsqrt_finite(fb_max(length2, TINY));
    s = s * scale;
    t = t * scale;
    UNROLL for (u32 i = 0; i < 3; i++) moved[i] = FMA(t, v[i], FMA(s, u[i], x[i]));
    inverse = fb_rsqrt_finite(inner3(moved, moved));
    i32 at_rest = up && length2 <= TOLERANCE2;
    UNROLL for (u32 i = 0; i < 3; i++) {
        f32 here = x[i];
        x[i] = up ? moved[i] * inverse : back[i];
        back[i] = up ? here : back[i];
    }
    f32 gain = FMA(s, slope_u, t * slope_v) * (0.5f * ORDER);
    *value_back = at_rest ? value + gain : up ? value : *value_back;
    return !at_rest ? CLIMBING : strict ? CERTIFIED : DOUBTFUL;
}

DEVICE_FN f32 threshold_of(f32 largest) {
    return largest > 0.0f && RELATIVE * largest > ABSOLUTE ? RELATIVE * largest : ABSOLUTE;
}

DEVICE_FN i32 is_near(LOCAL_PTR const f32 *a, LOCAL_PTR const f32 *b) {
    return fb_abs(FMA(a[2], b[2], FMA(a[1], b[1], a[0] * b[0]))) > NEAR;
}

GROUP_KERNEL(find_peaks, GROUP)(u64 n, GLOBAL const f32 *RESTRICT from_sh,
                                GLOBAL const f32 *RESTRICT scan, GLOBAL const f32 *RESTRICT unit,
                                GLOBAL const u32 *RESTRICT first_neighbour,
                                GLOBAL const u32 *RESTRICT neighbours,
                                GLOBAL const f32 *RESTRICT input, GLOBAL f32 *RESTRICT rows) {
    LOCAL f32 read[ENTRIES];
    LOCAL f32 form[ENTRIES];
    LOCAL f32 values[DIRECTIONS];
    LOCAL u32 starts[DIRECTIONS];
    LOCAL f32 ends[MOST * 3];
    LOCAL f32 heights[MOST];
    LOCAL u32 fates[MOST];
    LOCAL u32 count[1];
    u64 voxel = GROUP_ID();
    u32 me = (u32)LOCAL_ID();

    for (u32 k = me; k < ENTRIES; k += GROUP) read[k] = input[k * n + voxel];
    BARRIER();
    for (u32 k = me; k < ENTRIES; k += GROUP) {
#if FROM_SH
        f32 sum = 0.0f;
        for (u32 j = 0; j < ENTRIES; j++) sum = FMA(from_sh[k * ENTRIES + j], read[j], sum);
        form[k] = sum;
#else
        form[k] = read[k];
#endif
    }
    BARRIER();
    for (u32 d = me; d < DIRECTIONS; d += GROUP) {
        f32 sum = 0.0f;
        for (u32 j = 0; j < ENTRIES; j++) sum = FMA(scan[j * DIRECTIONS + d], form[j], sum);
        values[d] = sum;
    }
    BARRIER();

    /* Every item for itself, which costs a group nothing more. */
    f32 largest = -LARGEST * LARGEST, smallest = LARGEST * LARGEST;
    for (u32 d = 0; d < DIRECTIONS; d++) {
        largest = fb_max(values[d], largest);
        smallest = fb_min(values[d], smallest);
    }
    f32 size = fb_max(fb_abs(largest), fb_abs(smallest));
    f32 range = largest - smallest;
    f32 limit = 0.0f, scale = 1.0f;
    f32 status = STATUS_BELOW;
    if (!(size <= LARGEST && range <= LARGEST)) {
        status = STATUS_BAD_FORM;
    } else if (size < SMALLEST || range <= FLAT * size) {
        status = STATUS_FLAT;
    } else {
        limit = threshold_of(largest) - SLACK * range;
        scale = BITS_F32(F32_BITS(size) & 0x7f800000u);
    }
    for (u32 d = me; d < DIRECTIONS; d += GROUP) {
        f32 value = values[d];
        i32 peak = status == STATUS_BELOW && limit <= value;
        for (u32 k = first_neighbour[d]; k < first_neighbour[d + 1]; k++) {
            u32 j = neighbours[k];
            f32 other = values[j];
            peak = peak && (j < d ? other < value : other <= value);
        }
        starts[d] = peak ? 1u : 0u;
    }
    BARRIER();
    f32 inverse = fb_div(1.0f, scale);
    for (u32 k = me; k < ENTRIES; k += GROUP) form[k] = form[k] * inverse;
    if (me == 0) {
        u32 found = 0;
        for (u32 d = 0; d < DIRECTIONS; d++) {
            u32 peak = starts[d];
            if (peak && found < MOST) {
                starts[found] = d;
                found++;
            }
        }
        count[0] = found;
    }
    BARRIER();
    u32 found = count[0];
    for (u32 c = me; c < found; c += GROUP) {
        f32 x[3], back[3];
        UNROLL for (u32 i = 0; i < 3; i++) back[i] = x[i] = unit[3 * starts[c] + i];
        f32 value = -LARGEST, radius = RADIUS;
        i32 fate = CLIMBING;
        for (u32 step = 0; step < ITERATIONS && fate == CLIMBING; step++) {
            fate = climb(form, x, back, &value, &radius);
        }
        UNROLL for (u32 i = 0; i < 3; i++) ends[3 * c + i] = x[i];
        heights[c] = value * scale;
        fates[c] = (u32)fate;
    }
    BARRIER();
    if (me != 0) return;

    for (u32 row = 0; row < 4 * N_PEAKS; row++) rows[row * n + voxel] = BITS_F32(0x7fc00000u);
    f32 top = 0.0f;
    i32 any = 0;
    for (u32 c = 0; c < found; c++) {
        if (fates[c] == CERTIFIED && (!any || heights[c] > top)) {
            top = heights[c];
            any = 1;
        }
    }
    f32 threshold = threshold_of(top);
    u32 kept = 0;
    /* The places of those kept go to the front of starts. */
    for (;;) {
        u32 best = MOST;
        if (kept < N_PEAKS) {
            for (u32 c = 0; c < found; c++) {
                i32 counts = heights[c] >= threshold && heights[c] > ABSOLUTE;
                if (fates[c] != CERTIFIED || !counts) continue;
                if (best == MOST || heights[c] > heights[best]) best = c;
            }
        }
        if (best == MOST) break;
        i32 apart = 1;
        for (u32 k = 0; k < kept; k++) {
            if (is_near(ends + 3 * starts[k], ends + 3 * best)) apart = 0;
        }
        fates[best] = CERTIFIED + 1;
        if (!apart) continue;
        f32 x = ends[3 * best], y = ends[3 * best + 1], z = ends[3 * best + 2];
        f32 first = z != 0.0f ? z : y != 0.0f ? y : x;
        f32 length = heights[best];
        rows[(3 * kept) * n + voxel] = (first < 0.0f ? -x : x) * length;
        rows[(3 * kept + 1) * n + voxel] = (first < 0.0f ? -y : y) * length;
        rows[(3 * kept + 2) * n + voxel] = (first < 0.0f ? -z : z) * length;
        rows[(3 * N_PEAKS + kept) * n + voxel] = length;
        starts[kept] = best;
        kept++;
    }
    if (status == STATUS_BELOW) {
        if (kept > 0) status = STATUS_FOUND;
        for (u32 c = 0; c < found; c++) {
            i32 lost = fates[c] < CERTIFIED && heights[c] >= threshold && heights[c] > ABSOLUTE;
            for (u32 k = 0; k < kept; k++) {
                if (lost && is_near(ends + 3 * starts[k], ends + 3 * c)) lost = 0;
            }
            if (lost) status = STATUS_UNCERTAIN;
        }
    }
    rows[(4 * N_PEAKS) * n + voxel] = (f32)kept;
    rows[(4 * N_PEAKS + 1) * n + voxel] = status;
}
