/* Eigenpairs of a symmetric 3x3 matrix: the operations of dti/lanes/eigen.rs in their order, so that
   both give the same bits. The explanations are there. */

#define ROUNDING 1e-14f

typedef struct {
    f32 mean;
    f32 size;
    f32 unit[6];
    f32 mode;
} Deviator;

DEVICE_FN f32 product3(const f32 *a, const f32 *b) {
    return FMA(a[2], b[2], FMA(a[1], b[1], a[0] * b[0]));
}

DEVICE_FN f32 minor(f32 a, f32 b, f32 c, f32 d) { return FMA(-b, c, a * d); }

DEVICE_FN void find_deviator(const f32 *d, Deviator *out) {
    out->mean = (d[0] + d[3] + d[5]) * 0.333333343f;
    f32 a[6] = {d[0] - out->mean, d[1], d[2], d[3] - out->mean, d[4], d[5] - out->mean};
    f32 diagonal = FMA(a[5], a[5], FMA(a[3], a[3], a[0] * a[0]));
    f32 off = FMA(a[4], a[4], FMA(a[2], a[2], a[1] * a[1]));
    f32 size2 = FMA(off, 2.0f, diagonal) * 0.166666672f;
    f32 least = FMA(out->mean * out->mean, 0.5f * ROUNDING, 1e-30f);
    i32 rounding = size2 <= least;
    f32 inverse = fb_rsqrt_finite(rounding ? 1.0f : size2);
    out->size = rounding ? 0.0f : size2 * inverse;
    inverse = rounding ? 0.0f : inverse;
    UNROLL for (u32 k = 0; k < 6; k++) out->unit[k] = a[k] * inverse;
    f32 xx = out->unit[0], xy = out->unit[1], xz = out->unit[2];
    f32 yy = out->unit[3], yz = out->unit[4], zz = out->unit[5];
    f32 determinant = FMA(xz, minor(xy, yy, xz, yz),
                          FMA(-xy, minor(xy, yz, xz, zz), xx * minor(yy, yz, yz, zz)));
    out->mode = fb_min(fb_max(determinant * 0.5f, -1.0f), 1.0f);
}

DEVICE_FN f32 fractional_anisotropy(const Deviator *d) {
    f32 p2 = d->size * d->size;
    f32 m2 = d->mean * d->mean;
    return fb_sqrt(fb_div(p2 * 3.0f, fb_max(p2 * 2.0f + m2, 1e-30f)));
}

DEVICE_FN i32 is_negative(const Deviator *d) {
    f32 p2 = d->size * d->size;
    f32 m2 = d->mean * d->mean;
    f32 determinant = d->mean * (m2 - p2 * 3.0f) + p2 * d->size * d->mode * 2.0f;
    return d->mean < 0.0f || m2 < p2 || determinant < 0.0f;
}

DEVICE_FN f32 separate_root(f32 r) {
    f32 x = FMA(FMA(FMA(0.01888711f, r, -0.08176201f), r, 0.33080833f), r, 1.7321238f);
    f32 x2 = x * x;
    f32 f = FMA(x2 - 3.0f, x, r * -2.0f);
    return x - fb_div(f, (x2 - 1.0f) * 3.0f);
}

/* The eigenvector of an eigenvalue x of the unit deviator that lies apart from the others. */
DEVICE_FN void axis_of(const f32 *unit, f32 x, f32 *axis) {
    f32 xy = unit[1], xz = unit[2], yz = unit[4];
    f32 xx = unit[0] - x, yy = unit[3] - x, zz = unit[5] - x;
    f32 adj_xx = minor(yy, yz, yz, zz);
    f32 adj_xy = minor(xz, xy, zz, yz);
    f32 adj_xz = minor(xy, xz, yy, yz);
    f32 adj_yy = minor(xx, xz, xz, zz);
    f32 adj_yz = minor(xz, xx, yz, xy);
    f32 adj_zz = minor(xx, xy, xy, yy);
    i32 y_longer = adj_xx < adj_yy;
    i32 z_longest = fb_max(adj_xx, adj_yy) <= adj_zz;
    f32 a = z_longest ? adj_xz : y_longer ? adj_xy : adj_xx;
    f32 b = z_longest ? adj_yz : y_longer ? adj_yy : adj_xy;
    f32 c = z_longest ? adj_zz : y_longer ? adj_yz : adj_xz;
    f32 inverse = fb_rsqrt_finite(FMA(c, c, FMA(b, b, a * a)));
    axis[0] = a * inverse;
    axis[1] = b * inverse;
    axis[2] = c * inverse;
}

DEVICE_FN void across(const f32 *v, f32 *u, f32 *w) {
    f32 sign = v[2] < 0.0f ? -1.0f : 1.0f;
    f32 a = -fb_div(sign, v[2] * sign + 1.0f);
    f32 b = v[0] * v[1] * a;
    u[0] = FMA(sign * v[0] * v[0], a, 1.0f);
    u[1] = sign * b;
    u[2] = -(sign * v[0]);
    w[0] = b;
    w[1] = FMA(v[1] * v[1], a, sign);
    w[2] = -v[1];
}

DEVICE_FN void times(const f32 *unit, const f32 *v, f32 *out) {
    f32 x[3] = {unit[0], unit[1], unit[2]};
    f32 y[3] = {unit[1], unit[3], unit[4]};
    f32 z[3] = {unit[2], unit[4], unit[5]};
    out[0] = product3(x, v);
    out[1] = product3(y, v);
    out[2] = product3(z, v);
}

/* Eigenvalues l, largest first, and their unit eigenvectors v. */
DEVICE_FN void eigen(const Deviator *d, f32 l[3], f32 v[3][3]) {
    i32 prolate = 0.0f <= d->mode;
    f32 root = separate_root(fb_abs(d->mode));
    f32 apart = prolate ? root : -root;
    f32 axis[3], u[3], w[3], bu[3], bw[3];
    axis_of(d->unit, apart, axis);
    across(axis, u, w);
    times(d->unit, u, bu);
    times(d->unit, w, bw);
    f32 uu = product3(u, bu);
    f32 ww = product3(w, bw);
    f32 k = product3(u, bw);
    f32 h = (uu - ww) * 0.5f;
    f32 m = (uu + ww) * 0.5f;
    f32 radius = fb_sqrt(FMA(h, h, k * k));
    f32 sum = fb_abs(h) + radius;
    f32 norm2 = FMA(sum, sum, k * k);
    i32 turned = 1e-30f < norm2;
    f32 inverse = fb_rsqrt_finite(turned ? norm2 : 1.0f);
    f32 major = turned ? sum * inverse : 1.0f;
    f32 small = turned ? k * inverse : 0.0f;
    i32 upright = 0.0f <= h;
    f32 c = upright ? major : small;
    f32 s = upright ? small : major;
    f32 larger = m + radius;
    f32 smaller = m - radius;
    l[0] = FMA(d->size, prolate ? apart : larger, d->mean);
    l[1] = FMA(d->size, prolate ? larger : smaller, d->mean);
    l[2] = FMA(d->size, prolate ? smaller : apart, d->mean);
    UNROLL for (u32 i = 0; i < 3; i++) {
        f32 along_larger = FMA(c, u[i], w[i] * s);
        f32 along_smaller = FMA(-s, u[i], w[i] * c);
        v[0][i] = prolate ? axis[i] : along_larger;
        v[1][i] = prolate ? along_larger : along_smaller;
        v[2][i] = prolate ? along_smaller : axis[i];
    }
}

/* The element of sum l v v' at axes i, j. */
DEVICE_FN f32 rebuilt(f32 l[3], f32 v[3][3], u32 i, u32 j) {
    f32 first = v[0][i] * v[0][j] * l[0];
    return FMA(v[2][i] * v[2][j], l[2], FMA(v[1][i] * v[1][j], l[1], first));
}
