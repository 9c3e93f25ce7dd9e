//! Which volumes are measured.

use fimbria_image::GradientTable;

use crate::{PhantomError, spread_directions};

/// One shell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShellSpec {
    /// b in s/mm².
    pub b_s_per_mm2: f64,
    /// Number of directions, spread evenly.
    pub directions: usize,
}

/// Unweighted volumes and shells.
#[derive(Clone, Debug, PartialEq)]
pub struct Acquisition {
    /// Number of unweighted volumes, the first at the start, the others evenly in between.
    pub b0s: usize,
    /// Shells, in the order they are measured.
    pub shells: Vec<ShellSpec>,
}

impl Default for Acquisition {
    /// 6 unweighted volumes, 30 directions at 1000 and 60 at 2000 s/mm².
    fn default() -> Self {
        let shell = |b_s_per_mm2, directions| ShellSpec { b_s_per_mm2, directions };
        Self { b0s: 6, shells: vec![shell(1000.0, 30), shell(2000.0, 60)] }
    }
}

/// More directions than any protocol has; spreading takes time with their square.
const MOST_DIRECTIONS: usize = 1000;

impl Acquisition {
    /// The gradient table, directions in scanner axes.
    ///
    /// Shells of equal size have different directions: each shell is turned by a fixed angle from
    /// the one before.
    ///
    /// # Errors
    /// Where there is no volume, or a shell's b or size is out of range.
    pub fn gradients(&self) -> Result<GradientTable, PhantomError> {
        let mut weighted = Vec::new();
        for (s, shell) in self.shells.iter().enumerate() {
            let (b, n) = (shell.b_s_per_mm2, shell.directions);
            let valid = b > GradientTable::DEFAULT_B0_THRESHOLD && b <= 1e5;
            PhantomError::require(valid, "b of a shell", b, "above 50, at most 1e5 s/mm²")?;
            let valid = (1..=MOST_DIRECTIONS).contains(&n);
            PhantomError::require(valid, "directions of a shell", n, "1 to 1000")?;
            let turned = spread_directions(n).into_iter().map(|g| turned_about_diagonal(g, s));
            weighted.extend(turned.map(|g| (b, g)));
        }
        let total = weighted.len().saturating_add(self.b0s);
        PhantomError::require((1..=100_000).contains(&total), "volumes", total, "1 to 100000")?;
        let mut entries = Vec::with_capacity(total);
        let mut weighted = weighted.into_iter();
        let mut b0s = (0..self.b0s).map(|i| i * total / self.b0s).peekable();
        for volume in 0..total {
            let unweighted = b0s.next_if_eq(&volume).map(|_| (0.0, [0.0; 3]));
            entries.extend(unweighted.or_else(|| weighted.next()));
        }
        Ok(GradientTable {
            b_s_per_mm2: entries.iter().map(|e| e.0).collect(),
            dirs_ras: entries.iter().map(|e| e.1).collect(),
            b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
        })
    }
}

/// `g` turned by `shell` radians about (1, 1, 1), which maps no shell's pattern onto itself.
fn turned_about_diagonal(g: [f64; 3], shell: usize) -> [f64; 3] {
    let (sin, cos) = (shell as f64).sin_cos();
    let axis = 1.0 / 3.0f64.sqrt();
    let along = axis * axis * (g[0] + g[1] + g[2]) * (1.0 - cos);
    // Rodrigues' formula: g cos + (k x g) sin + k (k.g)(1 - cos).
    std::array::from_fn(|i| {
        let cross = axis * (g[(i + 2) % 3] - g[(i + 1) % 3]);
        g[i] * cos + cross * sin + along
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_three_shells_and_spread_b0s() {
        let table = Acquisition::default().gradients().unwrap();
        let sizes: Vec<_> = table.shells().iter().map(|s| s.volumes.len()).collect();
        assert_eq!(sizes, [6, 30, 60]);
        assert_eq!(table.shells()[0].volumes, [0, 16, 32, 48, 64, 80]);
        let norm = |g: &[f64; 3]| g.iter().map(|c| c * c).sum::<f64>().sqrt();
        for v in 0..table.len() {
            let expected = if table.is_b0(v) { 0.0 } else { 1.0 };
            assert!((norm(&table.dirs_ras[v]) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn shells_of_equal_size_differ_in_direction() {
        let shell = |b_s_per_mm2| ShellSpec { b_s_per_mm2, directions: 30 };
        let acquisition = Acquisition { b0s: 0, shells: vec![shell(1000.0), shell(2000.0)] };
        let table = acquisition.gradients().unwrap();
        assert_eq!(table.len(), 60);
        let (first, second) = table.dirs_ras.split_at(30);
        let measured_again = |g: &&[f64; 3]| {
            let cosine = |h: &[f64; 3]| (0..3).map(|i| g[i] * h[i]).sum::<f64>().abs();
            // Within a degree.
            second.iter().any(|h| cosine(h) > 0.99985)
        };
        let again = first.iter().filter(measured_again).count();
        assert!(again <= 2, "{again} directions are measured twice");
    }

    #[test]
    fn impossible_acquisitions_are_refused() {
        let with = |b0s, b_s_per_mm2, directions| {
            let shells = vec![ShellSpec { b_s_per_mm2, directions }];
            Acquisition { b0s, shells }.gradients()
        };
        assert!(with(1, f64::NAN, 6).is_err());
        assert!(with(1, -1000.0, 6).is_err());
        assert!(with(1, 1000.0, usize::MAX).is_err());
        assert!(with(usize::MAX, 1000.0, 6).is_err());
        assert!(Acquisition { b0s: 0, shells: vec![] }.gradients().is_err());
    }
}
