//! How streamlines follow densities.

/// How streamlines follow densities. The defaults are explained in docs/tracking.md.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityPropagation {
    /// Which way they go.
    pub rule: DensityRule,
    /// Length of a step, mm: of an arc, or between two points of a curve along maxima.
    pub step_mm: f32,
    /// Largest angle between the directions at the two ends of a step, radians.
    pub max_angle: f32,
    /// Nothing is followed where the density along it is below this, in the units of the densities.
    pub cutoff: f32,
    /// Longest streamline, mm, both halves together.
    pub max_length_mm: f32,
}

/// Which way a streamline goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DensityRule {
    /// Along an arc drawn at random. Its chance is the geometric mean of the densities along it, by
    /// the trapezoidal rule, raised to `power`.
    Arcs {
        /// 1 for the mean itself.
        power: f32,
        /// Places along the arc at which densities are looked up besides its start: 1 to 8.
        places: usize,
    },
    /// To the maximum nearest to the direction it comes along, by the midpoint rule.
    Maximum,
}

impl DensityPropagation {
    /// Most steps of a streamline, both halves together.
    pub(crate) fn max_steps(&self) -> u32 {
        // More than two million points are of no use to anyone.
        (self.max_length_mm / self.step_mm).floor().min(1_999_998.0) as u32
    }
}
