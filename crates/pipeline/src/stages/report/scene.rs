//! What of a run can be looked around in.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_report::{FigureError, Scene, SceneLines, Window};
use fimbria_tensors::peaks::Peaks;

use super::sections::peaks::LEAST_FA;
use crate::Products;
use crate::stages::fits::{dki, fit_maps::Maps};
use crate::stages::life::Weighed;
use crate::stages::qsm::ChiMap;
use crate::stages::track::Tracked;

/// Streamlines shown at most: what a graphics card of a laptop turns smoothly.
const MOST_LINES: usize = 6000;
/// Sticks shown at most: they are shorter.
pub(super) const MOST_STICKS: usize = 40_000;

/// The maps, what matters most first, and the streamlines.
pub(super) fn scene(products: &Products, fit: &Fitted, mask: &Mask) -> Result<Scene, FigureError> {
    let mut scene = Scene::default();
    let fa = fit.map(DtiMap::Fa);
    if let Some(fa) = fa {
        scene.map("FA", "", fa, mask, Window::Fixed([0.0, 1.0]))?;
    }
    if let (Some(v1), Some(fa)) = (fit.map(DtiMap::V1), fa) {
        scene.directions("Principal direction", v1, fa, mask)?;
    }
    if let Some(tracked) = products.find::<Tracked>() {
        let lines = &tracked.lines.streamlines;
        let weights = products.find::<Weighed>().map(|weighed| &weighed.weights[..]);
        let weights = weights.filter(|weights| weights.len() == lines.len());
        let shown = SceneLines {
            grid: tracked.visits.grid,
            lines: (0..lines.len()).map(|line| lines.points(line)).collect(),
            values: weights.map(|weights| ("weight", weights)).into_iter().collect(),
        };
        if !shown.lines.is_empty() {
            scene.lines("Streamlines", &shown, MOST_LINES);
        }
    }
    if let (Some(found), Some(fa)) = (products.find::<Peaks>(), fa) {
        let white = |voxel: &&u32| fa.data[**voxel as usize] >= LEAST_FA;
        let white =
            Mask { grid: mask.grid, voxels: mask.voxels.iter().filter(white).copied().collect() };
        scene.sticks("Fibre directions", &found.peaks, &white, MOST_STICKS)?;
    }
    if let Some(md) = fit.map(DtiMap::Md) {
        scene.map("MD", "mm²/s", md, mask, Window::Robust)?;
    }
    if let Some(mk) = products.find::<Maps<dki::Parameters>>().and_then(|fit| fit.map("MK")) {
        scene.map("Mean kurtosis", "", mk, mask, Window::Fixed([0.0, 2.0]))?;
    }
    if let Some(tracked) = products.find::<Tracked>() {
        scene.map("Tract density", "streamlines", &tracked.visits, mask, Window::FromZero)?;
    }
    if let Some(residual) = fit.map(DtiMap::Residual) {
        scene.map("Residual", "", residual, mask, Window::FromZero)?;
    }
    if let Some(ChiMap { chi, .. }) = products.find::<ChiMap>() {
        let mapped = chi.data.iter().enumerate().filter(|(_, chi)| **chi != 0.0);
        let mask = Mask { grid: chi.grid, voxels: mapped.map(|(v, _)| v as u32).collect() };
        scene.map("Susceptibility", "ppm", chi, &mask, Window::Symmetric)?;
    }
    Ok(scene)
}
