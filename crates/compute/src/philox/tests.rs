use proptest::prelude::*;
use pulp::{Simd, WithSimd};

use super::*;
use crate::{Lanes, SimdLevel, Words};

/// From kat_vectors of Random123 1.14 ("philox4x32 10").
#[test]
fn known_answers_of_random123() {
    let of = philox4x32_10::<u32>;
    assert_eq!(of([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    assert_eq!(
        of([u32::MAX; 4], [u32::MAX; 2]),
        [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
    );
    assert_eq!(
        of([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
    );
}

#[test]
fn item_step_and_stream_are_the_words_of_the_counter() {
    let philox = Philox::new(0x299f_31d0_a409_3822).stream(0x85a3_08d3);
    assert_eq!(
        philox.at(0x0370_7344_1319_8a2e, 0x243f_6a88),
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
    );
}

struct Draw(Philox);

impl WithSimd for Draw {
    type Output = Vec<(u32, u32, [u32; 4], [f32; 4])>;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let n = Words::<S>::LANES;
        let mut drawn = Vec::new();
        for step in 0..64 {
            let items: Vec<u32> = (0..n as u32).map(|lane| 1_000_000 * lane + 7).collect();
            let step_lanes = Words::new(simd, step);
            let high = Words::new(simd, 3);
            let words = self.0.lanes(Words::load(simd, &items), high, step_lanes);
            let normals = normals::<Lanes<S>>(words);
            let (mut w, mut x) = ([[0; 64]; 4], [[0.0; 64]; 4]);
            for i in 0..4 {
                words[i].store(&mut w[i]);
                normals[i].store(&mut x[i]);
            }
            let of_lane = |lane: usize| (w.map(|w| w[lane]), x.map(|x| x[lane]));
            drawn.extend((0..n).map(|lane| {
                let (w, x) = of_lane(lane);
                (items[lane], step, w, x)
            }));
        }
        drawn
    }
}

#[test]
fn lanes_draw_the_words_and_normals_of_their_items() {
    let philox = Philox::new(20_261_121).stream(2);
    for level in SimdLevel::available() {
        for (item, step, words, lane_normals) in level.run(Draw(philox)) {
            let at = philox.at((3 << 32) | u64::from(item), step);
            assert_eq!(words, at, "{level:?}");
            for (got, expected) in lane_normals.into_iter().zip(normals::<f32>(at)) {
                // Without fusing, ln and sincos differ by ulps.
                let tolerance = if level.fuses() { 0.0 } else { 1e-6 * expected.abs().max(1.0) };
                assert!((got - expected).abs() <= tolerance, "{got} {expected} at {level:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn words_are_those_of_rand_philox(seed: u64, item: u64, step: u32, stream: u32) {
        let key = [seed as u32, (seed >> 32) as u32];
        let counter = u128::from(item) << 64 | u128::from(stream) << 32 | u128::from(step);
        let mut theirs = rand_philox::Philox::new(key, counter);
        let expected: [u32; 4] = std::array::from_fn(|_| theirs.next_u32());
        prop_assert_eq!(Philox::new(seed).stream(stream).at(item, step), expected);
    }

    #[test]
    fn uniform_is_the_odd_multiple_of_two_to_the_minus_24(word: u32) {
        let expected = (f64::from(word >> 9) + 0.5) / f64::from(1 << 23);
        let got = f64::from(uniform::<f32>(word));
        prop_assert_eq!(got, expected);
        prop_assert!(got > 0.0 && got < 1.0);
    }
}

/// Sample moments of 400,000 normals, each within 5 of its own standard errors of the truth.
#[test]
fn normals_have_the_moments_of_the_standard_normal_distribution() {
    let philox = Philox::new(42);
    let draws: Vec<f64> =
        (0..100_000).flat_map(|item| normals::<f32>(philox.at(item, 0))).map(f64::from).collect();
    let n = draws.len() as f64;
    let moment = |power| draws.iter().map(|x| x.powi(power)).sum::<f64>() / n;
    // The variance of x^k is E x^2k - (E x^k)^2: 1, 2, 15 and 96.
    for (power, mean, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let standard_error = f64::sqrt(variance / n);
        let got = moment(power);
        assert!((got - mean).abs() < 5.0 * standard_error, "E x^{power} = {got}");
    }
}

/// Neighbouring draws of one item are uncorrelated to within 5 standard errors of the sample.
#[test]
fn the_two_numbers_of_a_pair_are_uncorrelated() {
    let philox = Philox::new(7);
    let n = 100_000;
    let product = |item| {
        let [a, b, _, _] = normals::<f32>(philox.at(item, 5));
        f64::from(a) * f64::from(b)
    };
    let correlation = (0..n).map(product).sum::<f64>() / n as f64;
    assert!(correlation.abs() < 5.0 / f64::sqrt(n as f64), "{correlation}");
}
