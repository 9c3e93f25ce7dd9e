/* Constrained spherical deconvolution, one voxel per item, by Hildreth's method: every constraint in
   turn gets the multiplier that makes its slack zero, or none if that would have to pull the other
   way. In the metric of the problem the constraints are unit vectors u, the slack is u.z, and a
   change of the multiplier moves z along u.

   Constants: N_USED volumes, N_UNKNOWNS of which the first N_HARMONICS are the density,
   N_CONSTRAINTS; MOST_SWEEPS and STILL end the iteration; SQRT_4PI; codes of the status. */

KERNEL(fod_deconvolve)(u64 n, GLOBAL const u32 *RESTRICT volumes,
                       GLOBAL const f32 *RESTRICT whitened, GLOBAL const f32 *RESTRICT units,
                       GLOBAL const f32 *RESTRICT back, GLOBAL const f32 *RESTRICT matrix,
                       GLOBAL const f32 *RESTRICT form, GLOBAL const f32 *RESTRICT signals,
                       GLOBAL f32 *RESTRICT multipliers, GLOBAL f32 *RESTRICT rows) {
    u64 voxel = GLOBAL_ID();
    if (voxel >= n) return;
    f32 z[N_UNKNOWNS];
    f32 x[N_UNKNOWNS];
    f32 power = 0.0f;
    f32 largest = -FB_INFINITY;
    UNROLL for (u32 k = 0; k < N_UNKNOWNS; k++) z[k] = 0.0f;
    for (u32 v = 0; v < N_USED; v++) {
        f32 s = signals[volumes[v] * n + voxel];
        power = FMA(s, s, power);
        largest = fb_max(s, largest);
        UNROLL for (u32 k = 0; k < N_UNKNOWNS; k++) z[k] = FMA(s, whitened[v * N_UNKNOWNS + k], z[k]);
    }
    i32 good = power < FB_INFINITY && 0.0f < largest;

    f32 status = good ? STATUS_FITTED : STATUS_BAD_SIGNAL;
    if (good) {
        f32 scale = 0.0f;
        for (u32 sweep = 0; sweep < MOST_SWEEPS; sweep++) {
            f32 moved = 0.0f;
            for (u32 i = 0; i < N_CONSTRAINTS; i++) {
                GLOBAL const f32 *u = units + i * N_UNKNOWNS;
                f32 slack = 0.0f;
                UNROLL for (u32 k = 0; k < N_UNKNOWNS; k++) slack = FMA(u[k], z[k], slack);
                f32 before = sweep == 0 ? 0.0f : multipliers[i * n + voxel];
                f32 after = fb_max(before - slack, 0.0f);
                f32 change = after - before;
                if (sweep == 0 || change != 0.0f) multipliers[i * n + voxel] = after;
                if (sweep == 0) scale = fb_max(FABS(slack), scale);
                if (change != 0.0f) {
                    status = STATUS_CONSTRAINED;
                    moved = fb_max(FABS(change), moved);
                    UNROLL for (u32 k = 0; k < N_UNKNOWNS; k++) z[k] = FMA(change, u[k], z[k]);
                }
            }
            if (moved <= STILL * scale) break;
            if (sweep + 1 == MOST_SWEEPS) status = STATUS_NOT_CONVERGED;
        }
    }

    UNROLL for (u32 k = 0; k < N_UNKNOWNS; k++) x[k] = 0.0f;
    for (u32 l = 0; good && l < N_UNKNOWNS; l++) {
        UNROLL for (u32 k = 0; k < N_UNKNOWNS; k++) x[k] = FMA(z[l], back[l * N_UNKNOWNS + k], x[k]);
    }
    f32 square = 0.0f;
    for (u32 v = 0; good && v < N_USED; v++) {
        f32 r = signals[volumes[v] * n + voxel];
        UNROLL for (u32 k = 0; k < N_UNKNOWNS; k++) r = FMA(-x[k], matrix[v * N_UNKNOWNS + k], r);
        square = FMA(r, r, square);
    }
    GLOBAL f32 *row = rows + voxel;
    UNROLL for (u32 k = 0; k < N_HARMONICS; k++) {
        row[0] = x[k];
        row += n;
    }
    for (u32 e = 0; e < N_HARMONICS; e++) {
        f32 entry = 0.0f;
        UNROLL for (u32 k = 0; k < N_HARMONICS; k++) entry = FMA(x[k], form[k * N_HARMONICS + e], entry);
        row[0] = entry;
        row += n;
    }
    row[0] = x[0] * SQRT_4PI;
    row += n;
    UNROLL for (u32 k = N_HARMONICS; k < N_UNKNOWNS; k++) {
        row[0] = x[k];
        row += n;
    }
    row[0] = fb_sqrt(fb_div(square, (f32)N_USED));
    row[n] = status;
}
