/* Philox4x32-10 in the kernel dialect; the Rust code beside it has the explanations. */

typedef struct {
    u32 w[4];
} fb_words;

DEVICE_FN fb_words fb_philox4x32_10(fb_words counter, u32 k0, u32 k1) {
    u32 a = counter.w[0];
    u32 b = counter.w[1];
    u32 c = counter.w[2];
    u32 d = counter.w[3];
    for (i32 round = 0; round < 10; round++) {
        u32 high0 = MULHI_U32(a, 0xd2511f53u);
        u32 low0 = a * 0xd2511f53u;
        u32 high1 = MULHI_U32(c, 0xcd9e8d57u);
        u32 low1 = c * 0xcd9e8d57u;
        a = high1 ^ b ^ k0;
        b = low1;
        c = high0 ^ d ^ k1;
        d = low0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    fb_words scrambled;
    scrambled.w[0] = a;
    scrambled.w[1] = b;
    scrambled.w[2] = c;
    scrambled.w[3] = d;
    return scrambled;
}

/* Four random words for a step of an item, as Philox::new(seed).stream(stream).at(item, step). */
DEVICE_FN fb_words fb_random(u64 seed, u32 stream, u64 item, u32 step) {
    fb_words counter;
    counter.w[0] = step;
    counter.w[1] = stream;
    counter.w[2] = (u32)item;
    counter.w[3] = (u32)(item >> 32);
    return fb_philox4x32_10(counter, (u32)seed, (u32)(seed >> 32));
}

/* A number strictly between 0 and 1. */
DEVICE_FN f32 fb_uniform(u32 word) {
    return (BITS_F32((word >> 9) | 0x3f800000u) - 1.0f) + 5.9604645e-8f;
}

/* Two independent standard normal numbers. */
DEVICE_FN void fb_normal_pair(u32 radius_word, u32 angle_word, f32 *first, f32 *second) {
    f32 radius = fb_sqrt(fb_ln(fb_uniform(radius_word)) * -2.0f);
    f32 sine, cosine;
    fb_sincos_turns(fb_uniform(angle_word), &sine, &cosine);
    *first = radius * cosine;
    *second = radius * sine;
}
