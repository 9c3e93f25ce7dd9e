/* Maps of fitted parameters, one voxel per item: the operations of dti/lanes/maps.rs in their
   order, so that both give the same bits. Follows eigen.cl. The explanations are there.

   Constants: NEEDS_EIGEN; CLIPS and LEAST_EIGENVALUE; BY_MAGNITUDE; rows of the parameters and
   codes of the status by their names; MAP_FA and so on, the first row of each map, -1 where it is
   not wanted. */

#define MM2_PER_S 1e-3f

/* Exchanges eigenpairs a and b where a has the smaller magnitude. */
DEVICE_FN void larger_first(f32 l[3], f32 v[3][3], u32 a, u32 b) {
    if (fb_abs(l[a]) < fb_abs(l[b])) {
        f32 value = l[a];
        l[a] = l[b];
        l[b] = value;
        UNROLL for (u32 i = 0; i < 3; i++) {
            f32 component = v[a][i];
            v[a][i] = v[b][i];
            v[b][i] = component;
        }
    }
}

DEVICE_FN void put(GLOBAL f32 *maps, u64 n, u64 voxel, i32 row, f32 value) {
    if (row >= 0) maps[(u64)row * n + voxel] = value;
}

KERNEL(dti_maps)(u64 n, GLOBAL const f32 *RESTRICT parameters, GLOBAL f32 *RESTRICT maps) {
    u64 voxel = GLOBAL_ID();
    if (voxel >= n) return;
    f32 status = parameters[ROW_STATUS * n + voxel];
    f32 tensor[6];
    UNROLL for (u32 k = 0; k < 6; k++) tensor[k] = parameters[(ROW_TENSOR + k) * n + voxel];
    Deviator deviator;
    find_deviator(tensor, &deviator);
#if NEEDS_EIGEN
    f32 l[3];
    f32 v[3][3];
    eigen(&deviator, l, v);
#if CLIPS
    if (l[2] < LEAST_EIGENVALUE && status == STATUS_FITTED) {
        UNROLL for (u32 k = 0; k < 3; k++) l[k] = fb_max(l[k], LEAST_EIGENVALUE);
        tensor[0] = rebuilt(l, v, 0, 0);
        tensor[1] = rebuilt(l, v, 0, 1);
        tensor[2] = rebuilt(l, v, 0, 2);
        tensor[3] = rebuilt(l, v, 1, 1);
        tensor[4] = rebuilt(l, v, 1, 2);
        tensor[5] = rebuilt(l, v, 2, 2);
        find_deviator(tensor, &deviator);
        status = STATUS_CONSTRAINED;
    }
#endif
    put(maps, n, voxel, MAP_AD, l[0] * MM2_PER_S);
    put(maps, n, voxel, MAP_RD, (l[1] + l[2]) * 0.5f * MM2_PER_S);
#if BY_MAGNITUDE
    larger_first(l, v, 0, 1);
    larger_first(l, v, 1, 2);
    larger_first(l, v, 0, 1);
#endif
    i32 there = status <= STATUS_NOT_CONVERGED;
    put(maps, n, voxel, MAP_L1, l[0] * MM2_PER_S);
    put(maps, n, voxel, MAP_L2, l[1] * MM2_PER_S);
    put(maps, n, voxel, MAP_L3, l[2] * MM2_PER_S);
    for (i32 i = 0; i < 3; i++) {
        put(maps, n, voxel, MAP_V1 < 0 ? -1 : MAP_V1 + i, there ? v[0][i] : 0.0f);
        put(maps, n, voxel, MAP_V2 < 0 ? -1 : MAP_V2 + i, there ? v[1][i] : 0.0f);
        put(maps, n, voxel, MAP_V3 < 0 ? -1 : MAP_V3 + i, there ? v[2][i] : 0.0f);
    }
#endif
    if (is_negative(&deviator) && status == STATUS_FITTED) status = STATUS_NEGATIVE_DIFFUSION;
    put(maps, n, voxel, MAP_FA, fractional_anisotropy(&deviator));
    put(maps, n, voxel, MAP_MD, deviator.mean * MM2_PER_S);
    put(maps, n, voxel, MAP_MO, deviator.mode);
    put(maps, n, voxel, MAP_S0, parameters[ROW_S0 * n + voxel]);
    for (i32 k = 0; k < 6; k++) {
        put(maps, n, voxel, MAP_TENSOR < 0 ? -1 : MAP_TENSOR + k, tensor[k] * MM2_PER_S);
    }
    put(maps, n, voxel, MAP_RESIDUAL, parameters[ROW_RESIDUAL * n + voxel]);
    put(maps, n, voxel, MAP_STATUS, status);
}
