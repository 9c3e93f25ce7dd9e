//! Alignment among all methods.

use std::path::Path;

use fimbria_image::read_image;
use serde_json::json;

use super::in_run::{AlignInRun, stages};
use super::section::section;
use super::{ALIGN_WRITES, MOVED, Made};
use crate::stages::in_run::{InRun, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::read_back::ReadBack;
use crate::stages::shown::Methods;
use crate::{Derivatives, RunRecord, Source, Taken, Written};

pub(crate) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Table("align"),
        needs: &[],
        writes: Some(
            Written::folder(
                "align/",
                "an image of the subject laid on the series, with labels, as `fimbria align` writes it",
            )
            .only("with a table [align]"),
        ),
        stages,
    }),
    table: Some(OptionTable::of::<AlignInRun>()),
    writes: ALIGN_WRITES,
    restored: |record| {
        let file = record.outputs.iter().find(|output| output.file.starts_with(MOVED))?.file.clone();
        let read = Box::new(move |folder: &Path| Ok(Made::from_moved(read_image(folder.join(&file))?)));
        Some(Box::new(ReadBack { name: "align", read }))
    },
    section: Some(PageSection { takes: || vec![Taken::where_made::<Made>()], draw: section }),
    derivatives: Some(Derivatives {
        sources: &[Source::T1w, Source::Series],
        gathers: true,
        // Labels are those of the input, and a second form of a transform says nothing new.
        leaves_out: |file| file.stem() != MOVED && !file.stem().ends_with("_itk"),
        place: |file, names| match file.stem() {
            MOVED => names.beside_series("space-dwi_T1w", file.extension()),
            TO_FIXED => names.beside_series("from-T1w_to-dwi_mode-image_xfm", file.extension()),
            _ => names.beside_series("from-dwi_to-T1w_mode-image_xfm", file.extension()),
        },
        describe: |file| {
            let description = match file.stem() {
                MOVED => "on the grid of the corrected series, by a rigid motion",
                TO_FIXED => "brings images of the T1w image's space onto the series: antsApplyTransforms -t",
                _ => "brings images of the series onto the T1w image: antsApplyTransforms -t",
            };
            Some(json!({ "Description": description }))
        },
        ..Derivatives::FROM_SERIES
    }),
    text,
    ..Method::named("align")
};

/// The transform of images that move, as ITK has it.
const TO_FIXED: &str = "moving_to_fixed_itk";

/// How far an alignment moved its image, mm and degrees, where one of these records is of a motion that it found.
pub(super) fn moved(records: &[RunRecord]) -> Option<(f64, f64)> {
    let record = records.iter().find(|record| record.task == METHOD.name)?;
    let moved = record.results.get("moved")?;
    Some((moved["mm"].as_f64()?, moved["degrees"].as_f64()?))
}

/// What was done, where a record is that of an alignment.
fn text(records: &[RunRecord]) -> Option<Methods> {
    let (mm, degrees) = moved(records)?;
    let text = format!(
        "Images were aligned by a rigid motion ({mm:.1} mm, {degrees:.1} degrees) that maximises their normalised mutual \
         information, by quasi-Newton ascent from coarse to fine with histograms of cubic B-spline windows. Images were \
         interpolated by cubic splines; voxels have the label of the largest share."
    );
    let references = vec![
        "Studholme C, Hill DLG, Hawkes DJ. An overlap invariant entropy measure of 3D medical image alignment. Pattern \
         Recognition 32, 71-86 (1999).",
        "Thévenaz P, Unser M. Optimization of mutual information for multiresolution image registration. IEEE Trans Image \
         Process 9, 2083-2099 (2000).",
    ];
    Some(Methods { text, references })
}
