//! Which planes of a column each source reaches.

use std::ops::Range;

use fimbria_compute::{Lanes, Real, Words};
use pulp::Simd;

use super::columns::HALF_FOOT;
use super::source::Source;

/// Sources come in groups of as many; the widest register holds no more.
pub(crate) const STEP: usize = 16;

/// Added to every reach, in units of the window's half length: more than f32 rounds in volumes of
/// 10,000 voxels a side. A plane taken for nothing costs time only.
const SLACK: f32 = 0.01;

/// Added to a number below 2²² in size, leaves its nearest whole number in the low bits.
const TO_WHOLE: f32 = 12_582_912.0;
const WHOLE_BITS: u32 = 0xffff;

/// The slabs |w| <= 1 of sources, each number of all of them together: a column whose middle is at
/// (p, q) meets source i where plane r is `half` from `middle - slope[0] p - slope[1] q` or nearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    middle: Vec<f32>,
    slope: [Vec<f32>; 2],
    /// Less ½, so that rounding to the nearest plane rounds up.
    half: Vec<f32>,
    /// Planes that a source reaches in a column.
    planes: Vec<f32>,
}

/// A source, and the planes that it reaches: from the lower half's to before the upper half's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) source: u32,
    span: u32,
}

impl Hit {
    #[inline(always)]
    pub(crate) fn planes(self) -> Range<usize> {
        (self.span & WHOLE_BITS) as usize..(self.span >> 16) as usize
    }
}

/// Half of a source's reach along a column, planes: that of the slab in any voxel of the foot.
pub(crate) fn half_reach(source: &Source<f32>) -> f32 {
    let w = source.w.map(f32::abs);
    (1.0 + HALF_FOOT * (w[0] + w[1]) + SLACK) / w[2]
}

impl Reach {
    /// Of `sources`, in columns of `planes`; without `cull` each reaches all of them.
    pub(crate) fn new(sources: &[Source<f32>], planes: usize, cull: bool) -> Self {
        let mut reach = Self::default();
        for source in sources {
            let slope = [0, 1].map(|a| if cull { source.w[a] / source.w[2] } else { 0.0 });
            let [p, q, r] = source.at;
            let half = half_reach(source);
            let (middle, half, planes) = if cull {
                (r + slope[0] * p + slope[1] * q, half, (2.0 * half).floor() + 1.0)
            } else {
                (0.0, 0.0, planes as f32)
            };
            reach.push(middle, slope, half - 0.5, planes);
        }
        while !reach.planes.len().is_multiple_of(STEP) {
            reach.push(0.0, [0.0; 2], 0.0, 0.0);
        }
        reach
    }

    fn push(&mut self, middle: f32, slope: [f32; 2], half: f32, planes: f32) {
        self.middle.push(middle);
        self.slope[0].push(slope[0]);
        self.slope[1].push(slope[1]);
        self.half.push(half);
        self.planes.push(planes);
    }

    /// Puts the sources among `range` that reach the planes of `span` in a column around `middle`
    /// into `hits`, ascending. The range begins at a multiple of [`STEP`].
    #[inline(always)]
    pub(crate) fn hits<S: Simd>(
        &self,
        simd: S,
        middle: [f32; 2],
        span: [u32; 2],
        range: Range<usize>,
        hits: &mut Vec<Hit>,
    ) {
        let n = Lanes::<S>::LANES;
        let [p, q] = [Lanes::new(simd, middle[0]), Lanes::new(simd, middle[1])];
        let [from, to] = [Lanes::new(simd, span[0] as f32), Lanes::new(simd, span[1] as f32)];
        let bits = Words::new(simd, WHOLE_BITS);
        hits.clear();
        hits.resize(range.len().next_multiple_of(STEP), Hit { source: 0, span: 0 });
        let mut spans = [0_u32; STEP];
        let mut kept = 0;
        let mut i = range.start;
        while i < range.end {
            let r = Lanes::load(simd, &self.slope[0][i..])
                .neg_mul_add(p, Lanes::load(simd, &self.middle[i..]));
            let r = Lanes::load(simd, &self.slope[1][i..]).neg_mul_add(q, r);
            let low = (r - Lanes::load(simd, &self.half[i..]) + TO_WHOLE) - TO_WHOLE;
            let first = low.max(from);
            let after = (low + Lanes::load(simd, &self.planes[i..])).min(to).max(first);
            let first = (first + TO_WHOLE).to_word() & bits;
            let after = (after + TO_WHOLE).to_word() & bits;
            (first | (after << 16)).store(&mut spans[..n]);
            // No branch that could be guessed wrong: each is written, and kept where it counts.
            for (lane, &span) in spans[..n].iter().enumerate() {
                let hit = Hit { source: (i + lane) as u32, span };
                hits[kept] = hit;
                kept += usize::from(!hit.planes().is_empty());
            }
            i += n;
        }
        hits.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cylinder, Geometry};

    #[test]
    fn no_voxel_within_a_slab_is_missed() {
        let geometry = Geometry {
            dims: [40; 3],
            spacing: [0.8, 1.0, 1.25],
            b0: [0.0, 0.6, 0.8],
            reversed: [false; 3],
        };
        let axes = [1, 2, 0];
        let axis = |i: usize| {
            let t = i as f64;
            // Steepest along x, in steps of voxels, as columns along x want.
            [1.0 + (0.3 * t).sin().abs(), 0.7 * (0.7 * t).cos(), 0.5 * (1.1 * t).sin()]
        };
        let sources: Vec<Source<f32>> = (0..37)
            .map(|i| {
                let cylinder = Cylinder::new(&geometry, axis(i)).unwrap();
                Source::new(&geometry, [i, 39 - i, (7 * i) % 40], &cylinder, axes)
            })
            .collect();
        let reach = Reach::new(&sources, 40, true);
        let (mut hits, mut within) = (Vec::new(), 0);
        for foot in 0..100 {
            let corner = [(foot % 10 * 4) as f32, (foot / 10 * 4) as f32];
            let middle = corner.map(|c| c + HALF_FOOT);
            reach.hits(pulp::Scalar::new(), middle, [2, 39], 0..sources.len(), &mut hits);
            for (index, source) in sources.iter().enumerate() {
                let hit = hits.iter().find(|hit| hit.source as usize == index);
                for r in 2..39 {
                    let is_within = (0..16).any(|i| {
                        let d = [corner[0] + (i % 4) as f32, corner[1] + (i / 4) as f32, r as f32];
                        let w: f32 = (0..3).map(|a| source.w[a] * (d[a] - source.at[a])).sum();
                        w.abs() < 1.0
                    });
                    let is_hit = hit.is_some_and(|hit| hit.planes().contains(&r));
                    assert!(is_hit || !is_within, "source {index} foot {foot} plane {r}");
                    within += usize::from(is_within);
                }
            }
        }
        assert!(within > 10_000, "{within} planes were looked at only");
    }
}
