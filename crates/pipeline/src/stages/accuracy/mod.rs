//! The stage that says how close fits of a phantom came to the truth.

mod bundles;
mod dki;
mod dti;
mod peaks;
mod qsm;
mod section;
mod sticks;
mod tracks;
mod usual;

use std::fmt::Write as _;
use std::path::Path;

use fimbria_image::Mask;
use fimbria_image::sticks::StickSamples;
use fimbria_phantoms::GreSubject;
pub use fimbria_phantoms::closeness::Closeness;
use fimbria_phantoms::head::Head;
use fimbria_tensors::peaks::Peaks;
use serde_json::{Value, json};

use crate::stages::field::Fields;
use crate::stages::fits;
use crate::stages::fits::fit_maps::Maps;
use crate::stages::life::Weighed;
use crate::stages::method::{Method, PageSection, Shown};
use crate::stages::phantom::truth_in;
use crate::stages::qsm::ChiMap;
use crate::stages::track::Tracked;
use crate::{Logbook, OutputFolder, Product, Products, Stage, StageError, Taken};
use std::sync::Arc;

pub(super) const METHOD: Method = Method {
    restored: |_| Some(Box::new(Compare)),
    section: Some(PageSection {
        takes: || {
            vec![
                Taken::where_made::<Accuracy>(),
                Taken::where_made::<Arc<fimbria_phantoms::Subject>>(),
                Taken::always::<Maps<fits::dti::Parameters>>(),
            ]
        },
        draw: |Shown { products, mask, .. }| {
            let Some(accuracy) = products.find::<Accuracy>() else { return Ok(None) };
            let fit = products.get::<Maps<fits::dti::Parameters>>()?;
            Ok(Some(section::truth(accuracy, fit, truth_in(products), mask)?))
        },
    }),
    ..Method::named("accuracy")
};

/// How close a fit came to the truth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// One row per quantity.
    pub rows: Vec<Closeness>,
    /// The angle to the true direction in every voxel of one fibre, degrees; empty where it
    /// was read back.
    pub angles_deg: Vec<f64>,
}

impl Accuracy {
    /// The row of the direction.
    pub fn direction(&self) -> Option<&Closeness> {
        self.rows.iter().find(|row| row.quantity == DIRECTION)
    }

    /// The rows as a table for people: one line each, columns aligned.
    pub fn to_table(&self) -> String {
        let mut text =
            format!("{:<30}{:>11}{:>13}{:>13}{:>14}\n", "", "number", "median", "95 %", "worst");
        for row in &self.rows {
            let error = |error: f64| format!("{error:.3} {:<1}", row.unit);
            let _ = writeln!(
                text,
                "{:<30}{:>11}{:>13}{:>13}{:>14}",
                row.quantity,
                row.voxels,
                error(row.median),
                error(row.percentile_95),
                error(row.worst),
            );
        }
        text
    }

    fn to_tsv(&self) -> String {
        let mut text = String::from(HEADER);
        for Closeness { quantity, unit, voxels, median, percentile_95, worst } in &self.rows {
            let _ = writeln!(
                text,
                "{quantity}\t{unit}\t{voxels}\t{median:e}\t{percentile_95:e}\t{worst:e}"
            );
        }
        text
    }

    fn from_tsv(text: &str) -> Option<Self> {
        let rows = text.strip_prefix(HEADER)?.lines().map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            let [quantity, unit, voxels, median, percentile_95, worst] = cells[..] else {
                return None;
            };
            Some(Closeness {
                quantity: quantity.to_owned(),
                unit: unit.to_owned(),
                voxels: voxels.parse().ok()?,
                median: median.parse().ok()?,
                percentile_95: percentile_95.parse().ok()?,
                worst: worst.parse().ok()?,
            })
        });
        Some(Self { rows: rows.collect::<Option<_>>()?, angles_deg: Vec::new() })
    }
}

/// Voxels that are of one thing nearly alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PureTissue {
    Cortex,
    Nuclei,
    White,
    Fluid,
}

impl PureTissue {
    fn name(self) -> &'static str {
        match self {
            Self::Cortex => "cortex",
            Self::Nuclei => "nuclei",
            Self::White => "white matter",
            Self::Fluid => "fluid",
        }
    }
}

/// The voxels nine tenths of which, or more, are of one thing.
fn voxels_of(head: &Head, place: PureTissue) -> impl Iterator<Item = usize> {
    const LEAST: f32 = 0.9;
    // In the order of five tissues.
    let parts = head.five_tissues.volume(place as usize).iter().enumerate();
    parts.filter(|(_, part)| **part >= LEAST).map(|(voxel, _)| voxel)
}

const DIRECTION: &str = "V1, one fibre";
const HEADER: &str = "quantity\tunit\tvoxels\tmedian\tpercentile_95\tworst\n";

/// Compares what was found of a head with its truth.
pub struct Compare;

const FILE: &str = "accuracy.tsv";

impl Stage for Compare {
    fn name(&self) -> &'static str {
        "accuracy"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::always::<Head>(),
            Taken::where_made::<Maps<fits::dti::Parameters>>(),
            Taken::where_made::<Peaks>(),
            Taken::where_made::<Maps<fits::dki::Parameters>>(),
            Taken::where_made::<StickSamples>(),
            Taken::where_made::<Tracked>(),
            Taken::where_made::<Weighed>(),
            Taken::where_made::<Fields>(),
            Taken::where_made::<ChiMap>(),
            Taken::where_made::<GreSubject>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Accuracy>()]
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn outputs(&self) -> Vec<String> {
        vec![FILE.to_owned()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let head = products.get::<Head>()?;
        let truth = &head.subject.truth;
        let mut accuracy = Accuracy::default();
        if let Some(fit) = products.find::<Maps<fits::dti::Parameters>>() {
            dti::compare(fit, head, &mut accuracy);
        }
        if let Some(found) = products.find::<Peaks>() {
            let voxels = voxels_of(head, PureTissue::White).map(|v| v as u32).collect();
            let white = Mask { grid: head.labels.grid, voxels };
            peaks::compare("peaks", &found.peaks, &white, truth, &mut accuracy);
        }
        if let Some(samples) = products.find::<StickSamples>() {
            let workers = log.session().on.workers;
            workers.install(|| sticks::compare(samples, head, &mut accuracy));
        }
        if let Some(tracked) = products.find::<Tracked>() {
            let workers = log.session().on.workers;
            let weights = products.find::<Weighed>().map(|weighed| &weighed.weights[..]);
            workers.install(|| {
                tracks::compare(&tracked.lines, weights, truth, &mut accuracy);
                bundles::compare(&tracked.lines.streamlines, head, &mut accuracy, log);
            });
        }
        if let Some(fit) = products.find::<Maps<fits::dki::Parameters>>() {
            dki::compare(fit, head, &mut accuracy);
        }
        if let Some(made) = products.find::<GreSubject>() {
            if let Some(fields) = products.find::<Fields>() {
                qsm::compare_field(fields, made, &mut accuracy);
            }
            if let Some(map) = products.find::<ChiMap>() {
                qsm::compare(map, made, &mut accuracy);
            }
        }
        products.put(accuracy);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write(FILE, products.get::<Accuracy>()?.to_tsv().as_bytes())?)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let text = fimbria_image::read_regular_text(folder.join(FILE))?;
        products.put(Accuracy::from_tsv(&text).ok_or("accuracy.tsv cannot be understood")?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_back_as_written() {
        let errors = (0..=100).map(|i| f64::from(i) / 7.0).collect();
        let rows = Closeness::new("V1", "°", errors).into_iter().collect();
        let accuracy = Accuracy { rows, angles_deg: Vec::new() };
        assert_eq!(accuracy.rows[0].percentile_95, 95.0 / 7.0);
        assert_eq!(Accuracy::from_tsv(&accuracy.to_tsv()), Some(accuracy));
        assert_eq!(Accuracy::from_tsv("quantity\n"), None);
    }
}
