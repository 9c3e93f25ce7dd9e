/* Products with M, as crates/life/src/product/mod.rs describes them, of the voxels that a device has.
   Columns have STRIDE numbers, a multiple of SUMS; GROUP is a multiple of TEAM, all powers of 2 but STRIDE.
   Every sum is made in the order of crates/life/src/product/kernel.rs, so that it has the same bits. */

/* A group for each voxel: y = M w - b, without b where has_b is 0. Item t makes element t, t + GROUP ... */
GROUP_KERNEL(life_residual, GROUP)(GLOBAL const u32 *RESTRICT start,
                                   GLOBAL const u32 *RESTRICT atom,
                                   GLOBAL const u32 *RESTRICT streamline,
                                   GLOBAL const f32 *RESTRICT value,
                                   GLOBAL const f32 *RESTRICT columns,
                                   GLOBAL const f32 *RESTRICT w, GLOBAL const f32 *RESTRICT b,
                                   u32 has_b, GLOBAL f32 *RESTRICT y) {
    u64 voxel = GROUP_ID();
    u32 end = start[voxel + 1];
    for (u32 t = (u32)LOCAL_ID(); t < STRIDE; t += GROUP) {
        f32 sum = has_b ? -b[voxel * STRIDE + t] : 0.0f;
        for (u32 k = start[voxel]; k < end; k++) {
            f32 weight = w[streamline[k]];
            if (weight != 0.0f) {
                sum = FMA(weight * value[k], columns[(u64)atom[k] * STRIDE + t], sum);
            }
        }
        y[voxel * STRIDE + t] = sum;
    }
}

/* A group for each voxel: of every entry, its value times the inner product of its column with y. TEAM
   items share an entry, half of SUMS: each has two of the sums. */
GROUP_KERNEL(life_products, GROUP)(GLOBAL const u32 *RESTRICT start,
                                   GLOBAL const u32 *RESTRICT atom,
                                   GLOBAL const f32 *RESTRICT value,
                                   GLOBAL const f32 *RESTRICT columns,
                                   GLOBAL const f32 *RESTRICT y, GLOBAL f32 *RESTRICT products) {
    LOCAL f32 of_voxel[STRIDE];
    LOCAL f32 sums[GROUP];
    u32 me = (u32)LOCAL_ID();
    u32 lane = me % TEAM;
    u64 voxel = GROUP_ID();
    u32 begin = start[voxel];
    u32 end = start[voxel + 1];
    for (u32 t = me; t < STRIDE; t += GROUP) of_voxel[t] = y[voxel * STRIDE + t];
    BARRIER();
    for (u32 first = begin; first < end; first += GROUP / TEAM) {
        u32 k = first + me / TEAM;
        f32 sum = 0.0f;
        f32 other = 0.0f;
        if (k < end) {
            u64 column = (u64)atom[k] * STRIDE;
            for (u32 t = lane; t < STRIDE; t += SUMS) {
                sum = FMA(columns[column + t], of_voxel[t], sum);
                other = FMA(columns[column + t + TEAM], of_voxel[t + TEAM], other);
            }
        }
        sums[me] = sum + other;
        for (u32 reach = TEAM / 2; reach > 0; reach /= 2) {
            BARRIER();
            if (lane < reach) sums[me] += sums[me + reach];
        }
        if (lane == 0 && k < end) products[k] = value[k] * sums[me];
        BARRIER(); /* sums is used again */
    }
}

/* The larger of two sizes; what is no finite number is infinite. */
DEVICE_FN f32 larger(f32 largest, f32 x) {
    f32 size = FABS(x);
    if (!(size <= 3.402823466e38f)) return BITS_F32(0x7f800000u);
    return FMAX(largest, size);
}

/* The least e with x <= 2^e, -126 at least: crates/life/src/exact.rs. */
DEVICE_FN i32 exponent_of(f32 x) {
    u32 bits = F32_BITS(x);
    i32 exponent = (i32)(bits >> 23) - 127 + ((bits & 0x7fffffu) != 0u ? 1 : 0);
    return exponent < -126 ? -126 : exponent;
}

/* x in steps of 2^exponent, to nearest, ties to even: crates/life/src/exact.rs. */
DEVICE_FN i64 steps_of(f32 x, i32 exponent) {
    u32 bits = F32_BITS(x);
    i32 raised = (i32)((bits >> 23) & 0xffu);
    i64 steps = (i64)(bits & 0x7fffffu);
    if (raised > 0) {
        steps += 0x800000;
    } else {
        raised = 1;
    }
    i32 left = raised - 150 - exponent;
    if (left >= 0) {
        steps <<= left;
    } else if (left < -25) {
        steps = 0;
    } else {
        i64 one = (i64)1 << -left;
        i64 rest = steps & (one - 1);
        steps >>= -left;
        if (2 * rest > one || (2 * rest == one && (steps & 1) != 0)) steps += 1;
    }
    return (bits >> 31) != 0u ? -steps : steps;
}

/* Of every slot (a streamline in a block) the sum of its entries' products, in their order; told gets the
   largest that each group met. */
GROUP_KERNEL(life_slots, GROUP)(u32 slots, u32 rounds, GLOBAL const u32 *RESTRICT first,
                                GLOBAL const u32 *RESTRICT entry,
                                GLOBAL const f32 *RESTRICT products, GLOBAL f32 *RESTRICT sums,
                                GLOBAL u32 *RESTRICT told) {
    LOCAL f32 most[GROUP];
    u32 me = (u32)LOCAL_ID();
    f32 largest = 0.0f;
    for (u32 round = 0; round < rounds; round++) {
        u64 slot = round * GLOBAL_SIZE() + GLOBAL_ID();
        if (slot < slots) {
            f32 sum = 0.0f;
            u32 end = first[slot + 1];
            for (u32 k = first[slot]; k < end; k++) sum += products[entry[k]];
            sums[slot] = sum;
            largest = larger(largest, sum);
        }
    }
    most[me] = largest;
    for (u32 reach = GROUP / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (me < reach) most[me] = larger(most[me], most[me + reach]);
    }
    if (me == 0) told[GROUP_ID()] = F32_BITS(most[0]);
}

/* The squared norm of a voxel's numbers, in SUMS columns. */
DEVICE_FN f32 square_of(GLOBAL const f32 *y) {
    f32 sums[SUMS];
    UNROLL for (u32 t = 0; t < SUMS; t++) sums[t] = 0.0f;
    for (u32 at = 0; at < STRIDE; at += SUMS) {
        UNROLL for (u32 t = 0; t < SUMS; t++) sums[t] = FMA(y[at + t], y[at + t], sums[t]);
    }
    UNROLL for (u32 reach = SUMS / 2; reach > 0; reach /= 2) {
        UNROLL for (u32 t = 0; t < reach; t++) sums[t] += sums[t + reach];
    }
    return sums[0];
}

/* A group for each block: the largest of its voxels' squares, and their exact sum in steps that follow from
   it and from their number, in two halves. */
GROUP_KERNEL(life_squares, GROUP)(GLOBAL const u32 *RESTRICT block_start,
                                  GLOBAL const f32 *RESTRICT y, GLOBAL f32 *squares, u32 told_from,
                                  GLOBAL u32 *RESTRICT told) {
    LOCAL f32 most[GROUP];
    LOCAL i64 sums[GROUP];
    u32 me = (u32)LOCAL_ID();
    u64 block = GROUP_ID();
    u32 begin = block_start[block];
    u32 end = block_start[block + 1];
    u32 rounds = (end - begin + GROUP - 1) / GROUP;
    f32 largest = 0.0f;
    for (u32 round = 0; round < rounds; round++) {
        u32 voxel = begin + round * GROUP + me;
        if (voxel < end) {
            f32 square = square_of(y + (u64)voxel * STRIDE);
            squares[voxel] = square;
            largest = larger(largest, square);
        }
    }
    most[me] = largest;
    for (u32 reach = GROUP / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (me < reach) most[me] = larger(most[me], most[me + reach]);
    }
    BARRIER();
    largest = most[0];
    i32 room = 1;
    while (room < 32 && ((u64)1 << room) < (u64)(end - begin)) room++;
    i32 exponent = exponent_of(largest) + room + 1 - 52;
    i64 sum = 0;
    for (u32 round = 0; round < rounds; round++) {
        u32 voxel = begin + round * GROUP + me;
        if (voxel < end) sum += steps_of(squares[voxel], exponent);
    }
    sums[me] = sum;
    for (u32 reach = GROUP / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (me < reach) sums[me] += sums[me + reach];
    }
    if (me == 0) {
        u64 at = told_from + 3 * block;
        told[at] = F32_BITS(largest);
        told[at + 1] = (u32)sums[0];
        told[at + 2] = (u32)((u64)sums[0] >> 32);
    }
}

/* By one group: the exponent of the steps that follow from the largest of what the groups told, behind it. */
GROUP_KERNEL(life_exponent, GROUP)(u32 groups, u32 rounds, i32 room, GLOBAL u32 *told) {
    LOCAL f32 most[GROUP];
    u32 me = (u32)LOCAL_ID();
    f32 largest = 0.0f;
    for (u32 round = 0; round < rounds; round++) {
        u32 group = round * GROUP + me;
        if (group < groups) largest = larger(largest, BITS_F32(told[group]));
    }
    most[me] = largest;
    for (u32 reach = GROUP / 2; reach > 0; reach /= 2) {
        BARRIER();
        if (me < reach) most[me] = larger(most[me], most[me + reach]);
    }
    if (me == 0) told[groups] = (u32)(exponent_of(most[0]) + room + 1 - 52);
}

/* Of every streamline the sum of its slots, exact in any order, in two halves: in steps of 2^exponent, or by
   the exponent that was told where is_told. */
KERNEL(life_sums)(u32 streamlines, GLOBAL const u32 *RESTRICT start, GLOBAL const f32 *RESTRICT sums,
                  i32 exponent, u32 is_told, u32 exponent_at, u32 steps_at, GLOBAL u32 *told) {
    u64 f = GLOBAL_ID();
    if (f >= streamlines) return;
    if (is_told != 0u) exponent = (i32)told[exponent_at];
    i64 sum = 0;
    u32 end = start[f + 1];
    for (u32 slot = start[f]; slot < end; slot++) sum += steps_of(sums[slot], exponent);
    told[steps_at + 2 * f] = (u32)sum;
    told[steps_at + 2 * f + 1] = (u32)((u64)sum >> 32);
}
