//! A direction and a fraction in eight bytes.
//!
//! The direction is projected to the octahedron |x| + |y| + |z| = 1, the lower half of which is
//! folded outwards, so that both halves fill a square (Meyer et al., "On floating-point normal
//! vectors", EGSR 2010). Its two coordinates take 24 bits each, which is what `f32` holds: the
//! direction that comes back is within 2e-7 rad of the one that went in. The fraction takes 16
//! bits, in steps of 2^-16.

use bytemuck::{Pod, Zeroable};

/// A direction with a volume fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stick {
    /// Unit vector in scanner RAS+ axes; zero where the stick has no direction.
    pub dir_ras: [f32; 3],
    /// Volume fraction, 0 to 1.
    pub fraction: f32,
}

/// A [`Stick`] in eight bytes: bits 0 to 23 and 24 to 47 are the two octahedral coordinates, each
/// an integer `c` that stands for `c / 8388607 - 1`, bits 48 to 63 the fraction in units of 2^-16.
/// A first coordinate of 2^24 - 1 marks a stick without direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct PackedStick(pub u64);

/// The largest octahedral coordinate, 1, in units of its resolution.
const HALF: f64 = 8_388_607.0;
const COORDINATE_BITS: u32 = 24;
const COORDINATE: u64 = (1 << COORDINATE_BITS) - 1;
const FRACTIONS: f32 = 65_536.0;

impl PackedStick {
    /// No direction and no fraction.
    pub const NONE: Self = Self(COORDINATE);

    /// Packs a direction of any length and a fraction, which is clamped to 0 and 1 - 2^-16. A
    /// direction that is zero or not finite is none.
    pub fn new(dir_ras: [f64; 3], fraction: f64) -> Self {
        let units = (fraction * f64::from(FRACTIONS)).round().clamp(0.0, 65_535.0) as u64;
        let [x, y, z] = dir_ras;
        let sum = x.abs() + y.abs() + z.abs();
        if !(sum > 0.0 && sum.is_finite()) {
            return Self(units << (2 * COORDINATE_BITS) | COORDINATE);
        }
        let (mut u, mut v) = (x / sum, y / sum);
        if z < 0.0 {
            (u, v) = ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v));
        }
        let coordinate = |c: f64| ((c * HALF).round() + HALF) as u64;
        Self(units << (2 * COORDINATE_BITS) | coordinate(v) << COORDINATE_BITS | coordinate(u))
    }

    /// Packs a stick.
    pub fn pack(stick: Stick) -> Self {
        Self::new(stick.dir_ras.map(f64::from), f64::from(stick.fraction))
    }

    /// False where there is no direction to follow.
    #[inline(always)]
    pub fn has_direction(self) -> bool {
        self.0 & COORDINATE != COORDINATE
    }

    /// The volume fraction.
    #[inline(always)]
    pub fn fraction(self) -> f32 {
        (self.0 >> (2 * COORDINATE_BITS)) as f32 * (1.0 / FRACTIONS)
    }

    /// The unit vector in scanner RAS+ axes; meaningless without
    /// [`has_direction`](Self::has_direction).
    #[inline(always)]
    pub fn dir_ras(self) -> [f32; 3] {
        // Integers below 2^24 are exact in f32.
        let coordinate = |c: u64| (c as i32 - HALF as i32) as f32 * (1.0 / HALF as f32);
        let u = coordinate(self.0 & COORDINATE);
        let v = coordinate(self.0 >> COORDINATE_BITS & COORDINATE);
        let z = 1.0 - u.abs() - v.abs();
        // Below the equator the fold is undone: both coordinates move towards zero by -z.
        let fold = (-z).max(0.0);
        let (x, y) = (u - fold.copysign(u), v - fold.copysign(v));
        let scale = 1.0 / (x * x + y * y + z * z).sqrt();
        [x * scale, y * scale, z * scale]
    }

    /// Direction and fraction.
    #[inline]
    pub fn unpack(self) -> Stick {
        let dir_ras = if self.has_direction() { self.dir_ras() } else { [0.0; 3] };
        Stick { dir_ras, fraction: self.fraction() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directions all over the sphere, the axes and the folds of the octahedron among them.
    fn directions() -> Vec<[f64; 3]> {
        let mut all = Vec::new();
        for z in [-1.0, -0.7, -1e-9, 0.0, 1e-9, 0.3, 1.0] {
            for y in [-1.0, -0.4, 0.0, 0.9] {
                for x in [-0.8, -1e-7, 0.0, 0.5, 1.0] {
                    all.push([x, y, z]);
                }
            }
        }
        all.retain(|v| v.iter().any(|c| *c != 0.0));
        all
    }

    #[test]
    fn directions_come_back_to_the_precision_of_f32() {
        for v in directions() {
            let norm = v.iter().map(|c| c * c).sum::<f64>().sqrt();
            let back = PackedStick::new(v, 0.5).unpack().dir_ras;
            for k in 0..3 {
                // Half a step of 2^-23 in two coordinates, stretched by at most √3 on the sphere,
                // and the rounding of the unpacking.
                assert!((f64::from(back[k]) - v[k] / norm).abs() < 4e-7, "{v:?} {back:?}");
            }
        }
    }

    #[test]
    fn fractions_of_two_to_the_minus_sixteen_are_exact() {
        for units in [0u32, 1, 655, 32_768, 65_535] {
            let fraction = units as f32 / 65_536.0;
            assert_eq!(PackedStick::new([0.0, 0.0, 1.0], f64::from(fraction)).fraction(), fraction);
        }
        assert_eq!(PackedStick::new([0.0, 0.0, 1.0], 1.0).fraction(), 1.0 - 1.0 / 65_536.0);
    }

    #[test]
    fn a_stick_without_direction_keeps_its_fraction() {
        for none in [[0.0; 3], [f64::NAN, 0.0, 0.0]] {
            let packed = PackedStick::new(none, 0.25);
            assert!(!packed.has_direction());
            assert_eq!(packed.unpack(), Stick { dir_ras: [0.0; 3], fraction: 0.25 });
        }
        assert!(directions().iter().all(|v| PackedStick::new(*v, 1.0).has_direction()));
    }
}
