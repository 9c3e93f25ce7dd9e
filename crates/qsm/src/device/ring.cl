/* Neighbours in a volume whose ends meet. */

typedef struct { u64 along[3]; } Neighbours;

DEVICE_FN Neighbours next_of(u64 i, u32 nx, u32 ny, u32 nz) {
    u64 plane = (u64)nx * ny;
    u64 x = i % nx, y = i / nx % ny, z = i / plane;
    Neighbours next;
    next.along[0] = x + 1 == nx ? i + 1 - nx : i + 1;
    next.along[1] = y + 1 == ny ? i + nx - plane : i + nx;
    next.along[2] = z + 1 == nz ? i + plane - plane * nz : i + plane;
    return next;
}

DEVICE_FN Neighbours before_of(u64 i, u32 nx, u32 ny, u32 nz) {
    u64 plane = (u64)nx * ny;
    u64 x = i % nx, y = i / nx % ny, z = i / plane;
    Neighbours before;
    before.along[0] = x == 0 ? i + nx - 1 : i - 1;
    before.along[1] = y == 0 ? i + plane - nx : i - nx;
    before.along[2] = z == 0 ? i + plane * nz - plane : i - plane;
    return before;
}
