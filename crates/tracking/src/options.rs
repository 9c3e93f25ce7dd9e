//! How a streamline is propagated.

/// How a streamline is propagated; the defaults are probtrackx2's but for the last two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagation {
    /// Length of a step, mm.
    pub step_mm: f32,
    /// Most points of a sample, both halves together.
    pub max_points: u32,
    /// The cosine of the angle between steps must be above this.
    pub min_cos: f32,
    /// Fibres with a fraction above this are considered.
    pub fibre_threshold: f32,
    /// Stop with probability 1 - f at every step.
    pub use_fraction: bool,
    /// Average the direction here with that one step ahead.
    pub modified_euler: bool,
    /// Stop where a streamline comes back to a block of 5 x 5 x 5 voxels in the opposite direction.
    pub loop_check: bool,
    /// The fibre a half starts with.
    pub first_fibre: FirstFibre,
    /// How the sample of a voxel is drawn.
    pub sample_choice: SampleChoice,
    /// Leave out the point at which a half has left the mask; probtrackx2 keeps it.
    pub ends_inside: bool,
}

impl Default for Propagation {
    fn default() -> Self {
        Self {
            step_mm: 0.5,
            max_points: 2000,
            min_cos: 0.2,
            fibre_threshold: 0.01,
            use_fraction: false,
            modified_euler: false,
            loop_check: false,
            first_fibre: FirstFibre::Number(0),
            sample_choice: SampleChoice::Uniform,
            ends_inside: true,
        }
    }
}

impl Propagation {
    /// Most points of a sample of this length, both halves together, in steps of `step_mm`.
    pub fn points_within(length_mm: f32, step_mm: f32) -> u32 {
        // Each half has the seed point. More than two million points are of no use to anyone.
        (length_mm / step_mm).ceil().min(1_999_998.0) as u32 + 2
    }

    /// Most points of one half.
    pub fn half_points(&self) -> u32 {
        self.max_points / 2
    }
}

/// The fibre a half starts with; later the one nearest to the current direction is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstFibre {
    /// Always the same, counted from 0.
    Number(usize),
    /// Any of those above the threshold, with equal chances.
    Uniform,
    /// Any of those above the threshold, with chances in proportion to their fractions.
    Proportional,
    /// Any, with equal chances.
    Any,
}

/// How the sample of a voxel is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleChoice {
    /// Every sample with equal chances.
    Uniform,
    /// round(U (n - 1)), as probtrackx2 draws it: the first and the last sample have half the chance
    /// of the others.
    HalfWeightEnds,
}

/// Why a half ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EndReason {
    /// The lattice corner drawn has no samples.
    OutsideSamples = 1,
    /// The fraction was too small for the number drawn.
    Fraction = 2,
    /// The next step would turn too sharply.
    Curvature = 3,
    /// The sample drawn has no direction.
    NoDirection = 4,
    /// The point lies outside the mask.
    OutsideMask = 5,
    /// It has as many points as it may.
    Length = 6,
    /// It came back in the opposite direction.
    Loop = 7,
    /// It entered a region to stop in.
    Stop = 8,
    /// It left a region that it must not leave.
    StopOnLeaving = 9,
    /// It entered a region to avoid.
    Avoid = 10,
    /// The densities ahead are below the cut-off.
    Cutoff = 11,
    /// It entered the cortex.
    Cortex = 12,
    /// It ended in subcortical grey matter.
    Deep = 13,
    /// It entered fluid.
    Fluid = 14,
    /// It left all tissue.
    OutsideTissue = 15,
    /// It has one half only, and this is the other.
    Seed = 16,
    /// It ended of itself in tissue that is not healthy, of which nothing is asked.
    Lesion = 17,
}

impl EndReason {
    /// The reason with this number.
    pub(crate) fn of_code(code: u8) -> Self {
        let known = Self::ALL.iter().find(|(reason, _)| *reason as u8 == code);
        known.map_or(Self::Length, |(reason, _)| *reason)
    }

    /// Every reason with its name in records and files.
    pub const ALL: [(Self, &'static str); 17] = [
        (Self::OutsideSamples, "outside samples"),
        (Self::Fraction, "small fraction"),
        (Self::Curvature, "sharp turn"),
        (Self::NoDirection, "no direction"),
        (Self::OutsideMask, "outside mask"),
        (Self::Length, "longest"),
        (Self::Loop, "loop"),
        (Self::Stop, "stop region"),
        (Self::StopOnLeaving, "left stop region"),
        (Self::Avoid, "avoid region"),
        (Self::Cutoff, "small density"),
        (Self::Cortex, "cortex"),
        (Self::Deep, "subcortical grey matter"),
        (Self::Fluid, "fluid"),
        (Self::OutsideTissue, "left the brain"),
        (Self::Seed, "seed"),
        (Self::Lesion, "lesion"),
    ];
}
