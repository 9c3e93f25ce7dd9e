//! Regions that lie in another space than the streamlines, and the way there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fimbria_image::{Affine, Grid, Image, ImageHeader, read_image};
use fimbria_streamlines::bundle::Sampler;
use fimbria_streamlines::edit::Bring;
use fimbria_tracking::{Warp, covers};
use serde::Serialize;

use super::TractError;
use crate::hashing::with_sidecar;
use crate::options::{Described as _, Takes};
use crate::transforms::{FieldKind, check_field, matrix};
use crate::{Input, Logbook, Page, StageError};

/// Where regions lie, and how their labels are called.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Where the regions lie")]
pub struct SpaceOptions {
    /// Names of labels: a text file with a number and a name in each line, as FreeSurfer and MRtrix3 have it
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::TABLE)]
    pub lut: Option<PathBuf>,

    /// Regions of another space: the 4 x 4 matrix that brings its images onto the data with mrtransform -linear. It
    /// takes scanner mm of the data to scanner mm of that space
    #[arg(long, value_name = "FILE", conflicts_with_all = ["warp", "xfm"])]
    #[arg(takes = Takes::TRANSFORM)]
    pub linear: Option<PathBuf>,

    /// The same for mrtransform -warp: an image on the data's side with three volumes, scanner mm of that space
    #[arg(long, value_name = "IMAGE", conflicts_with = "xfm")]
    #[arg(takes = Takes::TRANSFORM)]
    pub warp: Option<PathBuf>,

    /// The same for FSL: the matrix of flirt -omat, or the field that applywarp -w takes, from --xfm-in to --xfm-ref
    #[arg(long, value_name = "FILE", requires_all = ["xfm_in", "xfm_ref"])]
    #[arg(takes = Takes::TRANSFORM)]
    pub xfm: Option<PathBuf>,

    /// Image of the regions' space: flirt -in, applywarp -i
    #[arg(long, value_name = "IMAGE", requires = "xfm")]
    #[arg(takes = Takes::IMAGE)]
    pub xfm_in: Option<PathBuf>,

    /// Image of the data's space: flirt -ref, applywarp -r
    #[arg(long, value_name = "IMAGE", requires = "xfm")]
    #[arg(takes = Takes::IMAGE)]
    pub xfm_ref: Option<PathBuf>,
}

impl SpaceOptions {
    pub(super) fn inputs(&self) -> Vec<Input> {
        let Self { lut, linear, warp, xfm, xfm_in, xfm_ref } = self;
        let plain = [("lut", lut), ("linear", linear), ("xfm", xfm)];
        let plain = plain.into_iter().filter_map(|(role, file)| Some((role, file.as_ref()?)));
        let mut inputs: Vec<Input> =
            plain.map(|(role, file)| (role.to_owned(), file.clone())).collect();
        for (role, file) in [("warp", warp), ("xfm in", xfm_in), ("xfm ref", xfm_ref)] {
            inputs.extend(file.iter().flat_map(|file| with_sidecar(role, file)));
        }
        inputs
    }

    /// The way from the streamlines to the regions; `None` where they lie in one space.
    pub(super) fn bring(&self, log: &Logbook<'_>) -> Result<Option<Bring>, StageError> {
        if let Some(path) = &self.linear {
            let there_from_here = matrix(path)?;
            if there_from_here.inverse().is_none() {
                return Err(TractError::Singular(path.clone()).into());
            }
            return Ok(Some(Arc::new(move |pos| Some(there_from_here.apply(pos)))));
        }
        if let Some(path) = &self.warp {
            check_field(&ImageHeader::read(path)?, FieldKind::Places)?;
            let image = log.session().on.workers.install(|| read_image(path))?;
            return Ok(Some(deformation(path, image)?));
        }
        match (&self.xfm, &self.xfm_in, &self.xfm_ref) {
            (Some(xfm), Some(there), Some(here)) => Ok(Some(fsl(xfm, there, here, log)?)),
            _ => Ok(None),
        }
    }
}

/// By a field of places.
fn deformation(path: &Path, image: Image) -> Result<Bring, StageError> {
    if image.n_volumes != 3 {
        let (path, volumes) = (path.to_owned(), image.n_volumes);
        return Err(TractError::Deformation { path, volumes }.into());
    }
    let axis = |axis: usize| {
        let data = image.volume(axis).to_vec();
        Sampler::new(Image { grid: image.grid, n_volumes: 1, data })
    };
    let of = |source| TractError::Map { path: path.to_owned(), source };
    let axes = [axis(0).map_err(of)?, axis(1).map_err(of)?, axis(2).map_err(of)?];
    Ok(Arc::new(move |pos| {
        let there = [0, 1, 2].map(|axis| axes[axis].at(pos));
        there.iter().all(|x| x.is_finite()).then_some(there)
    }))
}

/// From scanner mm to radiological voxels, which FSL counts in, and their size.
fn radiological_from_ras(grid: &Grid, path: &Path) -> Result<Affine, TractError> {
    let singular = || TractError::Singular(path.to_owned());
    let vox_from_ras = grid.ras_from_vox.inverse().ok_or_else(singular)?;
    let mut turned = Affine::IDENTITY;
    if grid.ras_from_vox.determinant() > 0.0 {
        (turned.0[0][0], turned.0[0][3]) = (-1.0, grid.dims[0] as f64 - 1.0);
    }
    Ok(turned.after(&vox_from_ras))
}

/// By FSL's matrix or field.
fn fsl(xfm: &Path, there: &Path, here: &Path, log: &Logbook<'_>) -> Result<Bring, StageError> {
    let (there_path, here_path) = (there, here);
    let (there, here) = (*ImageHeader::read(there)?.grid(), *ImageHeader::read(here)?.grid());
    let here_vox = radiological_from_ras(&here, here_path)?;
    let singular = |path: &Path| TractError::Singular(path.to_owned());
    let there_ras =
        radiological_from_ras(&there, there_path)?.inverse().ok_or_else(|| singular(there_path))?;
    if !fimbria_image::is_image_name(xfm) {
        let mm = |grid: &Grid| Affine::from_spacing(grid.ras_from_vox.spacing());
        let there_mm = matrix(xfm)?.inverse().ok_or_else(|| singular(xfm))?;
        let there_vox = mm(&there).inverse().ok_or_else(|| singular(there_path))?;
        let whole = there_ras.after(&there_vox).after(&there_mm).after(&mm(&here)).after(&here_vox);
        return Ok(Arc::new(move |pos| Some(whole.apply(pos))));
    }
    let header = ImageHeader::read(xfm)?;
    check_field(&header, FieldKind::Fsl)?;
    if !covers(header.grid(), &here) {
        let warning = format!(
            "{} covers another field of view than --xfm-ref: a field lies in the space that images are brought to",
            xfm.display()
        );
        log.warn(Page::Tracts, &warning);
    }
    let image = log.session().on.workers.install(|| read_image(xfm))?;
    let warp = Warp::new(&image, &here, &there);
    let warp = warp.map_err(|source| TractError::Warp { path: xfm.to_owned(), source })?;
    Ok(Arc::new(move |pos| {
        let there = warp.apply(here_vox.apply(pos).map(|x| x as f32));
        Some(there_ras.apply(there.map(f64::from)))
    }))
}
