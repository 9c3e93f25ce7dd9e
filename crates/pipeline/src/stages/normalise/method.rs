//! Normalised intensities among all methods, and in words for a paper.

use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::{FigureError, Section, colour};

use super::{NORMALISE_WRITES, NormaliseInRun, NormaliseParameters, USED};
use crate::stages::fits::{self, FOD};
use crate::stages::fod_field::{FodField, Gain};
use crate::stages::in_run::{InRun, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection, Shown};
use crate::stages::pictures::status;
use crate::stages::shown::Methods;
use crate::{Derivatives, RunRecord, Taken, Written};

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Usual,
        needs: &["peaks"],
        writes: Some(
            Written::folder(
                "normalise/",
                "densities comparable between subjects, as `fimbria normalise` writes them; peaks and streamlines \
                 are of these",
            )
            .only("where tissues are told apart"),
        ),
        stages,
    }),
    table: Some(OptionTable::of::<NormaliseParameters>()),
    writes: NORMALISE_WRITES,
    restored: |record| Some(Box::new(NormaliseInRun::of_record(record)?)),
    text,
    section: Some(PageSection { takes: || vec![Taken::where_made::<Gain>()], draw }),
    derivatives: Some(Derivatives {
        place: |file, names| names.map("csd", file),
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("normalise")
};

/// From series to densities that are normalised.
fn stages(run: &RunContext<'_>) -> Stages {
    let (style, entities) = (run.style, run.entities.to_owned());
    Ok(vec![
        fits::in_run(FOD, run.tables, style, &entities)?,
        Box::new(NormaliseInRun::new(run.options("normalise")?, style, entities)),
        Box::new(FodField),
    ])
}

/// What was done, where a record is that of tissues that were told apart.
fn text(records: &[RunRecord]) -> Option<Methods> {
    let own = |record: &&RunRecord| record.results.contains_key("balance");
    let record = records.iter().find(own)?;
    let parameters = NormaliseInRun::of_record(record)?.parameters;
    let text = format!(
        "Intensities were normalised by all tissues together: amounts, each times a balancing factor of its tissue, \
         add up to a constant times the exponential of a polynomial of position of order {}, fitted to their \
         logarithm; voxels beyond the quartiles by more than 1.5 of their distance were left out.",
        parameters.order
    );
    let references = vec![
        "Raffelt D et al. Proc. ISMRM 26, 3541 (2017)",
        "Dhollander T et al. Proc. ISMRM 29, 2472 (2021)",
    ];
    Some(Methods { text, references })
}

fn draw(shown: &Shown<'_>) -> Result<Option<Section>, crate::StageError> {
    shown.products.find().map(|gain| section(gain, shown)).transpose().map_err(Into::into)
}

fn section(Gain { gain, used }: &Gain, shown: &Shown<'_>) -> Result<Section, FigureError> {
    let style = Scalar { scale: colour::Scale::Lagoon, ..Scalar::new("Gain", "") };
    Ok(Section::new("Normalised intensities")
        .figure(
            mosaic_scalar(gain, shown.mask, &style)?,
            "How bright the scanner was: what densities were divided by before peaks were found and streamlines \
             followed. It should be smooth and near 1 where responses are those of the same head.",
        )
        .figure(
            status("Voxels it was found of", used, shown.mask, &USED.description)?,
            "Outliers are voxels that tissue does not fill, or that are brighter than others.",
        ))
}
