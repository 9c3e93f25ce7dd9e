//! The tables.

use fimbria_compute::Workers;

use crate::maps::{Made, nothing_outside};
use crate::scene::{Lesion, Scene};

pub(crate) type Table = fn(&Scene, &Workers) -> Made<()>;

pub(crate) const TABLES: &[(&str, Table)] = &[("lesions", lesions)];

fn mean(map: &[f32], voxels: &[u32]) -> f64 {
    voxels.iter().map(|&v| f64::from(map[v as usize])).sum::<f64>() / voxels.len().max(1) as f64
}

/// From the field that the echoes show less the true background, noise-free: errors of TV and dtv, and what
/// lesions in the diffusion images make.
fn lesions(scene: &Scene, workers: &Workers) -> Made<()> {
    let field = scene.true_field();
    let variation = nothing_outside();
    let (tv, _) = scene.map(&field, None, variation, workers)?;
    let (guided, _) =
        scene.map(&field, Some(&scene.guidance(false, 1.0, 1)), variation, workers)?;
    let (with, _) = scene.map(&field, Some(&scene.guidance(true, 1.0, 1)), variation, workers)?;
    let known = &field.mask;
    let [of_tv, of_guided, of_with] = [&tv, &guided, &with].map(|map| scene.error(map, known));
    println!(
        "{:<10} true field: tv {of_tv:5.1}  dtv {of_guided:5.1} ({:.2})  with lesions {of_with:5.1} ({:.2})",
        scene.name,
        of_guided / of_tv,
        of_with / of_tv
    );
    for Lesion { seen, radius_mm, voxels, .. } in &scene.lesions {
        let ppb = |map: &[f32]| 1e3 * mean(map, voxels);
        let painted = ppb(&with) - ppb(&guided);
        println!(
            "    {:<10} {radius_mm} mm ({} voxels): painted {painted:+5.1} ppb; true {:+5.1}, tv {:+5.1}, dtv {:+5.1}, with {:+5.1}",
            format!("{seen:?}"),
            voxels.len(),
            ppb(&scene.chi),
            ppb(&tv),
            ppb(&guided),
            ppb(&with)
        );
    }
    Ok(())
}
