//! Directions of a folder as sticks: of peaks, densities, sampled sticks and tensors.

use fimbria_image::sticks::StickSamples;
use fimbria_image::{BvecFrame, Image, MapKind, Mask};
use fimbria_report::figure::{Glyphs, glyphs};
use fimbria_report::{Scene, Section};
use fimbria_tensors::peaks::Peaks;
use fimbria_tensors::sh::ShBasis;

use super::maps::Map;
use super::{JobPage, named};
use crate::options::usual;
use crate::stages::load_orientations::OrientationField;
use crate::stages::peaks::{self, FindPeaks, PeaksParameters};
use crate::stages::pictures::closer_look;
use crate::stages::report::scene::MOST_STICKS;
use crate::stages::sticks::{self, Sticks};
use crate::{Carried, Logbook, Products, Stage as _, StageError};

impl JobPage {
    /// A section for what has directions, which the scene has too.
    pub(super) fn orientations(
        &self,
        maps: &[Map],
        scene: &mut Scene,
        log: &Logbook<'_>,
    ) -> Result<Vec<Section>, StageError> {
        let mut found = Vec::new();
        let mut products = Products::default();
        if let Some(stage) = FindPeaks::of_record(&self.record) {
            stage.restore(&self.folder, &mut products, log)?;
            let peaks = products.get::<Peaks>()?;
            let mask = Mask::from_image(&peaks.count);
            if !mask.is_empty() {
                let first = first_values(&peaks.values);
                found.push(peaks::section::peaks(peaks, &first, "the largest value", &mask)?);
                scene.sticks("Fibre directions", &peaks.peaks, &mask, MOST_STICKS)?;
            }
        }
        if let Some(stage) = Sticks::of_record(&self.record) {
            stage.restore(&self.folder, &mut products, log)?;
            let samples = products.get::<StickSamples>()?;
            let mask = &samples.mask;
            let records = std::slice::from_ref(&self.record);
            let signal = named(maps, "nodif_brain").or_else(|| named(maps, "mean_S0samples"));
            let signal = signal.filter(|map| mask.grid.check_same(&map.image.grid, "S0").is_ok());
            let plain = mask.to_image();
            let (behind, called) = match signal {
                Some(map) => (&map.image, "the unweighted signal"),
                None => (&plain, "the mask"),
            };
            found.push(sticks::section::sticks(samples, records, behind, called, mask)?);
            let peaks = sticks::section::directions(samples);
            scene.sticks("Fibre directions", &peaks, mask, MOST_STICKS)?;
        }
        // A density is written as harmonics and as a form.
        let is_harmonic = maps.iter().any(|map| matches!(map.kind, MapKind::Harmonics(_)));
        for map in maps {
            match map.kind {
                MapKind::Form(_) if is_harmonic => {}
                MapKind::Harmonics(_) | MapKind::Form(_) => {
                    if let Some(section) = of_densities(map, scene, log)? {
                        found.push(section);
                    }
                }
                MapKind::Vector if map.name == "V1" => {
                    let fa = named(maps, "FA").map_or(&map.image, |fa| &fa.image);
                    let style = Glyphs { threshold: 0.15, ..Glyphs::new("V1 over FA") };
                    let figure = glyphs(&map.image, fa, &closer_look(&map.mask), &style)?;
                    let caption = "The middle; a stick in every voxel with FA of 0.15 or more.";
                    found.push(Section::new("Directions").figure(figure, caption));
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The largest value of each voxel, 0 where there is none.
fn first_values(values: &Image) -> Image {
    let data = values.volume(0).iter().map(|x| if x.is_finite() { *x } else { 0.0 }).collect();
    Image { grid: values.grid, n_volumes: 1, data }
}

/// The maxima of a function on the sphere, by the usual search.
fn of_densities(
    map: &Map,
    scene: &mut Scene,
    log: &Logbook<'_>,
) -> Result<Option<Section>, StageError> {
    let Some(order) = fimbria_tensors::sh::lmax_of_count(map.image.n_volumes) else {
        return Ok(None);
    };
    let field = OrientationField {
        order,
        coefficients: Box::new(map.image.clone()),
        basis: matches!(map.kind, MapKind::Harmonics(_)).then_some(ShBasis::Mrtrix),
        frame: BvecFrame::Scanner,
        mask: map.mask.clone(),
        carried: Carried::default(),
    };
    let parameters: PeaksParameters = usual();
    let found = parameters.find(&field, log)?;
    let mask = Mask::from_image(&found.count);
    if mask.is_empty() {
        return Ok(None);
    }
    let first = first_values(&found.values);
    let heading = format!("Maxima of {} over the largest", map.name);
    let figure = glyphs(&found.peaks, &first, &closer_look(&mask), &Glyphs::new(&heading))?;
    scene.sticks(&format!("Maxima of {}", map.name), &found.peaks, &mask, MOST_STICKS)?;
    let caption =
        "The middle; every maximum by the usual search of `fimbria peaks`, as long as its value.";
    Ok(Some(Section::new(format!("Directions of {}", map.name)).figure(figure, caption)))
}
