//! Why a connectome cannot be evaluated.

use fimbria_compute::{HostError, Interrupted};
use fimbria_image::GridMismatch;

/// What is wrong with the input of an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum LifeError {
    /// Series and gradient table disagree.
    #[error("the series has {series} volumes, the gradient table {table}")]
    VolumeCount {
        /// Volumes of the series.
        series: usize,
        /// Entries of the gradient table.
        table: usize,
    },
    /// Nothing says what the signal is without weighting.
    #[error(
        "no volume is without diffusion weighting (b at or below {b0_threshold} s/mm²): the \
         signal without weighting scales every voxel's model"
    )]
    NoUnweighted {
        /// b at or below which a volume counts as unweighted, s/mm².
        b0_threshold: f64,
    },
    /// Too few directions to tell streamlines apart.
    #[error("{0} diffusion-weighted volumes; at least 6 are needed to tell directions apart")]
    TooFewDirections(usize),
    /// A diffusivity no tissue has.
    #[error(
        "{name} diffusivity {value_mm2_per_s} mm²/s: it must lie between 0 and 0.01 (axial above \
         radial)"
    )]
    Diffusivity {
        /// Which one.
        name: &'static str,
        /// Its value.
        value_mm2_per_s: f64,
    },
    /// An orientation grid too coarse or too fine.
    #[error("an orientation grid of {0} steps; it must have 4 to 2048")]
    OrientationSteps(usize),
    /// A list of directions for columns that is none.
    #[error("a list of directions needs one at least, and none that is zero or not finite")]
    Directions,
    /// A compartment that the demeaned signal cannot show.
    #[error(
        "an isotropic compartment is constant within a shell and vanishes once the mean is \
         removed: it needs several shells and --demean mean, or --demean none"
    )]
    IsotropicVanishes,
    /// Tissue along streamlines that looks the same from everywhere.
    #[error(
        "an axial diffusivity of {0} mm²/s: the signal would hardly depend on direction. Diffusivities \
         are in mm²/s, 0.001 about"
    )]
    ResponseVanishes(f64),
    /// The image has no place in the scanner.
    #[error("the affine of the image cannot be inverted: its voxels have no volume")]
    SingularAffine,
    /// The tractogram holds nothing.
    #[error("the tractogram has no streamlines")]
    NoStreamlines,
    /// No streamline can be seen by the image.
    #[error(
        "none of the {streamlines} streamlines leaves a trace in the image: {outside} lie outside \
         it (first point {first_vox:?} in voxel coordinates of an image of {dims:?}), {short} \
         have fewer than two distinct points, {not_finite} have a coordinate that is no number, \
         {outside_mask} lie outside the mask; is the tractogram of another space?"
    )]
    NothingEncoded {
        /// How many there are.
        streamlines: usize,
        /// Those without a part in the image.
        outside: u64,
        /// Those in the image without a part in the mask.
        outside_mask: u64,
        /// Those too short to have a direction.
        short: u64,
        /// Those with a NaN or infinite coordinate.
        not_finite: u64,
        /// Where the first streamline begins.
        first_vox: [f64; 3],
        /// Voxels of the image.
        dims: [usize; 3],
    },
    /// No voxel that streamlines pass has a signal.
    #[error(
        "none of the {voxels} voxels that streamlines pass has a usable signal ({dark} without \
         unweighted signal, {not_finite} with samples that are no numbers)"
    )]
    NoSignal {
        /// Voxels passed.
        voxels: usize,
        /// Those whose unweighted signal is not positive.
        dark: u64,
        /// Those with a NaN or infinite sample.
        not_finite: u64,
    },
    /// More points or pieces than indices count.
    #[error("{what}: {count} are more than 2^32 - 1 can be counted")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
    },
    /// Starting weights of another tractogram.
    #[error("{found} starting weights for {streamlines} streamlines")]
    WarmStart {
        /// Weights given.
        found: usize,
        /// Streamlines there are.
        streamlines: usize,
    },
    /// A weight that is none.
    #[error(
        "starting weight {value} of streamline {streamline}: weights are finite and at least 0"
    )]
    BadWeight {
        /// Which, from 0.
        streamline: usize,
        /// Its weight.
        value: f32,
    },
    /// A penalty that is none.
    #[error("the penalty {0} must be a finite number from 0 on")]
    Penalty(f64),
    /// A group of streamlines that are not there.
    #[error("streamline {streamline} of a group is none of {streamlines} (numbers from 0)")]
    GroupMember {
        /// Which.
        streamline: u32,
        /// Streamlines there are.
        streamlines: usize,
    },
    /// Groups that share a streamline.
    #[error("streamline {0} (from 0) is in two groups: groups of a penalty have none in common")]
    GroupOverlap(u32),
    /// The signal, the weights or the dictionary hold no finite number.
    #[error("the objective is {0}: the signal or the weights hold a number that is not finite")]
    NotFinite(f64),
    /// Two images that should share a grid do not.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// Out of memory.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
