//! What the pictures of several pages share.

pub(in crate::stages) mod lines;

use fimbria_image::{Image, Mask};
use fimbria_report::figure::{self, mosaic_status};
use fimbria_report::{Figure, FigureError, Layout};

/// What the background of a run's pictures is called.
pub(in crate::stages) const FA: &str = "FA";
/// Where FA is smaller, sticks are those of grey matter and noise and would hide the others.
pub(in crate::stages) const LEAST_FA: f32 = 0.1;

/// The mask within the middle half of its box along each in-plane axis, so that single sticks can
/// be told apart.
pub(in crate::stages) fn closer_look(mask: &Mask) -> Mask {
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
pub(in crate::stages) fn categories(description: &str) -> Vec<(u8, String)> {
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
pub(in crate::stages) fn status(
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

#[cfg(test)]
mod tests {
    use fimbria_image::Status;

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
