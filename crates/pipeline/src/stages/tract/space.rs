//! Regions that lie in another space than the streamlines, and the way there.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fimbria_image::is_image_name;
use fimbria_streamlines::edit::Bring;
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::{Value, json};

use crate::options::{Described as _, Takes};
use crate::transforms::{FslSpaces, Transform, TransformFile};
use crate::{Input, Logbook, Page, StageError};

/// Where regions lie, and how their labels are called.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Where the regions lie")]
pub struct SpaceOptions {
    /// Names of labels: a text file with a number and a name in each line, as FreeSurfer and MRtrix3 have it
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::TABLE)]
    pub lut: Option<PathBuf>,

    /// Regions of another space: what brings its images onto the data, of ANTs and ITK (.mat, .txt, 1Warp.nii.gz),
    /// MRtrix3 (-linear, -warp) or FSL (flirt, applywarp -w), each known by what it is. Of several the first takes points
    /// of the data first, as antsApplyTransforms -t; `[FILE,1]` is the inverse of a matrix
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::TRANSFORM)]
    pub transform: Vec<TransformFile>,

    /// With a transform of FSL, image of the regions' space: flirt -in, applywarp -i
    #[arg(long, value_name = "IMAGE", requires_all = ["transform", "fsl_ref"])]
    #[arg(takes = Takes::IMAGE)]
    pub fsl_in: Option<PathBuf>,

    /// With a transform of FSL, image of the data's space: flirt -ref, applywarp -r
    #[arg(long, value_name = "IMAGE", requires = "fsl_in")]
    #[arg(takes = Takes::IMAGE)]
    pub fsl_ref: Option<PathBuf>,
}

impl SpaceOptions {
    pub(super) fn inputs(&self) -> Vec<Input> {
        let Self { lut, transform, fsl_in, fsl_ref } = self;
        let mut inputs: Vec<Input> =
            lut.iter().map(|file| ("lut".to_owned(), file.clone())).collect();
        for TransformFile { path, .. } in transform {
            match is_image_name(path) {
                true => inputs.extend(with_sidecar("transform", path)),
                false => inputs.push(("transform".to_owned(), path.clone())),
            }
        }
        for (role, file) in [("fsl in", fsl_in), ("fsl ref", fsl_ref)] {
            inputs.extend(file.iter().flat_map(|file| with_sidecar(role, file)));
        }
        inputs
    }

    /// How many transforms there are, and which of them are inverted, for the record: files are among its inputs.
    pub(super) fn in_record(&self) -> Value {
        json!(self.transform.iter().map(|file| file.is_inverse).collect::<Vec<_>>())
    }

    /// The way from the streamlines to the regions; `None` where they lie in one space.
    pub(super) fn bring(&self, log: &Logbook<'_>) -> Result<Option<Bring>, StageError> {
        if self.transform.is_empty() {
            return Ok(None);
        }
        let spaces = self.fsl_in.as_deref().zip(self.fsl_ref.as_deref());
        let fsl = spaces.map(|(moving, fixed)| FslSpaces { moving, fixed });
        let transform = Transform::read(&self.transform, fsl, log, Page::Tracts)?;
        Ok(Some(Arc::new(move |pos| transform.apply(pos))))
    }
}
