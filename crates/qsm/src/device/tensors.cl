/* The field of dipoles along their magnetisation, two of its components in one transform. */

#define NOBODY 0xffffffffu

/* Components a and, with has_b, b of the magnetisation of unknown i, at its place: b0 times its mean and, of
   fibres, m times their anisotropies, which follow the n means in x. */
KERNEL(magnetise)(u32 n, u32 a, u32 b, u32 has_b, f32 b0a, f32 b0b, GLOBAL const u32 *RESTRICT place,
                  GLOBAL const u32 *RESTRICT fibre, GLOBAL const f32 *RESTRICT m,
                  GLOBAL const f32 *RESTRICT x, GLOBAL f32x2 *RESTRICT volume) {
    u32 i = (u32)GLOBAL_ID();
    if (i >= n) return;
    f32 first = b0a * x[i], second = b0b * x[i];
    u32 f = fibre[i];
    if (f != NOBODY) {
        f32 anisotropy = x[n + f];
        first = FMA(m[3 * f + a], anisotropy, first);
        second = FMA(m[3 * f + b], anisotropy, second);
    }
    volume[place[i]] = F32X2(first, has_b ? second : 0.0f);
}

/* The adjoint: adds to the means and anisotropies what the field of both components sees. */
KERNEL(magnetise_adjoint)(u32 n, u32 a, u32 b, u32 has_b, f32 b0a, f32 b0b, GLOBAL const u32 *RESTRICT place,
                          GLOBAL const u32 *RESTRICT fibre, GLOBAL const f32 *RESTRICT m,
                          GLOBAL const f32x2 *RESTRICT volume, GLOBAL f32 *RESTRICT x) {
    u32 i = (u32)GLOBAL_ID();
    if (i >= n) return;
    f32x2 seen = volume[place[i]];
    f32 second = has_b ? seen.y : 0.0f;
    x[i] += b0a * seen.x + b0b * second;
    u32 f = fibre[i];
    if (f != NOBODY) x[n + f] += m[3 * f + a] * seen.x + m[3 * f + b] * second;
}

/* Adds to `field` both components times their kernels; `both` is the transform of one and i the other. */
KERNEL(field_of_both)(u32 nx, u32 ny, u32 nz, GLOBAL const f32 *RESTRICT first,
                      GLOBAL const f32 *RESTRICT second, GLOBAL const f32x2 *RESTRICT both,
                      GLOBAL f32x2 *RESTRICT field) {
    u64 k = GLOBAL_ID();
    if (k >= (u64)nx * ny * nz) return;
    u64 in_half = half_of(k, nx, ny, nz);
    f32x2 here = both[k], there = both[opposite_of(k, nx, ny, nz)], sum = field[k];
    f32x2 a = first_of(here, there), b = second_of(here, there);
    f32 of_a = first[in_half], of_b = second[in_half];
    field[k] = F32X2(sum.x + (of_a * a.x + of_b * b.x), sum.y + (of_a * a.y + of_b * b.y));
}

/* The adjoint: what a field's transform gives of one component and, times i, of the other. */
KERNEL(both_of_field)(u32 nx, u32 ny, u32 nz, GLOBAL const f32 *RESTRICT first,
                      GLOBAL const f32 *RESTRICT second, GLOBAL const f32x2 *RESTRICT field,
                      GLOBAL f32x2 *RESTRICT both) {
    u64 k = GLOBAL_ID();
    if (k >= (u64)nx * ny * nz) return;
    u64 in_half = half_of(k, nx, ny, nz);
    f32x2 b = field[k];
    f32 of_a = first[in_half], of_b = second[in_half];
    both[k] = F32X2(of_a * b.x - of_b * b.y, of_a * b.y + of_b * b.x);
}
