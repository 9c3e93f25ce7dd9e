//! Finding and reading what FSL names.

use std::path::{Path, PathBuf};

use fimbria_compute::Workers;
use fimbria_image::gifti::Surface;
use fimbria_image::{Affine, Grid, ImageHeader, is_image_name, read_image};
use fimbria_tracking::{Region, Space, Warp, covers};

use super::Probtrackx2Error;
use crate::stages::contents::check_region;
use crate::surfaces::{MeshSpace, crossed_region, is_surface};
use crate::transforms::{FieldKind, check_field, matrix};
use crate::{Logbook, Page};

/// Where seeds and regions are.
#[derive(Clone, Copy)]
pub(super) struct SeedSpace<'a> {
    pub(super) space: &'a Space,
    /// What coordinates of surfaces count in.
    pub(super) mesh_space: MeshSpace,
    /// Of a triangle that is crossed only the nearest vertex is met.
    pub(super) closest: bool,
    /// Threads that images are read on.
    pub(super) workers: &'a Workers,
}

impl SeedSpace<'_> {
    /// A surface as a region.
    pub(super) fn crossed(
        &self,
        file: &Path,
        surface: &Surface,
    ) -> Result<Region, Probtrackx2Error> {
        Ok(crossed_region(file, surface, self.mesh_space, self.space, self.closest)?)
    }
}

/// The image of this name, with or without its extension.
pub(super) fn image(name: &Path) -> Result<PathBuf, Probtrackx2Error> {
    image_called(name).ok_or_else(|| Probtrackx2Error::Missing(name.to_owned()))
}

pub(super) fn image_called(name: &Path) -> Option<PathBuf> {
    if name.is_file() && is_image_name(name) {
        return Some(name.to_owned());
    }
    fimbria_image::image_called(name)
}

/// What a region is called in FSL's outputs: its file without folder and extension.
fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(".nii").next().unwrap_or(&name).to_owned()
}

/// Text files are small; what is not is no list.
fn text(path: &Path) -> Result<String, Probtrackx2Error> {
    let wrong = |reason: String| Probtrackx2Error::Text { path: path.to_owned(), reason };
    fimbria_image::read_regular_text(path).map_err(|error| wrong(error.to_string()))
}

/// The seed space, on `grid`, and how it lies to the samples: by the identity, by a matrix of
/// FLIRT, or by two warps.
pub(super) fn space(
    grid: Grid,
    samples: &Grid,
    xfm: Option<&Path>,
    invxfm: Option<&Path>,
    log: &Logbook<'_>,
) -> Result<Space, Probtrackx2Error> {
    let Some(xfm) = xfm else { return Ok(Space::flirt(grid, samples, &Affine::IDENTITY)?) };
    let Some(field) = image_called(xfm) else {
        return Ok(Space::flirt(grid, samples, &matrix(xfm)?)?);
    };
    // A warp lies in the space it leads from: what FSL calls the inverse one, samples to seeds,
    // takes images there and therefore coordinates from there.
    let inverse = invxfm.ok_or(Probtrackx2Error::Options("a warp in --xfm needs --invxfm too"))?;
    let forth = warp(&image(inverse)?, &grid, samples, log)?;
    let back = warp(&field, samples, &grid, log)?;
    Ok(Space::warped(grid, forth, back))
}

fn warp(
    path: &Path,
    here: &Grid,
    there: &Grid,
    log: &Logbook<'_>,
) -> Result<Warp, Probtrackx2Error> {
    let header = ImageHeader::read(path)?;
    check_field(&header, FieldKind::Fsl)?;
    if !covers(header.grid(), here) {
        log.warn(Page::Tracking, &format!(
            "{} covers another field of view than the space it is taken to lie in: --xfm is a warp \
             in the space of the samples, --invxfm one in the space of the seeds",
            path.display()
        ));
    }
    let image = log.session().on.workers.install(|| read_image(path))?;
    Warp::new(&image, here, there)
        .map_err(|source| Probtrackx2Error::Warp { path: path.to_owned(), source })
}

/// The files that an argument names: itself, or those in a list of text.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, Probtrackx2Error> {
    if let Some(image) = image_called(path) {
        return Ok(vec![image]);
    }
    if is_surface(path) && path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !path.is_file() {
        return Err(Probtrackx2Error::Missing(path.to_owned()));
    }
    let file = |name: &str| {
        let name = Path::new(name);
        if is_surface(name) && name.is_file() { Ok(name.to_owned()) } else { image(name) }
    };
    text(path)?.split_whitespace().map(file).collect()
}

/// True for a text file, which may list others.
pub(super) fn is_list(path: &Path) -> bool {
    path.is_file() && image_called(path).is_none() && !is_surface(path)
}

/// Regions: an image, a surface, or a text file that lists them.
pub(super) fn regions(path: &Path, here: &SeedSpace<'_>) -> Result<Vec<Region>, Probtrackx2Error> {
    files(path)?.iter().map(|file| region(file, here)).collect()
}

/// The voxels of an image that are not zero, or a surface.
pub(super) fn region(file: &Path, here: &SeedSpace<'_>) -> Result<Region, Probtrackx2Error> {
    if is_surface(file) {
        return here.crossed(file, &Surface::read(file)?);
    }
    let image = here.workers.install(|| read_image(file))?;
    check_region(file, &image)?;
    let mut region = here.space.region(&image, &file.display().to_string())?;
    region.name = base_name(file);
    Ok(region)
}
