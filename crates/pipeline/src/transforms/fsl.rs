//! FSL's matrices and fields, which count in millimetres of the two images that they lie between.

use std::path::{Path, PathBuf};

use fimbria_image::{Affine, Grid, ImageHeader, read_image};
use fimbria_tracking::{Warp, covers};

use super::{FieldKind, TransformError, check_field, matrix};
use crate::{Logbook, Page};

/// The images that a transform of FSL lies between, by name: it brings `moving` onto `fixed`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FslSpaces<'a> {
    pub(crate) moving: &'a Path,
    pub(crate) fixed: &'a Path,
}

/// By a field of FSL: radiological voxels of the fixed image, to them of the moving one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FslField {
    fixed_from_ras: Affine,
    warp: Warp,
    ras_from_moving: Affine,
}

impl FslField {
    pub(super) fn apply(&self, pos_ras: [f64; 3]) -> [f64; 3] {
        let there = self.warp.apply(self.fixed_from_ras.apply(pos_ras).map(|x| x as f32));
        self.ras_from_moving.apply(there.map(f64::from))
    }
}

fn singular(path: &Path) -> TransformError {
    TransformError::Singular(path.to_owned())
}

/// From scanner mm to radiological voxels, which FSL counts in.
fn radiological_from_ras(grid: &Grid, path: &Path) -> Result<Affine, TransformError> {
    let vox_from_ras = grid.ras_from_vox.inverse().ok_or_else(|| singular(path))?;
    let mut turned = Affine::IDENTITY;
    if grid.ras_from_vox.determinant() > 0.0 {
        (turned.0[0][0], turned.0[0][3]) = (-1.0, grid.dims[0] as f64 - 1.0);
    }
    Ok(turned.after(&vox_from_ras))
}

impl FslSpaces<'_> {
    /// Grids of the two with the ways between their voxels and scanner mm: of the fixed one there, of the moving one
    /// back.
    fn grids(&self) -> Result<[(Grid, Affine); 2], TransformError> {
        let grid = |path: &Path| ImageHeader::read(path).map(|header| *header.grid());
        let [moving, fixed] = [grid(self.moving)?, grid(self.fixed)?];
        let fixed_from_ras = radiological_from_ras(&fixed, self.fixed)?;
        let back = radiological_from_ras(&moving, self.moving)?.inverse();
        Ok([(fixed, fixed_from_ras), (moving, back.ok_or_else(|| singular(self.moving))?)])
    }

    /// What the matrix of `flirt -omat` does to scanner mm of the fixed image.
    pub(super) fn linear(&self, path: &Path) -> Result<Affine, TransformError> {
        let [(fixed, fixed_from_ras), (moving, ras_from_moving)] = self.grids()?;
        let mm = |grid: &Grid| Affine::from_spacing(grid.ras_from_vox.spacing());
        let moving_mm = matrix(path)?.inverse().ok_or_else(|| singular(path))?;
        let moving_vox = mm(&moving).inverse().ok_or_else(|| singular(self.moving))?;
        let all = [moving_vox, moving_mm, mm(&fixed), fixed_from_ras];
        Ok(all.iter().fold(ras_from_moving, |whole, next| whole.after(next)))
    }

    /// The field that `applywarp -w` takes.
    pub(super) fn field(
        &self,
        header: &ImageHeader,
        log: &Logbook<'_>,
        page: Page,
    ) -> Result<FslField, TransformError> {
        let path: PathBuf = header.path().to_owned();
        check_field(header, FieldKind::Fsl)?;
        let [(fixed, fixed_from_ras), (moving, ras_from_moving)] = self.grids()?;
        if !covers(header.grid(), &fixed) {
            let warning = format!(
                "{} covers another field of view than --fsl-ref: a field lies in the space that images are brought to",
                path.display()
            );
            log.warn(page, &warning);
        }
        let image = log.session().on.workers.install(|| read_image(&path))?;
        let warp = Warp::new(&image, &fixed, &moving);
        let warp = warp.map_err(|source| TransformError::Warp { path, source })?;
        Ok(FslField { fixed_from_ras, warp, ras_from_moving })
    }
}
