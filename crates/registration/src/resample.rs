//! A volume as it was measured, where the head is.

use rayon::prelude::*;

use crate::spline::Spline;
use crate::view::View;

/// What each voxel of the grid shows of a volume, by one interpolation: the signal of the head there, times
/// the factor by which fields stretched it. 0 where that was not measured; `least` at least, since
/// splines swing below dark edges.
pub(crate) fn resampled(volume: &Spline, view: View<'_>, least: f32, out: &mut [f32]) {
    let row = view.lattice.dims[0];
    out.par_chunks_mut(row).enumerate().for_each(|(j, out)| {
        for (i, out) in out.iter_mut().enumerate() {
            let (at, jacobian) = view.appears(j * row + i);
            let value = volume.at(view.lattice.vox(at));
            *out = value.map_or(0.0, |value| (value * jacobian as f32).max(least));
        }
    });
}
