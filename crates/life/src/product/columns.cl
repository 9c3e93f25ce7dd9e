/* The entries of some columns of M, from those of all. `number` has the new number of every column that
   stays, and LEFT for the others. */

/* How many entries of each voxel stay. */
KERNEL(life_count)(u32 voxels, GLOBAL const u32 *RESTRICT start,
                   GLOBAL const u32 *RESTRICT streamline, GLOBAL const u32 *RESTRICT number,
                   GLOBAL u32 *RESTRICT counts) {
    u64 voxel = GLOBAL_ID();
    if (voxel >= voxels) return;
    u32 count = 0;
    u32 end = start[voxel + 1];
    for (u32 k = start[voxel]; k < end; k++) {
        if (number[streamline[k]] != LEFT) count += 1;
    }
    counts[voxel] = count;
}

/* Each of them to its place, in their order; and where each went. */
KERNEL(life_keep)(u32 voxels, GLOBAL const u32 *RESTRICT start, GLOBAL const u32 *RESTRICT atom,
                  GLOBAL const u32 *RESTRICT streamline, GLOBAL const f32 *RESTRICT value,
                  GLOBAL const u32 *RESTRICT number, GLOBAL const u32 *RESTRICT new_start,
                  GLOBAL u32 *RESTRICT new_atom, GLOBAL u32 *RESTRICT new_streamline,
                  GLOBAL f32 *RESTRICT new_value, GLOBAL u32 *RESTRICT place) {
    u64 voxel = GLOBAL_ID();
    if (voxel >= voxels) return;
    u32 to = new_start[voxel];
    u32 end = start[voxel + 1];
    for (u32 k = start[voxel]; k < end; k++) {
        u32 f = number[streamline[k]];
        if (f != LEFT) {
            new_atom[to] = atom[k];
            new_streamline[to] = f;
            new_value[to] = value[k];
            place[k] = to;
            to += 1;
        }
    }
}

/* The entries of each slot that stays, `from` which of the old ones. */
KERNEL(life_regroup)(u32 slots, GLOBAL const u32 *RESTRICT from, GLOBAL const u32 *RESTRICT first,
                     GLOBAL const u32 *RESTRICT entry, GLOBAL const u32 *RESTRICT place,
                     GLOBAL const u32 *RESTRICT new_first, GLOBAL u32 *RESTRICT new_entry) {
    u64 slot = GLOBAL_ID();
    if (slot >= slots) return;
    u32 old = from[slot];
    u32 to = new_first[slot];
    u32 end = first[old + 1];
    for (u32 k = first[old]; k < end; k++, to++) new_entry[to] = place[entry[k]];
}
