//! An image on another of any contrast, by mutual information.

mod ascent;
mod information;
mod levels;

use fimbria_compute::dense::vec3::{Vec3, add, sub};
use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::frames::turned;
use fimbria_image::{Affine, Grid, Image, Mask};
use rayon::prelude::*;

use self::ascent::ascend;
use self::information::{Comparison, PARAMETERS, rigid};
use self::levels::{Level, levels};

/// How images are compared.
#[derive(Clone, Debug)]
pub struct AlignOptions {
    /// Widths of the Gaussians that both are smoothed by in turn, mm, the widest first.
    pub fwhm_mm: Vec<f64>,
    /// How far they may be apart by their headers, mm and degrees: the first step.
    pub first_step: f64,
    /// Whether images may lie farther apart than that: middles are laid on each other and turned as well.
    pub searches: bool,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self { fwhm_mm: vec![8.0, 4.0, 2.0], first_step: 4.0, searches: true }
    }
}

/// A moving image of less than this part of the mask is looked for in the fixed one, not the other way round.
const SMALLER: f64 = 0.7;
/// Points that are compared.
const MOST_POINTS: usize = 40_000;
/// Of them those that starts are judged by.
const POINTS_OF_STARTS: usize = 4_000;
/// Starts that are followed beside that of the headers.
const FOLLOWED: usize = 3;
/// So much more information, above none, there must be where headers do not lead.
const CLEARLY: f64 = 1.05;
/// What starts are turned by, degrees.
const TURNS_DEG: [f64; 2] = [12.0, 25.0];
/// Steps end below this part of the width that images are smoothed by.
const LAST_STEP: f64 = 0.002;

/// The rigid motion, scanner mm of `moving` from scanner mm of `fixed`, at which the first volumes of the two have the
/// largest normalised mutual information over a mask of the fixed one (Studholme, Pattern Recognit 32, 71, 1999), by
/// ascent from coarse to fine.
///
/// Points outside the moving image do not count, so that it may cover a part only; where it is much smaller than the
/// mask, its own points are looked for in the fixed image. Numbers are the same on any threads.
///
/// # Errors
/// Where the user stops it.
pub fn align(
    fixed: &Image,
    mask: &Mask,
    moving: &Image,
    options: &AlignOptions,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Affine, Interrupted> {
    let voxel_mm3 = |grid: &Grid| grid.ras_from_vox.determinant().abs();
    let of_mask = mask.len() as f64 * voxel_mm3(&mask.grid);
    if moving.grid.len() as f64 * voxel_mm3(&moving.grid) < SMALLER * of_mask {
        let whole = Mask::full(moving.grid);
        let back = align(moving, &whole, fixed, options, workers, progress)?;
        return Ok(back.inverse().unwrap_or(Affine::IDENTITY));
    }
    let of_mask = points(mask);
    let middle = middle_of(&of_mask);
    let pyramids = workers.install(|| {
        [fixed, moving].map(|image| levels(&image.grid, image.volume(0), &options.fwhm_mm))
    });
    let [fixed_levels, moving_levels] = pyramids;
    let mut at = [0.0; PARAMETERS];
    let mut first_step = options.first_step;
    for (level, (fwhm, (fixed, moving))) in
        options.fwhm_mm.iter().zip(fixed_levels.iter().zip(moving_levels)).enumerate()
    {
        progress.check()?;
        let is_search = level == 0 && options.searches;
        // What lies around a brain shows best where the head is; how it lies the brain does.
        let of_all = is_search.then(|| points(&Mask::full(mask.grid)));
        let points = of_all.as_ref().unwrap_or(&of_mask);
        let compared = workers.install(|| Comparison::new(fixed, points, moving, middle));
        let follow = |start: [f64; PARAMETERS]| {
            ascend(start, first_step, LAST_STEP * fwhm, |at| {
                progress.check()?;
                Ok(workers.install(|| compared.information(at)))
            })
        };
        let mut best;
        (at, best) = follow(at)?;
        let others = is_search.then(|| workers.install(|| starts(&compared, fixed, middle)));
        for start in others.into_iter().flatten() {
            let (there, information) = follow(start)?;
            // Headers are right more often than not.
            if information - 1.0 > CLEARLY * (best - 1.0) {
                (at, best) = (there, information);
            }
        }
        first_step *= 0.25;
    }
    Ok(rigid(&at, middle))
}

/// Places of some voxels of a mask, scanner mm, each somewhere in its voxel: lattices that lie on each other look more
/// alike than they are (Pluim, Comput Vis Image Underst 77, 211, 2000).
fn points(mask: &Mask) -> Vec<Vec3> {
    /// Powers of the root of x⁴ = x + 1 fill a cube evenly.
    const STEPS: [f64; 3] =
        [0.819_172_513_396_164_4, 0.671_043_606_703_789_2, 0.549_700_477_901_970_3];
    let every = mask.len().div_ceil(MOST_POINTS).max(1);
    let place = |(number, &voxel): (usize, &u32)| {
        let [x, y, z] = mask.grid.voxel(voxel as usize).map(|i| i as f64);
        let [a, b, c] = STEPS.map(|step| (0.5 + step * number as f64).fract() - 0.5);
        mask.grid.ras_from_vox.apply([x + a, y + b, z + c])
    };
    mask.voxels.iter().step_by(every).enumerate().map(place).collect()
}

fn middle_of(points: &[Vec3]) -> Vec3 {
    let sum = points.iter().fold([0.0; 3], |sum, p| add(sum, *p));
    sum.map(|s| s / points.len().max(1) as f64)
}

/// The middle of what is bright of an image, scanner mm.
fn bright_middle(level: &Level) -> Vec3 {
    let Level { grid, samples, .. } = level;
    let mean = samples.iter().map(|v| f64::from(*v)).sum::<f64>() / samples.len().max(1) as f64;
    let (mut sum, mut all) = ([0.0; 3], 0.0);
    for (voxel, &value) in samples.iter().enumerate() {
        if f64::from(value) > mean {
            sum = add(sum, grid.voxel(voxel).map(|i| i as f64));
            all += 1.0;
        }
    }
    grid.ras_from_vox.apply(sum.map(|s| s / f64::max(all, 1.0)))
}

/// Where else to begin than as headers say: turned about each axis, or with middles on each other; the best few.
fn starts(compared: &Comparison, fixed: &Level, middle: Vec3) -> Vec<[f64; PARAMETERS]> {
    let centre = |grid: &Grid| grid.ras_from_vox.apply(grid.dims.map(|n| 0.5 * (n as f64 - 1.0)));
    let moving = compared.moving();
    let shifts = [
        [0.0; 3],
        sub(bright_middle(moving), bright_middle(fixed)),
        sub(bright_middle(moving), middle),
        sub(centre(&moving.grid), centre(&fixed.grid)),
    ];
    let mut all = Vec::new();
    for shift in shifts {
        let start = |turn: Vec3| {
            let turn = turn.map(information::from_angle);
            [turn[0], turn[1], turn[2], shift[0], shift[1], shift[2]]
        };
        all.push(start([0.0; 3]));
        for axis in 0..3 {
            for degrees in TURNS_DEG.into_iter().flat_map(|turn| [turn, -turn]) {
                let mut turn = [0.0; 3];
                turn[axis] = degrees.to_radians();
                all.push(start(turn));
            }
        }
    }
    let few = compared.of_few(POINTS_OF_STARTS);
    let judged = all.into_par_iter().map(|start| (few.information(&start).0, start));
    let mut judged: Vec<_> = judged.collect();
    // Stable, so that of equals the earlier one stays first.
    judged.sort_by(|a, b| b.0.total_cmp(&a.0));
    judged.into_iter().take(FOLLOWED).map(|(_, start)| start).collect()
}

/// The turn and the shift of a rigid motion: degrees about its axis, and how far it moves a place, mm.
pub fn turn_and_shift(motion: &Affine, place: Vec3) -> (f64, f64) {
    let turn = motion.linear();
    let cosine = 0.5 * ((0..3).map(|i| turn[i][i]).sum::<f64>() - 1.0);
    let moved = sub(add(turned(&turn, place), motion.0.map(|row| row[3])), place);
    (cosine.clamp(-1.0, 1.0).acos().to_degrees(), fimbria_compute::dense::vec3::norm(moved))
}
