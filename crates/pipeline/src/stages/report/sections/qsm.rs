//! Susceptibility.

use fimbria_image::Mask;
use fimbria_qsm::dqsm::Iterate;
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::{FigureError, Section, Window, colour};

use super::Methods;
use crate::stages::qsm::{ChiMap, QsmMethod, QsmParameters};

pub(in crate::stages::report) fn susceptibility(map: &ChiMap) -> Result<Section, FigureError> {
    let mapped = map.chi.data.iter().enumerate().filter(|(_, chi)| **chi != 0.0);
    let mask = Mask { grid: map.chi.grid, voxels: mapped.map(|(v, _)| v as u32).collect() };
    let style = Scalar {
        scale: colour::Scale::Grey,
        window: Window::Symmetric,
        ..Scalar::new("Magnetic susceptibility", "ppm")
    };
    let iterations = match (map.log.len(), &map.stopped) {
        (n, Some(stopped)) if n > 0 => format!(" {n} iterations, ended by {}.", stopped.as_str()),
        _ => String::new(),
    };
    let section = Section::new("Susceptibility").figure(
        mosaic_scalar(&map.chi, &mask, &style)?,
        format!("Where the local field is known; dark is diamagnetic.{iterations}"),
    );
    let Some(msa) = &map.anisotropy else { return Ok(section) };
    let style = Scalar {
        scale: colour::Scale::Grey,
        window: Window::Symmetric,
        ..Scalar::new("Susceptibility anisotropy", "ppm")
    };
    Ok(section.figure(
        mosaic_scalar(msa, &mask, &style)?,
        "Along the fibre less across it; 0 where there is none.",
    ))
}

const BILGIC: &str = "Bilgic B et al. Magn Reson Med 72, 1444 (2014)";
const FANSI: &str = "Milovic C et al. Magn Reson Med 80, 814 (2018)";

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(qsm: &QsmParameters) -> Methods {
    let (shape, references) = match qsm.method.0 {
        QsmMethod::Dqsm => (
            "cylinders along",
            vec![
                "Ng A et al. ISMRM (2013) 2394",
                "Kaluza OL et al. \"Fast diffusion-guided QSM using Graphical Processing Units\"",
            ],
        ),
        QsmMethod::Tensor => {
            ("tensors symmetric about", vec!["Liu C. Magn Reson Med 63, 1471 (2010)"])
        }
        QsmMethod::Dtv => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total variation \
                 (λ = {}) of what diffusion does not explain: fractional anisotropy, mean diffusivity \
                 and S0 with their squares, and tensors along the tensor's first eigenvector whose \
                 anisotropy is proportional to fractional anisotropy, with coefficients fitted to the \
                 field.",
                qsm.in_effect().strength.unwrap_or_default()
            );
            return Methods { text, references: vec![BILGIC, FANSI] };
        }
        QsmMethod::Tv => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total variation \
                 (λ = {}), without guidance.",
                qsm.in_effect().strength.unwrap_or_default()
            );
            return Methods { text, references: vec![BILGIC, FANSI] };
        }
        QsmMethod::Tgv => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total generalised \
                 variation (λ = {}), without guidance.",
                qsm.in_effect().strength.unwrap_or_default()
            );
            let references = vec![
                "Langkammer C et al. NeuroImage 111, 622 (2015)",
                "Bredies K et al. SIAM J Imaging Sci 3, 492 (2010)",
            ];
            return Methods { text, references };
        }
        QsmMethod::Medi => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total variation \
                 but for the edges of the magnitude (λ = {}).",
                qsm.in_effect().strength.unwrap_or_default()
            );
            return Methods { text, references: vec!["Liu J et al. NeuroImage 59, 2560 (2012)"] };
        }
        QsmMethod::Ndi => {
            let all = qsm.in_effect();
            let text = format!(
                "Susceptibility was mapped from the phase inside the mask by nonlinear dipole \
                 inversion (λ = {}, at most {} steps).",
                all.strength.unwrap_or_default(),
                all.iterations.unwrap_or_default()
            );
            return Methods {
                text,
                references: vec!["Polak D et al. NMR Biomed 33, e4271 (2020)"],
            };
        }
        QsmMethod::Tkd | QsmMethod::Tikhonov | QsmMethod::Rts => {
            let text = "Susceptibility was mapped from the local field without guidance.";
            return Methods { text: text.to_owned(), references: Vec::new() };
        }
    };
    let qsm = qsm.in_effect();
    let (kappa, fa) = (qsm.kappa.unwrap_or_default(), qsm.fa_threshold.unwrap_or_default());
    let solver = match qsm.solver.unwrap_or_default().0 {
        Iterate::Landweber => "Landweber's iteration",
        Iterate::Lsmr => "LSMR",
        Iterate::Cgls => "conjugate gradients",
    };
    // What κ weighs depends on the units of the data.
    let unit = if qsm.is_published() { " (fields in tesla)" } else { "" };
    let text = format!(
        "Susceptibility was mapped from the local field guided by diffusion: voxels of FA above \
         {fa} as {shape} the tensor's first eigenvector, others as spheres; \
         κ‖Ax - b‖² + (1 - κ)‖Dx‖², D a Laplacian, was made smaller by {solver} with κ = {kappa}{unit}."
    );
    Methods { text, references }
}
