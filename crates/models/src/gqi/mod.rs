//! Generalised q-sampling imaging (Yeh, Wedeen, Tseng 2010): how many spins move along each direction, a weighted sum
//! of the signals with no model of tissue.
//!
//! ψ(u) is the mean over all volumes of S H(L √(6 D b) g·u), D the diffusivity of free water and L a length in units of
//! how far that diffuses; H is sin x / x, or with displacements weighted by their square the integral of
//! r² cos(x r) over r from 0 to 1 (Garyfallidis 2012). ψ is the same for u and -u.

mod spins;
#[cfg(test)]
mod tests;

use fimbria_compute::{Backend, Progress};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};
use fimbria_tensors::sh::sh_count;

use self::spins::Spins;
use crate::curve::{CurveError, Protocol};
use crate::voxelwise::Job;
use crate::{Fitted, ProtocolError};

/// How displacements count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    /// All alike: sin x / x.
    #[default]
    Alike,
    /// By their square, as in the density of directions of a propagator.
    Squared,
}

/// What a reconstruction may be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GqiOptions {
    /// L, how far displacements are counted, in units of how far free water diffuses.
    pub length: f64,
    /// How they count.
    pub weighting: Weighting,
}

impl Default for GqiOptions {
    /// As DSI Studio has it.
    fn default() -> Self {
        Self { length: 1.25, weighting: Weighting::Alike }
    }
}

/// The degree of the density's harmonics: at b = 3000 what lies beyond is 1 % of the largest degree.
const DEGREE: usize = 12;
/// Fewest volumes with weighting.
const LEAST_VOLUMES: usize = 15;

/// The maps of a reconstruction, in order.
pub fn maps() -> Vec<MapSpec> {
    vec![
        MapSpec::scalar(
            "QA",
            "arbitrary",
            "quantitative anisotropy, the largest of the spin distribution less its least, input units",
        ),
        MapSpec::scalar(
            "ISO",
            "arbitrary",
            "isotropic part, the least of the spin distribution over directions, input units",
        ),
        MapSpec::scalar(
            "GFA",
            "",
            "generalised fractional anisotropy, standard deviation over root mean square of the spin distribution",
        )
        .within(Window::Fixed([0.0, 0.3])),
        MapSpec::of_kind(
            "odf",
            MapKind::Harmonics(DEGREE),
            sh_count(DEGREE),
            "",
            // What a header has room for ends behind the basis.
            "spins, spherical harmonics in MRtrix3's basis and order, scanner RAS axes: the spin distribution less its \
             least; integral 1",
        ),
        MapSpec::status(),
    ]
}

/// The volumes of a reconstruction, where they determine it.
fn protocol(gradients: &GradientTable) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, None)?;
    let n = protocol.weighted.len();
    let shells = protocol.count_full_shells() - usize::from(!protocol.unweighted.is_empty());
    if n < LEAST_VOLUMES || shells == 0 {
        return Err(CurveError::Unsupported {
            model: "generalised q-sampling",
            needs: "15 weighted volumes along directions that do not lie in a plane",
            has: format!("{n} weighted volumes and {shells} such shells"),
            b_max_s_per_mm2: None,
        });
    }
    Ok(protocol)
}

/// Whether a gradient table determines a spin distribution.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable) -> Result<(), CurveError> {
    protocol(gradients).map(drop)
}

/// Makes of all volumes of each voxel the maps `QA`, `ISO`, `GFA`, `odf`, `status`.
///
/// # Errors
/// [`CurveError`]; needed are 15 weighted volumes.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &GqiOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let fit = Spins::new(&protocol(gradients)?, options);
    let job = Job { name: "q-sampling", inputs: signals, mask, progress };
    Ok(job.run(&fit, on)?)
}
