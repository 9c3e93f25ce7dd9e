//! Shells: volumes of about the same b. For display and for choosing volumes; fits use each
//! volume's own b.

use std::fmt;

use super::GradientTable;

/// Volumes whose b-values lie close together.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell {
    /// Mean b in s/mm².
    pub b_s_per_mm2: f64,
    /// Smallest and largest b in s/mm².
    pub range_s_per_mm2: [f64; 2],
    /// Its volumes, ascending.
    pub volumes: Vec<usize>,
}

impl Shell {
    /// Whether its b-values run from one to the next over so much that they are no shell: more than two gaps,
    /// and more than a quarter of their mean.
    pub fn is_spread(&self) -> bool {
        let [low, high] = self.range_s_per_mm2;
        high - low > (2.0 * GradientTable::SHELL_GAP).max(0.25 * self.b_s_per_mm2)
    }
}

impl fmt::Display for Shell {
    /// "b=1000 (30 volumes)", with the range where it is wider than 1 s/mm².
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, [low, high]) = (self.volumes.len(), self.range_s_per_mm2);
        let volumes = if n == 1 { "volume" } else { "volumes" };
        write!(f, "b={:.0} ({n} {volumes}", self.b_s_per_mm2)?;
        if high - low > 1.0 { write!(f, ", {low:.0} to {high:.0})") } else { write!(f, ")") }
    }
}

impl GradientTable {
    /// b-values further apart than this, in s/mm², belong to different shells.
    pub const SHELL_GAP: f64 = 80.0;

    /// Directions whose axes differ by less (|cos| above) are one direction.
    const SAME_DIRECTION_COS: f64 = 0.999;

    /// Distinct axes among the directions of these volumes, those without weighting aside.
    pub fn distinct_directions(&self, volumes: impl IntoIterator<Item = usize>) -> usize {
        let mut seen: Vec<[f64; 3]> = Vec::new();
        for volume in volumes.into_iter().filter(|&volume| !self.is_b0(volume)) {
            let [x, y, z] = self.dirs_ras[volume];
            let length = (x * x + y * y + z * z).sqrt();
            let [x, y, z] = [x, y, z].map(|part| part / length);
            let is_same =
                |s: &[f64; 3]| (s[0] * x + s[1] * y + s[2] * z).abs() > Self::SAME_DIRECTION_COS;
            if length > 0.0 && !seen.iter().any(is_same) {
                seen.push([x, y, z]);
            }
        }
        seen.len()
    }

    /// The most distinct directions that one shell has.
    pub fn most_directions_of_a_shell(&self) -> usize {
        let of_shell = |shell: &Shell| self.distinct_directions(shell.volumes.iter().copied());
        self.shells().iter().map(of_shell).max().unwrap_or(0)
    }

    /// The shells, ascending in b: first the unweighted volumes (b at or below the b0 threshold),
    /// where there are any; then every run of sorted b-values without a gap above
    /// [`SHELL_GAP`](Self::SHELL_GAP). Scanners spread one nominal b over some tens of s/mm², and
    /// protocols place shells at least 100 apart.
    pub fn shells(&self) -> Vec<Shell> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        // Stable, so that volumes of equal b stay ascending.
        order.sort_by(|&i, &j| self.b_s_per_mm2[i].total_cmp(&self.b_s_per_mm2[j]));
        order
            .chunk_by(|&i, &j| {
                self.is_b0(i) == self.is_b0(j)
                    && (self.is_b0(j)
                        || self.b_s_per_mm2[j] - self.b_s_per_mm2[i] <= Self::SHELL_GAP)
            })
            .map(|run| {
                let b = |i: usize| self.b_s_per_mm2[run[i]];
                let mut volumes = run.to_vec();
                volumes.sort_unstable();
                Shell {
                    b_s_per_mm2: (0..run.len()).map(b).sum::<f64>() / run.len() as f64,
                    range_s_per_mm2: [b(0), b(run.len() - 1)],
                    volumes,
                }
            })
            .collect()
    }
}
