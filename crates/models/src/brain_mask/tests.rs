use fimbria_image::{Affine, Grid};

use super::*;

/// What is at a place of a head, mm from its middle; axes are right, front, up.
#[derive(Clone, Copy, PartialEq)]
enum Tissue {
    Brain,
    Fluid,
    Eye,
    Soft,
    Bone,
}
use Tissue::{Bone, Brain, Eye, Fluid, Soft};

fn inside([x, y, z]: [f64; 3], centre: [f64; 3], axes: [f64; 3]) -> bool {
    let part = |p: f64, c: f64, a: f64| ((p - c) / a).powi(2);
    part(x, centre[0], axes[0]) + part(y, centre[1], axes[1]) + part(z, centre[2], axes[2]) <= 1.0
}

/// An adult's head down to the neck: 1,380 ml of brain with fluid in and around it, bone, scalp,
/// muscle under the skull, eyes on their nerves, and the cord that goes down through the bone.
fn at(p: [f64; 3]) -> Option<Tissue> {
    let [x, y, z] = p;
    let from_axis = x.hypot(y + 15.0);
    let beside = [x.abs(), y, z];
    let within = |margin: f64| inside(p, [0.0; 3], [66.0, 82.0, 58.0].map(|a| a + margin));
    if inside(beside, [10.0, 10.0, 5.0], [7.0, 25.0, 10.0]) {
        return Some(Fluid);
    }
    if within(0.0) || z < 0.0 && from_axis < 8.0 {
        return Some(Brain);
    }
    if within(3.0) || z < 0.0 && from_axis < 10.0 {
        return Some(Fluid);
    }
    if inside(beside, [32.0, 85.0, -30.0], [12.0; 3]) {
        return Some(Eye);
    }
    // The nerve goes from the eye through the bone.
    if (45.0..85.0).contains(&y) && (beside[0] - 32.0 * (y - 45.0) / 40.0).hypot(z + 30.0) < 2.5 {
        return Some(Brain);
    }
    if within(8.0) || z < 0.0 && from_axis < 15.0 {
        return Some(Bone);
    }
    let is_neck = z < -40.0 && x.hypot(y + 10.0) < 55.0;
    (within(14.0) || is_neck).then_some(Soft)
}

/// The head on a grid of `mm` as an image of `signal`, brighter towards the skin where
/// `is_shaded`, and the voxels of brain and fluid above the foramen.
fn image_of(mm: f64, is_shaded: bool, signal: impl Fn(Tissue) -> f32) -> (Image, Mask) {
    let dims = [190.0, 230.0, 170.0].map(|size: f64| (size / mm) as usize);
    let grid = Grid { dims, ras_from_vox: Affine::from_spacing([mm; 3]) };
    let place = |voxel: usize| {
        let at = grid.voxel(voxel);
        std::array::from_fn(|k| (at[k] as f64 - dims[k] as f64 / 2.0) * mm + [0.0, 0.0, -10.0][k])
    };
    let mut truth = Vec::new();
    let value = |voxel: usize| {
        let p: [f64; 3] = place(voxel);
        let tissue = at(p);
        if inside(p, [0.0; 3], [69.0, 85.0, 61.0]) && tissue != Some(Bone) {
            truth.push(voxel as u32);
        }
        let distance = p.iter().map(|x| x * x).sum::<f64>().sqrt();
        let coils = if is_shaded { 0.4 + 0.6 * (distance / 75.0).powi(2) } else { 1.0 };
        // Air has a level of its own, uneven as noise is.
        tissue.map_or(3.0, &signal) * coils as f32 + (voxel * 7919 % 13) as f32
    };
    let data = (0..grid.len()).map(value).collect();
    (Image { grid, n_volumes: 1, data }, Mask { grid, voxels: truth })
}

fn dice(a: &Mask, b: &Mask) -> f64 {
    let both = VoxelSet::from_mask(a).and(&VoxelSet::from_mask(b)).count();
    2.0 * both as f64 / (a.len() + b.len()) as f64
}

/// Two volumes, without weighting and at b = 1000 s/mm².
fn series(mm: f64, is_shaded: bool) -> (Image, GradientTable, Mask) {
    let (mut image, truth) = image_of(mm, is_shaded, |tissue| match tissue {
        Brain => 400.0,
        Fluid => 900.0,
        Eye => 1000.0,
        Soft => 250.0,
        Bone => 20.0,
    });
    let (weighted, _) = image_of(mm, is_shaded, |tissue| match tissue {
        Brain => 180.0,
        Fluid => 45.0,
        Eye => 50.0,
        Soft => 90.0,
        Bone => 10.0,
    });
    image.data.extend(weighted.data);
    image.n_volumes = 2;
    let gradients = GradientTable {
        b_s_per_mm2: vec![0.0, 1000.0],
        dirs_ras: vec![[0.0; 3], [1.0, 0.0, 0.0]],
        b0_threshold: 50.0,
    };
    (image, gradients, truth)
}

/// The rim is a voxel of 2.5 mm on a ball of 69 mm: half of it is 5 % of the volume. Above that, a
/// mask has the neck, the eyes or the scalp, or lacks a lobe.
const CLOSE: f64 = 0.95;

#[test]
fn of_a_series_the_mask_is_brain_and_fluid_without_neck_eyes_and_scalp() {
    let (image, gradients, truth) = series(2.5, false);
    let mask = brain_mask(&image, &gradients, &Workers::new(2).unwrap());
    assert!(dice(&mask, &truth) > CLOSE, "{}", dice(&mask, &truth));
    assert!(mask.voxels.is_sorted());
}

#[test]
fn coils_near_the_skin_do_not_matter() {
    let (image, gradients, truth) = series(2.5, true);
    let mask = brain_mask(&image, &gradients, &Workers::new(2).unwrap());
    assert!(dice(&mask, &truth) > CLOSE, "{}", dice(&mask, &truth));
}

/// With the level that noise of magnitudes has in air in the weighted volume, and a twentieth of unevenness.
fn with_air(
    (mut image, gradients, truth): (Image, GradientTable, Mask),
    air: f32,
) -> (Image, GradientTable, Mask) {
    for (voxel, value) in image.volume_mut(1).iter_mut().enumerate() {
        let uneven = 0.95 + 0.1 * (voxel * 7919 % 13) as f32 / 12.0;
        *value = value.hypot(air) * uneven;
    }
    (image, gradients, truth)
}

#[test]
fn air_nearly_as_bright_as_the_brain_does_not_matter() {
    // 0.45 of the brain's level: of b = 3000 at a signal-to-noise ratio of 15.
    let (image, gradients, truth) = with_air(series(2.5, false), 90.0);
    let mask = brain_mask(&image, &gradients, &Workers::new(2).unwrap());
    assert!(dice(&mask, &truth) > CLOSE, "{}", dice(&mask, &truth));
}

#[test]
fn weighted_volumes_of_noise_alone_leave_the_mask_to_the_others() {
    let (mut image, gradients, _) = series(4.0, false);
    image.volume_mut(1).fill(100.0);
    let mask = brain_mask(&image, &gradients, &Workers::new(2).unwrap());
    let unweighted = Image { n_volumes: 1, data: image.volume(0).to_vec(), grid: image.grid };
    assert_eq!(mask, magnitude_mask(unweighted, &Workers::new(2).unwrap()));
}

#[test]
fn small_voxels_make_the_same_mask() {
    let (image, gradients, truth) = series(1.7, true);
    let mask = brain_mask(&image, &gradients, &Workers::new(2).unwrap());
    assert!(dice(&mask, &truth) > CLOSE, "{}", dice(&mask, &truth));
}

#[test]
fn of_a_magnitude_too_the_mask_is_the_brain() {
    let (image, truth) = image_of(2.5, true, |tissue| match tissue {
        Brain => 400.0,
        Fluid => 350.0,
        Eye => 380.0,
        Soft => 420.0,
        Bone => 150.0,
    });
    let mask = magnitude_mask(image, &Workers::new(2).unwrap());
    assert!(dice(&mask, &truth) > CLOSE, "{}", dice(&mask, &truth));
}

#[test]
fn the_mask_does_not_depend_on_the_number_of_threads() {
    let (image, gradients, _) = series(4.0, true);
    let with = |n| brain_mask(&image, &gradients, &Workers::new(n).unwrap());
    assert_eq!(with(1), with(3));
}

#[test]
fn a_piece_that_is_all_tissue_is_all_mask() {
    let grid = Grid { dims: [6, 5, 2], ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let image = Image { grid, n_volumes: 1, data: vec![70.0; grid.len()] };
    assert_eq!(magnitude_mask(image, &Workers::new(1).unwrap()), Mask::full(grid));
}

#[test]
fn an_empty_image_has_an_empty_mask() {
    let grid = Grid { dims: [4, 4, 4], ras_from_vox: Affine::IDENTITY };
    let gradients = GradientTable {
        b_s_per_mm2: vec![0.0, 1000.0],
        dirs_ras: vec![[0.0; 3], [1.0, 0.0, 0.0]],
        b0_threshold: 50.0,
    };
    let mask = brain_mask(&Image::zeros(grid, 2), &gradients, &Workers::new(1).unwrap());
    assert!(mask.is_empty());
}
