//! Responses from the data.
//!
//! * Single fibres, after Tournier et al. (NMR Biomed 26, 1775 (2013)): the voxels of highest FA are
//!   candidates, ten for each that is chosen, and the best the first guess. A response is made of these, all
//!   candidates are deconvolved with it (fibres only, weighted shells), and the voxels whose
//!   densities are most alike to one fibre's, by √p₁ (1 - p₂/p₁)² of the two largest peaks, are
//!   taken instead, until the choice stays. The fibre's axis is the first eigenvector of the
//!   tensor. A hundredth of the voxels with fibres is chosen: the published 300 in voxels of 2 mm.
//! * Grey matter and fluid, a variant of Dhollander et al. (ISMRM workshop on breaking the barriers
//!   of diffusion MRI (2016), p. 5): voxels of FA below 0.2 are told apart by their signal decay
//!   (mean over the shells of the logarithm of unweighted over weighted mean signal), split where
//!   the variance between the two groups is largest (Otsu); of one shell each side of their median is
//!   split so, as published, since fibres that cross are a third group. Fluid is the tenth of the faster
//!   group that decays fastest. Grey matter is found among the tenth of the slower group nearest to its
//!   median decay: the half of them with the least FA, which excludes fibres that cross.
//!
//! All thresholds are fractions of what the mask holds, so that small masks work as well, down to
//! ten voxels of a kind.

mod single_fibre;
mod survey;
mod tissue;
mod zonal;

use fimbria_compute::{Backend, Progress};
use fimbria_image::{GradientTable, Mask, SignalSource};

use super::shells::Shelled;
use super::{FodError, FodOptions, Responses, Tissues};
use survey::Survey;
pub(crate) use zonal::zonal_harmonics;

/// Voxels that a response is made of at least.
const FEWEST: usize = 10;

/// The responses that `options` do not give, from the series, beside those they do. Where nobody asks for
/// three tissues of one shell, and the mask has no grey matter or fluid to make their responses of, fibres
/// alone, with a warning.
///
/// # Errors
/// Where the data hold too few voxels of a kind, or the acquisition determines no tensor.
pub fn estimate(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &FodOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Responses, FodError> {
    options.check()?;
    let shelled = Shelled::for_options(gradients, options)?;
    let of = |shelled| estimate_of(shelled, signals, mask, gradients, options, on, progress);
    let may_do_without = shelled.three
        && shelled.single
        && options.tissues == Tissues::Auto
        && options.grey.is_none()
        && options.fluid.is_none();
    match of(&shelled) {
        Err(error @ FodError::TooFewVoxels { .. }) if may_do_without => {
            let alone = of(&Shelled::new(gradients, Tissues::White)?)?;
            progress.warn(&format!("fibres alone are fitted: {error}"));
            Ok(alone)
        }
        done => done,
    }
}

/// The same of these shells.
fn estimate_of(
    shelled: &Shelled,
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &FodOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Responses, FodError> {
    if !shelled.three {
        for (given, tissue) in [(&options.grey, "grey matter"), (&options.fluid, "fluid")] {
            if given.is_some() {
                return Err(FodError::UnusedResponse(tissue));
            }
        }
    }
    let isotropic_given = !shelled.three || (options.grey.is_some() && options.fluid.is_some());
    if let (Some(white), true) = (&options.white, isotropic_given) {
        let isotropic = options.grey.clone().zip(options.fluid.clone()).map(|(g, f)| [g, f]);
        return Ok(Responses { white: white.clone(), isotropic });
    }
    let survey = Survey::new(signals, mask, gradients, shelled, on, progress)?;
    let white = match &options.white {
        Some(white) => white.clone(),
        None => {
            single_fibre::estimate(signals, gradients, shelled, &survey, options, on, progress)?
        }
    };
    let isotropic = match (shelled.three, &options.grey, &options.fluid) {
        (false, ..) => None,
        (true, Some(grey), Some(fluid)) => Some([grey.clone(), fluid.clone()]),
        (true, grey, fluid) => {
            let [found_grey, found_fluid] = tissue::estimate(&survey, progress)?;
            let grey = grey.clone().unwrap_or(found_grey);
            Some([grey, fluid.clone().unwrap_or(found_fluid)])
        }
    };
    Ok(Responses { white, isotropic })
}
