//! Normalised mutual information, and how it changes as one image moves.

use fimbria_compute::dense::vec3::{Vec3, add, sub};
use fimbria_image::Affine;
use fimbria_image::frames::{product, turned};
use rayon::prelude::*;

use super::levels::Level;
use crate::place::rotation;
use crate::spline::{Spline, cubic, cubic_slope};

/// Three turns and three shifts.
pub(super) const PARAMETERS: usize = 6;
/// Turns count in mm at this distance from the middle, about that of the edge of a brain.
const TURN_MM: f64 = 60.0;
/// Grey values of either image.
const BINS: usize = 48;
/// Those of the moving image are shared among four bins, so that one more is needed at each end.
const WIDTH: usize = BINS + 3;
/// Where fewer of the points are in the moving image, nothing is compared.
const LEAST_OVERLAP: f64 = 0.3;
/// Points of one histogram; their sums are added in order, so that threads do not matter.
const BLOCK: usize = 4096;

/// A parameter of an angle in radians.
pub(super) fn from_angle(angle: f64) -> f64 {
    TURN_MM * angle
}

/// Turns about x, then y, then z through `middle`, then a shift, mm.
pub(super) fn rigid(at: &[f64; PARAMETERS], middle: Vec3) -> Affine {
    let turn = product(&product(&about(2, at[2]), &about(1, at[1])), &about(0, at[0]));
    let shift = add(sub(middle, turned(&turn, middle)), [at[3], at[4], at[5]]);
    Affine(std::array::from_fn(|i| [turn[i][0], turn[i][1], turn[i][2], shift[i]]))
}

fn about(axis: usize, parameter: f64) -> [[f64; 3]; 3] {
    let mut vector = [0.0; 3];
    vector[axis] = parameter / TURN_MM;
    rotation(vector)
}

/// How the rotation of [`rigid`] changes with each of its three parameters.
fn turn_slopes(at: &[f64; PARAMETERS]) -> [[[f64; 3]; 3]; 3] {
    let turns = [0, 1, 2].map(|axis| about(axis, at[axis]));
    [0, 1, 2].map(|changed| {
        // e × at the place of the turn that changes.
        let [a, b] = [(changed + 1) % 3, (changed + 2) % 3];
        let mut cross = [[0.0; 3]; 3];
        (cross[b][a], cross[a][b]) = (1.0 / TURN_MM, -1.0 / TURN_MM);
        let own = product(&turns[changed], &cross);
        let of = |axis: usize| if axis == changed { own } else { turns[axis] };
        product(&product(&of(2), &of(1)), &of(0))
    })
}

/// From values to bins: between the first and the last of 200 parts of the values.
#[derive(Clone, Copy)]
struct Grey {
    low: f32,
    per_bin: f32,
}

impl Grey {
    fn new(mut values: Vec<f32>) -> Self {
        values.sort_unstable_by(f32::total_cmp);
        let at = |part: f64| {
            let place = part * values.len().saturating_sub(1) as f64;
            values.get(place as usize).copied().unwrap_or(0.0)
        };
        let (low, high) = (at(0.005), at(0.995));
        Self { low, per_bin: (BINS - 1) as f32 / (high - low).max(f32::MIN_POSITIVE) }
    }

    /// From 0 to BINS - 1, and how it changes with the value.
    fn bin(&self, value: f32) -> (f32, f32) {
        let bin = (value - self.low) * self.per_bin;
        if bin >= (BINS - 1) as f32 {
            ((BINS - 1) as f32, 0.0)
        } else if bin > 0.0 {
            (bin, self.per_bin)
        } else {
            // NaN too.
            (0.0, 0.0)
        }
    }
}

/// Two images at one width.
pub(super) struct Comparison {
    points: Vec<Vec3>,
    /// Of the fixed image at each of them.
    bins: Vec<u8>,
    moving: Level,
    spline: Spline,
    vox_from_ras: Affine,
    grey: Grey,
    middle: Vec3,
}

/// What a point of the fixed image meets: its own bin, the bin of the moving image, and how that changes with the place
/// in scanner mm.
type Met = (u8, f32, [f32; 3]);

impl Comparison {
    pub(super) fn new(fixed: &Level, points: &[Vec3], moving: Level, middle: Vec3) -> Self {
        let inverse = |level: &Level| level.grid.ras_from_vox.inverse().unwrap_or(Affine::IDENTITY);
        let [vox_from_ras, fixed_from_ras] = [&moving, fixed].map(inverse);
        let spline = Spline::new(fixed.grid.dims, &fixed.samples);
        let value = |p: &Vec3| spline.near(fixed_from_ras.apply(*p));
        let values: Vec<f32> = points.par_iter().map(value).collect();
        let grey = Grey::new(values.clone());
        let bins = values.iter().map(|&v| grey.bin(v).0.round() as u8).collect();
        Self {
            points: points.to_vec(),
            bins,
            spline: Spline::new(moving.grid.dims, &moving.samples),
            grey: Grey::new(moving.samples.clone()),
            moving,
            vox_from_ras,
            middle,
        }
    }

    pub(super) fn moving(&self) -> &Level {
        &self.moving
    }

    /// The same of fewer points.
    pub(super) fn of_few(&self, most: usize) -> Self {
        let every = self.points.len().div_ceil(most).max(1);
        Self {
            points: self.points.iter().step_by(every).copied().collect(),
            bins: self.bins.iter().step_by(every).copied().collect(),
            moving: self.moving.clone(),
            spline: self.spline.clone(),
            ..*self
        }
    }

    /// What each point that lies in the moving image meets.
    fn met(&self, at: &[f64; PARAMETERS]) -> Vec<Vec<Option<Met>>> {
        let map = self.vox_from_ras.after(&rigid(at, self.middle));
        let axes = self.vox_from_ras.linear();
        let one = |(point, &own): (&Vec3, &u8)| {
            let (value, slope) = self.spline.with_slope(map.apply(*point))?;
            let (bin, per_value) = self.grey.bin(value);
            let along =
                |i: usize| (0..3).map(|a| f64::from(slope[a]) * axes[a][i]).sum::<f64>() as f32;
            Some((own, bin, [0, 1, 2].map(|i| per_value * along(i))))
        };
        let blocks = self.points.par_chunks(BLOCK).zip(self.bins.par_chunks(BLOCK));
        blocks.map(|(points, bins)| points.iter().zip(bins).map(one).collect()).collect()
    }

    /// (H(fixed) + H(moving)) / H(both) and its derivatives, each moving value shared among four bins by a cubic
    /// B-spline. 0 where too few points meet.
    pub(super) fn information(&self, at: &[f64; PARAMETERS]) -> (f64, [f64; PARAMETERS]) {
        let met = self.met(at);
        let histogram = |block: &Vec<Option<Met>>| {
            let mut joint = vec![0.0f64; BINS * WIDTH];
            for (own, bin, _) in block.iter().flatten() {
                let row = usize::from(*own) * WIDTH + *bin as usize;
                let shares = cubic(bin.fract());
                (0..4).for_each(|k| joint[row + k] += f64::from(shares[k]));
            }
            joint
        };
        let blocks: Vec<Vec<f64>> = met.par_iter().map(histogram).collect();
        let mut joint = vec![0.0; BINS * WIDTH];
        for block in blocks {
            joint.iter_mut().zip(block).for_each(|(sum, n)| *sum += n);
        }
        let all: f64 = joint.iter().sum();
        if all == 0.0 || all < LEAST_OVERLAP * self.points.len() as f64 {
            return (0.0, [0.0; PARAMETERS]);
        }
        joint.iter_mut().for_each(|p| *p /= all);
        let moving: Vec<f64> =
            (0..WIDTH).map(|j| joint.iter().skip(j).step_by(WIDTH).sum()).collect();
        let fixed: Vec<f64> = joint.chunks(WIDTH).map(|row| row.iter().sum()).collect();
        let [of_fixed, of_moving, both] = [&fixed, &moving, &joint].map(|p| entropy(p));
        if both <= 0.0 {
            return (0.0, [0.0; PARAMETERS]);
        }
        let information = (of_fixed + of_moving) / both;
        // How the information changes with each entry of the joint histogram; sums of changes are 0.
        let log = |p: f64| if p > 0.0 { p.ln() } else { 0.0 };
        let weight = |at: usize| (information * log(joint[at]) - log(moving[at % WIDTH])) / both;
        let weights: Vec<f64> = (0..joint.len()).map(weight).collect();
        let slopes = self.slopes(at, &met, &weights);
        (information, slopes.map(|slope| slope / all))
    }

    /// Sums over all points of how the histogram's entries change, each times its weight.
    fn slopes(
        &self,
        at: &[f64; PARAMETERS],
        met: &[Vec<Option<Met>>],
        weights: &[f64],
    ) -> [f64; PARAMETERS] {
        let turns = turn_slopes(at);
        let of_block = |(points, block): (&[Vec3], &Vec<Option<Met>>)| {
            let mut sums = [0.0; PARAMETERS];
            for (point, met) in points.iter().zip(block) {
                let Some((own, bin, slope)) = met else { continue };
                let row = usize::from(*own) * WIDTH + *bin as usize;
                let shares = cubic_slope(bin.fract());
                let by: f64 = (0..4).map(|k| f64::from(shares[k]) * weights[row + k]).sum();
                let slope = slope.map(|s| by * f64::from(s));
                let from_middle = sub(*point, self.middle);
                for axis in 0..3 {
                    let moved = turned(&turns[axis], from_middle);
                    sums[axis] += (0..3).map(|i| slope[i] * moved[i]).sum::<f64>();
                    sums[3 + axis] += slope[axis];
                }
            }
            sums
        };
        let blocks: Vec<[f64; PARAMETERS]> =
            self.points.par_chunks(BLOCK).zip(met).map(of_block).collect();
        std::array::from_fn(|i| blocks.iter().map(|block| block[i]).sum())
    }
}

fn entropy(parts: &[f64]) -> f64 {
    parts.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

#[cfg(test)]
mod tests {
    use fimbria_image::Grid;
    use fimbria_testing::Noise;

    use super::*;

    /// Blobs, and the same inverted with a gradient, at points inside.
    fn compared(n: usize) -> Comparison {
        let grid = Grid { dims: [24, 22, 20], ras_from_vox: Affine::from_spacing([2.0, 2.5, 3.0]) };
        let mut random = Noise(5);
        let blobs: Vec<[f64; 4]> =
            (0..14).map(|_| [48.0, 55.0, 60.0, 1.0].map(|size| size * random.uniform())).collect();
        let blob = |p: Vec3| -> f64 {
            let one = |b: &[f64; 4]| {
                let r: f64 = (0..3).map(|a| (p[a] - b[a]).powi(2)).sum();
                b[3] * (-r / 60.0).exp()
            };
            blobs.iter().map(one).sum()
        };
        let level = |of: &dyn Fn(Vec3) -> f64| {
            let place = |v: usize| grid.ras_from_vox.apply(grid.voxel(v).map(|i| i as f64));
            Level { grid, samples: (0..grid.len()).map(|v| of(place(v)) as f32).collect() }
        };
        let fixed = level(&blob);
        let moving = level(&|p| (2.0 - blob(p)) * (1.0 + 0.004 * p[0]));
        let points: Vec<Vec3> =
            (0..n).map(|_| [46.0, 52.0, 57.0].map(|size| size * random.uniform())).collect();
        Comparison::new(&fixed, &points, moving, [23.0, 26.0, 28.0])
    }

    /// As the definition reads: H from probabilities, each moving value shared by the spline's formula.
    fn oracle(compared: &Comparison, at: &[f64; PARAMETERS]) -> f64 {
        let spline = |x: f64| match x.abs() {
            x if x < 1.0 => 2.0 / 3.0 - x * x + 0.5 * x * x * x,
            x if x < 2.0 => (2.0 - x).powi(3) / 6.0,
            _ => 0.0,
        };
        let motion = rigid(at, compared.middle);
        let mut joint = vec![vec![0.0; WIDTH]; BINS];
        for (point, own) in compared.points.iter().zip(&compared.bins) {
            let vox = compared.vox_from_ras.apply(motion.apply(*point));
            let Some(value) = compared.spline.at(vox) else { continue };
            let bin = f64::from(compared.grey.bin(value).0);
            for (k, p) in joint[usize::from(*own)].iter_mut().enumerate() {
                *p += spline(k as f64 - 1.0 - bin);
            }
        }
        let n: f64 = joint.iter().flatten().sum();
        let h = |p: f64| if p > 0.0 { -p / n * (p / n).ln() } else { 0.0 };
        let of_fixed: f64 = joint.iter().map(|row| h(row.iter().sum())).sum();
        let of_moving: f64 = (0..WIDTH).map(|k| h(joint.iter().map(|row| row[k]).sum())).sum();
        (of_fixed + of_moving) / joint.iter().flatten().map(|p| h(*p)).sum::<f64>()
    }

    #[test]
    fn information_is_that_of_its_definition() {
        let compared = compared(9000);
        for at in [[0.0; PARAMETERS], [3.0, -2.0, 1.0, 1.5, -0.5, 2.0]] {
            let (fast, known) = (compared.information(&at).0, oracle(&compared, &at));
            // Shares of f32.
            assert!((fast - known).abs() < 1e-6, "{fast} {known}");
        }
    }

    #[test]
    fn slopes_are_differences_of_information() {
        let compared = compared(9000);
        // Small turns and shifts leave all points inside.
        let at = [0.6, -0.4, 0.5, 0.3, -0.2, 0.25];
        let (_, slopes) = compared.information(&at);
        let h = 2e-3;
        let largest = slopes.iter().fold(0.0, |most: f64, s| most.max(s.abs()));
        for parameter in 0..PARAMETERS {
            let moved = |by: f64| {
                let mut at = at;
                at[parameter] += by;
                compared.information(&at).0
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            // f32 values: 1e-7 over 4e-3; and values that pass an end of the grey scale.
            assert!(
                (difference - slopes[parameter]).abs() < 5e-3 * largest,
                "{parameter}: {difference} {slopes:?}"
            );
        }
    }

    #[test]
    fn little_overlap_is_no_information() {
        let compared = compared(1000);
        assert_eq!(compared.information(&[0.0, 0.0, 0.0, 400.0, 0.0, 0.0]).0, 0.0);
    }
}
