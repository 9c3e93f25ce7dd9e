/* Group operations written in the dialect itself, the same on every runtime. The group's size is
   a power of two and scratch holds one element per item; results have the same bits everywhere. */

DEVICE_FN f32 group_sum_f32(LOCAL_PTR f32 *scratch, f32 value) {
    u32 me = (u32)LOCAL_ID();
    scratch[me] = value;
    for (u32 reach = (u32)LOCAL_SIZE() / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (me < reach) scratch[me] += scratch[me + reach];
    }
    BARRIER();
    f32 sum = scratch[0];
    BARRIER(); /* scratch may be used again at once */
    return sum;
}
#define GROUP_SUM_F32(scratch, value) group_sum_f32(scratch, value)

