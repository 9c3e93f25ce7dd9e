//! A sheet of voxels with one or two fibres each, as higher-order tensors.

use fimbria_compute::philox::{Philox, normals, uniform};
use fimbria_image::{Grid, Image};
use fimbria_memory::try_vec;
use fimbria_tensors::layout::{Layout, multinomial};

use crate::PhantomError;
use crate::bundle::unit;
use crate::placement::Placement;
use crate::truth::TruthMap;
use fimbria_compute::dense::vec3::Vec3;

/// What [`tensors`] makes.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorsSpec {
    /// Voxels along x and y.
    pub size: [usize; 2],
    /// Order of the tensors: 4, 6 or 8.
    pub order: usize,
    /// Crossing angles in degrees where x is least and where it is greatest, linear in between; 0
    /// to 90.
    pub angles_deg: [f64; 2],
    /// Standard deviation of normal noise on every unique entry, relative to the largest value a
    /// single fibre gives the form.
    pub noise: f64,
    /// Seed of fractions, tilts and noise.
    pub seed: u64,
}

impl Default for TensorsSpec {
    /// The size of the paper's set: 1024 tensors of order 4, without noise.
    fn default() -> Self {
        Self { size: [32, 32], order: 4, angles_deg: [60.0, 90.0], noise: 0.0, seed: 1 }
    }
}

/// A sheet of tensors and what is known about it.
#[derive(Clone, Debug)]
pub struct TensorSheet {
    /// Unique entries in lexicographic order, one volume each, scanner axes.
    pub hot: Image,
    /// What went in; see [`tensors`].
    pub truth: Vec<TruthMap>,
}

/// The part of the form that is the same in all directions.
const ISOTROPIC: f64 = 0.1;

/// Makes a sheet after the test set of Ballard, Kolda and Plantenga (section V.A: a 2-D array of
/// voxels with one or two fibres): the middle half of the rows has two fibres, the others one.
///
/// The form of a voxel is D(g) = 0.1 |g|ᵐ + Σ f_k (u_k·g)ᵐ. With one fibre f = 1 and its maximum is
/// at the fibre; with two, f is between 0.4 and 0.6 and the maxima are near them where their angle
/// is large enough for the order. The first fibre turns by 60° about z along x, the second crosses
/// it at [`TensorsSpec::angles_deg`]; both are tilted out of the plane at random by up to 0.2.
///
/// | truth | volumes | content |
/// |---|---|---|
/// | `dirs` | 6 | unit directions of two fibres, larger fraction first, scanner axes, 0 = none |
/// | `fractions` | 2 | f of each |
/// | `count` | 1 | number of fibres |
/// | `angle` | 1 | angle between the fibres, degrees; NaN with one |
///
/// Numbers are keyed by (seed, voxel): the same bits everywhere.
///
/// # Errors
/// [`PhantomError`] where the specification is out of range.
pub fn tensors(spec: &TensorsSpec) -> Result<TensorSheet, PhantomError> {
    let TensorsSpec { size: [nx, ny], order, angles_deg, noise, seed } = *spec;
    PhantomError::require(matches!(order, 4 | 6 | 8), "order", order, "4, 6 or 8")?;
    let angles = angles_deg.iter().all(|angle| (0.0..=90.0).contains(angle));
    PhantomError::require(angles, "crossing angles", angles_deg, "0 to 90 degrees")?;
    let valid = noise.is_finite() && noise >= 0.0;
    PhantomError::require(valid, "noise", noise, "0 or more")?;
    let grid = sheet(nx, ny)?;
    let layout = Layout::new(order, 3).map_err(|_| PhantomError::Grid { dims: grid.dims })?;
    let classes: Vec<Vec<usize>> = layout.index_classes().collect();
    let isotropic = identity(&classes);
    memory(&grid, classes.len())?;

    let mut hot = Image::zeros(grid, classes.len());
    let mut dirs = Image::zeros(grid, 6);
    let mut fractions = Image::zeros(grid, 2);
    let mut count = Image::zeros(grid, 1);
    let mut angle = Image::zeros(grid, 1);
    for voxel in 0..grid.len() {
        let [x, y, _] = grid.voxel(voxel);
        let fibres = fibres(spec, voxel, along(x, nx), along(y, ny));
        for (volume, class) in classes.iter().enumerate() {
            let of = |u: &Vec3| class.iter().map(|&i| u[i]).product::<f64>();
            let sum: f64 = fibres.iter().map(|(fraction, u)| fraction * of(u)).sum();
            let [normal, ..] =
                normals::<f32>(Philox::new(seed).stream(1).at(voxel as u64, volume as u32));
            let entry = sum + ISOTROPIC * isotropic[volume] + noise * f64::from(normal);
            hot.volume_mut(volume)[voxel] = entry as f32;
        }
        for (k, (fraction, u)) in fibres.iter().enumerate() {
            fractions.volume_mut(k)[voxel] = *fraction as f32;
            (0..3).for_each(|i| dirs.volume_mut(3 * k + i)[voxel] = u[i] as f32);
        }
        count.data[voxel] = fibres.len() as f32;
        angle.data[voxel] = match &fibres[..] {
            [(_, u), (_, v)] => {
                let cosine = (0..3).map(|i| u[i] * v[i]).sum::<f64>().abs();
                cosine.min(1.0).acos().to_degrees() as f32
            }
            _ => f32::NAN,
        };
    }
    let truth = vec![
        TruthMap {
            name: "dirs",
            description: "fibre directions, x y z per fibre, scanner axes, 0 = none",
            image: dirs,
        },
        TruthMap { name: "fractions", description: "fractions of two fibres", image: fractions },
        TruthMap { name: "count", description: "number of fibres", image: count },
        TruthMap {
            name: "angle",
            description: "angle between the fibres, degrees; NaN with one",
            image: angle,
        },
    ];
    Ok(TensorSheet { hot, truth })
}

/// Fractions, larger first, and unit directions in scanner axes of a voxel's fibres.
fn fibres(spec: &TensorsSpec, voxel: usize, x: f64, y: f64) -> Vec<(f64, Vec3)> {
    /// A turn of the whole that puts nothing along an axis.
    const FIRST_DEG: f64 = -17.0;
    const TURN_DEG: f64 = 60.0;
    const TILT: f64 = 0.2;
    let words = Philox::new(spec.seed).at(voxel as u64, 0);
    let [a, b, c, _] = words.map(|word| f64::from(uniform::<f32>(word)));
    let fibre = |degrees: f64, drawn: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        unit([cos, sin, TILT * (2.0 * drawn - 1.0)])
    };
    let first_deg = FIRST_DEG + TURN_DEG * x;
    let first = fibre(first_deg, a);
    if !(0.25..0.75).contains(&y) {
        return vec![(1.0, first)];
    }
    let [least, greatest] = spec.angles_deg;
    let second = fibre(first_deg + least + (greatest - least) * x, b);
    let fraction = 0.4 + 0.2 * c;
    let mut both = vec![(fraction, first), (1.0 - fraction, second)];
    both.sort_by(|a, b| b.0.total_cmp(&a.0));
    both
}

/// Where voxel `i` of `n` lies between 0 and 1.
fn along(i: usize, n: usize) -> f64 {
    (i as f64 + 0.5) / n as f64
}

/// Unique entries of the form |g|ᵐ: its coefficient of x²ⁱy²ʲz²ᵏ is (m/2)!/(i!j!k!), shared by all
/// entries of the class.
fn identity(classes: &[Vec<usize>]) -> Vec<f64> {
    let entry = |class: &Vec<usize>| {
        let halved: Vec<usize> = class.iter().copied().step_by(2).collect();
        // Indices are sorted: each occurs an even number of times where they come in pairs.
        let paired = class.chunks_exact(2).all(|pair| pair[0] == pair[1]);
        if paired { multinomial(&halved) / multinomial(class) } else { 0.0 }
    };
    classes.iter().map(entry).collect()
}

/// A grid of one slice of 2 mm voxels around the scanner's origin.
fn sheet(nx: usize, ny: usize) -> Result<Grid, PhantomError> {
    Placement { dims: [nx, ny, 1], voxel_mm: [2.0; 3], tilt_deg: [0.0; 3], x_right_to_left: true }
        .grid()
}

/// Refuses what does not fit before anything is allocated.
fn memory(grid: &Grid, n_volumes: usize) -> Result<(), PhantomError> {
    let voxels = grid.len();
    let bytes = voxels as u128 * (n_volumes as u128 + 10) * 4;
    let fits = usize::try_from(bytes).is_ok_and(|bytes| try_vec::<u8>(bytes).is_ok());
    if fits { Ok(()) } else { Err(PhantomError::Memory { n_volumes, voxels, bytes }) }
}

#[cfg(test)]
mod tests {
    use fimbria_tensors::general;

    use super::*;

    /// The form of a voxel along g.
    fn form(sheet: &TensorSheet, order: usize, voxel: usize, g: &Vec3) -> f64 {
        let layout = Layout::new(order, 3).unwrap();
        let entries: Vec<f64> =
            (0..layout.len()).map(|v| f64::from(sheet.hot.volume(v)[voxel])).collect();
        general::form(&layout, &entries, g)
    }

    fn map<'a>(sheet: &'a TensorSheet, name: &str) -> &'a Image {
        &sheet.truth.iter().find(|map| map.name == name).unwrap().image
    }

    #[test]
    fn the_form_is_that_of_the_fibres_of_the_truth() {
        for order in [4, 6, 8] {
            let made = tensors(&TensorsSpec { order, ..TensorsSpec::default() }).unwrap();
            let (dirs, fractions) = (map(&made, "dirs"), map(&made, "fractions"));
            for voxel in [0, 37, 500, 530, 1023] {
                for g in [[1.0, 0.0, 0.0], [0.6, 0.0, 0.8], [0.48, 0.6, 0.64]] {
                    let of = |k: usize| {
                        let cosine: f64 =
                            (0..3).map(|i| f64::from(dirs.volume(3 * k + i)[voxel]) * g[i]).sum();
                        f64::from(fractions.volume(k)[voxel]) * cosine.powi(order as i32)
                    };
                    let expected = 0.1 + of(0) + of(1);
                    // Directions and up to 45 entries in single precision.
                    let got = form(&made, order, voxel, &g);
                    assert!((got - expected).abs() < 1e-5, "{got} {expected}");
                }
            }
        }
    }

    #[test]
    fn the_middle_rows_have_two_fibres_at_the_angles_asked_for() {
        let made = tensors(&TensorsSpec::default()).unwrap();
        let (count, angle) = (map(&made, "count"), map(&made, "angle"));
        assert_eq!(made.hot.n_volumes, 15);
        assert_eq!(count.data.iter().filter(|&&c| c == 2.0).count(), 512);
        assert_eq!(count.data.iter().filter(|&&c| c == 1.0).count(), 512);
        for (count, angle) in count.data.iter().zip(&angle.data) {
            assert_eq!(*count == 1.0, angle.is_nan());
            // Tilts of up to 11 degrees against each other add to the angle in the plane, which is 60
            // to 90, and are folded back at 90.
            assert!(angle.is_nan() || (57.0..=90.0).contains(angle), "{angle}");
        }
    }

    #[test]
    fn the_seed_decides_and_noise_has_the_size_asked_for() {
        let of = |seed, noise| {
            tensors(&TensorsSpec { seed, noise, ..TensorsSpec::default() }).unwrap().hot.data
        };
        assert_eq!(of(1, 0.0), of(1, 0.0));
        assert_ne!(of(1, 0.0), of(2, 0.0));
        let (clean, noisy) = (of(3, 0.0), of(3, 0.05));
        let squares: f64 = clean.iter().zip(&noisy).map(|(c, n)| f64::from(n - c).powi(2)).sum();
        let deviation = (squares / clean.len() as f64).sqrt();
        // The standard error of a standard deviation from 15360 samples is 0.6 %; five of them.
        assert!((deviation / 0.05 - 1.0).abs() < 0.03, "{deviation}");
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let usual = TensorsSpec::default;
        for spec in [
            TensorsSpec { order: 5, ..usual() },
            TensorsSpec { size: [0, 4], ..usual() },
            TensorsSpec { size: [1 << 40, 1 << 40], ..usual() },
            TensorsSpec { angles_deg: [0.0, 91.0], ..usual() },
            TensorsSpec { angles_deg: [f64::NAN, 90.0], ..usual() },
            TensorsSpec { noise: -1.0, ..usual() },
            TensorsSpec { noise: f64::INFINITY, ..usual() },
        ] {
            assert!(tensors(&spec).is_err(), "{spec:?}");
        }
    }
}
