//! What became of each voxel.

use crate::Window;

/// What became of one voxel; the status map stores it as a `u8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Status {
    /// Outside the mask: nothing was computed.
    Outside = 0,
    /// The model fits and nothing had to be corrected.
    Fitted = 1,
    /// Fitted, and a constraint holds with equality (an eigenvalue was raised to its minimum).
    Constrained = 2,
    /// The iteration reached its limit; the values are the last ones.
    NotConverged = 3,
    /// A sample is not finite, or none is positive; all maps are zero here.
    BadSignal = 4,
    /// The samples of this voxel determine no parameter of the model; all maps are zero here.
    Singular = 5,
    /// Fitted, but some samples are not positive: what takes logarithms has raised them, what fits the
    /// signal itself took them as they are.
    NotPositive = 6,
    /// Fitted, but a diffusivity that some maps divide by is not positive, or the samples of this
    /// voxel do not determine some maps (the rate of what has no amplitude): these are NaN.
    Undefined = 7,
    /// Fitted, but an eigenvalue of the tensor is negative: anisotropies of it may exceed 1.
    NegativeDiffusion = 8,
}

impl Status {
    /// Every status, in the order of its number.
    pub const ALL: [Self; 9] = [
        Self::Outside,
        Self::Fitted,
        Self::Constrained,
        Self::NotConverged,
        Self::BadSignal,
        Self::Singular,
        Self::NotPositive,
        Self::Undefined,
        Self::NegativeDiffusion,
    ];

    /// All numbers with their meanings, as files explain them.
    pub const LEGEND: &str = "0 outside mask, 1 fitted, 2 constraint active, 3 not converged, \
                              4 bad signal, 5 not determined, 6 fitted, some samples not positive, \
                              7 fitted, some maps undefined, 8 fitted, a negative eigenvalue";

    /// The numbers that a picture of them spans.
    pub const WINDOW: Window = Window::Fixed([0.0, Self::ALL.len() as f64 - 1.0]);

    /// True where maps hold results.
    pub fn is_fitted(self) -> bool {
        !matches!(self, Self::Outside | Self::BadSignal | Self::Singular)
    }

    /// The number as it stands in an `f32` row of results.
    pub const fn code(self) -> f32 {
        self as u8 as f32
    }

    /// The status with this number; what is not one counts as [`BadSignal`](Self::BadSignal).
    pub fn from_code(code: f32) -> Self {
        Self::ALL.into_iter().find(|s| s.code() == code).unwrap_or(Self::BadSignal)
    }
}

/// How many voxels of a mask met each fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts([u64; Status::ALL.len()]);

impl StatusCounts {
    /// Counts one more voxel.
    pub fn add(&mut self, status: Status) {
        self.0[status as usize] += 1;
    }

    /// Counts so many more voxels.
    pub fn add_many(&mut self, status: Status, voxels: u64) {
        self.0[status as usize] += voxels;
    }

    /// Voxels with this status.
    pub fn count(&self, status: Status) -> u64 {
        self.0[status as usize]
    }

    /// The counts of two disjoint sets of voxels together.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_its_status() {
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), status);
        }
        assert_eq!(Status::from_code(f32::NAN), Status::BadSignal);
    }
}
