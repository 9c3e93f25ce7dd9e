KERNEL(collatz)(GLOBAL const u32 *RESTRICT start, GLOBAL u32 *RESTRICT steps, u64 count) {
    u64 item = GLOBAL_ID();
    if (item >= count) return;
    u64 n = start[item];
    u32 taken = 0;
    while (n > 1) {
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        taken++;
    }
    steps[item] = taken;
}
