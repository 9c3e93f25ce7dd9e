//! The sections of the page.

pub(super) mod connectome;
pub(super) mod dti;
pub(super) mod inputs;
pub(super) mod life;
pub(super) mod lines;
pub(super) mod peaks;
pub(super) mod qsm;
pub(super) mod quality;
pub(super) mod record;
pub(super) mod sift2;
pub(super) mod sticks;
pub(super) mod tracks;
pub(super) mod truth;

use fimbria_image::{Image, Mask, Status};
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_report::figure::{self, Scalar, mosaic_scalar, mosaic_status};
use fimbria_report::{Figure, FigureError, Layout, Page, Section, colour};

use crate::StageError;
use crate::stages::accuracy::Accuracy;
pub(super) use crate::stages::shown::Methods;
pub(super) use crate::stages::shown::unit_in_words;

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

/// The mask within the middle half of its box along each in-plane axis, so that single sticks can
/// be told apart.
pub(super) fn closer_look(mask: &Mask) -> Mask {
    const WIDEST: usize = 44;
    let grid = mask.grid;
    let voxels = || mask.voxels.iter().map(|&v| grid.voxel(v as usize));
    let range = |axis: usize| {
        let low = voxels().map(|p| p[axis]).min().unwrap_or(0);
        let high = voxels().map(|p| p[axis]).max().unwrap_or(0);
        let trim = (high + 1 - low).saturating_sub(WIDEST) / 2;
        low + trim..=high - trim
    };
    let ranges = [0, 1, 2].map(range);
    let inside = |v: &u32| {
        let p = grid.voxel(*v as usize);
        (0..3).all(|axis| ranges[axis].contains(&p[axis]))
    };
    Mask { grid, voxels: mask.voxels.iter().copied().filter(inside).collect() }
}

/// The codes of a map with their meanings, as its description has them ("0 outside mask, 1 fitted"); but for
/// 0, where nothing was computed.
pub(super) fn categories(description: &str) -> Vec<(u8, String)> {
    let mut categories: Vec<(u8, String)> = Vec::new();
    for part in description.trim_end_matches('.').split(", ") {
        let code = part.split_once(' ').and_then(|(code, is)| Some((code.parse().ok()?, is)));
        match (code, categories.last_mut()) {
            (Some((code, is)), _) => categories.push((code, is.to_owned())),
            (None, Some((_, is))) => *is += &format!(", {part}"),
            (None, None) => {}
        }
    }
    categories.retain(|(code, _)| *code != 0);
    categories
}

/// The picture of a map that says what became of each voxel.
pub(super) fn status(
    heading: &str,
    image: &Image,
    mask: &Mask,
    description: &str,
) -> Result<Figure, FigureError> {
    let categories = categories(description);
    let categories: Vec<_> = categories.iter().map(|(code, is)| (*code, is.as_str())).collect();
    let style = figure::Status { heading, categories: &categories, layout: Layout::default() };
    mosaic_status(image, mask, &style)
}

/// `table`: what was found of the gradient table.
pub(super) fn quality(
    fit: &Fitted,
    mask: &Mask,
    table: Option<&str>,
) -> Result<Section, FigureError> {
    let mut section = Section::new("Quality of the fit");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_of_a_map_are_what_its_description_says() {
        let own = |codes: &[(u8, &str)]| -> Vec<(u8, String)> {
            codes.iter().map(|(code, is)| (*code, (*is).to_owned())).collect()
        };
        assert_eq!(
            categories("0 outside mask, 1 found, 2 none above thresholds, or flat."),
            own(&[(1, "found"), (2, "none above thresholds, or flat")])
        );
        let of_fits = categories(Status::LEGEND);
        let codes: Vec<f32> = of_fits.iter().map(|(code, _)| f32::from(*code)).collect();
        assert_eq!(codes, Status::ALL[1..].iter().map(|status| status.code()).collect::<Vec<_>>());
        assert_eq!(of_fits[5], (6, "fitted, some samples not positive".to_owned()));
        assert!(categories("no codes").is_empty());
    }
}
