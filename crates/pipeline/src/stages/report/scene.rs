//! What of a run can be looked around in.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_models::dti::DtiMap;
use fimbria_report::{FigureError, Scene, SceneLines, Window};
use fimbria_tensors::peaks::Peaks;

use crate::stages::connectome::Connections;
use crate::stages::connectome::section::{Matrices, pairs};
use crate::stages::field::local_field;
use crate::stages::fits::FITS;
use crate::stages::life::Weighed;
use crate::stages::pictures::{LEAST_FA, lines};
use crate::stages::qsm::ChiMap;
use crate::stages::qsm::section::mapped;
use crate::stages::shown::unit_in_words;
use crate::stages::track::Tracked;
use crate::{Products, RunRecord};

/// Streamlines shown at most: what a graphics card of a laptop turns smoothly.
pub(super) const MOST_LINES: usize = 6000;
/// Sticks shown at most: they are shorter.
pub(super) const MOST_STICKS: usize = 40_000;

/// The maps, what matters most first, streamlines, directions and regions.
pub(super) fn scene(
    products: &Products,
    records: &[RunRecord],
    fit: &Fitted,
    mask: &Mask,
) -> Result<Scene, FigureError> {
    let mut scene = Scene::default();
    let fa = fit.map(DtiMap::Fa);
    if let Some(fa) = fa {
        scene.map("FA", "", fa, mask, DtiMap::Fa.spec().window)?;
    }
    if let (Some(v1), Some(fa)) = (fit.map(DtiMap::V1), fa) {
        scene.directions("Principal direction", v1, fa, mask)?;
    }
    if let Some(tracked) = products.find::<Tracked>() {
        let lines = &tracked.lines.streamlines;
        let mut values = lines::values_of(&tracked.lines);
        let weights = products.find::<Weighed>().map(|weighed| &weighed.weights);
        if let Some(weights) = weights.filter(|weights| weights.len() == lines.len()) {
            values.retain(|(name, _)| *name != "weight");
            values.push(("weight", weights.clone()));
        }
        if let Some(found) = products.find::<Connections>() {
            values.push(("pair of labels", pairs(found, lines)));
        }
        let shown = SceneLines {
            grid: tracked.visits.grid,
            lines: (0..lines.len()).map(|line| lines.points(line)).collect(),
            values: values.iter().map(|(name, values)| (*name, &values[..])).collect(),
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
        scene.map("MD", "mm²/s", md, mask, DtiMap::Md.spec().window)?;
    }
    scene.regions("Mask", &mask.to_image());
    let regions = products.find::<Connections>().map(|found| &found.regions);
    let kept = products.find::<Matrices>().and_then(|found| found.regions.as_ref());
    if let Some(regions) = regions.or(kept) {
        scene.regions("Labels of the connectome", regions);
    }
    for fit in FITS {
        let Some(stage) = records.iter().find_map(|record| fit.of_record(record)) else { continue };
        for (shown, map) in stage.shown_maps(products) {
            let unit = unit_in_words(&map.spec.unit);
            scene.map(&shown.heading, &unit, &map.image, mask, map.spec.window)?;
        }
    }
    if let Some(tracked) = products.find::<Tracked>() {
        scene.map("Tract density", "streamlines", &tracked.visits, mask, Window::FromZero)?;
    }
    if let Some(residual) = fit.map(DtiMap::Residual) {
        scene.map("Residual", "", residual, mask, DtiMap::Residual.spec().window)?;
    }
    if let Some(map @ ChiMap { chi, anisotropy, residual, .. }) = products.find::<ChiMap>() {
        let mask = mapped(map);
        let field = local_field(products);
        for (name, image) in [
            ("Susceptibility", Some(chi)),
            ("Susceptibility anisotropy", anisotropy.as_ref()),
            ("Local field", field.filter(|f| mask.grid.check_same(&f.grid, "field").is_ok())),
            ("Residual of the field", residual.as_ref()),
        ] {
            if let Some(image) = image {
                scene.map(name, "ppm", image, &mask, Window::Symmetric)?;
            }
        }
    }
    for name in [DtiMap::S0, DtiMap::Ad, DtiMap::Rd, DtiMap::Mo] {
        if let Some(map) = fit.map(name) {
            let spec = name.spec();
            let unit = unit_in_words(&spec.unit);
            scene.map(&spec.name, &unit, map, mask, spec.window)?;
        }
    }
    Ok(scene)
}
