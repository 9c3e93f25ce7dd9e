/* Two real rows of n as one complex one, a + ib, and their spectra, of which half is kept, apart: around
   transforms of the pairs. Of an odd number of rows the last has no second. */

KERNEL(pair_rows)(GLOBAL const f32 *RESTRICT volume, GLOBAL f32x2 *RESTRICT both, u32 n, u32 rows) {
    u64 item = GLOBAL_ID();
    u64 pair = item / n, i = item % n;
    if (2 * pair >= rows) return;
    f32 second = 2 * pair + 1 < rows ? volume[(2 * pair + 1) * n + i] : 0.0f;
    both[item] = F32X2(volume[2 * pair * n + i], second);
}

KERNEL(part_spectra)(GLOBAL const f32x2 *RESTRICT both, GLOBAL f32x2 *RESTRICT spectrum, u32 n, u32 rows) {
    u64 item = GLOBAL_ID(), kept = n / 2 + 1;
    u64 row = item / kept, k = item % kept;
    if (row >= rows) return;
    GLOBAL const f32x2 *line = both + row / 2 * n;
    f32x2 here = line[k], there = line[k == 0 ? 0 : n - k];
    spectrum[item] = row % 2 == 0 ? F32X2(0.5f * (here.x + there.x), 0.5f * (here.y - there.y))
                                  : F32X2(0.5f * (here.y + there.y), 0.5f * (there.x - here.x));
}

KERNEL(join_spectra)(GLOBAL const f32x2 *RESTRICT spectrum, GLOBAL f32x2 *RESTRICT both, u32 n, u32 rows) {
    u64 item = GLOBAL_ID(), kept = n / 2 + 1;
    u64 pair = item / n, k = item % n;
    if (2 * pair >= rows) return;
    /* Beyond the middle both are the conjugates of those before it; at both ends they are real. */
    u64 from = 2 * pair * kept + (k < kept ? k : n - k);
    f32 sign = k == 0 || 2 * k == n ? 0.0f : k < kept ? 1.0f : -1.0f;
    f32x2 a = spectrum[from], b = F32X2(0.0f, 0.0f);
    if (2 * pair + 1 < rows) b = spectrum[from + kept];
    both[item] = F32X2(a.x - sign * b.y, sign * a.y + b.x);
}

KERNEL(unpair_rows)(GLOBAL const f32x2 *RESTRICT both, GLOBAL f32 *RESTRICT volume, u32 n, u32 rows,
                    f32 scale) {
    u64 item = GLOBAL_ID();
    u64 row = item / n, i = item % n;
    if (row >= rows) return;
    f32x2 pair = both[row / 2 * n + i];
    volume[item] = scale * (row % 2 == 0 ? pair.x : pair.y);
}
