use super::*;
use crate::SimdLevel;

/// Applies `f` to corresponding elements of `a` and `b` at one SIMD level.
struct Zip<'a, F> {
    a: &'a [f32],
    b: &'a [f32],
    f: F,
}

/// A function of two numbers, for whatever holds them.
trait Binary: Copy {
    fn call<R: Real>(self, a: R, b: R) -> R;
}

impl<F: Binary> pulp::WithSimd for Zip<'_, F> {
    type Output = Vec<f32>;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let mut out = vec![0.0; self.a.len()];
        let n = Lanes::<S>::LANES;
        for ((a, b), out) in self.a.chunks(n).zip(self.b.chunks(n)).zip(out.chunks_mut(n)) {
            let (a, b) = (Lanes::load_partial(simd, a), Lanes::load_partial(simd, b));
            self.f.call(a, b).store_partial(out);
        }
        out
    }
}

/// Every pair of numbers that are special to some operation, and some ordinary ones.
fn pairs() -> (Vec<f32>, Vec<f32>) {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        3.0e5,
        -7.0e-20,
        f32::MIN_POSITIVE,
        1.0e-40,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
}

/// Bits, with all NaNs alike (their payloads may differ between instruction sets).
fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

fn assert_same_as_scalar<F: Binary>(f: F, levels: &[SimdLevel]) {
    let (a, b) = pairs();
    let scalar: Vec<f32> = a.iter().zip(&b).map(|(&a, &b)| f.call(a, b)).collect();
    for &level in levels {
        let lanes = level.run(Zip { a: &a, b: &b, f });
        assert_eq!(bits(&scalar), bits(&lanes), "at {level:?}");
    }
}

#[derive(Clone, Copy)]
struct Arithmetic;
impl Binary for Arithmetic {
    #[inline(always)]
    fn call<R: Real>(self, a: R, b: R) -> R {
        ((a + b) * 0.5 - a / b) * (-a.abs()).min(b).max(a * b) - b.abs().sqrt()
    }
}

#[derive(Clone, Copy)]
struct Choice;
impl Binary for Choice {
    #[inline(always)]
    fn call<R: Real>(self, a: R, b: R) -> R {
        let either = a.less(b) | !a.at_most(b) & !b.equals(b);
        R::select(either, a.min(b), b.max(a) + 1.0)
    }
}

#[derive(Clone, Copy)]
struct Bits;
impl Binary for Bits {
    #[inline(always)]
    fn call<R: Real>(self, a: R, b: R) -> R {
        let (a, b) = (a.to_word(), b.to_word());
        let (low, high) = a.mul_wide(b);
        let mixed = (low ^ (high << 3)).wrapping_add(a >> 7).wrapping_sub(b & a | b);
        R::from_word(mixed & mixed.splat(0x3fff_ffff))
    }
}

#[derive(Clone, Copy)]
struct Fused;
impl Binary for Fused {
    #[inline(always)]
    fn call<R: Real>(self, a: R, b: R) -> R {
        a.mul_add(a, b) - b.neg_mul_add(b, a)
    }
}

#[test]
fn arithmetic_choices_and_bits_are_those_of_one_number_at_every_level() {
    let levels = SimdLevel::available();
    assert_same_as_scalar(Arithmetic, &levels);
    assert_same_as_scalar(Choice, &levels);
    assert_same_as_scalar(Bits, &levels);
}

#[test]
fn multiply_add_rounds_once_at_fusing_levels() {
    let fusing: Vec<_> = SimdLevel::available().into_iter().filter(|l| l.fuses()).collect();
    assert_same_as_scalar(Fused, &fusing);
}

#[test]
fn a_mask_is_any_or_all_as_its_lanes_are() {
    struct Count;
    impl pulp::WithSimd for Count {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let n = Lanes::<S>::LANES;
            for below in 0..=n {
                let lanes: Vec<f32> = (0..n).map(|lane| lane as f32).collect();
                let mask = Lanes::load(simd, &lanes).less(Lanes::new(simd, below as f32));
                assert_eq!(mask.any(), below > 0, "{below} of {n} lanes");
                assert_eq!(mask.all(), below == n, "{below} of {n} lanes");
            }
        }
    }
    for level in SimdLevel::available() {
        level.run(Count);
    }
}

/// The sum of sixteen numbers by registers of any width, halves added to halves.
struct SumOf16<'a>(&'a [f32; 16]);

impl pulp::WithSimd for SumOf16<'_> {
    type Output = f32;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let n = Lanes::<S>::LANES;
        let mut registers: Vec<_> = self.0.chunks(n).map(|c| Lanes::load(simd, c)).collect();
        while registers.len() > 1 {
            let half = registers.split_off(registers.len() / 2);
            registers.iter_mut().zip(half).for_each(|(low, high)| *low = *low + high);
        }
        registers[0].sum()
    }
}

#[test]
fn sums_have_the_same_bits_however_wide_registers_are() {
    let numbers: [f32; 16] = std::array::from_fn(|i| (i as f32 + 0.3).powi(5) * 1e-3 - 7.0);
    let halves = |x: &[f32]| -> Vec<f32> {
        let (low, high) = x.split_at(x.len() / 2);
        low.iter().zip(high).map(|(a, b)| a + b).collect()
    };
    let expected = halves(&halves(&halves(&halves(&numbers))))[0];
    for level in SimdLevel::available() {
        assert_eq!(level.run(SumOf16(&numbers)).to_bits(), expected.to_bits(), "{level:?}");
    }
}
