//! What can be chosen in an evaluation, by name.

use std::fmt;
use std::str::FromStr;

use fimbria_life::solve::Stop;
use fimbria_life::{
    Atoms, Demean, EncodeOptions, LifeError, Method, Normalise, Rank, Response, TissueOptions,
    WeighOptions,
};
use serde::{Deserialize, Serialize};

use crate::{Choice, Named};

impl Choice for Normalise {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Length, "length", "to 1, by exact length: the mean along the way"),
        (Self::Nodes, "nodes", "to 1, by number of nodes: ENCODE"),
        (Self::None, "none", "to the number of nodes: DIPY"),
        (
            Self::Volume,
            "volume",
            "to the length over a voxel's edge: a tube of the weight's section",
        ),
    ];
}

impl Choice for Demean {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Mean, "mean", "the mean of all weighted volumes"),
        (Self::ShellMean, "shell-mean", "the mean of each shell"),
        (Self::ShellMedian, "shell-median", "columns: the median of each shell; signal: the mean"),
        (Self::None, "none", "nothing"),
    ];
}

impl Choice for Method {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Conjugate, "conjugate", "conjugate gradients on faces, to the optimum"),
        (Self::Sbb, "sbb", "subspace Barzilai-Borwein steps, as published with LiFE"),
    ];
}

/// Whose conventions are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compat {
    /// ENCODE's (brain-life).
    Encode,
    /// DIPY's FiberModel.
    Dipy,
}

impl Choice for Compat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Encode, "encode", "nodes, directions in voxel axes, SBB from zero: ENCODE"),
        (Self::Dipy, "dipy", "node counts, signal over its unweighted one: DIPY's FiberModel"),
    ];
}

/// A word that is not one of those there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is none of {expected}")]
pub struct ParseChoiceError {
    found: String,
    expected: &'static str,
}

/// [`Atoms`] as users write them: `exact`, `grid:360`. A list is written `listed`, and cannot be
/// read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AtomsName(pub Atoms);

/// [`Rank`] as users write it: `auto`, `full`, a number of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RankName(pub Rank);

impl RankName {
    /// What `auto` leaves out of columns: a fifth of what an orientation grid of 360 steps does.
    const AUTO: f64 = 1e-3;
}

impl fmt::Display for AtomsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Atoms::Exact => f.write_str("exact"),
            Atoms::Grid(steps) => write!(f, "grid:{steps}"),
            Atoms::Listed(_) => f.write_str("listed"),
        }
    }
}

impl FromStr for AtomsName {
    type Err = ParseChoiceError;

    fn from_str(text: &str) -> Result<Self, ParseChoiceError> {
        let steps = text.strip_prefix("grid:").and_then(|steps| steps.parse().ok());
        match (text, steps) {
            ("exact", _) => Ok(Self(Atoms::Exact)),
            (_, Some(steps)) => Ok(Self(Atoms::Grid(steps))),
            _ => Err(ParseChoiceError { found: text.into(), expected: "exact, grid:STEPS" }),
        }
    }
}

impl fmt::Display for RankName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Rank::Full => f.write_str("full"),
            Rank::Vectors(n) => write!(f, "{n}"),
            Rank::Error(_) => f.write_str("auto"),
        }
    }
}

impl FromStr for RankName {
    type Err = ParseChoiceError;

    fn from_str(text: &str) -> Result<Self, ParseChoiceError> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self(Rank::Error(Self::AUTO))),
            ("full", _) => Ok(Self(Rank::Full)),
            (_, Ok(n)) if n > 0 => Ok(Self(Rank::Vectors(n))),
            _ => Err(ParseChoiceError {
                found: text.into(),
                expected: "auto, full, a number from 1 on",
            }),
        }
    }
}

impl From<AtomsName> for String {
    fn from(name: AtomsName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for AtomsName {
    type Error = ParseChoiceError;

    fn try_from(text: String) -> Result<Self, ParseChoiceError> {
        text.parse()
    }
}

impl From<RankName> for String {
    fn from(name: RankName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for RankName {
    type Error = ParseChoiceError;

    fn try_from(text: String) -> Result<Self, ParseChoiceError> {
        text.parse()
    }
}

/// The parameters of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LifeParameters {
    /// Whose conventions are taken over.
    pub compat: Option<Named<Compat>>,
    /// Which columns streamlines use.
    pub atoms: AtomsName,
    /// Diffusivity along streamlines, mm²/s.
    pub axial: f64,
    /// Diffusivity across streamlines, mm²/s.
    pub radial: f64,
    /// Diffusivities of isotropic compartments of every voxel, mm²/s.
    pub isotropic: Vec<f64>,
    /// What a streamline's parts in a voxel add up to.
    pub normalise: Named<Normalise>,
    /// What is taken from signal and columns.
    pub demean: Named<Demean>,
    /// Vectors of the columns' basis.
    pub rank: RankName,
    /// The solver.
    pub solver: Named<Method>,
    /// At most so many iterations.
    pub max_iterations: usize,
    /// The projected gradient over that without weights at which the solver ends.
    pub tolerance: f64,
    /// L1 penalty, as a share of the least that leaves no weight.
    pub l1: f64,
    /// Penalty on sets of streamlines, as a share of the least that leaves none of them a weight;
    /// its steps are of their own, whatever the solver.
    pub group: f64,
}

impl Default for LifeParameters {
    fn default() -> Self {
        let Response { axial_mm2_per_s: axial, radial_mm2_per_s: radial } = Response::default();
        Self {
            compat: None,
            atoms: AtomsName(Atoms::Grid(360)),
            axial,
            radial,
            isotropic: Vec::new(),
            normalise: Named(Normalise::Length),
            demean: Named(Demean::Mean),
            rank: RankName(Rank::Error(RankName::AUTO)),
            solver: Named(Method::Conjugate),
            max_iterations: 1000,
            tolerance: 1e-5,
            l1: 0.0,
            group: 0.0,
        }
    }
}

impl LifeParameters {
    /// The conventions of another program; what it leaves open as by default.
    pub fn of(compat: Compat) -> Self {
        let common =
            Self { compat: Some(Named(compat)), rank: RankName(Rank::Full), ..Self::default() };
        match compat {
            Compat::Encode => Self {
                normalise: Named(Normalise::Nodes),
                solver: Named(Method::Sbb),
                max_iterations: 500,
                ..common
            },
            Compat::Dipy => {
                Self { atoms: AtomsName(Atoms::Exact), normalise: Named(Normalise::None), ..common }
            }
        }
    }

    /// Refuses what no solver can be given.
    ///
    /// # Errors
    /// [`LifeError::Penalty`].
    pub fn check(&self) -> Result<(), LifeError> {
        let is_share = |share: &f64| *share >= 0.0 && share.is_finite();
        match [self.l1, self.group].into_iter().find(|share| !is_share(share)) {
            Some(share) => Err(LifeError::Penalty(share)),
            None => Ok(()),
        }
    }

    /// How the tractogram is encoded.
    pub fn encode(&self) -> EncodeOptions {
        EncodeOptions {
            atoms: self.atoms.0.clone(),
            normalise: self.normalise.0,
            in_voxel_axes: self.in_voxel_axes(),
        }
    }

    /// True where directions are taken in voxel axes.
    pub fn in_voxel_axes(&self) -> bool {
        self.compat.is_some_and(|compat| compat.0 == Compat::Encode)
    }

    /// What the signal is explained by.
    pub fn tissue(&self) -> TissueOptions {
        TissueOptions {
            response: Response { axial_mm2_per_s: self.axial, radial_mm2_per_s: self.radial },
            isotropic_mm2_per_s: self.isotropic.clone(),
            rank: self.rank.0,
            relative: self.compat.is_some_and(|compat| compat.0 == Compat::Dipy),
        }
    }

    /// How weights are found, without the penalty on sets.
    pub fn weigh(&self) -> WeighOptions {
        let Self { max_iterations, tolerance, .. } = *self;
        let stop = Stop { max_iterations, gradient: tolerance, objective: 0.0 };
        WeighOptions { method: self.solver.0, stop, l1: self.l1, groups: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_and_ranks_are_read_as_they_are_written() {
        for text in ["exact", "grid:360", "grid:90"] {
            assert_eq!(text.parse::<AtomsName>().unwrap().to_string(), text);
        }
        for text in ["auto", "full", "48"] {
            assert_eq!(text.parse::<RankName>().unwrap().to_string(), text);
        }
        for text in ["", "grid", "grid:x", "360"] {
            assert!(text.parse::<AtomsName>().is_err(), "{text}");
        }
        assert!("0".parse::<RankName>().is_err());
    }

    #[test]
    fn parameters_survive_json() {
        let parameters = LifeParameters::of(Compat::Encode);
        let text = serde_json::to_string(&parameters).unwrap();
        assert_eq!(serde_json::from_str::<LifeParameters>(&text).unwrap(), parameters);
    }
}
