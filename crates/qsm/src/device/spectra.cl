/* Places in half spectra and in whole ones. A real and even kernel has a spectrum that is real and even:
   half of it is kept, x up to its middle. Two real volumes go through one transform, as real and imaginary
   part; for each k that takes the element of -k. */

/* Of element k of a whole spectrum of nx, ny, nz: where its value is in a half one. */
DEVICE_FN u64 half_of(u64 k, u32 nx, u32 ny, u32 nz) {
    u64 kept = nx / 2 + 1;
    u64 x = k % nx, y = k / nx % ny, z = k / ((u64)nx * ny);
    if (x < kept) return x + kept * (y + ny * z);
    return (nx - x) + kept * ((ny - y) % ny + ny * ((nz - z) % nz));
}

/* The element of -k. */
DEVICE_FN u64 opposite_of(u64 k, u32 nx, u32 ny, u32 nz) {
    u64 x = k % nx, y = k / nx % ny, z = k / ((u64)nx * ny);
    return (nx - x) % nx + nx * ((ny - y) % ny + ny * ((nz - z) % nz));
}

/* The spectra of the two real volumes whose sum a + ib has `here` at k and `there` at -k. */
DEVICE_FN f32x2 first_of(f32x2 here, f32x2 there) {
    return F32X2(0.5f * (here.x + there.x), 0.5f * (here.y - there.y));
}

DEVICE_FN f32x2 second_of(f32x2 here, f32x2 there) {
    return F32X2(0.5f * (here.y + there.y), 0.5f * (there.x - here.x));
}
