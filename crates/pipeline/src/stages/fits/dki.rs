//! The stage that fits diffusion and kurtosis tensors.

use std::str::FromStr;

use clap::Args;
use fimbria_compute::Silent;
use fimbria_image::{GradientTable, MapSpec};
use fimbria_models::dki::{self, Compat, DkiMap, DkiOptions, KurtosisRange, Method};
use serde::Serialize;
use serde_json::{Value, json};

use super::fit_maps::{FitJob, FitModel, InRun, Outcome, written};
use crate::method_text::MethodText;
use crate::options::{Described as _, above, choice};
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::stages::volumes::{ShellOptions, VolumeChoice};
use crate::{Choice, Named, StageError};

/// The options of a kurtosis fit.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Parameters {
    /// How the tensors are estimated
    #[arg(long, value_name = "METHOD", value_parser = choice::<Method>())]
    #[arg(usually = "wls; iwls with --compat mrtrix, as that program does")]
    pub method: Option<Named<Method>>,

    /// Follow the numerics of another program, for comparison; implies --unconstrained
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Compat>())]
    pub compat: Option<Named<Compat>>,

    /// Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)
    #[arg(long)]
    pub unconstrained: bool,

    /// Leave out volumes with b above this (by more than 5 %)
    #[arg(long, value_name = "B", number = above(0.0, "s/mm²"))]
    #[arg(usually = "3000; all with --compat, as those programs do")]
    pub bmax: Option<f64>,

    /// Clip MK, AK, RK, Kmax and Kmin to this range
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, usually = "-3/7,10")]
    pub clip: Option<Clip>,

    /// Maps to write, separated by commas; status always is
    #[arg(long, value_name = "MAPS", value_delimiter = ',', help_heading = "Output")]
    #[arg(ignore_case = true, value_parser = choice::<DkiMap>(), usually = "all")]
    pub maps: Option<Vec<Named<DkiMap>>>,

    /// Which shells.
    #[command(flatten)]
    #[serde(flatten)]
    pub shells: ShellOptions,
}

/// A range that maps are clipped to, written `LOW,HIGH`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct Clip(KurtosisRange);

impl FromStr for Clip {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers =
            text.split_once(',').map(|(low, high)| (low.trim().parse(), high.trim().parse()));
        match numbers {
            Some((Ok(low), Ok(high))) if low < high => Ok(Self(KurtosisRange { low, high })),
            _ => Err("give two numbers, the smaller first: -3,10 or 0,3"),
        }
    }
}

impl From<Clip> for String {
    fn from(Clip(KurtosisRange { low, high }): Clip) -> Self {
        format!("{low},{high}")
    }
}

impl Parameters {
    /// The method in effect: without one, that of the program that is followed, as it is when it
    /// is told nothing.
    pub fn method(&self) -> Method {
        let of_program = match self.compat.map(|compat| compat.0) {
            Some(Compat::Mrtrix) => Method::Iwls,
            Some(Compat::Dipy) | None => Method::Wls,
        };
        self.method.map_or(of_program, |method| method.0)
    }

    fn options(&self) -> DkiOptions {
        DkiOptions {
            method: self.method(),
            compat: self.compat.map(|compat| compat.0),
            constrained: self.is_constrained(),
            b_max_s_per_mm2: self.bmax().unwrap_or(f64::MAX),
            clip: self.clip.map_or_else(KurtosisRange::default, |clip| clip.0),
            maps: written(self.maps.as_ref()),
        }
    }

    /// Volumes with b above this are left out.
    fn bmax(&self) -> Option<f64> {
        /// Beyond this the expansion in b does not hold in tissue.
        const USUAL_B_MAX: f64 = 3000.0;
        self.bmax.or_else(|| self.compat.is_none().then_some(USUAL_B_MAX))
    }

    fn is_constrained(&self) -> bool {
        !self.unconstrained && self.compat.is_none()
    }
}

impl FitModel for Parameters {
    const STAGE: &'static str = "dki";
    const BIDS_MODEL: &'static str = "dki";
    const DESCRIPTION: &'static str = "Diffusion kurtosis";

    const TEXT: &MethodText = &TEXT;
    const IN_RUN: InRun = InRun::WhereSupported;
    const IN_PRESETS: bool = true;

    fn choice(&self) -> VolumeChoice {
        self.shells.up_to(self.bmax())
    }

    fn in_effect(&self) -> Value {
        let options = self.options();
        json!(Self {
            method: Some(Named(options.method)),
            unconstrained: !options.constrained,
            bmax: self.bmax(),
            clip: Some(Clip(options.clip)),
            maps: Some(options.maps.into_iter().map(Named).collect()),
            ..self.clone()
        })
    }

    fn check(&self, gradients: &GradientTable) -> Result<(), StageError> {
        dki::Problem::new(gradients, &self.options(), &Silent)?;
        Ok(())
    }

    fn maps(&self) -> Vec<MapSpec> {
        let others = written(self.maps.as_ref()).into_iter().filter(|map| *map != DkiMap::Status);
        others.chain([DkiMap::Status]).map(DkiMap::spec).collect()
    }

    fn shown(&self) -> Option<ShownMaps> {
        let maps = [
            (
                "MK",
                "Mean kurtosis",
                "How far diffusion is from Gaussian, averaged over directions.",
            ),
            ("AK", "Axial kurtosis", "Along the main direction of the tensor."),
            ("RK", "Radial kurtosis", "Averaged over the plane across it."),
        ];
        let shown = |(name, heading, caption)| ShownMap::new(name, heading, caption);
        Some(ShownMaps::new("Kurtosis", maps.map(shown)))
    }

    fn methods(&self) -> Option<Methods> {
        let constraint = if self.is_constrained() {
            ", with diffusivity, kurtosis and its largest value at the largest b kept in bounds in \
             every direction of a dense set where the unconstrained fit left them"
        } else {
            ""
        };
        Some(Methods {
            text: format!(
                "ln S = ln S0 - b gᵀDg + b² MD² W(g) / 6 was fitted by {}{constraint}. MK, AK and RK are \
                 means of the apparent kurtosis over the sphere, along the first eigenvector and across \
                 it.",
                self.method().name(),
            ),
            references: vec![
                "Jensen JH, Helpern JA. NMR Biomed 23, 698 (2010)",
                "Tabesh A et al. Magn Reson Med 65, 823 (2011)",
                "Veraart J et al. NeuroImage 81, 335 (2013)",
            ],
        })
    }

    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError> {
        let options = self.options();
        let on = job.on();
        let fitted = dki::fit(
            &*job.subject.dwi,
            &job.subject.mask,
            &job.subject.gradients,
            &options,
            on,
            job.log,
        )?;
        Ok(fitted.into())
    }
}

impl Choice for Method {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ols, "ols", "ordinary least squares of ln S"),
        (Self::Wls, "wls", "OLS, then one pass weighted by the squared predicted signal"),
        (Self::Iwls, "iwls", "a pass weighted by the squared signal, two by the predicted one"),
        (Self::Nlls, "nlls", "non-linear least squares of S, from the WLS estimate"),
        (Self::Restore, "restore", "WLS without outliers (RESTORE of the logarithm)"),
    ];
}

impl Choice for Compat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Dipy, "dipy", "the numerics of DIPY's DiffusionKurtosisModel"),
        (Self::Mrtrix, "mrtrix", "the numerics of MRtrix3's dwi2tensor -dkt"),
    ];
}

impl Choice for DkiMap {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = Self::TABLE;
}

static TEXT: MethodText = MethodText {
    sentence: "Fit diffusion kurtosis: MK, AK, RK, KFA, the two tensors and more",
    method: "\
Model:
  ln S = ln S0 - b D(n) + (b²/6) MD² W(n) for the gradient direction n, with the diffusion tensor D
  and the kurtosis tensor W; the kurtosis along n is K(n) = MD² W(n) / D(n)². The expansion stops
  at b², so that volumes above --bmax are left out. Needed are two shells beside b = 0 and 15
  distinct directions.

Constraints:
  By default the estimate is kept within what diffusion in tissue can be, on 300 directions:
  D > 0, K >= 0, and a signal that decays up to the largest b, K <= 3 / (b_max D). Voxels that
  violate one (noise, motion, ringing: else black or dark in MK) take the closest estimate that
  does not, in the metric of the weighted fit; their status is 2. --unconstrained leaves them.

Outliers:
  --method restore finds samples whose residual is beyond three standard deviations, by the spread
  of the voxel's own residuals, weighs them down until the estimate rests, and fits once more
  without them. It is for dropped slices, motion and pulsation, and takes some ten samples to
  spare.",
    notes: "\
Units:
  b-values are read in s/mm², diffusivities written in mm²/s; kurtosis has no unit.

Clipping:
  MK, AK, RK, Kmax and Kmin are clipped to --clip; by default -3/7 (diffusion confined to a
  sphere) to 10, as in DIPY. W, MKT and KFA are not. Where an unconstrained fit finds no
  diffusivity in some direction, K is not defined there and MK, AK, RK, Kmax and Kmin are NaN;
  where the mean diffusivity is not positive, so are W, MKT, KFA, linearity, planarity and
  sphericity.

Order and frame:
  Vectors and tensors are in scanner RAS axes. --layout fsl turns them into the axes of FSL's
  bvecs and writes dki_MK ... --layout mrtrix writes dt.mif (xx yy zz xy xz yz) and dkt.mif
  (1111 2222 3333 1112 1113 1222 1333 2223 2333 1122 1133 2233 1123 1223 1233), mk.mif ... in
  scanner axes. DIPY's order has 2223 before 1333. --layout bids writes
  ..._model-dki_param-mk_dwimap with sidecars.",
    references: &[
        ("Jensen JH et al. Magn Reson Med 53, 1432 (2005)", "the model"),
        ("Tabesh A et al. Magn Reson Med 65, 823 (2011)", "the metrics, the constraints"),
        ("Hansen B, Jespersen SN. Sci Data 3, 160072 (2016)", "KFA"),
        ("Westin CF et al. Med Image Anal 6, 93 (2002)", "linearity, planarity, sphericity"),
        ("Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)", "wls"),
        ("Veraart J et al. NeuroImage 81, 335 (2013)", "iwls"),
        ("Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005)", "restore"),
    ],
    examples: &[
        "fimbria fit dki dwi.nii.gz -o dki",
        "fimbria fit dki dwi.nii.gz --mask mask.nii.gz --bmax 2500 -o dki",
        "fimbria fit dki dwi.nii.gz --method nlls --maps MK,FA -o dki",
        "fimbria fit dki dwi.nii.gz --method restore -o dki",
    ],
};
