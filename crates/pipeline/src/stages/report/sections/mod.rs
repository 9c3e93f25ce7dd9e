//! The sections of the page.

pub(super) mod dti;
pub(super) mod quality;
pub(super) mod record;

use fimbria_image::{Image, Mask, Status};
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::{FigureError, Page, Section, colour};

use crate::StageError;
use crate::stages::accuracy::Accuracy;
use crate::stages::pictures::status;
pub(super) use crate::stages::shown::Methods;

/// The voxels that were given to the fit.
pub(super) fn fitted_mask(fit: &Fitted) -> Result<Mask, StageError> {
    let status = fit.map(DtiMap::Status).ok_or("the fit has no status map")?;
    Ok(Mask::from_image(status))
}

pub(super) fn subtitle(mask: &Mask) -> String {
    let [nx, ny, nz] = mask.grid.dims;
    let [dx, dy, dz] = mask.grid.ras_from_vox.spacing();
    let voxels = mask.len();
    format!("{nx} × {ny} × {nz} voxels of {dx:.2} × {dy:.2} × {dz:.2} mm, {voxels} in the mask")
}

pub(super) fn headlines(
    mut page: Page,
    fit: &Fitted,
    mask: &Mask,
    accuracy: Option<&Accuracy>,
) -> Page {
    if let Some(fa) = fit.map(DtiMap::Fa) {
        page = page.headline(format!("{:.2}", median_in(fa, mask)), "median FA");
    }
    if let Some(md) = fit.map(DtiMap::Md) {
        let md = 1e3 * median_in(md, mask);
        page = page.headline(format!("{md:.2}"), "median MD, 10⁻³ mm²/s");
    }
    if let Some(row) = accuracy.and_then(Accuracy::direction) {
        page = page.headline(format!("{:.1}°", row.median), "median angle to the truth");
    }
    let good =
        [Status::Fitted, Status::Constrained, Status::NotPositive, Status::NegativeDiffusion]
            .map(|fate| fit.status.count(fate));
    let good: u64 = good.iter().sum();
    let share = 100.0 * good as f64 / mask.len().max(1) as f64;
    page.headline(format!("{share:.1} %"), "voxels fitted")
}

fn median_in(map: &Image, mask: &Mask) -> f64 {
    let mut values: Vec<f32> = mask.voxels.iter().map(|&v| map.data[v as usize]).collect();
    values.retain(|value| value.is_finite());
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    f64::from(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
}

/// `table`: what was found of the gradient table.
pub(super) fn quality(
    fit: &Fitted,
    mask: &Mask,
    table: Option<&str>,
) -> Result<Section, FigureError> {
    let mut section = Section::new("Quality of the fit").fold();
    if let Some(found) = table {
        section = section.text(format!("Gradient table: {found}."));
    }
    if let Some(residual) = fit.map(DtiMap::Residual) {
        let style = Scalar {
            scale: colour::Scale::Ember,
            window: DtiMap::Residual.spec().window,
            ..Scalar::new("Residual", "input units")
        };
        section = section.figure(
            mosaic_scalar(residual, mask, &style)?,
            "Root mean square of measured minus predicted signal.",
        );
    }
    if let Some(image) = fit.map(DtiMap::Status) {
        let figure = status("Status", image, mask, Status::LEGEND)?;
        section = section.figure(figure, "What became of each voxel.");
    }
    Ok(section)
}
