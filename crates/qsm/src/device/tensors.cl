/* The field of dipoles along their magnetisation, one of its components at a time. */

#define NOBODY 0xffffffffu

/* Component a of the magnetisation of unknown i, at its place: b0 times its mean and, of fibres, m times their
   anisotropies, which follow the n means in x. */
KERNEL(magnetise)(u32 n, u32 a, f32 b0, GLOBAL const u32 *RESTRICT place, GLOBAL const u32 *RESTRICT fibre,
                  GLOBAL const f32 *RESTRICT m, GLOBAL const f32 *RESTRICT x, GLOBAL f32 *RESTRICT volume) {
    u32 i = (u32)GLOBAL_ID();
    if (i >= n) return;
    f32 sum = b0 * x[i];
    u32 f = fibre[i];
    if (f != NOBODY) sum = FMA(m[3 * f + a], x[n + f], sum);
    volume[place[i]] = sum;
}

/* The adjoint: adds to the means and anisotropies what the field of the component sees. */
KERNEL(magnetise_adjoint)(u32 n, u32 a, f32 b0, GLOBAL const u32 *RESTRICT place,
                          GLOBAL const u32 *RESTRICT fibre, GLOBAL const f32 *RESTRICT m,
                          GLOBAL const f32 *RESTRICT volume, GLOBAL f32 *RESTRICT x) {
    u32 i = (u32)GLOBAL_ID();
    if (i >= n) return;
    f32 seen = volume[place[i]];
    x[i] += b0 * seen;
    u32 f = fibre[i];
    if (f != NOBODY) x[n + f] += m[3 * f + a] * seen;
}

/* Adds to `field` a component's spectrum times its kernel; both are half spectra. */
KERNEL(add_field)(u64 n, GLOBAL const f32 *RESTRICT kernel_spectrum, GLOBAL const f32x2 *RESTRICT component,
                  GLOBAL f32x2 *RESTRICT field) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32x2 value = component[k], sum = field[k];
    f32 by = kernel_spectrum[k];
    field[k] = F32X2(sum.x + by * value.x, sum.y + by * value.y);
}

/* The adjoint: what a field's spectrum gives of a component. */
KERNEL(component_of)(u64 n, GLOBAL const f32 *RESTRICT kernel_spectrum, GLOBAL const f32x2 *RESTRICT field,
                     GLOBAL f32x2 *RESTRICT component) {
    u64 k = GLOBAL_ID();
    if (k >= n) return;
    f32x2 value = field[k];
    f32 by = kernel_spectrum[k];
    component[k] = F32X2(by * value.x, by * value.y);
}
