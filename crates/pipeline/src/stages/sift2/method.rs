//! The weights of streamlines among all methods, and in words for a paper.

use super::section;
use super::{SIFT2_WRITES, Sift2InRun, Sift2Parameters};
use crate::Taken;
use crate::stages::in_run::{InRun, InRunError, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::shown::Methods;
use crate::stages::track::{TrackInRun, tractogram_of};
use crate::{Derivatives, Source, Written};
use fimbria_life::sift2::Sift2;
use serde_json::json;

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Named,
        needs: &["track"],
        writes: Some(
            Written::folder("sift2/", "weights of the streamlines, as `fimbria sift2` writes them")
                .only("where asked for"),
        ),
        stages,
    }),
    table: Some(OptionTable::of::<Sift2Parameters>()),
    writes: SIFT2_WRITES,
    restored: |record| Some(Box::new(Sift2InRun::of_record(record)?)),
    text: |records| Some(text(records.iter().find_map(Sift2InRun::of_record)?.parameters())),
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<Sift2>()],
        draw: |shown| Ok(shown.products.find().map(section::weights)),
    }),
    derivatives: Some(Derivatives {
        sources: &[Source::Series, Source::Mask, Source::Tissues],
        place: |file, names| match file.stem() {
            "weights" => names.beside_series("model-sift2_streamlineweights", "csv"),
            _ => names.map("sift2", file),
        },
        describe: |file| {
            let text =
                "weight of each streamline of the tractogram, a line each, by the model of SIFT2";
            (file.stem() == "weights").then(|| {
                json!({ "Description": text, "Units": "arbitrary", "Parameters": file.parameters })
            })
        },
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("sift2")
};

fn stages(run: &RunContext<'_>) -> Stages {
    if !run.makes("peaks") {
        return Err(InRunError::NoDensities);
    }
    let TrackInRun { anatomy, .. } = run.options("track")?;
    let (options, tractogram) = (run.options("sift2")?, tractogram_of(run)?);
    Ok(vec![Box::new(Sift2InRun::new(options, tractogram, anatomy.act, run.memory))])
}

/// What was done, in words for a paper.
fn text(parameters: &Sift2Parameters) -> Methods {
    let Sift2Parameters { variation, tikhonov, least_filled, .. } = parameters;
    Methods {
        text: format!(
            "Streamlines were weighed by the model of SIFT2, so that along every lobe of the fibre \
             orientation densities they are as dense as the fibres (λ of variation {variation}, of Tikhonov \
             {tikhonov}; lobes filled to less than {least_filled} at equal weights were left out)."
        ),
        references: vec![
            "Smith RE et al. NeuroImage 119, 338 (2015)",
            "Smith RE et al. NeuroImage 67, 298 (2013)",
        ],
    }
}
