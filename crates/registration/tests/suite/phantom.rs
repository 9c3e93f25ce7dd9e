//! A head of formulas: its signal at any place, so that motion and fields are exact.

use fimbria_image::frames::{transposed, turned};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_registration::{Lattice, Place};
use fimbria_testing::Noise;
use rayon::prelude::*;

pub(crate) const GRID_DIMS: [usize; 3] = [64, 76, 48];
const VOXEL_MM: f64 = 2.5;
/// Half axes of the head.
const HEAD_MM: [f64; 3] = [66.0, 80.0, 54.0];

/// Voxel axes are scanner axes; the middle is the scanner's.
pub(crate) fn grid() -> Grid {
    let mut ras_from_vox = Affine::from_spacing([VOXEL_MM; 3]);
    (0..3).for_each(|a| ras_from_vox.0[a][3] = -0.5 * VOXEL_MM * (GRID_DIMS[a] as f64 - 1.0));
    Grid { dims: GRID_DIMS, ras_from_vox }
}

/// 1 well inside an ellipsoid, 0 well outside, over about 3 mm.
fn inside(p: [f64; 3], middle: [f64; 3], half: [f64; 3]) -> f64 {
    let r = (0..3).map(|a| ((p[a] - middle[a]) / half[a]).powi(2)).sum::<f64>().sqrt();
    let mm = (r - 1.0) * half.iter().copied().fold(f64::INFINITY, f64::min);
    1.0 / (1.0 + (mm / 0.8).exp())
}

/// How much of a place is head, of that brain, of that white matter and ventricle.
pub(crate) fn parts(p: [f64; 3]) -> [f64; 4] {
    let [x, y, z] = p;
    let head = inside(p, [0.0; 3], HEAD_MM);
    if head < 1e-4 {
        return [0.0; 4];
    }
    let fold = 1.0 + 0.06 * (x / 5.0).sin() * (y / 6.0).cos() * (z / 5.5 + 0.7).sin();
    let brain = inside(p, [0.0; 3], HEAD_MM.map(|h| (h - 5.0) * fold));
    let white = inside(p, [0.0, 0.0, 2.0], HEAD_MM.map(|h| (h - 13.0) * (2.0 * fold - 1.0)));
    let left = inside(p, [-13.0, 4.0, 8.0], [7.0, 26.0, 9.0]);
    let right = inside(p, [13.0, 0.0, 8.0], [8.0, 24.0, 10.0]);
    [head, brain, white, (left + right).min(1.0)]
}

/// The signal of the head at a place along a gradient: fluid in the ventricles and around the brain, white
/// matter whose fibres bend, and grey matter that folds.
pub(crate) fn signal(p: [f64; 3], dir: [f64; 3], b_s_per_mm2: f64) -> f64 {
    let [x, y, z] = p;
    let [head, brain, white, ventricle] = parts(p);
    if head == 0.0 {
        return 0.0;
    }
    // Fibres bend several times along each axis, so that no shift of the head is like a turn of gradients.
    let angle = 1.3 * (x / 15.0 + 1.0).sin() + 1.1 * (z / 12.0).sin() + (y / 17.0).cos();
    let bend = 0.9 * (y / 14.0 + z / 21.0).sin() + 0.6 * (x / 18.0).cos();
    let fibre = [angle.cos() * bend.cos(), bend.sin(), angle.sin() * bend.cos()];
    let c: f64 = (0..3).map(|a| fibre[a] * dir[a]).sum();
    let b = b_s_per_mm2;
    let of_white = 0.7 * (-b * (0.35e-3 + 1.35e-3 * c * c)).exp();
    let of_grey = 0.85 * (-b * 0.85e-3).exp();
    let of_fluid = 1.6 * (-b * 3.0e-3).exp();
    let tissue = white * of_white + (1.0 - white) * of_grey;
    let within = ventricle * of_fluid + (1.0 - ventricle) * tissue;
    1000.0 * head * (brain * within + (1.0 - brain) * of_fluid)
}

/// How far the head at a place is shifted along the second axis, mm, and how that changes along each axis.
pub(crate) type Shift = fn([f64; 3]) -> (f64, [f64; 3]);

/// The series of a head that lies at these places, with Rician noise.
pub(crate) fn series(table: &GradientTable, places: &[Place], sigma: f64) -> Image {
    distorted_series(table, places, sigma, &|_| |_| (0.0, [0.0; 3]))
}

/// The same of a head whose own field shifts what each volume shows.
pub(crate) fn distorted_series(
    table: &GradientTable,
    places: &[Place],
    sigma: f64,
    shift_of: &(dyn Fn(usize) -> Shift + Sync),
) -> Image {
    /// Newton's steps that find the head at a point.
    const STEPS: usize = 5;
    const POINTS: [f64; 2] = [-0.25, 0.25];
    let grid = grid();
    let lattice = Lattice::new(&grid);
    let mut image = Image::zeros(grid, table.len());
    let n = grid.len();
    image.data.par_chunks_mut(n).enumerate().for_each(|(v, samples)| {
        let (place, shift) = (&places[v], shift_of(v));
        let dir = turned(&transposed(&place.turn), table.dirs_ras[v]);
        let mut random = Noise(77 + 1_000_003 * v as u64);
        for (voxel, sample) in samples.iter_mut().enumerate() {
            let middle = lattice.place(voxel);
            let mut sum = 0.0;
            for point in 0..8 {
                let at: [f64; 3] =
                    std::array::from_fn(|a| middle[a] + VOXEL_MM * POINTS[point >> a & 1]);
                // Along the scanner's axis the head's field changes as along R^T e.
                let slope = |(_, slopes): (f64, [f64; 3])| -> f64 {
                    (0..3).map(|a| place.turn[1][a] * slopes[a]).sum()
                };
                let mut without = at;
                let mut head = place.invert(without);
                for _ in 0..if shift(head).0 != 0.0 { STEPS } else { 0 } {
                    let own = shift(head);
                    without[1] -= (without[1] + own.0 - at[1]) / (1.0 + slope(own));
                    head = place.invert(without);
                }
                let jacobian = place.apply(head).1 + slope(shift(head));
                sum += signal(head, dir, table.b_s_per_mm2[v]) / jacobian / 8.0;
            }
            *sample = random.rician(sum, sigma) as f32;
        }
    });
    image
}

/// Voxels of the head in its frame.
pub(crate) fn mask() -> Mask {
    let grid = grid();
    let lattice = Lattice::new(&grid);
    let is_in =
        |v: &u32| inside(lattice.place(*v as usize), [0.0; 3], HEAD_MM.map(|h| h - 5.0)) > 0.5;
    Mask { grid, voxels: (0..grid.len() as u32).filter(is_in).collect() }
}

/// Distances, mm, between where places of the mask appear by two descriptions: median and largest.
pub(crate) fn distance(a: &Place, b: &Place, mask: &Mask) -> [f64; 2] {
    let lattice = Lattice::new(&mask.grid);
    let each = mask.voxels.iter().step_by(37).map(|&v| {
        let p = lattice.place(v as usize);
        let [a, b] = [a.apply(p).0, b.apply(p).0];
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    });
    let mut all: Vec<f64> = each.collect();
    all.sort_by(f64::total_cmp);
    [all[all.len() / 2], all[all.len() - 1]]
}

/// The angle between two rotations, degrees.
pub(crate) fn angle_deg(a: &Place, b: &Place) -> f64 {
    let trace: f64 = (0..3).map(|i| (0..3).map(|k| a.turn[k][i] * b.turn[k][i]).sum::<f64>()).sum();
    (0.5 * (trace - 1.0)).clamp(-1.0, 1.0).acos().to_degrees()
}
