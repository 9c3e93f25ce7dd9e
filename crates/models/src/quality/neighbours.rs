//! Which volumes of a series are alike.

use fimbria_image::GradientTable;

/// So many neighbours say what a volume should be.
const PREDICTORS: usize = 6;
/// The angle, degrees, at which a neighbour counts exp(-1/2) of one along the same direction.
const WIDTH_DEG: f64 = 25.0;
/// What a neighbour at any angle still counts: where directions are few, all are far.
const LEAST: f64 = 1e-6;
/// Shells with fewer directions have no two that are nearly the same.
const FEWEST_DIRECTIONS: usize = 6;
/// b, s/mm², below which directions hardly differ in tissue: exp(-b (Dmax - Dmin)) is above 0.6.
const LEAST_B: f64 = 400.0;

/// Neighbours of every volume in q-space.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// Volumes of the same shell and their weights, which sum to 1; none where the volume is alone.
    pub predictors: Vec<Vec<(usize, f64)>>,
    /// The volume of the same shell with the nearest direction and the one that is most nearly
    /// perpendicular; of volumes of shells with six directions or more, from b = 400 s/mm² on.
    pub extremes: Vec<Option<[usize; 2]>>,
}

impl Neighbours {
    /// Of the volumes of a table. Opposite directions are the same; all unweighted volumes are neighbours.
    pub fn new(table: &GradientTable) -> Self {
        let n = table.len();
        let mut made = Self { predictors: vec![Vec::new(); n], extremes: vec![None; n] };
        for shell in table.shells() {
            let is_b0 = shell.volumes.iter().all(|v| table.is_b0(*v));
            for &volume in &shell.volumes {
                let others = shell.volumes.iter().filter(|other| **other != volume);
                let angle = |other: usize| if is_b0 { 0.0 } else { between(table, volume, other) };
                let mut others: Vec<(usize, f64)> = others.map(|v| (*v, angle(*v))).collect();
                // Stable, so that what does not differ keeps its order.
                others.sort_by(|a, b| a.1.total_cmp(&b.1));
                if !is_b0
                    && shell.volumes.len() >= FEWEST_DIRECTIONS
                    && shell.b_s_per_mm2 >= LEAST_B
                    && let (Some(near), Some(far)) = (others.first(), others.last())
                {
                    made.extremes[volume] = Some([near.0, far.0]);
                }
                if !is_b0 {
                    others.truncate(PREDICTORS);
                }
                let weight =
                    |angle: f64| (-0.5 * (angle.to_degrees() / WIDTH_DEG).powi(2)).exp() + LEAST;
                let sum: f64 = others.iter().map(|(_, angle)| weight(*angle)).sum();
                made.predictors[volume] =
                    others.iter().map(|(v, angle)| (*v, weight(*angle) / sum)).collect();
            }
        }
        made
    }
}

/// The angle between the lines of two volumes.
fn between(table: &GradientTable, a: usize, b: usize) -> f64 {
    let [a, b] = [a, b].map(|volume| table.dirs_ras[volume]);
    let cos: f64 = (0..3).map(|axis| a[axis] * b[axis]).sum();
    cos.abs().min(1.0).acos()
}

#[cfg(test)]
mod tests {
    use fimbria_testing::acquisition;

    use super::*;

    #[test]
    fn neighbours_are_of_one_shell_and_weights_sum_to_one() {
        let table = acquisition(3, &[(1000.0, 12), (2000.0, 7)]);
        let neighbours = Neighbours::new(&table);
        for (volume, predictors) in neighbours.predictors.iter().enumerate() {
            let b = |v: usize| table.b_s_per_mm2[v];
            assert!(predictors.iter().all(|(v, _)| b(*v) == b(volume) && *v != volume));
            let sum: f64 = predictors.iter().map(|(_, weight)| weight).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
            assert_eq!(neighbours.extremes[volume].is_some(), b(volume) > 0.0);
        }
        let alone = acquisition(1, &[(1000.0, 5)]);
        let neighbours = Neighbours::new(&alone);
        assert!(neighbours.predictors[0].is_empty());
        assert!(neighbours.extremes.iter().all(Option::is_none));
    }

    #[test]
    fn opposite_directions_are_the_same() {
        let mut table = acquisition(0, &[(1000.0, 8)]);
        table.dirs_ras[1] = table.dirs_ras[0].map(|x| -x);
        assert_eq!(Neighbours::new(&table).extremes[0].unwrap()[0], 1);
    }
}
