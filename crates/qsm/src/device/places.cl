/* Values of a volume at a list of its places. */

/* y[i] = volume[place[i]] */
KERNEL(at_places)(u64 n, GLOBAL const u32 *RESTRICT place, GLOBAL const f32 *RESTRICT volume,
                  GLOBAL f32 *RESTRICT y) {
    u64 i = GLOBAL_ID();
    if (i < n) y[i] = volume[place[i]];
}
