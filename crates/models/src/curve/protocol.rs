//! Which volumes a fit takes, and which of them share a direction.

use fimbria_image::GradientTable;

use super::CurveError;
use crate::ProtocolError;

/// Directions whose axes differ by at most this many degrees are one: protocols repeat directions
/// at every b with rounding and small deviations of a degree or so.
pub const SAME_DIRECTION_DEG: f64 = 2.0;
/// How far above the largest b a volume may lie: scanners report 3010 for 3000.
pub(crate) const B_MAX_SLACK: f64 = 1.05;
/// Values of b (ms/µm²) that differ by less are one.
const SAME_B: f64 = 0.02;
/// Sorted b (ms/µm²) without a larger gap are one shell: scanners spread one nominal b so far.
const SHELL_GAP: f64 = GradientTable::SHELL_GAP / 1000.0;

/// One axis of diffusion weighting.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// The axis, unit, in scanner RAS: that of the first volume that has it.
    pub dir_ras: [f64; 3],
    /// Its volumes, by increasing b.
    pub volumes: Vec<usize>,
}

/// The volumes of a fit.
#[derive(Clone, Debug)]
pub(crate) struct Protocol {
    /// Those without weighting (at or below the threshold of the table).
    pub(crate) unweighted: Vec<usize>,
    /// Those with weighting, up to the limit.
    pub(crate) weighted: Vec<usize>,
    /// b of every volume of the series, ms/µm².
    pub(crate) b: Vec<f64>,
    /// Unit direction of every volume, scanner RAS; zero where there is none.
    pub(crate) dirs_ras: Vec<[f64; 3]>,
}

impl Protocol {
    pub(crate) fn new(
        gradients: &GradientTable,
        b_max_s_per_mm2: Option<f64>,
    ) -> Result<Self, CurveError> {
        if let Some(b) = b_max_s_per_mm2.filter(|b| !(b.is_finite() && *b > 0.0)) {
            return Err(CurveError::LargestB(b));
        }
        let mut protocol = Self {
            unweighted: Vec::new(),
            weighted: Vec::new(),
            b: Vec::new(),
            dirs_ras: Vec::new(),
        };
        ProtocolError::check_gradients(gradients)?;
        let entries = gradients.b_s_per_mm2.iter().zip(&gradients.dirs_ras);
        for (volume, (&b_s_per_mm2, &dir_ras)) in entries.enumerate() {
            let norm = dir_ras.iter().map(|c| c * c).sum::<f64>().sqrt();
            protocol.b.push(b_s_per_mm2 / 1000.0);
            protocol.dirs_ras.push(dir_ras.map(|c| if norm > 0.0 { c / norm } else { 0.0 }));
            if gradients.is_b0(volume) {
                protocol.unweighted.push(volume);
            } else if b_max_s_per_mm2.is_none_or(|most| b_s_per_mm2 <= most * B_MAX_SLACK) {
                protocol.weighted.push(volume);
            }
        }
        Ok(protocol)
    }

    /// All volumes of the fit, the unweighted first.
    pub(crate) fn volumes(&self) -> Vec<usize> {
        [&self.unweighted[..], &self.weighted].concat()
    }

    /// The number of different b among `volumes`, with 0 where there are unweighted ones.
    pub(crate) fn count_b(&self, volumes: &[usize]) -> usize {
        let mut b = self.ascending_b(volumes);
        b.dedup_by(|next, first| *next - *first < SAME_B);
        b.len()
    }

    /// The number of shells among `volumes`, with 0 where there are unweighted ones: b far enough
    /// apart to show how the signal bends.
    pub(crate) fn count_shells(&self, volumes: &[usize]) -> usize {
        let b = self.ascending_b(volumes);
        let gaps = b.windows(2).filter(|pair| pair[1] - pair[0] > SHELL_GAP);
        usize::from(!b.is_empty()) + gaps.count()
    }

    /// The number of shells of all volumes that show how the signal bends along any axis: 0, and
    /// those whose directions do not lie near a plane.
    pub(crate) fn count_full_shells(&self) -> usize {
        let is_full = |shell: &&Vec<usize>| {
            self.unweighted.first() == shell.first() || self.spans_space(shell)
        };
        self.shells().iter().filter(is_full).count()
    }

    /// The volumes of each shell by increasing b, the unweighted ones first where there are any.
    pub(crate) fn shells(&self) -> Vec<Vec<usize>> {
        let mut weighted = self.weighted.clone();
        weighted.sort_by(|&v, &w| self.b[v].total_cmp(&self.b[w]));
        let shells = weighted.chunk_by(|&v, &w| self.b[w] - self.b[v] <= SHELL_GAP);
        let unweighted = (!self.unweighted.is_empty()).then(|| self.unweighted.clone());
        unweighted.into_iter().chain(shells.map(<[usize]>::to_vec)).collect()
    }

    /// True where the directions of `volumes` do not lie near a plane.
    fn spans_space(&self, volumes: &[usize]) -> bool {
        /// Of the mean of g gᵀ: 1/27 for three orthogonal axes and all over the sphere, 0 in a plane.
        const LEAST_DETERMINANT: f64 = 0.005;
        let mean = |i: usize, j: usize| {
            let products = volumes.iter().map(|&v| self.dirs_ras[v][i] * self.dirs_ras[v][j]);
            products.sum::<f64>() / volumes.len() as f64
        };
        let [xx, xy, xz] = [mean(0, 0), mean(0, 1), mean(0, 2)];
        let [yy, yz, zz] = [mean(1, 1), mean(1, 2), mean(2, 2)];
        let determinant =
            xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
        determinant >= LEAST_DETERMINANT
    }

    /// b of `volumes`, with 0 where there are unweighted ones.
    fn ascending_b(&self, volumes: &[usize]) -> Vec<f64> {
        let mut b: Vec<f64> = volumes.iter().map(|&v| self.b[v]).collect();
        b.extend((!self.unweighted.is_empty()).then_some(0.0));
        b.sort_by(f64::total_cmp);
        b
    }

    /// The weighted volumes by axis, in order of first appearance.
    pub(crate) fn directions(&self) -> Vec<Direction> {
        let same = SAME_DIRECTION_DEG.to_radians().cos();
        let mut found: Vec<Direction> = Vec::new();
        for &volume in &self.weighted {
            let dir_ras = self.dirs_ras[volume];
            if dir_ras == [0.0; 3] {
                continue;
            }
            let cos = |d: &Direction| (0..3).map(|k| d.dir_ras[k] * dir_ras[k]).sum::<f64>().abs();
            let nearest = found.iter_mut().max_by(|a, b| cos(a).total_cmp(&cos(b)));
            match nearest.filter(|direction| cos(direction) >= same) {
                Some(direction) => direction.volumes.push(volume),
                None => found.push(Direction { dir_ras, volumes: vec![volume] }),
            }
        }
        for direction in &mut found {
            direction.volumes.sort_by(|&v, &w| self.b[v].total_cmp(&self.b[w]));
        }
        found
    }

    /// The directions with at least `needed` shells (0 counts for all of them).
    pub(crate) fn directions_with(
        &self,
        needed: usize,
        b_max_s_per_mm2: Option<f64>,
    ) -> Result<Vec<Direction>, CurveError> {
        let all = self.directions();
        let most = all.iter().map(|d| self.count_shells(&d.volumes)).max().unwrap_or(0);
        let directions = all.len();
        let has_enough = |d: &Direction| self.count_shells(&d.volumes) >= needed;
        let good: Vec<_> = all.into_iter().filter(has_enough).collect();
        if good.is_empty() {
            return Err(CurveError::TooFewB { needed, directions, most, b_max_s_per_mm2 });
        }
        Ok(good)
    }
}

/// The axes of a table's weighted volumes up to `b_max_s_per_mm2` that were measured at `needed`
/// or more different b (0 included where it was measured): those that a fit per direction fits,
/// in its order.
///
/// # Errors
/// [`CurveError`] where an entry is no number or no direction has so many.
pub fn directions(
    gradients: &GradientTable,
    b_max_s_per_mm2: Option<f64>,
    needed: usize,
) -> Result<Vec<Direction>, CurveError> {
    Protocol::new(gradients, b_max_s_per_mm2)?.directions_with(needed, b_max_s_per_mm2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_testing::acquisition;

    fn table(entries: &[(f64, [f64; 3])]) -> GradientTable {
        GradientTable {
            b_s_per_mm2: entries.iter().map(|e| e.0).collect(),
            dirs_ras: entries.iter().map(|e| e.1).collect(),
            b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
        }
    }

    #[test]
    fn antipodes_and_neighbours_share_a_direction() {
        let (x, y) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let nearly_x = [0.9998, 0.02, 0.0];
        let table = table(&[
            (0.0, [0.0; 3]),
            (2000.0, x),
            (1000.0, y),
            (1000.0, [-1.0, 0.0, 0.0]),
            (3000.0, nearly_x),
            (8000.0, x),
        ]);
        let found = directions(&table, Some(3000.0), 2).unwrap();
        let volumes: Vec<_> = found.iter().map(|d| d.volumes.clone()).collect();
        assert_eq!(volumes, [vec![3, 1, 4], vec![2]]);
        assert_eq!(directions(&table, Some(3000.0), 4).unwrap().len(), 1);
    }

    #[test]
    fn a_protocol_with_too_few_b_is_refused_with_the_numbers() {
        let table = acquisition(1, &[(1000.0, 30)]);
        let error = directions(&table, Some(3000.0), 3).unwrap_err().to_string();
        assert!(error.contains("needs 3") && error.contains("has 2"), "{error}");
    }

    #[test]
    fn a_shell_that_leaves_an_axis_out_does_not_count() {
        let plane = |b: f64| {
            let turn = |k: u32| f64::from(k) * std::f64::consts::PI / 8.0;
            (0..8).map(move |k| (b, [turn(k).cos(), turn(k).sin(), 0.0]))
        };
        let mut entries = vec![(0.0, [0.0; 3])];
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        entries.extend(axes.map(|g| (1000.0, g)));
        entries.extend(plane(2000.0));
        entries.push((3000.0, axes[0]));
        let protocol = Protocol::new(&table(&entries), None).unwrap();
        assert_eq!(
            (protocol.count_shells(&protocol.volumes()), protocol.count_full_shells()),
            (4, 2)
        );
    }

    #[test]
    fn one_nominal_b_is_one_shell_however_it_scatters() {
        let axis = [1.0, 0.0, 0.0];
        let b = [0.0, 960.0, 985.0, 1000.0, 1020.0, 1040.0];
        let table = GradientTable {
            b_s_per_mm2: b.to_vec(),
            dirs_ras: b.iter().map(|b| if *b > 0.0 { axis } else { [0.0; 3] }).collect(),
            b0_threshold: 50.0,
        };
        let refused = directions(&table, None, 3);
        assert!(matches!(refused, Err(CurveError::TooFewB { most: 2, .. })), "{refused:?}");
        assert_eq!(directions(&table, None, 2).unwrap().len(), 1);
    }
}
