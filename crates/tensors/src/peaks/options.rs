//! What counts as a peak, and how hard to look.

use super::PeaksError;

/// Which maxima to report and how to find them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakOptions {
    /// At most this many peaks in a voxel, the largest first; 1 to 32.
    pub n_peaks: usize,
    /// Maxima below this share of the voxel's largest are dropped; 0 to 1. Has no effect where the
    /// largest is not positive.
    pub relative_threshold: f64,
    /// Maxima at or below this value are dropped, in the unit of the form; negative infinity keeps
    /// all.
    pub absolute_threshold: f64,
    /// Of two maxima nearer than this only the larger is kept, degrees; 0 to 90. Below 1° two are
    /// one and the same in any case.
    pub min_separation_deg: f64,
    /// Directions of the half sphere from which the search sets out; 16 to 4096.
    pub starts: usize,
    /// An ascent has converged when its Newton step, which is still made, is shorter than this,
    /// radians; the error left is of the order of its square. 1e-6 to 1e-2.
    pub tolerance: f64,
    /// Steps after which an ascent is given up; 1 to 1000.
    pub max_iterations: usize,
}

impl Default for PeakOptions {
    /// Three peaks of at least a tenth of the largest, 25° apart.
    fn default() -> Self {
        Self {
            n_peaks: 3,
            relative_threshold: 0.1,
            absolute_threshold: 0.0,
            min_separation_deg: 25.0,
            starts: 1024,
            tolerance: 3e-4,
            max_iterations: 100,
        }
    }
}

/// What became of a voxel; the numbers of the status map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PeakStatus {
    /// Not in the mask.
    Outside = 0,
    /// All maxima that were met above the thresholds are certified; at least one is.
    Found = 1,
    /// No maximum lies above the thresholds.
    Below = 2,
    /// A search ended without a certified maximum: not converged, or at a ridge or plateau. Those
    /// certified are reported.
    Uncertain = 3,
    /// A coefficient is not a finite number.
    BadForm = 4,
    /// The form is the same in all directions (zero included) to single precision.
    Flat = 5,
}

impl PeakStatus {
    /// Every status, by number.
    pub const ALL: [Self; 6] =
        [Self::Outside, Self::Found, Self::Below, Self::Uncertain, Self::BadForm, Self::Flat];

    /// The number in the map.
    pub fn code(self) -> f32 {
        f32::from(self as u8)
    }
}

impl PeakOptions {
    /// # Errors
    /// [`PeaksError::Option`] for the first value out of range.
    pub(crate) fn check(&self) -> Result<(), PeaksError> {
        let within = |name, value: f64, least: f64, most: f64, range| {
            let ok = (least..=most).contains(&value);
            if ok { Ok(()) } else { Err(PeaksError::Option { name, value, range }) }
        };
        within("the number of peaks", self.n_peaks as f64, 1.0, 32.0, "from 1 to 32")?;
        within("the relative threshold", self.relative_threshold, 0.0, 1.0, "from 0 to 1")?;
        let absolute = self.absolute_threshold;
        within("the absolute threshold", absolute, f64::NEG_INFINITY, f64::MAX, "a number")?;
        within("the separation", self.min_separation_deg, 0.0, 90.0, "from 0 to 90 degrees")?;
        within("the number of starts", self.starts as f64, 16.0, 4096.0, "from 16 to 4096")?;
        within("the tolerance", self.tolerance, 1e-6, 1e-2, "from 1e-6 to 1e-2")?;
        let most = self.max_iterations as f64;
        within("the number of iterations", most, 1.0, 1000.0, "from 1 to 1000")
    }
}
