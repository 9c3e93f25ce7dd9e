//! What can be chosen in an evaluation, by name.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::ArgPredicate;
use fimbria_life::solve::Stop;
use fimbria_life::{
    Atoms, Demean, EncodeOptions, Method, Normalise, Rank, Response, TissueOptions, WeighOptions,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{LifeInputError, read_directions};
use crate::options::{Described as _, Takes, above, at_least, choice};
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
        (Self::Mean, "mean", "the mean of all weighted volumes: LiFE as published"),
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct AtomsName(pub Atoms);

/// [`Rank`] as users write it: `auto`, `full`, a number of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
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

impl From<RankName> for String {
    fn from(name: RankName) -> Self {
        name.to_string()
    }
}

/// The options of an evaluation. What another program would take by default follows from
/// `--compat`.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Evaluation")]
pub struct LifeParameters {
    /// Take over the conventions of another program; other options still change them
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Compat>())]
    pub compat: Option<Named<Compat>>,

    /// Directions of columns: exact, or grid:STEPS (ENCODE's grid of orientations)
    #[arg(long, value_name = "ATOMS", default_value = "grid:360", hide_default_value = true)]
    #[arg(
        default_value_if("compat", "dipy", "exact"),
        usually = "grid:360; exact with --compat dipy"
    )]
    pub atoms: AtomsName,

    /// Columns for the directions listed in this file, three numbers a line, in the axes that
    /// streamlines' are taken in: each part of a streamline takes the nearest
    #[arg(long, value_name = "FILE", conflicts_with = "atoms")]
    #[arg(takes = Takes::TABLE)]
    pub directions: Option<PathBuf>,

    /// Diffusivity along streamlines
    #[arg(long, value_name = "D", number = above(0.0, "mm²/s"))]
    #[arg(default_value_t = Response::default().axial_mm2_per_s)]
    pub axial: f64,

    /// Diffusivity across streamlines: 0 is a stick, more a zeppelin
    #[arg(long, value_name = "D", number = at_least(0.0, "mm²/s"))]
    #[arg(default_value_t = Response::default().radial_mm2_per_s)]
    pub radial: f64,

    /// Isotropic compartments of every voxel, separated by commas
    #[arg(long, value_name = "D", number = above(0.0, "mm²/s"), value_delimiter = ',')]
    #[arg(usually = "none")]
    pub isotropic: Vec<f64>,

    /// What the parts of a streamline in a voxel add up to
    #[arg(long, value_name = "HOW", value_parser = choice::<Normalise>())]
    #[arg(default_value = "length", hide_default_value = true)]
    #[arg(default_value_ifs([("compat", "encode", "nodes"), ("compat", "dipy", "none")]))]
    #[arg(usually = "length; with --compat encode nodes, with dipy none")]
    pub normalise: Named<Normalise>,

    /// What is taken from signal and columns
    #[arg(long, value_name = "CENTRE", value_parser = choice::<Demean>())]
    #[arg(default_value = "shell-mean", hide_default_value = true)]
    #[arg(default_value_ifs([
        ("compat", ArgPredicate::IsPresent, "mean"),
        // What is isotropic differs between shells alone.
        ("isotropic", ArgPredicate::IsPresent, "mean"),
    ]))]
    #[arg(usually = "shell-mean; mean with --compat or --isotropic")]
    pub demean: Named<Demean>,

    /// Numbers a column is held in: auto (as many as miss 0.1 % of columns), full (one for each
    /// volume) or how many
    #[arg(long, value_name = "RANK", default_value = "auto", hide_default_value = true)]
    #[arg(default_value_if("compat", ArgPredicate::IsPresent, "full"))]
    #[arg(usually = "auto; full with --compat")]
    pub rank: RankName,

    /// How weights are found
    #[arg(long, value_name = "SOLVER", value_parser = choice::<Method>())]
    #[arg(default_value = "conjugate", hide_default_value = true)]
    #[arg(default_value_ifs([
        // The published iteration knows no sets.
        ("group", ArgPredicate::IsPresent, "conjugate"),
        ("compat", ArgPredicate::Equals("encode".into()), "sbb"),
    ]))]
    #[arg(usually = "conjugate; sbb with --compat encode")]
    pub solver: Named<Method>,

    /// Iterations at most
    #[arg(long, value_name = "N", default_value_t = 1000, hide_default_value = true)]
    #[arg(default_value_if("compat", "encode", "500"), usually = "1000; 500 with --compat encode")]
    #[arg(number = at_least(0_usize, ""))]
    pub max_iterations: usize,

    /// End once the projected gradient is this share of that without weights
    #[arg(long, value_name = "SHARE", number = at_least(0.0, "").below(1.0))]
    #[arg(default_value_t = 1e-5, allow_hyphen_values = true)]
    pub tolerance: f64,

    /// L1 penalty on weights, as a share of the least that leaves none
    #[arg(long, value_name = "SHARE", number = at_least(0.0, ""))]
    #[arg(default_value_t = 0.0, allow_hyphen_values = true)]
    pub l1: f64,

    /// Penalty on each set of streamlines (--sets, or the groups of a TRX): Σ √n ‖w‖, as a share of
    /// the least that leaves no set any weight; its steps are of their own
    #[arg(long, value_name = "SHARE", number = at_least(0.0, ""), conflicts_with = "solver")]
    #[arg(allow_hyphen_values = true, usually = "0")]
    pub group: Option<f64>,
}

impl LifeParameters {
    /// What is in effect, as records have it. A list of directions is an input: what it holds
    /// counts, not where it is.
    pub fn in_effect(&self) -> Value {
        let mut values = json!(self);
        if self.directions.is_some() {
            (values["atoms"], values["directions"]) = (Value::Null, Value::Null);
        }
        if self.group.is_some() {
            values["solver"] = Value::Null;
        }
        values
    }

    /// How the tractogram is encoded.
    ///
    /// # Errors
    /// Where a list of directions cannot be read.
    pub fn encode(&self) -> Result<EncodeOptions, LifeInputError> {
        let atoms = match &self.directions {
            Some(path) => Atoms::Listed(read_directions(path)?),
            None => self.atoms.0.clone(),
        };
        let (normalise, in_voxel_axes) = (self.normalise.0, self.in_voxel_axes());
        Ok(EncodeOptions { atoms, normalise, in_voxel_axes })
    }

    /// True where directions are taken in voxel axes.
    pub fn in_voxel_axes(&self) -> bool {
        self.compat.is_some_and(|compat| compat.0 == Compat::Encode)
    }

    /// What the signal is explained by, but for what other files say.
    pub fn tissue(&self) -> TissueOptions {
        TissueOptions {
            response: Response { axial_mm2_per_s: self.axial, radial_mm2_per_s: self.radial },
            isotropic_mm2_per_s: self.isotropic.clone(),
            hindered: None,
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
    use crate::options::from_values;

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
    fn another_programs_conventions_are_defaults() {
        let given = |values: Value| {
            let options: LifeParameters = from_values(values.as_object().unwrap()).unwrap();
            // What is in effect says the same once more.
            let again = options.in_effect();
            assert_eq!(from_values(again.as_object().unwrap()), Ok(options.clone()));
            options
        };
        let plain = given(json!({}));
        let encode = given(json!({ "compat": "encode" }));
        let dipy = given(json!({ "compat": "dipy", "rank": "48" }));
        let found = |options: &LifeParameters| {
            (options.normalise.0, options.solver.0, options.max_iterations, options.rank.0)
        };
        let auto = Rank::Error(RankName::AUTO);
        assert_eq!(found(&plain), (Normalise::Length, Method::Conjugate, 1000, auto));
        assert_eq!(found(&encode), (Normalise::Nodes, Method::Sbb, 500, Rank::Full));
        assert_eq!(found(&dipy), (Normalise::None, Method::Conjugate, 1000, Rank::Vectors(48)));
        assert_eq!((encode.atoms.0, dipy.atoms.0), (Atoms::Grid(360), Atoms::Exact));
        let group = given(json!({ "compat": "encode", "group": 0.5 }));
        assert_eq!(group.solver.0, Method::Conjugate);
    }
}
