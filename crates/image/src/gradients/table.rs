//! The table itself.

/// b-values and gradient directions of a series, one entry per volume.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientTable {
    /// b in s/mm².
    pub b_s_per_mm2: Vec<f64>,
    /// Unit directions in scanner RAS+ axes; zero where the volume has no direction (b = 0).
    pub dirs_ras: Vec<[f64; 3]>,
    /// b at or below which a volume counts as unweighted, in s/mm².
    pub b0_threshold: f64,
}

impl GradientTable {
    /// b at or below which a volume counts as unweighted unless the user says otherwise.
    pub const DEFAULT_B0_THRESHOLD: f64 = 50.0;

    /// Those of several series, one after the other, with the threshold of the first; without any an empty one.
    pub fn joined(tables: &[Self]) -> Self {
        Self {
            b_s_per_mm2: tables.iter().flat_map(|table| &table.b_s_per_mm2).copied().collect(),
            dirs_ras: tables.iter().flat_map(|table| &table.dirs_ras).copied().collect(),
            b0_threshold: tables.first().map_or(Self::DEFAULT_B0_THRESHOLD, |t| t.b0_threshold),
        }
    }

    /// Number of volumes.
    pub fn len(&self) -> usize {
        self.b_s_per_mm2.len()
    }

    /// True for a table without volumes.
    pub fn is_empty(&self) -> bool {
        self.b_s_per_mm2.is_empty()
    }

    /// True where the volume counts as unweighted.
    pub fn is_b0(&self, volume: usize) -> bool {
        self.b_s_per_mm2[volume] <= self.b0_threshold
    }
}
