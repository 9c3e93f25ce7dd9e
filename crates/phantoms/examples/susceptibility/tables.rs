//! The tables.

use fimbria_compute::Workers;
use fimbria_qsm::background::{Background, Local};
use fimbria_qsm::phase::MASK_QUALITY;
use fimbria_qsm::variation::{Variation, lambda_of_noise};

use crate::maps::{Made, nothing_outside};
use crate::scan::{MASKS, Total};
use crate::scene::{Diffusion, Lesion, Scene};

pub(crate) type Table = fn(&Scene, &Workers) -> Made<()>;

pub(crate) const TABLES: &[(&str, Table)] = &[
    ("field", field),
    ("masks", masks),
    ("backgrounds", backgrounds),
    ("noise", noise),
    ("lesions", lesions),
];

/// Ways to remove the background.
const BACKGROUNDS: &[(&str, Background)] = &[
    ("lbv", Background::LBV),
    ("vsharp", Background::VSHARP),
    ("pdf", Background::PDF),
    ("resharp", Background::RESHARP),
];
/// SNR of tables that are not about it.
const SNR: f64 = 60.0;
/// The phase at echo time 0 is smooth.
const SMOOTH: bool = true;

/// What there is of sizes, and what total variation makes of the true fields.
fn field(scene: &Scene, workers: &Workers) -> Made<()> {
    let rms = |map: &[f32]| {
        let voxels = &scene.inside.voxels;
        let squares = voxels.iter().map(|&v| f64::from(map[v as usize]).powi(2));
        1e3 * (squares.sum::<f64>() / voxels.len() as f64).sqrt()
    };
    let shown = scene.true_field();
    let more: Vec<f32> = shown.field.iter().zip(&scene.local).map(|(a, b)| a - b).collect();
    let dipoles = Local { field: scene.local.clone(), mask: scene.mask.clone() };
    let error = |field: &Local| -> Made<f64> {
        let (tv, _) = scene.map(field, None, None, nothing_outside(), workers)?;
        Ok(scene.error(&tv))
    };
    println!(
        "{:<14} ppb: chi {:.1}, background {:.0}, local {:.1}, of compartments {:.1}; tv {:.1} of dipoles, {:.1} of all",
        scene.name,
        rms(&scene.chi),
        rms(&scene.background),
        rms(&scene.local),
        rms(&more),
        error(&dipoles)?,
        error(&shown)?
    );
    Ok(())
}

/// The quality that voxels stay from, for every mask.
fn masks(scene: &Scene, workers: &Workers) -> Made<()> {
    let diffusion = scene.guidance(false, 1.0, 1);
    for (name, mm) in MASKS {
        for quality in [0.0, 0.2, 0.3, 0.4, 0.5] {
            let total = scene.total(&scene.mask_of(*mm), SNR, quality, SMOOTH, workers)?;
            print!("{:<14} {name:<10} quality {quality}:", scene.name);
            print_errors(scene, &total, &BACKGROUNDS[..2], &diffusion, workers)?;
        }
    }
    Ok(())
}

/// Every way to remove the background, for every mask.
fn backgrounds(scene: &Scene, workers: &Workers) -> Made<()> {
    let diffusion = scene.guidance(false, 1.0, 1);
    for (name, mm) in MASKS {
        let total = scene.total(&scene.mask_of(*mm), SNR, MASK_QUALITY, SMOOTH, workers)?;
        print!("{:<14} {name:<10}", scene.name);
        print_errors(scene, &total, BACKGROUNDS, &diffusion, workers)?;
    }
    Ok(())
}

/// The error of the guided map after each way to remove the background, and how much of the brain it lacks.
fn print_errors(
    scene: &Scene,
    total: &Total,
    backgrounds: &[(&str, Background)],
    diffusion: &Diffusion,
    workers: &Workers,
) -> Made<()> {
    for (name, method) in backgrounds {
        let local = scene.local_of(total, *method, workers)?;
        let weights = Some(&total.weights[..]);
        let (chi, _) =
            scene.map(&local, weights, Some(diffusion), Variation::default(), workers)?;
        print!("  {name} {:.1} (lost {:.0} %)", scene.error(&chi), scene.lost(&local.mask));
    }
    println!();
    Ok(())
}

/// Strengths at several signal-to-noise ratios.
fn noise(scene: &Scene, workers: &Workers) -> Made<()> {
    let diffusion = scene.guidance(false, 1.0, 1);
    for snr in [10.0, 20.0, 40.0, 100.0] {
        let total = scene.total(&scene.mask, snr, MASK_QUALITY, SMOOTH, workers)?;
        let local = scene.local_of(&total, Background::PDF, workers)?;
        let noise = scene.noise(&local)?;
        print!("{:<14} SNR {snr}, noise {:.1} ppb:", scene.name, 1e3 * noise);
        let lambdas = [("default", lambda_of_noise(noise)), ("2e-4", 2e-4), ("1e-3", 1e-3)];
        for (name, lambda) in lambdas {
            let weights = Some(&total.weights[..]);
            let variation = Variation { lambda, ..Variation::default() };
            let (chi, _) = scene.map(&local, weights, Some(&diffusion), variation, workers)?;
            print!("  {name} {:.1} (x{:.2})", scene.error(&chi), scene.slope(&chi));
        }
        println!();
    }
    Ok(())
}

fn mean(map: &[f32], voxels: &[u32]) -> f64 {
    voxels.iter().map(|&v| f64::from(map[v as usize])).sum::<f64>() / voxels.len().max(1) as f64
}

/// From the field that the echoes show less the true background, noise-free: errors of TV and dtv, and what
/// lesions in the diffusion images make.
fn lesions(scene: &Scene, workers: &Workers) -> Made<()> {
    let field = scene.true_field();
    let variation = nothing_outside();
    let (tv, _) = scene.map(&field, None, None, variation, workers)?;
    let (guided, _) =
        scene.map(&field, None, Some(&scene.guidance(false, 1.0, 1)), variation, workers)?;
    let (with, _) =
        scene.map(&field, None, Some(&scene.guidance(true, 1.0, 1)), variation, workers)?;
    let [of_tv, of_guided, of_with] = [&tv, &guided, &with].map(|map| scene.error(map));
    println!(
        "{:<14} true field: tv {of_tv:5.1}  dtv {of_guided:5.1} ({:.2})  with lesions {of_with:5.1} ({:.2})",
        scene.name,
        of_guided / of_tv,
        of_with / of_tv
    );
    for Lesion { seen, radius_mm, voxels, .. } in &scene.lesions {
        let ppb = |map: &[f32]| 1e3 * mean(map, voxels);
        let painted = ppb(&with) - ppb(&guided);
        println!(
            "    {:<14} {radius_mm} mm ({} voxels): painted {painted:+5.1} ppb; true {:+5.1}, tv {:+5.1}, dtv {:+5.1}, with {:+5.1}",
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
