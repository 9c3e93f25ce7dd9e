//! Neurite orientation dispersion and density imaging (Zhang et al. 2012): sticks whose directions
//! follow Watson's distribution, what hinders water beside them, and free water.
//!
//! Signal without weighting, all fractions, dispersion and mean direction are fitted to all volumes
//! at once, from the best of a grid; [`Dispersed`] is the signal. With [`Compat::Amico`] a mixture of known
//! tissues about a known direction takes the place of that fit.

mod convex;
mod dictionary;
mod options;
mod signal;
mod start;
#[cfg(test)]
mod tests;

use fimbria_compute::dense::vec3::dot;
use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};

pub use self::options::{Compat, NoddiOptions, Tissue};
pub use self::signal::Dispersed;
use self::start::{Grid, Shell, concentration};
use crate::Fitted;
use crate::ProtocolError;
use crate::curve::{self, CurveError, Protocol, VoxelModel, Whole, noise_level, of_axis};
use crate::dti::{self, DtiMap, DtiOptions};
use crate::voxelwise::{Job, SelectedVolumes, Stacked};

/// Half the highest degree of the sums, for b d up to [`FEW_DEGREES_UP_TO`] and beyond.
const FEW: usize = 10;
const MANY: usize = 18;
/// Up to here the sum to degree 20 is exact to 1e-6 of the signal, whatever the dispersion.
const FEW_DEGREES_UP_TO: f64 = 7.0;
/// Up to here the sum to degree 36 is.
const LARGEST_DECAY: f64 = 24.0;
/// Volumes of the tensor whose axis the mean direction starts from: b up to this, s/mm².
const AXES_B_MAX: f64 = 1500.0;
/// Least and largest orientation dispersion index: a concentration of 64 and of 1/64.
const DISPERSION: [f64; 2] = [0.01, 0.99];
/// Tangents of the mean direction are at most this: 79° from the tensor's axis.
const LARGEST_TANGENT: f64 = 5.0;

/// The signal with what fits of a protocol share.
struct Neurites<const K: usize> {
    tissue: Tissue,
    grid: Grid,
}

impl<const K: usize> Model<7> for Neurites<K> {
    fn n_covariates(&self) -> usize {
        Dispersed::<K>.n_covariates()
    }

    fn n_constants(&self) -> usize {
        Dispersed::<K>.n_constants()
    }

    fn n_prepared(&self) -> usize {
        Dispersed::<K>.n_prepared()
    }

    #[inline(always)]
    fn prepare<N: Number<Constant = N>>(&self, p: &[N; 7], axes: &[N], prepared: &mut [N]) {
        Dispersed::<K>.prepare(p, axes, prepared);
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 7], known: &[N::Constant], axes: &[N::Constant]) -> N {
        Dispersed::<K>.signal(p, known, axes)
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 7],
        known: &[N],
        constants: &[N],
    ) -> (N, [N; 7]) {
        Dispersed::<K>.signal_and_slope(p, known, constants)
    }
}

/// The axis that is `k`th of a frame.
fn axis(frame: &[f32], k: usize) -> [f64; 3] {
    std::array::from_fn(|i| f64::from(frame[3 * k + i]))
}

impl<const K: usize> VoxelModel<7> for Neurites<K> {
    fn parameters(&self) -> [Parameter; 7] {
        let share = |name, start| Parameter::new(name, start, 0.0, 1.0);
        let tangent = |name| Parameter::new(name, 0.0, -LARGEST_TANGENT, LARGEST_TANGENT);
        let still = share("still", if self.tissue.has_still() { 0.05 } else { 0.0 });
        [
            Parameter::new("S0", 1.0, 0.0, 100.0),
            share("icvf", 0.5),
            Parameter::new("od", 0.25, DISPERSION[0], DISPERSION[1]),
            share("isovf", 0.1),
            tangent("t1"),
            tangent("t2"),
            Parameter { fixed: !self.tissue.has_still(), ..still },
        ]
    }

    fn covariates(&self, b: f64, dir_ras: [f64; 3], to: &mut Vec<f32>) {
        to.extend(covariates::<K>(self.tissue, b, dir_ras).into_iter().map(|c| c as f32));
    }

    fn start(&self, _: &[f32], samples: &[f32], frame: &[f32]) -> [f32; 7] {
        let [s0, f, odi, free] = self.grid.nearest(samples, axis(frame, 0));
        let still = if self.tissue.has_still() { 0.05 } else { 0.0 };
        [s0, f, odi, free, 0.0, 0.0, still].map(|value| value as f32)
    }

    fn specs(&self) -> Vec<MapSpec> {
        specs(self.tissue)
    }

    fn values(&self, p: &[f32; 7], frame: &[f32], scale: f32, out: &mut [f32]) {
        let [s0, f, odi, free, t1, t2, still] = *p;
        out[..8].copy_from_slice(&scalars([f, odi, free], s0 * scale));
        let (others, vector) = out[8..].split_at_mut(usize::from(self.tissue.has_still()));
        others.fill(still);
        let along = |i: usize| frame[i] + t1 * frame[3 + i] + t2 * frame[6 + i];
        let length = (1.0 + t1 * t1 + t2 * t2).sqrt();
        for (i, value) in vector.iter_mut().enumerate() {
            *value = along(i) / length;
        }
    }

    fn parameters_of(&self, values: &[f32], frame: &[f32], scale: f32) -> [f32; 7] {
        let n = values.len();
        let direction = axis(&values[n - 3..], 0);
        let along = dot(direction, axis(frame, 0));
        let tangent = |k: usize| (dot(direction, axis(frame, k)) / along) as f32;
        let still = if self.tissue.has_still() { values[8] } else { 0.0 };
        [values[7] / scale, values[0], values[1], values[2], tangent(1), tangent(2), still]
    }
}

/// The values of the first eight maps, from those of the first three and S0.
fn scalars([f, odi, free]: [f32; 3], s0: f32) -> [f32; 8] {
    let tissue = 1.0 - free;
    // What is not determined counts nothing where there is no tissue.
    let modulated = |value: f32| if tissue > 0.0 { value * tissue } else { 0.0 };
    let kappa = concentration(f64::from(odi)) as f32;
    [f, odi, free, tissue, modulated(f), modulated(odi), kappa, s0]
}

/// The covariates of [`Dispersed`] for a volume with b ms/µm² along a direction.
pub fn covariates<const K: usize>(tissue: Tissue, b: f64, dir_ras: [f64; 3]) -> Vec<f64> {
    let x = b * tissue.along();
    let mut moments = vec![0.0; K + 1];
    signal::decay_moments(x, &mut moments);
    let weighted = moments.iter().enumerate().map(|(k, moment)| (4 * k + 1) as f64 * moment);
    [x, (-b * tissue.free()).exp()].into_iter().chain(dir_ras).chain(weighted).collect()
}

fn specs(tissue: Tissue) -> Vec<MapSpec> {
    let share = |name: &'static str, about: &'static str| {
        MapSpec::scalar(name, "", about).within(Window::Fixed([0.0, 1.0]))
    };
    let mut specs = vec![
        share(
            "icvf",
            "neurite density index: share of the tissue's signal that is in sticks; NaN where there is no tissue",
        ),
        share(
            "od",
            "orientation dispersion index, 0 parallel, 1 all over the sphere; NaN where there are no sticks",
        ),
        share("isovf", "share of free water in the signal"),
        share("tf", "tissue fraction, 1 - isovf"),
        share("icvf_modulated", "icvf times tf, 0 where there is no tissue"),
        share("od_modulated", "od times tf, 0 where there is no tissue"),
        MapSpec::scalar("kappa", "", "concentration of Watson's distribution, 1/tan(pi od/2)"),
        MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
    ];
    if tissue.has_still() {
        specs.push(share("still", "share of water that stands still in the signal"));
    }
    specs.push(MapSpec::of_kind(
        "direction",
        MapKind::Vector,
        3,
        "",
        "unit vector, x y z in scanner RAS axes: mean direction of the neurites; NaN where none",
    ));
    specs
}

/// The maps of a fit, in order; `errors` as in the options.
pub fn maps(tissue: Tissue, errors: bool) -> Vec<MapSpec> {
    curve::with_errors(specs(tissue), errors)
}

/// The volumes of a fit, where they determine the model.
fn protocol(gradients: &GradientTable, options: &NoddiOptions) -> Result<Protocol, CurveError> {
    let b_max_s_per_mm2 = options.curve.b_max_s_per_mm2;
    let protocol = Protocol::new(gradients, b_max_s_per_mm2)?;
    let (n_b, n) = (protocol.count_full_shells(), protocol.volumes().len());
    let refused =
        |needs, has| CurveError::Unsupported { model: "NODDI", needs, has, b_max_s_per_mm2 };
    if n_b < 3 || n < 10 {
        return Err(refused(
            "3 different b-values, 0 or each along directions that do not lie in a plane, and 10 \
             volumes: with one shell the share of free water is not known",
            format!("{n_b} such b-values in {n} volumes"),
        ));
    }
    let largest = largest_decay(&protocol, options.tissue);
    if largest > LARGEST_DECAY {
        return Err(refused(
            "b times the diffusivity along neurites of at most 24 (--bmax chooses)",
            format!("{largest:.1}"),
        ));
    }
    Ok(protocol)
}

/// The largest b d of the volumes.
fn largest_decay(protocol: &Protocol, tissue: Tissue) -> f64 {
    let b = protocol.volumes().into_iter().map(|volume| protocol.b[volume]);
    b.fold(0.0, f64::max) * tissue.along()
}

/// Whether a gradient table determines the model.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, options: &NoddiOptions) -> Result<(), CurveError> {
    let protocol = protocol(gradients, options)?;
    match options.compat {
        Some(Compat::Amico) => convex::check(gradients, &protocol, options),
        None => of_axis(gradients, &protocol, AXES_B_MAX).map(drop),
    }
}

/// Fits the model to all volumes of each voxel: maps `icvf`, `od`, `isovf`, `tf`,
/// `icvf_modulated`, `od_modulated`, `kappa`, `S0`, of fixed tissue `still`, `direction` (3),
/// `residual`, `status`.
///
/// # Errors
/// [`CurveError`]; needed are 3 different b, which one shell and b = 0 are not.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &NoddiOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let protocol = protocol(gradients, options)?;
    if options.compat == Some(Compat::Amico) {
        return convex::fit(signals, mask, gradients, protocol, options, on, progress);
    }
    let (volumes, table) = of_axis(gradients, &protocol, AXES_B_MAX)?;
    let frame =
        DtiOptions { maps: vec![DtiMap::V1, DtiMap::V2, DtiMap::V3], ..DtiOptions::default() };
    let few = SelectedVolumes { source: signals, volumes };
    let axes = dti::fit(&few, mask, &table, None, &frame, on, progress)?;
    let sigma = noise_level(signals, mask, gradients, &options.curve, progress)?;

    let mut inputs: Vec<&dyn SignalSource> = vec![signals];
    inputs.extend(axes.maps.iter().take(3).map(|map| &map.image as &dyn SignalSource));
    let (tissue, curve) = (options.tissue, options.curve.clone());
    let grid = grid(gradients, &protocol, tissue);
    let inputs = Stacked(inputs);
    let job = Job { name: "fitting NODDI", inputs: &inputs, mask, progress };
    if largest_decay(&protocol, tissue) <= FEW_DEGREES_UP_TO {
        let model = Neurites::<FEW> { tissue, grid };
        Ok(Whole { model, protocol, sigma, options: curve }.run(&job, on)?)
    } else {
        let model = Neurites::<MANY> { tissue, grid };
        Ok(Whole { model, protocol, sigma, options: curve }.run(&job, on)?)
    }
}

/// The grid of starts for the volumes of a protocol, in its order.
fn grid(gradients: &GradientTable, protocol: &Protocol, tissue: Tissue) -> Grid {
    let volumes = protocol.volumes();
    let shell = |shell: fimbria_image::gradients::Shell| {
        let samples =
            volumes.iter().enumerate().filter(|(_, volume)| shell.volumes.contains(volume));
        let b = 1e-3 * shell.b_s_per_mm2;
        Shell {
            samples: samples.map(|(sample, _)| sample).collect(),
            x: b * tissue.along(),
            free: (-b * tissue.free()).exp(),
        }
    };
    let shells = gradients.shells().into_iter().map(shell).collect();
    Grid::new(shells, volumes.iter().map(|&volume| protocol.dirs_ras[volume]).collect())
}
