//! Fixels and their densities as ODX.

use fimbria_compute::Progress as _;
use fimbria_image::arrays::Column;
use fimbria_image::odx::Odx;
use fimbria_image::{BvecFrame, Grid};
use fimbria_tensors::sh::ShBasis;

use super::{Made, PEAK};
use crate::stages::load_orientations::OrientationField;
use crate::{Logbook, Page, StageError};

/// The file.
pub(super) const FILE: &str = "fixels.odx";
/// What ODX calls the density in the maximum.
const AMPLITUDE: &str = "amplitude";

/// Voxels that are read at a time.
const TILE: usize = 4096;

/// The name of a value of ODX in a folder of fixels.
pub(super) fn name_in_folder(name: &str) -> &str {
    if name == AMPLITUDE { PEAK } else { name }
}

/// A value of each fixel, by its name in a folder.
pub(super) fn values_of(column: &Column) -> (String, Vec<f32>) {
    let values = column.values().map(|value| value as f32).collect();
    (name_in_folder(&column.kind.name).to_owned(), values)
}

/// What was made, with the densities it was made of where they are in scanner axes.
pub(super) fn odx(
    made: &Made,
    field: Option<&OrientationField>,
    log: &Logbook<'_>,
) -> Result<Odx, StageError> {
    let name = |name: &str| if name == PEAK { AMPLITUDE.to_owned() } else { name.to_owned() };
    let named: Vec<_> = made.values.iter().map(|(of, values)| (name(of), values)).collect();
    let values: Vec<_> = named.iter().map(|(name, values)| (&**name, &***values)).collect();
    let Some((field, basis)) = field.and_then(|field| Some((field, field.basis?))) else {
        return Ok(Odx::from_fixels(&made.fixels, &values));
    };
    if !is_in_scanner_axes(field.frame, field.coefficients.grid()) {
        let message = "densities in voxel axes have no place in an ODX: its fixels go without them";
        log.warn(Page::Fixels, message);
        return Ok(Odx::from_fixels(&made.fixels, &values));
    }
    let rows = log.session().on.workers.install(|| rows(field, basis, log))?;
    let width = field.coefficients.n_volumes();
    Ok(Odx::from_densities(&field.mask, width, &rows, &made.fixels, &values))
}

/// Whether axes are those of the scanner.
fn is_in_scanner_axes(frame: BvecFrame, grid: &Grid) -> bool {
    let turn = frame.ras_from_frame(&grid.ras_from_vox);
    let is_one = |(i, j): (usize, usize)| (turn[i][j] - f64::from(u8::from(i == j))).abs() < 1e-6;
    (0..3).all(|i| (0..3).all(|j| is_one((i, j))))
}

/// The coefficients of each voxel in MRtrix3's basis, voxel by voxel.
fn rows(
    field: &OrientationField,
    basis: ShBasis,
    log: &Logbook<'_>,
) -> Result<Vec<f32>, StageError> {
    let places = basis.in_mrtrix(field.order);
    let mut rows = vec![0.0; field.mask.len() * places.len()];
    let mut read = vec![0.0; TILE * places.len()];
    for (voxels, rows) in field.mask.voxels.chunks(TILE).zip(rows.chunks_mut(TILE * places.len())) {
        log.check()?;
        field.coefficients.gather_on_pool(voxels, &mut read);
        for (volume, (place, sign)) in read.chunks(voxels.len()).zip(&places) {
            let coefficients = rows.chunks_mut(places.len()).map(|row| &mut row[*place]);
            coefficients.zip(volume).for_each(|(to, from)| *to = *from * *sign as f32);
        }
    }
    Ok(rows)
}
