/* Constrained spherical deconvolution, a group of items per voxel: the walk over active sets of
   active_set/dual.rs, in double precision, which the inverse of so many neighbouring constraints
   needs. Item k holds unknown k, active constraint k and, of all constraints, every GROUP-th.

   Constants: N_USED volumes, N_UNKNOWNS of which the first N_HARMONICS are the density,
   N_CONSTRAINTS; MOST_ACTIVE of them at a time, MOST_ROUNDS; TOLERANCE, REGULARISATION; NEAR, DEPENDENT, YIELDS;
   SQRT_4PI;
   codes of the status. */

#if !HAS_F64
#error "it needs double precision, which this device does not have"
#endif

#define PER_ITEM ((N_CONSTRAINTS + GROUP - 1u) / GROUP)
#define USED_PER_ITEM ((N_USED + GROUP - 1u) / GROUP)
#define NOTHING 1e300

DEVICE_FN f64 group_sum(LOCAL_PTR f64 *scratch, u32 me, f64 value) {
    scratch[me] = value;
    for (u32 reach = GROUP / 2u; reach > 0u; reach /= 2u) {
        BARRIER();
        if (me < reach) scratch[me] += scratch[me + reach];
    }
    BARRIER();
    f64 sum = scratch[0];
    BARRIER();
    return sum;
}

/* The least value of the group and what its item gave with it; of equals the first item's. */
DEVICE_FN f64 group_least(LOCAL_PTR f64 *scratch, LOCAL_PTR u32 *tags, u32 me, f64 value, u32 *tag) {
    scratch[me] = value;
    tags[me] = *tag;
    for (u32 reach = GROUP / 2u; reach > 0u; reach /= 2u) {
        BARRIER();
        if (me < reach && scratch[me + reach] < scratch[me]) {
            scratch[me] = scratch[me + reach];
            tags[me] = tags[me + reach];
        }
    }
    BARRIER();
    f64 least = scratch[0];
    *tag = tags[0];
    BARRIER();
    return least;
}

/* The place of an entry of a symmetric matrix, of which the lower triangle is kept: all of it would not
   fit beside the rest for the highest orders. */
DEVICE_FN u32 entry(u32 i, u32 j) {
    return i >= j ? i * (i + 1u) / 2u + j : j * (j + 1u) / 2u + i;
}

/* c.x of constraint i. */
DEVICE_FN f64 slack_of(GLOBAL const f64 *constraints, LOCAL_PTR const f64 *x, u32 i) {
    f64 slack = 0.0;
    for (u32 k = 0; k < N_UNKNOWNS; k++) slack += x[k] * constraints[k * N_CONSTRAINTS + i];
    return slack;
}

/* What an item looks for in a round: a violated constraint, the multiplier that ends the rise of the
   one of the entering constraint, a multiplier that rounding has left negative, or what is left of an
   entering constraint that nearly follows from the active ones. */
#define PRICE 0u
#define RAISE 1u
#define DROP 2u
#define CLOSER 3u
#define NONE 0xffffffffu

GROUP_KERNEL(fod_deconvolve, GROUP)(
    u64 n, GLOBAL const u32 *RESTRICT volumes, GLOBAL const f64 *RESTRICT minima,
    GLOBAL const f64 *RESTRICT constraints, GLOBAL const f64 *RESTRICT scales,
    GLOBAL const f64 *RESTRICT gram, GLOBAL const f64 *RESTRICT steps,
    GLOBAL const f64 *RESTRICT matrix, GLOBAL const f64 *RESTRICT form,
    GLOBAL const f32 *RESTRICT signals, GLOBAL f32 *RESTRICT rows) {
    LOCAL f64 inverse[MOST_ACTIVE * (MOST_ACTIVE + 1u) / 2u];
    LOCAL f64 x[N_UNKNOWNS];
    LOCAL f64 lambda[MOST_ACTIVE];
    LOCAL f64 direction[MOST_ACTIVE];
    LOCAL f64 beside[MOST_ACTIVE];
    LOCAL u32 active[MOST_ACTIVE];
    LOCAL f64 scratch[GROUP];
    LOCAL u32 tags[GROUP];
    LOCAL f32 samples[N_USED];
    u64 voxel = GROUP_ID();
    u32 me = (u32)LOCAL_ID();

    f64 power = 0.0;
    f64 brightest = 0.0; /* negated */
    for (u32 c = 0; c < USED_PER_ITEM; c++) {
        u32 v = c * GROUP + me;
        if (v < N_USED) {
            f32 s = signals[volumes[v] * n + voxel];
            samples[v] = s;
            power += (f64)s * (f64)s;
            brightest = -(f64)s < brightest ? -(f64)s : brightest;
        }
    }
    u32 tag = 0u;
    power = group_sum(scratch, me, power);
    brightest = group_least(scratch, tags, me, brightest, &tag);
    i32 good = power < NOTHING && brightest < 0.0;

    f64 x0 = 0.0;
    for (u32 v = 0; good && me < N_UNKNOWNS && v < N_USED; v++) {
        x0 += (f64)samples[v] * minima[v * N_UNKNOWNS + me];
    }
    if (me < N_UNKNOWNS) x[me] = x0;
    BARRIER();
    f64 largest = 0.0; /* slack of either sign, negated */
    for (u32 c = 0; c < PER_ITEM; c++) {
        u32 i = c * GROUP + me;
        if (i < N_CONSTRAINTS) {
            f64 slack = slack_of(constraints, x, i);
            slack = slack < 0.0 ? slack : -slack;
            largest = slack < largest ? slack : largest;
        }
    }
    f64 limit = TOLERANCE * group_least(scratch, tags, me, largest, &tag);

    u32 n_active = 0u;
    u32 taken_in = 0u;
    u32 bound = 0u; /* of this item's constraints, a bit each */
    u32 look_for = PRICE;
    i32 stuck = 0; /* none of the active constraints yields to one that follows from them */
    u32 looks = 0u; /* closer ones that are left */
    f64 apart = 0.0; /* K of the entering constraint and this item's active one */
    i32 settled = 1; /* multipliers are without the rounding of many updates */
    u32 entering = 0u;
    f64 slack = 0.0, pivot = 1.0, own = 0.0; /* of the entering constraint; own: its multiplier */
    i32 walking = good;
    /* Every round takes the same path through the barriers, whatever it looks for. */
    while (walking) {
        i32 is_active = me < n_active;
        f64 value = NOTHING;
        tag = me;
        if (look_for == PRICE) {
            for (u32 c = 0; c < PER_ITEM; c++) {
                u32 i = c * GROUP + me;
                if (i < N_CONSTRAINTS && (bound >> c & 1u) == 0u) {
                    f64 other = slack_of(constraints, x, i);
                    tag = other < value ? i : tag;
                    value = other < value ? other : value;
                }
            }
        } else if (look_for == RAISE && is_active) {
            f64 u = direction[me];
            i32 yields = pivot < DEPENDENT ? u > YIELDS : u > 0.0 && lambda[me] < -slack / pivot * u;
            value = yields ? lambda[me] / u : NOTHING;
        } else if (look_for == DROP && is_active) {
            value = lambda[me] < 0.0 ? lambda[me] : NOTHING;
        }
        f64 least = group_least(scratch, tags, me, value, &tag);

        i32 enters = look_for == PRICE && least < limit;
        i32 corrects = look_for == PRICE && !enters && !settled;
        i32 raises = look_for == RAISE;
        i32 closer = look_for == CLOSER;
        u32 gone = look_for != PRICE && least < NOTHING ? tag : NONE;
        stuck = raises && gone == NONE && pivot < DEPENDENT;
        i32 binds = raises && gone == NONE && !stuck;
        walking = look_for != PRICE || enters || corrects;
        if (enters) {
            entering = tag;
            slack = least * scales[entering];
            own = 0.0;
            apart = is_active ? gram[entering * N_CONSTRAINTS + active[me]] : 0.0;
            if (is_active) beside[me] = apart;
        }
        if (closer && is_active) {
            f64 left = apart - REGULARISATION * direction[me];
            for (u32 i = 0; i < n_active; i++) {
                left -= gram[active[me] * N_CONSTRAINTS + active[i]] * direction[i];
            }
            beside[me] = left;
        }
        if (corrects && is_active) {
            u32 i = active[me];
            beside[me] = slack_of(constraints, x, i) * scales[i] + REGULARISATION * lambda[me];
        }
        f64 step = 0.0;
        if (raises) {
            /* The multiplier of the entering constraint rises until its slack is zero. The others
               follow so that theirs stay zero; one that would become negative is dropped. */
            step = gone == NONE ? -slack / pivot : least;
            own += step;
            slack += step * pivot;
            if (is_active) lambda[me] -= step * direction[me];
        }
        BARRIER();

        f64 mine = 0.0;
        for (u32 i = 0; (enters || corrects || closer) && is_active && i < n_active; i++) {
            mine += inverse[entry(i, me)] * beside[i];
        }
        /* No other multiples of the active constraints are as near as the right ones: the error of the distance
           is of second order in theirs. */
        f64 part = 0.0;
        if (enters && is_active) part = apart * mine;
        if (closer && is_active) part = (apart + beside[me]) * direction[me];
        f64 product = group_sum(scratch, me, part);
        f64 factor = 0.0, less = 0.0;
        if (enters) {
            pivot = 1.0 + REGULARISATION - product;
            if (is_active) direction[me] = mine;
            looks = pivot < NEAR ? 2u : 0u;
        }
        if (closer) {
            f64 square = 1.0 + REGULARISATION - product;
            i32 spoilt = looks == 1u && square > pivot + DEPENDENT;
            pivot = spoilt ? -1.0 : square;
            if (is_active && !spoilt) direction[me] += mine;
            looks--;
        }
        if (corrects && is_active) lambda[me] -= mine;
        if (gone != NONE) {
            f64 of_gone = raises ? direction[gone] : lambda[gone];
            factor = of_gone / inverse[entry(gone, gone)];
            less = factor * of_gone;
            if (is_active) beside[me] = inverse[entry(gone, me)];
            if (active[gone] % GROUP == me) bound &= ~(1u << active[gone] / GROUP);
        }
        BARRIER();

        if (gone != NONE && is_active) {
            /* The others take over what the dropped one held; the inverse without it. */
            if (raises) direction[me] -= factor * beside[me];
            else lambda[me] -= factor * beside[me];
            f64 change = -beside[me] / beside[gone];
            for (u32 i = me; i < n_active; i++) inverse[entry(i, me)] += change * beside[i];
        }
        if (binds && is_active) {
            f64 change = direction[me] / pivot;
            for (u32 i = me; i < n_active; i++) inverse[entry(i, me)] += change * direction[i];
        }
        BARRIER();

        if (gone != NONE) {
            /* The last one takes its place. */
            pivot += raises ? less : 0.0;
            u32 last = n_active - 1u;
            if (me < last && gone != last) {
                inverse[entry(gone, me)] = inverse[entry(last, me == gone ? last : me)];
            }
            if (me == 0u) {
                direction[gone] = direction[last];
                lambda[gone] = lambda[last];
                active[gone] = active[last];
            }
            n_active = last;
        }
        if (binds) {
            f64 reciprocal = 1.0 / pivot;
            if (is_active) inverse[entry(n_active, me)] = -reciprocal * direction[me];
            if (me == 0u) {
                inverse[entry(n_active, n_active)] = reciprocal;
                active[n_active] = entering;
                lambda[n_active] = own;
            }
            if (entering % GROUP == me) bound |= 1u << entering / GROUP;
            n_active++;
            taken_in++;
            settled = 0;
        }
        if (corrects) settled = 1;
        look_for = looks > 0u ? CLOSER
                 : enters || closer || (raises && !binds) ? RAISE
                 : corrects || (look_for == DROP && gone != NONE) ? DROP : PRICE;
        walking = walking && !stuck && n_active < MOST_ACTIVE && taken_in < MOST_ROUNDS;
        BARRIER();

        if (look_for == PRICE && me < N_UNKNOWNS) {
            f64 sum = x0;
            for (u32 i = 0; i < n_active; i++) sum += lambda[i] * steps[active[i] * N_UNKNOWNS + me];
            x[me] = sum;
        }
        BARRIER();
    }

    f64 square = 0.0;
    for (u32 c = 0; c < USED_PER_ITEM; c++) {
        u32 v = c * GROUP + me;
        f64 predicted = 0.0;
        for (u32 k = 0; v < N_USED && k < N_UNKNOWNS; k++) predicted += x[k] * matrix[k * N_USED + v];
        f64 r = good && v < N_USED ? (f64)samples[v] - predicted : 0.0;
        square += r * r;
    }
    square = group_sum(scratch, me, square);
    i32 ended = !stuck && n_active < MOST_ACTIVE && taken_in < MOST_ROUNDS;
    if (me < N_UNKNOWNS) {
        u32 row = me < N_HARMONICS ? me : N_HARMONICS + 1u + me;
        rows[row * n + voxel] = (f32)x[me];
    }
    if (me < N_HARMONICS) {
        f64 unique = 0.0;
        for (u32 k = 0; k < N_HARMONICS; k++) unique += x[k] * form[k * N_HARMONICS + me];
        rows[(N_HARMONICS + me) * n + voxel] = (f32)unique;
    }
    if (me == 0u) {
        rows[2u * N_HARMONICS * n + voxel] = (f32)(x[0] * SQRT_4PI);
        GLOBAL f32 *row = rows + (N_HARMONICS + N_UNKNOWNS + 1u) * n + voxel;
        row[0] = fb_sqrt((f32)(square / (f64)N_USED));
        f32 status = n_active > 0u ? STATUS_CONSTRAINED : STATUS_FITTED;
        status = ended ? status : STATUS_NOT_CONVERGED;
        row[n] = good ? status : STATUS_BAD_SIGNAL;
    }
}
