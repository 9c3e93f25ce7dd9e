//! What can be wrong with a design.

use super::column::N_COVARIATES;

/// Why a design cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// A covariate is no number.
    #[error("sample {sample} has the covariates {covariates:?}, which must be finite")]
    Covariate {
        /// Which sample, from 0.
        sample: usize,
        /// Its covariates.
        covariates: [f64; N_COVARIATES],
    },
    /// The factor of a column is 0 or no number.
    #[error("column {column} has the factor {scale}, which must be finite and not 0")]
    Scale {
        /// Which column, from 0.
        column: usize,
        /// Its factor.
        scale: f64,
    },
    /// The samples do not determine the unknowns.
    #[error("{samples} samples determine only {rank} of {unknowns} unknowns")]
    RankDeficient {
        /// Number of samples.
        samples: usize,
        /// Number of unknowns, ln A among them.
        unknowns: usize,
        /// How many of them are determined.
        rank: usize,
    },
}
