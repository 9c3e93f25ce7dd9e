//! What is fitted: the paper's phantom by direction, crossing fibres by voxel.

use fimbria_compute::{Backend, Progress, Workers};
use fimbria_image::Mask;
use fimbria_models::curve::CurveOptions;
use fimbria_models::dki1d::{Dki1dOptions, Eta};
use fimbria_models::dti::{DtiOptions, Precision};
use fimbria_models::gqi::GqiOptions;
use fimbria_models::mapmri::{Laplacian, MapmriOptions};
use fimbria_models::noddi::NoddiOptions;
use fimbria_models::smt::SmtOptions;
use fimbria_models::stremi::StremiOptions;
use fimbria_models::{
    axdki, dki, dki1d, dti, fwdti, gqi, mapmri, noddi, smt, stremi, stremi1d, wmti,
};
use fimbria_phantoms::{
    Acquisition, CrossingSpec, ProtocolSpec, ShellSpec, Subject, crossing, protocol,
};

use super::scipy::{Model, Samples};
use crate::clock::Interruptible;
use crate::{Console, Failure};

/// A fit that can be timed.
pub(super) struct Work<'a> {
    pub(super) name: &'static str,
    /// Where scipy fits it, too.
    pub(super) model: Option<Model>,
    pub(super) fits_of_voxel: usize,
    pub(super) mask: &'a Mask,
    pub(super) fit: Box<Fit<'a>>,
}

type Fit<'a> = dyn Fn(&Mask, Precision, &Backend<'_>, &dyn Console) -> Result<(), Failure> + 'a;

impl Work<'_> {
    /// So many voxels of its mask.
    pub(super) fn part(&self, voxels: usize) -> Mask {
        first_voxels(self.mask, voxels)
    }
}

fn first_voxels(mask: &Mask, n: usize) -> Mask {
    Mask { grid: mask.grid, voxels: mask.voxels[..n.min(mask.len())].to_vec() }
}

/// Directions of the paper's protocol.
const DIRECTIONS: usize = fimbria_phantoms::DIRECTIONS;
/// The floor that the fits of kurtosis take, the phantom's noise over its signal.
pub(super) const ETA: f64 = 0.02;

/// The paper's phantom.
pub(super) struct ByDirection(Subject);

/// Makes voxels for so many fits.
pub(super) fn by_direction(
    fits: usize,
    workers: &Workers,
    console: &dyn Console,
) -> Result<ByDirection, Failure> {
    /// The part of the phantom's grid that its mask takes.
    const INSIDE: f64 = 0.55;
    let voxels = (fits / DIRECTIONS) as f64 / INSIDE;
    let mut spec = ProtocolSpec::default();
    let of_default = spec.placement.dims.iter().product::<usize>() as f64;
    let zoom = (voxels / of_default).cbrt();
    spec.placement.dims = spec.placement.dims.map(|n| (n as f64 * zoom).ceil() as usize);
    spec.placement.voxel_mm = spec.placement.voxel_mm.map(|mm| mm / zoom);
    let mut subject = protocol(&spec, workers, console)?;
    subject.mask = first_voxels(&subject.mask, fits / DIRECTIONS);
    Ok(ByDirection(subject))
}

impl ByDirection {
    pub(super) fn works(&self) -> [Work<'_>; 2] {
        let Subject { dwi, gradients, mask, .. } = &self.0;
        let kurtosis = move |mask: &Mask, precision, on: &Backend<'_>, console: &dyn Console| {
            let mut options = Dki1dOptions { eta: Eta::Fixed(ETA), ..Dki1dOptions::default() };
            options.curve.precision = precision;
            dki1d::fit(dwi, mask, gradients, &options, on, &Interruptible(console))?;
            Ok(())
        };
        let stretched = move |mask: &Mask, precision, on: &Backend<'_>, console: &dyn Console| {
            let options = CurveOptions { precision, ..CurveOptions::default() };
            stremi1d::fit(dwi, mask, gradients, &options, on, &Interruptible(console))?;
            Ok(())
        };
        let work = |name, model, fit| Work {
            name,
            model: Some(model),
            fits_of_voxel: DIRECTIONS,
            mask,
            fit,
        };
        [
            work("kurtosis, 8 samples", Model::Kurtosis, Box::new(kurtosis) as Box<Fit<'_>>),
            work("stretched, 11", Model::Stretched, Box::new(stretched)),
        ]
    }

    /// The seven parameters over all volumes.
    pub(super) fn stretched_tensor(&self) -> Work<'_> {
        let Subject { dwi, gradients, mask, .. } = &self.0;
        let fit = move |mask: &Mask, precision, on: &Backend<'_>, console: &dyn Console| {
            let mut options = StremiOptions::default();
            options.curve.precision = precision;
            stremi::fit(dwi, mask, gradients, &options, on, &Interruptible(console))?;
            Ok(())
        };
        let name = "stremi, 7 of 305";
        Work { name, model: None, fits_of_voxel: 1, mask, fit: Box::new(fit) }
    }

    /// The samples of the first fits of a model, and what they have here.
    pub(super) fn samples(&self, model: Model, n: usize) -> Result<Samples, Failure> {
        Samples::from_subject(&self.0, model, n)
    }
}

/// Crossing fibres under one shell and under two.
pub(super) struct ByVoxel {
    one: Subject,
    two: Subject,
}

/// Makes about so many voxels.
pub(super) fn by_voxel(
    voxels: usize,
    workers: &Workers,
    console: &dyn Console,
) -> Result<ByVoxel, Failure> {
    /// The part of the phantom's grid that its brain takes.
    const BRAIN: f64 = 0.45;
    let make = |b: &[f64]| {
        let mut spec = CrossingSpec::default();
        let of_default = spec.placement.dims.iter().product::<usize>() as f64 * BRAIN;
        let zoom = (voxels as f64 / of_default).cbrt();
        spec.placement.dims = spec.placement.dims.map(|n| (n as f64 * zoom).round() as usize);
        spec.placement.voxel_mm = spec.placement.voxel_mm.map(|mm| mm / zoom);
        let shell = |&b_s_per_mm2: &f64| ShellSpec { b_s_per_mm2, directions: 64 };
        spec.acquisition = Acquisition { b0s: 6, shells: b.iter().map(shell).collect() };
        crossing(&spec, workers, console)
    };
    Ok(ByVoxel { one: make(&[1000.0])?, two: make(&[1000.0, 2000.0])? })
}

impl ByVoxel {
    pub(super) fn works(&self) -> Vec<Work<'_>> {
        let tensor = |mask: &Mask, _, on: &Backend<'_>, console: &dyn Console| {
            let Subject { dwi, gradients, .. } = &self.one;
            let options = DtiOptions::default();
            dti::fit(dwi, mask, gradients, None, &options, on, &Interruptible(console))?;
            Ok(())
        };
        let kurtosis = |constrained: bool| {
            move |mask: &Mask, _, on: &Backend<'_>, console: &dyn Console| {
                let Subject { dwi, gradients, .. } = &self.two;
                let options = dki::DkiOptions { constrained, ..dki::DkiOptions::default() };
                dki::fit(dwi, mask, gradients, &options, on, &Interruptible(console))?;
                Ok(())
            }
        };
        let of_two = |run: Run| {
            move |mask: &Mask, _, on: &Backend<'_>, console: &dyn Console| {
                run(&self.two, mask, on, &Interruptible(console))
            }
        };
        let work = |name, mask, fit| Work { name, model: None, fits_of_voxel: 1, mask, fit };
        let mut works = vec![
            work("dti", &self.one.mask, Box::new(tensor) as Box<Fit<'_>>),
            work("dki, unconstrained", &self.two.mask, Box::new(kurtosis(false))),
            work("dki, constrained", &self.two.mask, Box::new(kurtosis(true))),
        ];
        works.extend(
            MODELS.iter().map(|(name, run)| work(name, &self.two.mask, Box::new(of_two(*run)))),
        );
        works
    }
}

/// A fit of a series with the usual options.
type Run = fn(&Subject, &Mask, &Backend<'_>, &dyn Progress) -> Result<(), Failure>;

/// Models of two shells.
const MODELS: &[(&str, Run)] = &[
    ("noddi", |Subject { dwi, gradients, .. }, mask, on, to| {
        noddi::fit(dwi, mask, gradients, &NoddiOptions::default(), on, to)?;
        Ok(())
    }),
    ("fwdti", |Subject { dwi, gradients, .. }, mask, on, to| {
        fwdti::fit(dwi, mask, gradients, &CurveOptions::default(), on, to)?;
        Ok(())
    }),
    ("smt", |Subject { dwi, gradients, .. }, mask, on, to| {
        smt::fit(dwi, mask, gradients, &SmtOptions::default(), on, to)?;
        Ok(())
    }),
    ("axdki", |Subject { dwi, gradients, .. }, mask, on, to| {
        axdki::fit(dwi, mask, gradients, &CurveOptions::default(), on, to)?;
        Ok(())
    }),
    ("dkimicro", |Subject { dwi, gradients, .. }, mask, on, to| {
        wmti::fit(dwi, mask, gradients, &dki::DkiOptions::default(), on, to)?;
        Ok(())
    }),
    ("gqi", |Subject { dwi, gradients, .. }, mask, on, to| {
        gqi::fit(dwi, mask, gradients, &GqiOptions::default(), on, to)?;
        Ok(())
    }),
    ("mapmri, order 6", |subject, mask, on, to| {
        propagators(subject, mask, MapmriOptions::default(), on, to)
    }),
    ("mapmri, gcv", |subject, mask, on, to| {
        let options =
            MapmriOptions { laplacian: Laplacian::CrossValidated, ..MapmriOptions::default() };
        propagators(subject, mask, options, on, to)
    }),
    ("mapmri, positive", |subject, mask, on, to| {
        let options = MapmriOptions { positive: true, ..MapmriOptions::default() };
        propagators(subject, mask, options, on, to)
    }),
];

fn propagators(
    Subject { dwi, gradients, .. }: &Subject,
    mask: &Mask,
    options: MapmriOptions,
    on: &Backend<'_>,
    to: &dyn Progress,
) -> Result<(), Failure> {
    mapmri::fit(dwi, mask, gradients, &options, on, to)?;
    Ok(())
}
