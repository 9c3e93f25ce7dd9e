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
    /// Along a curve whose two curvatures are drawn anew at each step, evenly over the disk of those up to
    /// [`max_curvature`](DensityPropagation::max_curvature): parallel transport (Aydogan and Shi 2021).
    /// The chance of two is the mean of the densities along a probe with these curvatures, longer than a
    /// step, raised to `power`.
    Transport {
        /// 1 for the mean itself.
        power: f32,
        /// Length of the probe, mm.
        probe_mm: f32,
        /// Places along the probe at which densities are looked up besides its start: 1 to 8.
        places: usize,
    },
    /// To the maximum nearest to the direction it comes along, by the midpoint rule.
    Maximum,
}

impl DensityPropagation {
    /// Curvature at which a chord as long as a step turns by the largest angle, 1/mm: 2 sin(angle/2)/step.
    pub fn max_curvature(&self) -> f32 {
        2.0 * (0.5 * self.max_angle).sin() / self.step_mm
    }

    /// The steps along which one way is looked for: those of the probe of transport, or one.
    pub(crate) fn drawn_steps(&self) -> usize {
        match self.rule {
            DensityRule::Transport { probe_mm, .. } => {
                (probe_mm / self.step_mm).round().max(1.0) as usize
            }
            DensityRule::Arcs { .. } | DensityRule::Maximum => 1,
        }
    }

    /// Most steps of a streamline, both halves together.
    pub(crate) fn max_steps(&self) -> u32 {
        // More than two million points are of no use to anyone.
        (self.max_length_mm / self.step_mm).floor().min(1_999_998.0) as u32
    }
}
