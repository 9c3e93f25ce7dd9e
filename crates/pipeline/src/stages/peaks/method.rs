//! Peaks among all methods, with their densities in words for a paper.

use super::{FindPeaks, PEAKS_WRITES, PeaksParameters, section};
use crate::Taken;
use crate::stages::fits::fit_maps::FitMaps;
use crate::stages::fits::{self, FOD, fod};
use crate::stages::fod_field::FodField;
use crate::stages::in_run::{InRun, InRunError, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::pictures::FA;
use crate::stages::shown::Methods;
use crate::{Derivatives, Stage, Written};
use fimbria_tensors::peaks::Peaks;

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Usual,
        needs: &[],
        writes: Some(Written::folder(
            "peaks/",
            "the fibre directions, as `fimbria peaks` writes them",
        )),
        stages,
    }),
    table: Some(OptionTable::of::<PeaksParameters>()),
    writes: PEAKS_WRITES,
    restored: |record| Some(Box::new(FindPeaks::of_record(record)?)),
    text: |records| {
        let fod = records.iter().find_map(FitMaps::<fod::Parameters>::of_record)?;
        let peaks = records.iter().find_map(FindPeaks::of_record);
        Some(text(&fod.parameters, peaks.as_ref().map(|peaks| &peaks.parameters)))
    },
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<Peaks>()],
        draw: |shown| match (shown.products.find::<Peaks>(), shown.fa) {
            (Some(peaks), Some(fa)) => Ok(Some(section::peaks(peaks, fa, FA, shown.mask)?)),
            _ => Ok(None),
        },
    }),
    derivatives: Some(Derivatives::FROM_SERIES),
    ..Method::named("peaks")
};

/// From series to fibre directions; where densities are normalised, they are made with that.
fn stages(run: &RunContext<'_>) -> Stages {
    let parameters: PeaksParameters = run.options("peaks")?;
    parameters.check().map_err(InRunError::in_table("peaks"))?;
    let (style, entities) = (run.style, run.entities.to_owned());
    let mut stages: Vec<Box<dyn Stage>> = Vec::new();
    if !run.makes("normalise") {
        stages.push(fits::in_run(FOD, run.tables, style, &entities)?);
        stages.push(Box::new(FodField));
    }
    stages.push(Box::new(FindPeaks { parameters, style, entities }));
    Ok(stages)
}

/// What was done, in words for a paper.
fn text(fod: &fod::Parameters, peaks: Option<&PeaksParameters>) -> Methods {
    let mut text = format!(
        "Fibre orientation densities of degree {} were estimated by constrained spherical deconvolution of \
         all shells, non-negative in every direction of a dense set, with {}.",
        fod.order.0.0,
        responses(fod),
    );
    let mut references = vec![
        "Tournier JD, Calamante F, Connelly A. NeuroImage 35, 1459 (2007)",
        "Jeurissen B et al. NeuroImage 103, 411 (2014)",
    ];
    if let Some(PeaksParameters { threshold, absolute_threshold, separation, .. }) = peaks {
        let absolute = match *absolute_threshold {
            least if least > 0.0 => format!(", or of {least} at most"),
            _ => String::new(),
        };
        text += &format!(
            " Their maxima were found as eigenvectors of the equivalent symmetric tensors and \
             certified by the projected Hessian; maxima below {threshold} of the voxel's \
             largest{absolute}, or nearer than {separation}° to a larger one, were left out."
        );
        references.push("Kolda TG, Mayo JR. SIAM J Matrix Anal Appl 32, 1095 (2011)");
    }
    Methods { text, references }
}

/// Which responses were given.
fn responses(fod: &fod::Parameters) -> String {
    let all = [
        (&fod.response, "single fibres"),
        (&fod.response_gm, "grey matter"),
        (&fod.response_csf, "fluid"),
    ];
    let given: Vec<&str> =
        all.into_iter().filter(|(path, _)| path.is_some()).map(|(_, tissue)| tissue).collect();
    match &given[..] {
        [] => "responses estimated from the data".to_owned(),
        [_, _, _] => "given responses".to_owned(),
        some => format!(
            "a given response of {}, and others, where there are any, estimated from the data",
            some.join(" and ")
        ),
    }
}
