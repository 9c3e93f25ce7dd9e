//! The stage that fits diffusion tensors.

use clap::Args;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::dti::{self, Compat, DtiMap, DtiOptions, Method, Precision};
use serde::Serialize;
use serde_json::{Value, json};

use super::fit_maps::{Deviation, FitJob, FitModel, InRun, Outcome, written};
use crate::method_text::MethodText;
use crate::options::{Described as _, above, at_least, choice};
use crate::stages::shown::Methods;
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Choice as _, Named, StageError};

/// The largest b, s/mm², up to which ln S falls in tissue as that of a tensor does; beyond it
/// kurtosis makes diffusivities too small.
pub const USUAL_B_MAX: f64 = 1500.0;

/// The options of a tensor fit.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// How the tensor is estimated
    #[arg(long, value_name = "METHOD", value_parser = choice::<Method>())]
    #[arg(
        usually = "wls; with --compat what that program does: ols with fsl, wls with dipy, iwls with mrtrix"
    )]
    pub method: Option<Named<Method>>,

    /// Follow the numerics of another program, for comparison
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Compat>())]
    pub compat: Option<Named<Compat>>,

    /// Arithmetic of the fit; measurements and maps are held in single precision
    #[arg(long, value_name = "PRECISION", default_value = "single")]
    #[arg(value_parser = choice::<Precision>())]
    pub precision: Named<Precision>,

    /// Standard deviation of the noise, for --method restore
    #[arg(long, value_name = "SIGMA", number = at_least(0.0, "units of the input"))]
    #[arg(usually = "estimated in each voxel")]
    pub sigma: Option<f64>,

    /// Maps to write, separated by commas; status always is
    #[arg(long, value_name = "MAPS", value_delimiter = ',', help_heading = "Output")]
    #[arg(ignore_case = true, value_parser = choice::<DtiMap>(), usually = "all")]
    pub maps: Option<Vec<Named<DtiMap>>>,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"))]
    #[arg(usually = "1500 where that determines the tensor, all with --compat or --shells")]
    pub bmax: Option<f64>,
}

impl Parameters {
    /// The method in effect: without one, that of the program that is followed, as it is when it
    /// is told nothing.
    pub fn method(&self) -> Method {
        let of_program = match self.compat.map(|compat| compat.0) {
            Some(Compat::Fsl) => Method::Ols,
            Some(Compat::Mrtrix) => Method::Iwls,
            Some(Compat::Dipy) | None => Method::Wls,
        };
        self.method.map_or(of_program, |method| method.0)
    }

    fn options(&self) -> DtiOptions {
        DtiOptions {
            method: self.method(),
            compat: self.compat.map(|compat| compat.0),
            precision: self.precision.0,
            sigma: self.sigma,
            maps: written(self.maps.as_ref()),
        }
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "dti";
    const BIDS_MODEL: &'static str = "tensor";
    const DESCRIPTION: &'static str = "Diffusion tensor";
    const DEVIATION: Deviation = Deviation::Followed;

    const IN_RUN: InRun = InRun::Always;
    const TEXT: &MethodText = &TEXT;

    fn consistent(&self) -> Result<(), String> {
        match self.sigma.is_some() && self.method() != Method::Restore {
            true => Err("--sigma is used by --method restore only".to_owned()),
            false => Ok(()),
        }
    }

    fn choice(&self) -> VolumeChoice {
        let usual_bmax = self.compat.is_none().then_some(USUAL_B_MAX);
        VolumeChoice { usual_bmax, ..self.shells.up_to(self.bmax) }
    }

    fn in_effect(&self) -> Value {
        let maps = written(self.maps.as_ref()).into_iter().map(Named).collect();
        json!(Self { method: Some(Named(self.method())), maps: Some(maps), ..self.clone() })
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        dti::Problem::new(gradients, &self.options())?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        let others = written(self.maps.as_ref()).into_iter().filter(|map| *map != DtiMap::Status);
        others.chain([DtiMap::Status]).map(DtiMap::spec).collect()
    }

    fn methods(&self) -> Option<Methods> {
        let (how, reference) = match self.method() {
            Method::Ols => ("ordinary least squares", None),
            Method::Wls => (
                "least squares, once unweighted and once weighted by the squared predicted signal",
                Some("Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)"),
            ),
            Method::Iwls => (
                "least squares weighted by the squared measured signal and then twice by the squared \
                 predicted signal",
                Some("Veraart J et al. NeuroImage 81, 335 (2013)"),
            ),
            Method::Nlls => ("non-linear least squares of S", None),
            Method::Restore => (
                "RESTORE, non-linear least squares without outliers",
                Some("Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005)"),
            ),
        };
        let numerics = match self.compat {
            Some(program) => format!(", with the numerics of {}", program.0.name()),
            None => String::new(),
        };
        Some(Methods {
            text: format!(
                "ln S = ln S0 - b gᵀDg was fitted in every voxel of the mask by {how}{numerics}. FA, \
                 MD and the mode follow from the eigenvalues of D. Directions are in scanner RAS \
                 axes, diffusivities in mm²/s."
            ),
            references: [Some(BASSER), reference].into_iter().flatten().collect(),
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let fitted = dti::fit(
            &*job.subject.dwi,
            &job.subject.mask,
            &job.subject.gradients,
            job.subject.grad_dev.as_deref(),
            &self.options(),
            job.on(),
            job.log,
        )?;
        Ok(fitted.into())
    }
}

const BASSER: &str = "Basser PJ, Mattiello J, Le Bihan D. J Magn Reson B 103, 247 (1994)";

static TEXT: MethodText = MethodText {
    sentence: "Fit the diffusion tensor: FA, MD, eigenvectors and more",
    method: "",
    notes: "\
Volumes:
  Where b is large the signal bends away from a tensor's, and diffusivities of all shells together
  come out too small. Used are those with b up to 1500 s/mm², where they determine the tensor; else
  all, with a warning; all with --compat, as those programs do. --shells and --bmax choose. The
  screen, run.json (volumes_used) and the page of `run` say which.

Units:
  b-values are read in s/mm², diffusivities written in mm²/s.

Order and frame:
  Vectors and tensors are in scanner RAS axes. --layout fsl turns them into the axes of FSL's
  bvecs (voxel axes, x reversed where det(affine) > 0) and writes dti_FA, dti_V1 ..., dti_tensor.
  --layout mrtrix writes dt.mif with volumes xx yy zz xy xz yz in scanner axes, fa.mif, adc.mif,
  vector1.mif ... --layout bids writes ..._model-tensor_param-fa_dwimap with sidecars.",
    references: &[
        (BASSER, "the tensor"),
        ("Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)", "wls"),
        ("Veraart J et al. NeuroImage 81, 335 (2013)", "iwls"),
        ("Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005)", "restore"),
    ],
    examples: &[
        "fimbria fit dti dwi.nii.gz -o dti",
        "fimbria fit dti dwi.nii.gz --mask mask.nii.gz --maps FA,MD,V1 -o dti",
        "fimbria fit dti -k data.nii.gz -m mask.nii.gz -r bvecs -b bvals --layout fsl -o dti",
        "fimbria fit dti dwi.nii.gz -fslgrad bvecs bvals --compat mrtrix --layout mrtrix -o dti",
        "fimbria fit dti dwi.mif --bmax 1200 --method nlls -o dti",
    ],
};
