//! The tables.

use fimbria_compute::Workers;
use fimbria_compute::philox::{Philox, normals};
use fimbria_qsm::background::{Background, Local};
use fimbria_qsm::phase::MASK_QUALITY;
use fimbria_qsm::variation::{Variation, lambda_of_noise};

use crate::maps::{Guide, Made, mean, nothing_outside};
use crate::scan::{MASKS, Total};
use crate::scene::{Diffusion, Lesion, Scene, Seen};

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
        let (tv, _) = scene.map(field, None, Guide::Nothing, nothing_outside(), workers)?;
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
        let (chi, _) = scene.map(
            &local,
            weights,
            Guide::Everywhere(diffusion),
            Variation::default(),
            workers,
        )?;
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
            let (chi, _) =
                scene.map(&local, weights, Guide::Everywhere(&diffusion), variation, workers)?;
            print!("  {name} {:.1} (x{:.2})", scene.error(&chi), scene.slope(&chi));
        }
        println!();
    }
    Ok(())
}

/// Draws of the field's noise.
const DRAWS: u32 = 5;
/// Half of the 95 % interval of a mean of so many draws, in standard deviations over its root: Student's t.
const T_OF_DRAWS: f64 = 2.776;
/// The noise of a draw, ppb.
const NOISE_PPB: f32 = 2.0;

/// From the field that the echoes show less the true background: errors of TV and of guided maps, and what lesions in
/// the diffusion images make of those; then of draws of noise, over the lesions that only diffusion sees.
fn lesions(scene: &Scene, workers: &Workers) -> Made<()> {
    let field = scene.true_field();
    let (tv, [without, with]) = scene.three_ways(&field, workers)?;
    let of_tv = scene.error(&tv);
    print!("{:<14} tv {of_tv:5.1}", scene.name);
    for (way, name) in ["everywhere", "supported"].iter().enumerate() {
        let errors = [&without, &with].map(|maps| scene.error(&maps[way]));
        let ratios = errors.map(|error| error / of_tv);
        print!(
            "  {name} {:.1} ({:.2}), with lesions {:.1} ({:.2})",
            errors[0], ratios[0], errors[1], ratios[1]
        );
    }
    println!();
    for Lesion { seen, radius_mm, voxels, .. } in &scene.lesions {
        let ppb = |map: &[f32]| 1e3 * mean(map, voxels);
        let painted = [0, 1].map(|way: usize| ppb(&with[way]) - ppb(&without[way]));
        println!(
            "    {:<10} {radius_mm:>2} mm: painted everywhere {:+5.2} ppb, supported {:+5.2}; true {:+5.1}, tv {:+5.1}, with {:+5.1}, {:+5.1}",
            format!("{seen:?}"),
            painted[0],
            painted[1],
            ppb(&scene.chi),
            ppb(&tv),
            ppb(&with[0]),
            ppb(&with[1])
        );
    }
    let seen_by_diffusion: Vec<u32> = scene
        .lesions
        .iter()
        .filter(|lesion| lesion.seen == Seen::Diffusion)
        .flat_map(|lesion| lesion.voxels.clone())
        .collect();
    let mut painted = [Vec::new(), Vec::new()];
    for draw in 0..DRAWS {
        let mut noisy = field.clone();
        let source = Philox::new(3).stream(draw);
        for (v, b) in noisy.field.iter_mut().enumerate() {
            *b += 1e-3 * NOISE_PPB * normals::<f32>(source.at(v as u64, 0))[0];
        }
        let (_, [without, with]) = scene.three_ways(&noisy, workers)?;
        for (way, painted) in painted.iter_mut().enumerate() {
            let by = |maps: &[Vec<f32>; 2]| 1e3 * mean(&maps[way], &seen_by_diffusion);
            painted.push(by(&with) - by(&without));
        }
    }
    let interval = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        format!("{mean:+.2} ± {:.2}", T_OF_DRAWS * (variance / n).sqrt())
    };
    println!(
        "    noise of {NOISE_PPB} ppb, {DRAWS} draws: painted everywhere {} ppb, supported {}",
        interval(&painted[0]),
        interval(&painted[1])
    );
    Ok(())
}
