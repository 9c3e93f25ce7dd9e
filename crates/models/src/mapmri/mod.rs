//! Mean apparent propagator MRI (Özarslan et al. 2013): the signal as a series of Hermite functions along the
//! axes of the tensor, from which the propagator and its indices follow in closed form.
//!
//! Coefficients are regularised by the norm of the signal's Laplacian (Fick et al. 2016), by a given weight or by
//! one that generalised cross-validation finds in each voxel, and where asked for constrained to a propagator
//! that is nowhere negative on a grid.

mod basis;
mod indices;
mod odf;
mod solve;
#[cfg(test)]
mod tests;
mod voxel;

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::active_set::Constraints;
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};
use fimbria_tensors::sh::sh_count;

use self::basis::Basis;
use self::odf::Rays;
use self::voxel::Propagators;
use crate::curve::{B_MAX_SLACK, CurveError, Protocol, of_axis};
use crate::dti::{self, DtiMap, DtiOptions};
use crate::voxelwise::{Job, SelectedVolumes, Stacked};
use crate::{Fitted, ProtocolError};

/// The highest total degree of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// 22 coefficients.
    Four,
    /// 50 coefficients.
    #[default]
    Six,
    /// 95 coefficients.
    Eight,
}

impl Order {
    /// The number.
    pub fn degree(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Six => 6,
            Self::Eight => 8,
        }
    }

    /// Number of coefficients.
    pub fn coefficients(self) -> usize {
        let half = self.degree() / 2;
        (half + 1) * (half + 2) * (4 * half + 3) / 6
    }
}

/// The weight of the Laplacian's norm against the sum of squared residuals, with q in 1/mm and signals relative
/// to those without weighting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Laplacian {
    /// This, 0 for none.
    Weight(f64),
    /// What generalised cross-validation finds in each voxel.
    CrossValidated,
}

/// What a fit may be told.
#[derive(Clone, Debug)]
pub struct MapmriOptions {
    /// Where the series ends.
    pub order: Order,
    /// Its regularisation.
    pub laplacian: Laplacian,
    /// Keep the propagator from being negative on a grid.
    pub positive: bool,
    /// One scale along all axes, that of [`ISOTROPIC_DIFFUSIVITY`].
    pub isotropic: bool,
    /// Also make the map `odf`.
    pub odf: bool,
    /// Volumes of the tensor that gives axes and scales: b up to this (s/mm²). Beyond 2000 signals are far from
    /// a Gaussian's, and NG has no meaning.
    pub axes_b_max_s_per_mm2: f64,
    /// From the begin of one gradient pulse to that of the other, s.
    pub big_delta_s: f64,
    /// How long each lasts, s.
    pub small_delta_s: f64,
}

impl Default for MapmriOptions {
    /// Order 6, weight 0.2, pulses of the Human Connectome Project.
    fn default() -> Self {
        Self {
            order: Order::Six,
            laplacian: Laplacian::Weight(0.2),
            positive: false,
            isotropic: false,
            odf: false,
            axes_b_max_s_per_mm2: 2000.0,
            big_delta_s: 0.0431,
            small_delta_s: 0.0106,
        }
    }
}

/// Of the one scale of isotropic series, µm²/ms.
pub const ISOTROPIC_DIFFUSIVITY: f64 = 0.7;
/// The grid of positivity, in units of the scale along each axis: up to this far, so far apart.
const GRID: (f64, f64) = (4.0, 0.5);

/// The maps of a fit, in order: of isotropic series without NG, NGpar and NGperp, whose Gaussian is that of the tensor.
pub fn maps(options: &MapmriOptions) -> Vec<MapSpec> {
    let mut maps = all_maps(options.order);
    maps.retain(|map| match &*map.name {
        "NG" | "NGpar" | "NGperp" => !options.isotropic,
        "odf" => options.odf,
        _ => true,
    });
    maps
}

fn all_maps(order: Order) -> Vec<MapSpec> {
    let share = |name: &'static str, about: &'static str| {
        MapSpec::scalar(name, "", about).within(Window::Fixed([0.0, 1.0]))
    };
    let volumes = |name: &'static str, kind, n, unit: &'static str, about: &'static str| {
        MapSpec::of_kind(name, kind, n, unit, about)
    };
    vec![
        MapSpec::scalar("RTOP", "1/mm^3", "return to the origin: the propagator at 0, 1/mm³"),
        MapSpec::scalar("RTAP", "1/mm^2", "return to the first axis of the tensor, 1/mm²"),
        MapSpec::scalar("RTPP", "1/mm", "return to the plane across that axis, 1/mm"),
        MapSpec::scalar("MSD", "mm^2", "mean squared displacement, mm²"),
        MapSpec::scalar(
            "QIV",
            "mm^5",
            "q-space inverse variance, 1 over the integral of q² E, mm⁵",
        ),
        share("NG", "how far the propagator is from its Gaussian part: the sine of their angle"),
        share("NGpar", "the same of the marginal along the first axis"),
        share("NGperp", "the same of the marginal across it"),
        MapSpec::scalar("lapnorm", "", "norm of the Laplacian of the signal, q in 1/mm"),
        MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        volumes(
            "mapcoeffs",
            MapKind::Scalar,
            order.coefficients(),
            "",
            "plain numbers: coefficients of a signal that is 1 without weighting, by total degree, then by that \
             along the first axis and the second, descending",
        ),
        volumes(
            "mu",
            MapKind::Scalar,
            3,
            "mm",
            "scale along the axes of the tensor, the root of twice diffusivity times diffusion time, mm",
        ),
        volumes(
            "axes",
            MapKind::Peaks,
            9,
            "",
            "unit vectors in scanner RAS axes, x y z of each: the axes of the series, those of the tensor",
        ),
        volumes(
            "odf",
            MapKind::Harmonics(odf::DEGREE),
            sh_count(odf::DEGREE),
            "",
            // What a header has room for ends behind the basis.
            "displacements, spherical harmonics in MRtrix3's basis and order, scanner RAS axes: the share of water \
             that moves into each direction, the propagator times r² along it; integral 1",
        ),
        MapSpec::residual(),
        MapSpec::status(),
    ]
}

/// The volumes of a fit, where they determine the series.
fn protocol(gradients: &GradientTable, options: &MapmriOptions) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, None)?;
    let (n_b, n) = (protocol.count_full_shells(), protocol.volumes().len());
    let refused = |needs, has| CurveError::Unsupported {
        model: "MAP-MRI",
        needs,
        has,
        b_max_s_per_mm2: None,
    };
    if protocol.unweighted.is_empty() || n_b < 3 {
        return Err(refused(
            "unweighted volumes and 2 shells, each along directions that do not lie in a plane: a single \
             shell does not tell how the signal bends",
            format!(
                "{} unweighted volumes and {n_b} b-values with them",
                protocol.unweighted.len()
            ),
        ));
    }
    if n < options.order.coefficients() {
        return Err(refused(
            "as many volumes as there are coefficients (22, 50 and 95 for order 4, 6 and 8)",
            format!("{n} volumes"),
        ));
    }
    let MapmriOptions { big_delta_s, small_delta_s, .. } = *options;
    if !(small_delta_s > 0.0 && big_delta_s >= small_delta_s && big_delta_s.is_finite()) {
        return Err(refused(
            "a big delta of at least the small one, both above 0",
            format!("pulses of {small_delta_s} s that are {big_delta_s} s apart"),
        ));
    }
    let gradient = gradient_of(protocol.b.iter().copied().fold(0.0, f64::max), options);
    if gradient > STRONGEST_GRADIENT {
        return Err(refused(
            "pulses that a scanner can make: their deltas are in milliseconds",
            format!(
                "{} and {} ms, for which the largest b takes {gradient:.0} T/m",
                1e3 * small_delta_s,
                1e3 * big_delta_s
            ),
        ));
    }
    Ok(protocol)
}

/// The gradient, T/m, of two pulses that make a b of so many ms/µm²: b = (γ G δ)² (Δ - δ/3).
fn gradient_of(b: f64, options: &MapmriOptions) -> f64 {
    let MapmriOptions { big_delta_s, small_delta_s, .. } = *options;
    let b_s_per_m2 = b * 1e9;
    (b_s_per_m2 / (big_delta_s - small_delta_s / 3.0)).sqrt() / (GAMMA * small_delta_s)
}

/// γ of protons, rad/s/T.
const GAMMA: f64 = 2.675_221_9e8;
/// Beyond the strongest gradients of spectrometers, T/m: deltas in seconds where milliseconds are due take 30,000 times
/// what they should.
const STRONGEST_GRADIENT: f64 = 100.0;

/// Whether a gradient table determines the series, and pulses are possible.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, options: &MapmriOptions) -> Result<(), CurveError> {
    of_axis(gradients, &protocol(gradients, options)?, options.axes_b_max_s_per_mm2).map(drop)
}

/// Fits the series to all volumes of each voxel: maps `RTOP`, `RTAP`, `RTPP`, `MSD`, `QIV`, `NG`, `NGpar`,
/// `NGperp`, `lapnorm`, `S0`, `mapcoeffs`, `mu` (3), `axes` (9), `residual`, `status`.
///
/// # Errors
/// [`CurveError`]; needed are unweighted volumes, two shells and as many volumes as coefficients.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &MapmriOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let protocol = protocol(gradients, options)?;
    let b_max = options.axes_b_max_s_per_mm2;
    let (volumes, table) = of_axis(gradients, &protocol, b_max)?;
    if volumes == protocol.volumes() && table.b_s_per_mm2.iter().any(|b| *b > B_MAX_SLACK * b_max) {
        progress.warn(&format!(
            "the volumes up to b = {b_max:.0} s/mm² do not determine the tensor whose axes and scales are taken: \
             all are used, and the signal of larger b is not a tensor's (--axes-bmax)"
        ));
    }
    let taken = [DtiMap::V1, DtiMap::V2, DtiMap::V3, DtiMap::L1, DtiMap::L2, DtiMap::L3];
    let tensor = DtiOptions { maps: taken.to_vec(), ..DtiOptions::default() };
    let few = SelectedVolumes { source: signals, volumes };
    let axes = dti::fit(&few, mask, &table, None, &tensor, on, progress)?;

    let mut inputs: Vec<&dyn SignalSource> = vec![signals];
    inputs.extend(axes.maps.iter().take(taken.len()).map(|map| &map.image as &dyn SignalSource));
    let inputs = Stacked(inputs);
    let basis = Basis::new(options.order.degree());
    let grid = options.positive.then(|| grid(&basis));
    let rays = options.odf.then(Rays::new);
    let fit = Propagators { basis, grid, rays, protocol, options: options.clone() };
    let job = Job { name: "fitting propagators", inputs: &inputs, mask, progress };
    Ok(job.run(&fit, on)?)
}

/// The propagator on a grid over half of a ball; the other half is the same.
fn grid(basis: &Basis) -> Constraints {
    let (radius, step) = GRID;
    let steps = (radius / step) as i32;
    let mut rows = Vec::new();
    for i in 0..=steps {
        for j in -steps..=steps {
            for k in -steps..=steps {
                let at = [i, j, k].map(|n| f64::from(n) * step);
                let is_first = (i, j, k) >= (0, 0, 0);
                if is_first && at.iter().map(|x| x * x).sum::<f64>() <= radius * radius {
                    rows.extend(basis.propagator_row(at));
                }
            }
        }
    }
    let n = rows.len() / basis.len();
    // Every row has a Gaussian in it.
    Constraints::new(basis.len(), &rows, vec![0.0; n]).expect("no row is zero")
}
