//! Lesions that only diffusion sees are not painted into maps of susceptibility, on heads of either physics of
//! white matter, and what a field has stays as it is.

use fimbria_compute::Workers;
use fimbria_qsm::background::Local;

use crate::maps::mean;
use crate::scene::{SCENES, Scene, SceneSpec, Seen};

/// More in a sphere, ppb, was not seen by the field: a fifth of what is said of multiple sclerosis.
const MOST_PPB: f64 = 1.0;

struct Painted {
    seen: Seen,
    /// What lesions in the diffusion images add to their mean, ppb: guided everywhere, and where TV agrees.
    painted: [f64; 2],
    /// What the map of TV is off by there, and that which is guided where TV agrees, ppb.
    off: [f64; 2],
}

/// Of the field that the echoes of a scene show, noise-free.
fn painted(name: &str, voxel_mm: f64) -> (Vec<Painted>, [f64; 3]) {
    let workers = Workers::new(2).unwrap();
    let spec = SCENES.iter().find(|spec| spec.name == name).unwrap();
    let scene = Scene::new(&SceneSpec { voxel_mm, ..*spec }, &workers).unwrap();
    let field: Local = scene.true_field();
    let (tv, [without, with]) = scene.three_ways(&field, &workers).unwrap();
    let inside = &scene.inside.voxels;
    let of = |lesion: &crate::scene::Lesion| {
        let voxels = &lesion.voxels;
        let ppb = |map: &[f32]| 1e3 * (mean(map, voxels) - mean(map, inside));
        let of_way = |way: usize| 1e3 * (mean(&with[way], voxels) - mean(&without[way], voxels));
        let off = [&tv, &with[1]].map(|map| ppb(map) - ppb(&scene.chi));
        Painted { seen: lesion.seen, painted: [of_way(0), of_way(1)], off }
    };
    let errors = [&tv, &without[0], &without[1]].map(|map| scene.error(map));
    (scene.lesions.iter().map(of).collect(), errors)
}

fn held(name: &str, voxel_mm: f64) {
    let (lesions, [of_tv, everywhere, supported]) = painted(name, voxel_mm);
    let mut worst_everywhere = 0.0_f64;
    for Painted { seen, painted, .. } in &lesions {
        if *seen == Seen::Diffusion {
            assert!(painted[1].abs() < MOST_PPB, "{name}: {painted:?} ppb");
            worst_everywhere = worst_everywhere.max(painted[0].abs());
        }
    }
    // The test can fail: guidance everywhere does paint here.
    assert!(worst_everywhere > 2.0 * MOST_PPB, "{name}: {worst_everywhere} ppb");
    // Oedema is as the truth has it, or as far off as what knows nothing of diffusion.
    let oedema = lesions.iter().find(|lesion| lesion.seen == Seen::Oedema).unwrap();
    assert!(oedema.off[1].abs() < oedema.off[0].abs() + MOST_PPB, "{name}: {:?}", oedema.off);
    // Guidance still gains.
    assert!(everywhere < of_tv && supported < 0.99 * of_tv, "{name}: {supported} of {of_tv}");
}

#[test]
fn guidance_paints_no_lesion_that_only_diffusion_sees_where_white_matter_is_tensors() {
    held("isotropic", 3.0);
}

#[test]
fn guidance_paints_no_lesion_that_only_diffusion_sees_where_white_matter_is_hollow_cylinders() {
    // Half the time of 3 mm.
    held("hollow", 4.0);
}

/// Where total variation is off, guidance mends it, and a lesion in the diffusion images takes that away: more than a
/// part in a thousand million, but the map stays nearer to the truth than that without guidance.
#[test]
fn in_large_voxels_a_lesion_takes_guidance_away_and_no_more() {
    let (lesions, _) = painted("isotropic", 4.0);
    let of_diffusion = || lesions.iter().filter(|lesion| lesion.seen == Seen::Diffusion);
    for Painted { painted, off, .. } in of_diffusion() {
        // Guided everywhere it is 4.6 ppb, where support is asked for 2.1.
        assert!(painted[1].abs() < MOST_PPB.max(0.5 * painted[0].abs()), "{painted:?} ppb");
        assert!(off[1].abs() < off[0].abs(), "{off:?} ppb");
    }
    // Of one of them it is more than of any in voxels of 3 mm.
    assert!(of_diffusion().any(|lesion| lesion.painted[1].abs() > MOST_PPB));
}
