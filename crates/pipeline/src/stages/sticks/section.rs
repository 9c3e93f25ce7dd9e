//! Sampled fibre directions.

use fimbria_image::bedpostx::Dyads;
use fimbria_image::sticks::StickSamples;
use fimbria_image::{Image, Mask, counted};
use fimbria_report::figure::{Glyphs, Scalar, glyphs, mosaic_scalar};
use fimbria_report::{FigureError, Section, Window, colour};

use crate::RunRecord;
use crate::stages::pictures::closer_look;

/// Fibres with a smaller mean fraction are not shown, as in bedpostX's own maps.
const LEAST_FRACTION: f64 = 0.05;

pub(in crate::stages) fn sticks(
    samples: &StickSamples,
    records: &[RunRecord],
    background: &Image,
    called: &str,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let dyads = Dyads::from_samples(samples, LEAST_FRACTION);
    let sampled = &samples.mask;
    let heading = format!("Mean directions of the samples over {called}");
    let picture = glyphs(&dyads.peaks_ras, background, &closer_look(mask), &Glyphs::new(&heading))?;
    let mut sum = Image::zeros(sampled.grid, 1);
    for (slot, &voxel) in sampled.voxels.iter().enumerate() {
        let fibres = (0..samples.n_fibres).map(|fibre| samples.mean_fraction(slot, fibre));
        sum.data[voxel as usize] = fibres.sum::<f64>() as f32;
    }
    let sum_style = Scalar {
        scale: colour::Scale::Lagoon,
        window: Window::Fixed([0.0, 1.0]),
        ..Scalar::new("Fraction of all fibres", "")
    };
    // In degrees, what is left of an eigenvalue means something: sin² of the angle, on average.
    let mut spread = Image::zeros(sampled.grid, 1);
    for &voxel in &sampled.voxels {
        let dispersion = dyads.dispersion.data[voxel as usize];
        spread.data[voxel as usize] = dispersion.clamp(0.0, 1.0).sqrt().asin().to_degrees();
    }
    let spread_style = Scalar {
        scale: colour::Scale::Ember,
        window: Window::FromZero,
        ..Scalar::new("Uncertainty of the first direction", "°")
    };
    Ok(of_few(records, Section::new("Ball and sticks").fold())
        .figure(
            picture,
            "The principal direction of each fibre's samples, as long as its mean fraction; fibres \
             of 0.05 or more.",
        )
        .figure(
            mosaic_scalar(&sum, mask, &sum_style)?,
            "Mean over the samples; 0 where there are none.",
        )
        .figure(
            mosaic_scalar(&spread, sampled, &spread_style)?,
            "The angle to its samples, root mean square of the sine.",
        ))
}

/// The mean directions, as long as the mean fractions.
pub(in crate::stages) fn directions(samples: &StickSamples) -> Image {
    Dyads::from_samples(samples, LEAST_FRACTION).peaks_ras
}

/// `section` with a word on voxels whose chains mixed badly, where there are some.
fn of_few(records: &[RunRecord], section: Section) -> Section {
    let stages = records.iter().flat_map(|record| &record.stages);
    let counts = stages.filter(|stage| stage.name == "sticks").map(|stage| &stage.counts).next();
    let count = |what: &str| counts.and_then(|counts| counts.get(what)).copied().unwrap_or(0);
    let (few, sampled) = (count("few_effective_samples"), count("sampled"));
    if few == 0 {
        return section;
    }
    section.text(format!(
        "{few} of {}: fewer effective samples than a fifth of those kept (map effective_samples); \
         directions are less sure there than their spread says. More jumps between samples help.",
        counted(sampled, "voxel")
    ))
}
