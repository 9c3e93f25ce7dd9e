//! What a reader changed, in words for the user.

use std::fmt;

use crate::counted;

/// Something about a gradient table that was resolved in the only way it can have been meant.
/// `Display` gives one sentence for the user.
#[derive(Clone, Debug, PartialEq)]
pub enum Repair {
    /// bvecs of three volumes are 3x3 either way round; this says which was taken.
    ThreeByThreeBvecs {
        /// True where every row was taken as a direction, false for every column (FSL's layout).
        by_rows: bool,
    },
    /// Directions that were not numbers, in unweighted volumes.
    NanDirections {
        /// How many volumes.
        volumes: usize,
    },
    /// b that was not a number, in volumes without a direction.
    NanB {
        /// How many volumes.
        volumes: usize,
    },
    /// Directions that were not of unit length and now are; b as read.
    Normalised {
        /// How many volumes.
        volumes: usize,
        /// Shortest length found.
        shortest: f64,
        /// Longest length found.
        longest: f64,
    },
    /// b multiplied by the squared length of its direction, directions made unit.
    BScaled {
        /// How many volumes.
        volumes: usize,
        /// Smallest factor.
        smallest: f64,
        /// Largest factor.
        largest: f64,
    },
    /// b-matrices replaced by the nearest matrix b g g'.
    RankOne {
        /// How many volumes.
        volumes: usize,
        /// Largest Frobenius norm of what was dropped, relative to b.
        largest_residual: f64,
    },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ThreeByThreeBvecs { by_rows: true } => {
                write!(f, "bvecs are 3x3: each row was taken as a direction (one per line)")
            }
            Self::ThreeByThreeBvecs { by_rows: false } => {
                write!(f, "bvecs are 3x3: each column was taken as a direction (FSL's layout)")
            }
            Self::NanDirections { volumes } => {
                let volumes = counted(*volumes, "unweighted volume");
                write!(f, "{volumes} had NaN for a direction: taken as none")
            }
            Self::NanB { volumes } => {
                let volumes = counted(*volumes, "volume");
                write!(f, "{volumes} without a direction had NaN for b: taken as unweighted")
            }
            Self::Normalised { volumes, shortest, longest } => write!(
                f,
                "{} not of unit length ({shortest:.4} to {longest:.4}): normalised, b unchanged",
                counted(*volumes, "direction")
            ),
            Self::BScaled { volumes, smallest, largest } => write!(
                f,
                "{} not of unit length: normalised, and b multiplied by the squared length \
                 ({smallest:.4} to {largest:.4})",
                counted(*volumes, "direction")
            ),
            Self::RankOne { volumes, largest_residual } => write!(
                f,
                "not of rank one were the b-matrices of {}: replaced by the nearest that are \
                 (largest residual {:.2} % of b)",
                counted(*volumes, "volume"),
                100.0 * largest_residual
            ),
        }
    }
}
