//! How far the directions found lie from two crossing fibres, by crossing angle: the figures and
//! tables of docs/crossings.md.
//!
//! `cargo run --release -p fimbria-report --example crossings -- FOLDER` writes the figures as SVG
//! to FOLDER and prints the tables. The same numbers on every run.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_report::plot::{Axes, Axis, Guide, Marks, Series, xy};
use fimbria_tensors::peaks::low_rank::{Fibre, find_low_rank};
use fimbria_tensors::peaks::{PeakOptions, find_peaks};
use fimbria_tensors::sh::{ShBasis, ShToForm, evaluate};

const ORDERS: [usize; 3] = [4, 6, 8];
/// Each angle is met in this many positions.
const POSITIONS: usize = 500;
const WEIGHTS: [f64; 2] = [0.55, 0.45];
/// Standard deviation of the noise of each harmonic over the root mean square of all harmonics.
const NOISE: f64 = 0.05;
/// ms/µm², and µm²/ms along and across a fibre.
const B: f64 = 3.0;
const DIFFUSIVITIES: [f64; 2] = [1.7, 0.3];

type Vec3 = [f64; 3];

/// What a form is made of.
#[derive(Clone, Copy, PartialEq)]
enum Profile {
    /// `Σ w (v·x)^m`: fibres as the deconvolution of Schultz and Seidel leaves them.
    Powers,
    /// `Σ w δ(v, x)` up to degree m: fibres as spherical deconvolution leaves them.
    Deltas,
    /// The apparent diffusivity `-ln(Σ w exp(-b D(x))) / b` of both, fitted by a form.
    Diffusivity,
}

/// Crossing angles in degrees.
fn angles() -> Vec<f64> {
    (0..29).map(|i| 20.0 + 2.5 * f64::from(i)).collect()
}

/// Two unit vectors that far apart; the position turns them to anywhere on the sphere.
fn fibres(degrees: f64, position: usize) -> [Vec3; 2] {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let (i, n) = (position as f64, POSITIONS as f64);
    let z = (i + 0.5) / n;
    let ((sine, cosine), r) = ((golden * i).sin_cos(), (1.0 - z * z).sqrt());
    let u = [r * cosine, r * sine, z];
    // Across u: along the meridian and along the parallel, turned by the position.
    let (meridian, parallel) = ([-z * cosine, -z * sine, r], [-sine, cosine, 0.0]);
    let (s, c) = (1.7 * i).sin_cos();
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let v = |k: usize| cosine * u[k] + sine * (c * meridian[k] + s * parallel[k]);
    [u, [v(0), v(1), v(2)]]
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Degrees between two axes.
fn angle(a: Vec3, b: Vec3) -> f64 {
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    (dot(a, b).abs() / lengths).min(1.0).acos().to_degrees()
}

/// Makes forms of one order.
struct Maker {
    profile: Profile,
    order: usize,
    noise: f64,
    convert: ShToForm,
    /// Directions of the half sphere and the harmonics there, for the diffusivity.
    samples: Vec<(Vec3, Vec<f64>)>,
}

impl Maker {
    fn new(profile: Profile, order: usize, noise: f64) -> Result<Self, Box<dyn Error>> {
        const N: usize = 2000;
        let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
        let sample = |i: usize| {
            let z = (i as f64 + 0.5) / N as f64;
            let ((sine, cosine), r) = ((golden * i as f64).sin_cos(), (1.0 - z * z).sqrt());
            let x = [r * cosine, r * sine, z];
            (x, evaluate(ShBasis::Mrtrix, order, x))
        };
        let n = if profile == Profile::Diffusivity { N } else { 0 };
        let convert = ShToForm::new(ShBasis::Mrtrix, order)?;
        Ok(Self { profile, order, noise, convert, samples: (0..n).map(sample).collect() })
    }

    /// Harmonics of the noise-free function.
    fn harmonics(&self, fibres: [Vec3; 2]) -> Vec<f64> {
        let mut sum = vec![0.0; self.convert.count()];
        let mut add = |weight: f64, values: &[f64]| {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        };
        match self.profile {
            Profile::Powers => {
                for (weight, [x, y, z]) in WEIGHTS.into_iter().zip(fibres) {
                    let mut entries = Vec::new();
                    let m = self.order as i32;
                    for of_yz in 0..=m {
                        for of_z in 0..=of_yz {
                            entries.push(x.powi(m - of_yz) * y.powi(of_yz - of_z) * z.powi(of_z));
                        }
                    }
                    add(weight, &self.convert.to_sh(&entries));
                }
            }
            Profile::Deltas => {
                for (weight, v) in WEIGHTS.into_iter().zip(fibres) {
                    add(weight, &evaluate(ShBasis::Mrtrix, self.order, v));
                }
            }
            Profile::Diffusivity => {
                // By quadrature: least squares over directions this many is the same.
                let area = 4.0 * std::f64::consts::PI / self.samples.len() as f64;
                for (x, values) in &self.samples {
                    let [along, across] = DIFFUSIVITIES;
                    let signal =
                        |v: Vec3| (-B * (across + (along - across) * dot(v, *x).powi(2))).exp();
                    let [a, b] = fibres.map(signal);
                    let diffusivity = -(WEIGHTS[0] * a + WEIGHTS[1] * b).ln() / B;
                    add(area * diffusivity, values);
                }
            }
        }
        sum
    }

    /// Unique entries in all positions of all angles.
    fn image(&self) -> Image {
        let angles = angles();
        let dims = [angles.len(), POSITIONS, 1];
        let grid = Grid { dims, ras_from_vox: Affine::IDENTITY };
        let mut image = Image::zeros(grid, self.convert.count());
        for position in 0..POSITIONS {
            for (a, &degrees) in angles.iter().enumerate() {
                let voxel = grid.index([a, position, 0]);
                let mut harmonics = self.harmonics(fibres(degrees, position));
                let squares: f64 = harmonics.iter().map(|c| c * c).sum();
                let deviation = self.noise * (squares / harmonics.len() as f64).sqrt();
                for (k, harmonic) in harmonics.iter_mut().enumerate() {
                    let random = Philox::new(1).at(voxel as u64, k as u32);
                    *harmonic += deviation * f64::from(normals::<f32>(random)[0]);
                }
                for (k, entry) in self.convert.to_form(&harmonics).into_iter().enumerate() {
                    image.volume_mut(k)[voxel] = entry as f32;
                }
            }
        }
        image
    }
}

/// For each crossing angle, the mean over fibres and positions of the angle from a fibre to the
/// nearest direction found; and the share of voxels in which there are two.
fn errors(peaks: &Image, count: &Image) -> Vec<[f64; 2]> {
    let mut rows = Vec::new();
    for (a, degrees) in angles().into_iter().enumerate() {
        let (mut error, mut pairs) = (0.0, 0.0);
        for position in 0..POSITIONS {
            let voxel = peaks.grid.index([a, position, 0]);
            let found = |place: usize| -> Vec3 {
                std::array::from_fn(|i| f64::from(peaks.volume(3 * place + i)[voxel]))
            };
            let n = count.data[voxel] as usize;
            for fibre in fibres(degrees, position) {
                let nearest = (0..n).map(|k| angle(fibre, found(k))).fold(90.0, f64::min);
                error += nearest / (2 * POSITIONS) as f64;
            }
            if n >= 2 {
                pairs += 1.0 / POSITIONS as f64;
            }
        }
        rows.push([error, pairs]);
    }
    rows
}

/// One curve: a name, and what [`errors`] gives.
type Curve = (String, Vec<[f64; 2]>);

fn curves(
    profile: Profile,
    noise: f64,
    low_rank: bool,
    on: &Backend<'_>,
) -> Result<Vec<Curve>, Box<dyn Error>> {
    let options = PeakOptions { n_peaks: 2, min_separation_deg: 10.0, ..PeakOptions::default() };
    let mut curves = Vec::new();
    for order in ORDERS {
        let forms = Maker::new(profile, order, noise)?.image();
        let mask = Mask::full(forms.grid);
        let found = find_peaks(&forms, &mask, order, &options, on, &Silent)?;
        curves.push((format!("max {order}"), errors(&found.peaks, &found.count)));
        if low_rank {
            let fibre = if profile == Profile::Deltas { Fibre::Delta } else { Fibre::RankOne };
            let found = find_low_rank(&forms, &mask, order, None, fibre, &options, on, &Silent)?;
            curves.push((format!("terms {order}"), errors(&found.peaks, &found.count)));
        }
    }
    Ok(curves)
}

/// The table of a few angles: mean error, and in brackets the share of voxels with two directions.
fn table(curves: &[Curve]) -> String {
    let shown = [30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0];
    let mut text = String::from("| directions, order |");
    shown.iter().for_each(|degrees| write!(text, " {degrees}° |").unwrap_or_default());
    text += "\n|---|";
    shown.iter().for_each(|_| text += "---|");
    for (name, rows) in curves {
        write!(text, "\n| {name} |").unwrap_or_default();
        for (degrees, [error, pairs]) in angles().iter().zip(rows) {
            if shown.contains(degrees) {
                write!(text, " {error:.1}° ({:.0} %) |", 100.0 * pairs).unwrap_or_default();
            }
        }
    }
    text
}

#[allow(clippy::print_stdout)]
fn draw(folder: &Path, name: &str, heading: &str, curves: &[Curve]) -> Result<(), Box<dyn Error>> {
    let points: Vec<Vec<[f64; 2]>> = curves
        .iter()
        .map(|(_, rows)| angles().into_iter().zip(rows).map(|(x, [y, _])| [x, *y]).collect())
        .collect();
    let series: Vec<Series<'_>> = curves
        .iter()
        .zip(&points)
        .map(|((name, _), points)| Series { name, points, marks: Marks::Line })
        .collect();
    let axes = Axes {
        heading,
        x: Axis::new("crossing angle", "°").over(20.0, 90.0),
        y: Axis::new("mean error", "°").over(0.0, 35.0),
        guides: Vec::<Guide>::new(),
    };
    fs::write(folder.join(format!("{name}.svg")), xy(&series, &axes).svg())?;
    println!("{heading}\n\n{}\n", table(curves));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: crossings FOLDER")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let workers = Workers::new(0)?;
    let on = Backend::cpu(&workers);
    let powers = curves(Profile::Powers, 0.0, true, &on)?;
    draw(folder, "crossings-powers", "Sums of powers, no noise", &powers)?;
    let noisy = curves(Profile::Powers, NOISE, true, &on)?;
    draw(folder, "crossings-noisy", "Sums of powers, 5 % noise", &noisy)?;
    let deltas = curves(Profile::Deltas, NOISE, true, &on)?;
    draw(folder, "crossings-deltas", "Sums of delta functions, 5 % noise", &deltas)?;
    let diffusivity = curves(Profile::Diffusivity, 0.0, false, &on)?;
    draw(folder, "crossings-diffusivity", "Diffusivity, no noise", &diffusivity)
}
