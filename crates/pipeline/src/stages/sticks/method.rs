//! The sampling among all methods, and in words for a paper.

use fimbria_sticks::{Diffusivity, Relevance};

use super::section;
use super::{Resume, STICKS_WRITES, Sticks, SticksInRun, SticksParameters, Within};
use crate::stages::in_run::{InRun, InRunError, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::pictures::FA;
use crate::stages::shown::Methods;
use crate::{Derivatives, Named, OutputFolder, Taken, Written};
use fimbria_image::sticks::StickSamples;

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Usual,
        needs: &[],
        writes: Some(Written::folder(
            "sticks/",
            "a bedpostX folder, as `fimbria sticks` writes it, of the voxels with a peak",
        )),
        stages,
    }),
    table: Some(OptionTable::of::<SticksInRun>()),
    writes: STICKS_WRITES,
    restored: |record| Some(Box::new(Sticks::of_record(record)?)),
    text: |records| Some(text(&records.iter().find_map(Sticks::of_record)?)),
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<StickSamples>()],
        draw: |shown| match (shown.products.find::<StickSamples>(), shown.fa) {
            (Some(samples), Some(fa)) => {
                Ok(Some(section::sticks(samples, shown.records, fa, FA, shown.mask)?))
            }
            _ => Ok(None),
        },
    }),
    derivatives: Some(Derivatives {
        place: |file, names| format!("dwi/{}desc-sticks.bedpostX/{}", names.series, file.file),
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("sticks")
};

/// The sampling, with a place to keep what an interruption leaves.
fn stages(run: &RunContext<'_>) -> Stages {
    let SticksInRun { sampling: parameters, within: Named(within) } = run.options("sticks")?;
    parameters.options().map_err(InRunError::in_table("sticks"))?;
    let keep = Some(OutputFolder::kept(&run.root.join("sticks"), "sticks"));
    let (extension, resume) = ("nii.gz", Resume::WhereSame);
    Ok(vec![Box::new(Sticks { parameters, within, extension, keep, resume })])
}

/// What was done, in words for a paper.
fn text(stage: &Sticks) -> Methods {
    let sticks = &stage.parameters;
    let model = match sticks.model.0 {
        Diffusivity::Single => "sticks in a ball of one diffusivity",
        Diffusivity::Gamma => "sticks in a ball of Gamma-distributed diffusivities",
        Diffusivity::Zeppelin => "zeppelins in a ball of Gamma-distributed diffusivities",
    };
    let relevance = match sticks.ard.0 {
        Relevance::Further => ", with automatic relevance determination of all but the first",
        Relevance::All => ", with automatic relevance determination",
        Relevance::Off => "",
    };
    let within = match stage.within {
        Within::Mask => "",
        Within::Fibres => {
            " in the voxels whose density has a peak above 0.15 (FA, without densities)"
        }
    };
    let SticksParameters { fibres, burn_in, jumps, sample_every, .. } = sticks;
    Methods {
        text: format!(
            "The posterior of {model}, up to {fibres} fibres a voxel{relevance}, was sampled by \
             Metropolis jumps{within}: {burn_in} to begin with, then every {sample_every}th of \
             {jumps}, with the priors of FSL's bedpostx."
        ),
        references: vec![
            "Behrens TEJ et al. Magn Reson Med 50, 1077 (2003)",
            "Behrens TEJ et al. NeuroImage 34, 144 (2007)",
            "Jbabdi S et al. Magn Reson Med 68, 1846 (2012)",
        ],
    }
}
