//! Where random numbers come from.

use fimbria_compute::philox::{Philox, uniform};

/// Which lookup of a step numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Where the point is.
    Here,
    /// A step ahead, with modified Euler.
    Ahead,
}

/// Random numbers of one sample, asked for in the order in which probtrackx2 draws them.
pub trait Draws {
    /// A step begins: `half` 0 or 1, points of the half before this one.
    fn step(&mut self, half: u32, point: u32);
    /// For the lattice corner: along x, y and z.
    fn corner(&mut self, lookup: Lookup) -> [f32; 3];
    /// For the sample of the voxel.
    fn sample(&mut self, lookup: Lookup) -> f32;
    /// For the fibre a half starts with, or any that is drawn.
    fn fibre(&mut self, lookup: Lookup) -> f32;
    /// Against the fraction.
    fn fraction(&mut self) -> f32;
    /// For the sign of the very first step, and of its trial.
    fn sign(&mut self, lookup: Lookup) -> f32;
    /// Three numbers in 0 to 1, to try as a place in the sphere around the seed.
    fn jitter(&mut self, attempt: u32) -> [f32; 3];
}

/// probtrackx2's own order of one stream of numbers, from a generator as simple as tests need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sequence {
    /// Always the same number, 0 to 1.
    Constant(f32),
    /// x ← (1103515245 x + 12345) mod 2^31, from the given x; numbers are x / 2^31, rounded to
    /// `f32` before and after the division.
    Lcg(u32),
}

impl Sequence {
    fn next(&mut self) -> f32 {
        match self {
            Self::Constant(u) => *u,
            Self::Lcg(x) => {
                *x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
                *x as f32 / 2_147_483_648.0
            }
        }
    }

    fn three(&mut self) -> [f32; 3] {
        let x = self.next();
        let y = self.next();
        [x, y, self.next()]
    }
}

impl Draws for Sequence {
    fn step(&mut self, _half: u32, _point: u32) {}
    fn corner(&mut self, _lookup: Lookup) -> [f32; 3] {
        self.three()
    }
    fn sample(&mut self, _lookup: Lookup) -> f32 {
        self.next()
    }
    fn fibre(&mut self, _lookup: Lookup) -> f32 {
        self.next()
    }
    fn fraction(&mut self) -> f32 {
        self.next()
    }
    fn sign(&mut self, _lookup: Lookup) -> f32 {
        self.next()
    }
    fn jitter(&mut self, _attempt: u32) -> [f32; 3] {
        self.three()
    }
}

/// What four words of [`Keyed`] numbers are for; several regions of seeds take several sets.
pub(crate) mod stream {
    pub(crate) const HERE: u32 = 0;
    pub(crate) const AHEAD: u32 = 1;
    pub(crate) const CHOICES: u32 = 2;
    pub(crate) const JITTER: u32 = 3;
    pub(crate) const PER_REGION: u32 = 4;
}

/// The step of [`Philox`] for a point of a half.
#[inline(always)]
pub(crate) fn step_key(half: u32, point: u32) -> u32 {
    half << 31 | point
}

/// The item of [`Philox`] for a sample of a seed.
#[inline(always)]
pub(crate) fn item_key(seed: u32, sample: u32) -> u64 {
    u64::from(sample) << 32 | u64::from(seed)
}

/// Counter-based numbers: each depends only on the seed of the generator, the seed voxel, its
/// region, the sample and the step it is for.
#[derive(Clone, Copy, Debug)]
pub struct Keyed {
    philox: Philox,
    region: u32,
    item: u64,
    step: u32,
}

impl Keyed {
    /// For one sample of a seed.
    pub fn new(rng_seed: u64, region: u32, seed: u32, sample: u32) -> Self {
        Self { philox: Philox::new(rng_seed), region, item: item_key(seed, sample), step: 0 }
    }

    fn at(&self, what: u32, step: u32) -> [f32; 4] {
        let philox = self.philox.stream(self.region * stream::PER_REGION + what);
        philox.at(self.item, step).map(uniform::<f32>)
    }

    fn lookup(&self, lookup: Lookup) -> [f32; 4] {
        let what = if lookup == Lookup::Here { stream::HERE } else { stream::AHEAD };
        self.at(what, self.step)
    }
}

impl Draws for Keyed {
    fn step(&mut self, half: u32, point: u32) {
        self.step = step_key(half, point);
    }
    fn corner(&mut self, lookup: Lookup) -> [f32; 3] {
        let [x, y, z, _] = self.lookup(lookup);
        [x, y, z]
    }
    fn sample(&mut self, lookup: Lookup) -> f32 {
        self.lookup(lookup)[3]
    }
    fn fibre(&mut self, lookup: Lookup) -> f32 {
        // A half has less than 2^21 points.
        let step = self.step | if lookup == Lookup::Here { 0 } else { 1 << 30 };
        self.at(stream::CHOICES, step)[0]
    }
    fn fraction(&mut self) -> f32 {
        self.at(stream::CHOICES, self.step)[1]
    }
    fn sign(&mut self, lookup: Lookup) -> f32 {
        self.at(stream::CHOICES, self.step)[if lookup == Lookup::Here { 2 } else { 3 }]
    }
    fn jitter(&mut self, attempt: u32) -> [f32; 3] {
        let [x, y, z, _] = self.at(stream::JITTER, attempt);
        [x, y, z]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_one_of_the_reference_data() {
        let mut lcg = Sequence::Lcg(12_345);
        // 1103515245 * 12345 + 12345 mod 2^31, by hand.
        let first = (1_103_515_245u64 * 12_345 + 12_345) % (1 << 31);
        assert_eq!(lcg.next(), first as f32 / 2_147_483_648.0);
    }

    #[test]
    fn numbers_do_not_depend_on_what_was_asked_before() {
        let (mut a, mut b) = (Keyed::new(1, 0, 77, 5), Keyed::new(1, 0, 77, 5));
        a.step(1, 9);
        b.step(0, 3);
        b.corner(Lookup::Ahead);
        b.step(1, 9);
        assert_eq!(a.corner(Lookup::Here), b.corner(Lookup::Here));
        assert_ne!(a.corner(Lookup::Here), a.corner(Lookup::Ahead));
    }
}
