/* The functions of crates/compute/src/math in the kernel dialect: the same operations in the same
 * order as the Rust code, which has the explanations, so that both give the same bits. */

#define FB_INFINITY BITS_F32(0x7f800000u)
#define FB_NAN BITS_F32(0x7fc00000u)
#define FB_MIN_POSITIVE 1.17549435e-38f
#define FB_MAX 3.40282347e+38f
#define FB_ROUND 12582912.0f

DEVICE_FN f32 fb_abs(f32 x) { return BITS_F32(F32_BITS(x) & 0x7fffffffu); }

DEVICE_FN f32 fb_min(f32 a, f32 b) { return a < b ? a : b; }

DEVICE_FN f32 fb_max(f32 a, f32 b) { return a > b ? a : b; }

DEVICE_FN f32 fb_exp_finite(f32 x) {
    f32 shifted = FMA(x, 1.44269502f, FB_ROUND);
    f32 n = shifted - FB_ROUND;
    f32 r = FMA(-n, -2.1219444e-4f, FMA(-n, 0.693359375f, x));
    f32 p = 1.3814581e-3f;
    p = FMA(p, r, 8.368724e-3f);
    p = FMA(p, r, 4.166839e-2f);
    p = FMA(p, r, 1.6666521e-1f);
    p = FMA(p, r, 4.9999994e-1f);
    p = FMA(p, r, 1.0f);
    p = FMA(p, r, 1.0f);
    return BITS_F32(F32_BITS(p) + (F32_BITS(shifted) << 23));
}

DEVICE_FN f32 fb_exp(f32 x) {
    f32 y = x < -87.33654f ? 0.0f : fb_exp_finite(x);
    return x <= 88.72283f ? y : x + FB_INFINITY;
}

DEVICE_FN f32 fb_ln_finite(f32 x) {
    u32 bits = F32_BITS(x) + (0x3f800000u - 0x3f3504f3u);
    f32 e = BITS_F32((bits >> 23) + F32_BITS(FB_ROUND)) - (FB_ROUND + 127.0f);
    f32 f = BITS_F32((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    f32 p = -7.6344185e-2f;
    p = FMA(p, f, 1.2761936e-1f);
    p = FMA(p, f, -1.3160378e-1f);
    p = FMA(p, f, 1.4201723e-1f);
    p = FMA(p, f, -1.6623335e-1f);
    p = FMA(p, f, 2.0001228e-1f);
    p = FMA(p, f, -2.5000823e-1f);
    p = FMA(p, f, 3.3333331e-1f);
    f32 y = FMA(e, -2.1219444e-4f, p * f * (f * f));
    y = f + FMA(-(f * 0.5f), f, y);
    return FMA(e, 0.693359375f, y);
}

DEVICE_FN f32 fb_ln(f32 x) {
    f32 zero_or_less = x <= -FB_MIN_POSITIVE ? FB_NAN : -FB_INFINITY;
    f32 y = x < FB_MIN_POSITIVE ? zero_or_less : fb_ln_finite(x);
    return x <= FB_MAX ? y : x;
}

DEVICE_FN void fb_of_quadrant(u32 n, f32 r, f32 *sine, f32 *cosine) {
    f32 z = r * r;
    f32 s = FMA(FMA(-1.9514957e-4f, z, 8.332158e-3f), z, -1.6666655e-1f);
    f32 c = FMA(FMA(2.4432784e-5f, z, -1.3887313e-3f), z, 4.1666646e-2f);
    s = FMA(s * z, r, r);
    c = FMA(c * z, z, FMA(-z, 0.5f, 1.0f));
    u32 odd = n & 1u;
    *sine = BITS_F32(F32_BITS(odd != 0u ? c : s) ^ ((n & 2u) << 30));
    *cosine = BITS_F32(F32_BITS(odd != 0u ? s : c) ^ (((n + 1u) & 2u) << 30));
}

DEVICE_FN void fb_sincos(f32 angle, f32 *sine, f32 *cosine) {
    f32 x = fb_abs(angle) <= 8192.0f ? angle : FB_NAN;
    f32 shifted = FMA(x, 0.636619747f, FB_ROUND);
    f32 n = shifted - FB_ROUND;
    f32 r = FMA(-n, 1.5703125f, x);
    r = FMA(-n, 4.8351288e-4f, r);
    r = FMA(-n, 3.138557e-7f, r);
    r = FMA(-n, 6.0771006e-11f, r);
    fb_of_quadrant(F32_BITS(shifted), r, sine, cosine);
}

DEVICE_FN f32 fb_sin(f32 x) {
    f32 s, c;
    fb_sincos(x, &s, &c);
    return s;
}

DEVICE_FN f32 fb_cos(f32 x) {
    f32 s, c;
    fb_sincos(x, &s, &c);
    return c;
}

DEVICE_FN void fb_sincos_turns(f32 turns, f32 *sine, f32 *cosine) {
    f32 quarters = fb_abs(turns) <= 1048576.0f ? turns * 4.0f : FB_NAN;
    f32 shifted = quarters + FB_ROUND;
    f32 n = shifted - FB_ROUND;
    fb_of_quadrant(F32_BITS(shifted), (quarters - n) * 1.57079637f, sine, cosine);
}

DEVICE_FN f32 fb_sin_turns(f32 t) {
    f32 s, c;
    fb_sincos_turns(t, &s, &c);
    return s;
}

DEVICE_FN f32 fb_cos_turns(f32 t) {
    f32 s, c;
    fb_sincos_turns(t, &s, &c);
    return c;
}

DEVICE_FN f32 fb_rsqrt_finite(f32 x) {
    f32 y = BITS_F32(0x5f1ffff9u - (F32_BITS(x) >> 1));
    y = y * 0.70395225f * FMA(-(x * y), y, 2.3892446f);
    f32 d = FMA(-(x * y), y, 1.0f);
    return FMA(y * d, FMA(d, 0.375f, 0.5f), y);
}

DEVICE_FN f32 fb_rsqrt(f32 x) {
    f32 zero_or_less = x <= -FB_MIN_POSITIVE ? FB_NAN : FB_INFINITY;
    f32 y = x < FB_MIN_POSITIVE ? zero_or_less : fb_rsqrt_finite(x);
    f32 infinity_or_nan = x == x ? 0.0f : x;
    return x <= FB_MAX ? y : infinity_or_nan;
}

/* The correctly rounded square root, where the CPU has an instruction and devices may not.
 * On x = m 4^e with m in [1, 4): g = m / sqrt(m), then one step against the exact residual. */
DEVICE_FN f32 fb_sqrt(f32 x) {
    u32 bits = F32_BITS(x);
    u32 odd = (~bits >> 23) & 1u;
    f32 m = BITS_F32((bits & 0x007fffffu) | (0x3f800000u + (odd << 23)));
    u32 exponent = ((bits >> 23) - 127u - odd) << 22;
    f32 y = fb_rsqrt_finite(m);
    f32 g = m * y;
    g = FMA(FMA(-g, g, m), 0.5f * y, g);
    f32 zero_or_less = x <= -FB_MIN_POSITIVE ? FB_NAN : BITS_F32(bits & 0x80000000u);
    f32 root = x < FB_MIN_POSITIVE ? zero_or_less : BITS_F32(F32_BITS(g) + exponent);
    return x <= FB_MAX ? root : x;
}

/* The correctly rounded quotient, where the CPU has an instruction and devices may not.
 * On mantissas in [1, 2): y is the reciprocal of n rounded to nearest (a cubic, a third-order
 * step, a second-order step, which misses one n), then two steps of the quotient against its
 * exact residual round it to nearest (Markstein 1990). */
DEVICE_FN f32 fb_div(f32 a, f32 b) {
    u32 a_bits = F32_BITS(a);
    u32 b_bits = F32_BITS(b);
    u32 sign = (a_bits ^ b_bits) & 0x80000000u;
    u32 a_exponent = (a_bits >> 23) & 255u;
    u32 b_exponent = (b_bits >> 23) & 255u;
    f32 m = BITS_F32((a_bits & 0x007fffffu) | 0x3f800000u);
    f32 n = BITS_F32((b_bits & 0x007fffffu) | 0x3f800000u);

    f32 y = FMA(FMA(FMA(-2.2183347e-1f, n, 1.331006f), n, -2.9393172f), n, 2.8284113f);
    f32 d = FMA(-n, y, 1.0f);
    y = FMA(y, FMA(d, d, d), y);
    y = n == 1.99999988f ? 0.500000060f : FMA(FMA(-n, y, 1.0f), y, y);
    f32 q = m * y;
    q = FMA(FMA(-n, q, m), y, q);
    q = FMA(FMA(-n, q, m), y, q);

    i32 exponent = (i32)(F32_BITS(q) >> 23) + (i32)a_exponent - (i32)b_exponent;
    u32 magnitude = exponent <= 0 ? 0u
        : exponent >= 255         ? 0x7f800000u
                                  : (F32_BITS(q) & 0x007fffffu) | ((u32)exponent << 23);
    if (a_exponent == 0u || b_exponent == 255u) {
        magnitude = 0u;
    }
    if (b_exponent == 0u || a_exponent == 255u) {
        magnitude = 0x7f800000u;
    }
    i32 undefined = (a_exponent == 0u && b_exponent == 0u)
        || (a_exponent == 255u && b_exponent == 255u) || a != a || b != b;
    return undefined ? FB_NAN : BITS_F32(sign | magnitude);
}

DEVICE_FN f32 fb_atan2(f32 y, f32 x) {
    f32 ax = fb_abs(x);
    f32 ay = fb_abs(y);
    i32 steep = ax < ay;
    f32 small = steep ? ax : ay;
    f32 large = steep ? ay : ax;
    i32 origin = large < FB_MIN_POSITIVE;
    f32 scale = BITS_F32(0x7f800000u - (F32_BITS(large) & 0x7f800000u));
    small = small * scale;
    large = large * scale;
    i32 far = large * 0.414213568f < small;
    f32 num = far ? small - large : small;
    f32 den = far ? small + large : large;
    f32 t = origin ? 0.0f : fb_div(num, den);
    f32 z = t * t;
    f32 p = -6.0759086e-2f;
    p = FMA(p, z, 1.0592943e-1f);
    p = FMA(p, z, -1.4243422e-1f);
    p = FMA(p, z, 1.9998465e-1f);
    p = FMA(p, z, -3.3333316e-1f);
    f32 angle = FMA(p * z, t, t);
    angle = angle + (far ? 0.785398185f : 0.0f);
    angle = steep ? -angle + 1.57079637f : angle;
    angle = x < 0.0f ? -angle + 3.14159274f : angle;
    return BITS_F32(F32_BITS(angle) | (F32_BITS(y) & 0x80000000u));
}

DEVICE_FN f32 fb_acos(f32 x) {
    f32 sine = fb_sqrt((-x + 1.0f) * (x + 1.0f));
    f32 angle = fb_atan2(sine, x);
    return fb_abs(x) <= 1.0f ? angle : FB_NAN;
}
