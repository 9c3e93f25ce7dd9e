//! Images of other contrasts, lattices and coverage, laid on each other.

use fimbria_compute::{Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_registration::{AlignOptions, align, rotation, turn_and_shift};
use fimbria_testing::Noise;

use crate::phantom::{parts, signal};

/// The head as T1w images have it: white matter bright, fluid dark, a bright rim.
fn t1w(p: [f64; 3]) -> f64 {
    let [head, brain, white, ventricle] = parts(p);
    let tissue = 0.9 * white + 0.6 * (1.0 - white);
    let within = 0.15 * ventricle + (1.0 - ventricle) * tissue;
    600.0 * head * (brain * within + (1.0 - brain) * 0.3)
}

/// A grid of voxels of this size about a middle, turned a little where `is_oblique`.
fn grid(dims: [usize; 3], mm: [f64; 3], middle: [f64; 3], is_oblique: bool) -> Grid {
    let turn = rotation(if is_oblique { [0.2, -0.1, 0.15] } else { [0.0; 3] });
    let mut ras_from_vox =
        Affine(turn.map(|row| [row[0] * mm[0], row[1] * mm[1], row[2] * mm[2], 0.0]));
    let centre = ras_from_vox.apply(dims.map(|n| 0.5 * (n as f64 - 1.0)));
    (0..3).for_each(|a| ras_from_vox.0[a][3] = middle[a] - centre[a]);
    Grid { dims, ras_from_vox }
}

/// An image of `contrast` of a head, which lies where `head_from_ras` finds it.
fn image(
    grid: Grid,
    head_from_ras: &Affine,
    contrast: impl Fn([f64; 3]) -> f64,
    sigma: f64,
) -> Image {
    let mut image = Image::zeros(grid, 1);
    let mut random = Noise(9);
    for voxel in 0..grid.len() {
        let at = grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64));
        let value = contrast(head_from_ras.apply(at));
        image.data[voxel] = random.rician(value, sigma) as f32;
    }
    image
}

fn b0(p: [f64; 3]) -> f64 {
    signal(p, [1.0, 0.0, 0.0], 0.0)
}

fn moved(turn: [f64; 3], shift: [f64; 3]) -> Affine {
    let turn = rotation(turn);
    Affine(std::array::from_fn(|i| [turn[i][0], turn[i][1], turn[i][2], shift[i]]))
}

/// How far what was found is from what is known: degrees, and mm at the middle of the head.
fn off(found: &Affine, known: &Affine) -> (f64, f64) {
    turn_and_shift(&known.inverse().unwrap().after(found), [0.0; 3])
}

fn laid(fixed: &Image, moving: &Image) -> Affine {
    let workers = Workers::new(2).unwrap();
    let mask = Mask::full(fixed.grid);
    align(fixed, &mask, moving, &AlignOptions::default(), &workers, &Silent).unwrap()
}

#[test]
fn t1w_and_b0_are_laid_on_each_other_both_ways() {
    // T1w of 1.5 mm, b0 of 2.5 mm on an oblique lattice.
    let whole = grid([110, 128, 90], [1.5; 3], [0.0; 3], false);
    let coarse = grid([60, 72, 50], [2.5; 3], [3.0, -4.0, 2.0], true);
    for (turn, shift) in [
        ([0.0; 3], [0.0; 3]),
        ([0.05, -0.03, 0.08], [4.0, -6.0, 3.0]),
        ([-0.2, 0.1, 0.25], [12.0, 25.0, -20.0]),
    ] {
        // The head of the T1w image lies elsewhere than that of the series.
        let known = moved(turn, shift);
        let fixed = image(coarse, &Affine::IDENTITY, b0, 30.0);
        let moving = image(whole, &known.inverse().unwrap(), t1w, 15.0);
        for (found, known) in
            [(laid(&fixed, &moving), known), (laid(&moving, &fixed), known.inverse().unwrap())]
        {
            let (degrees, mm) = off(&found, &known);
            // A tenth of the coarser voxel.
            assert!(degrees < 0.2 && mm < 0.25, "{turn:?} {shift:?}: {degrees} degrees, {mm} mm");
        }
    }
}

#[test]
fn a_slab_finds_its_place_in_a_whole_head() {
    let whole = grid([110, 128, 90], [1.5; 3], [0.0; 3], false);
    let slab = grid([70, 80, 16], [2.0, 2.0, 2.5], [0.0, 0.0, 10.0], true);
    let known = moved([0.06, 0.04, -0.05], [3.0, -5.0, 4.0]);
    let fixed = image(slab, &Affine::IDENTITY, b0, 30.0);
    let moving = image(whole, &known.inverse().unwrap(), t1w, 15.0);
    for (found, known) in
        [(laid(&fixed, &moving), known), (laid(&moving, &fixed), known.inverse().unwrap())]
    {
        let (degrees, mm) = off(&found, &known);
        assert!(degrees < 0.3 && mm < 0.5, "{degrees} degrees, {mm} mm");
    }
}

#[test]
fn threads_change_no_bit() {
    let lattice = grid([40, 48, 32], [4.0; 3], [0.0; 3], false);
    let fixed = image(lattice, &Affine::IDENTITY, b0, 20.0);
    let moving = image(lattice, &moved([0.05, 0.0, 0.1], [2.0, 3.0, 1.0]), t1w, 10.0);
    let mask = Mask::full(lattice);
    let with = |threads: usize| {
        let workers = Workers::new(threads).unwrap();
        align(&fixed, &mask, &moving, &AlignOptions::default(), &workers, &Silent).unwrap()
    };
    assert_eq!(with(1), with(3));
}
