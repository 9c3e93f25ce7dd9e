//! From the end of a streamline to a node.

use fimbria_image::{Affine, Image};

/// How an end point finds its node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Assignment {
    /// The label of the voxel that holds the end point.
    ExactLabel,
    /// The label of the labelled voxel whose centre is nearest to the end point, up to this
    /// distance: tck2connectome's default, with 4 mm.
    RadialSearch {
        /// The farthest a voxel's centre may be.
        radius_mm: f64,
    },
}

impl Default for Assignment {
    fn default() -> Self {
        Self::RadialSearch { radius_mm: 4.0 }
    }
}

/// A label image that is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LabelError {
    /// A label is a whole number.
    #[error("label {value} at voxel {voxel:?} is no whole number from 0 to 16777215")]
    NotALabel {
        /// What is there.
        value: f32,
        /// Where.
        voxel: [usize; 3],
    },
    /// There is nothing to connect.
    #[error("no voxel has a label above 0")]
    Empty,
    /// No grid can be found in a matrix that has no inverse.
    #[error("the affine of the label image cannot be inverted")]
    Singular,
    /// The search would look at too many voxels.
    #[error("a search radius of {radius_mm} mm is not between 0 and 100")]
    Radius {
        /// The radius asked for.
        radius_mm: f64,
    },
    /// The search would look at too many voxels, as the voxels are no voxels of a head in mm.
    #[error(
        "a search radius of {radius_mm} mm reaches {voxels:.3e} voxels of the label image around \
         each point: if its affine is not in millimetres, give a smaller radius or no search"
    )]
    Reach {
        /// The radius asked for.
        radius_mm: f64,
        /// Voxels that would have to be looked at.
        voxels: f64,
    },
}

/// Most voxels that are looked at around a point: 100 mm of 1 mm, twice over.
const MOST_NEIGHBOURS: f64 = (1u32 << 24) as f64;

/// The nodes of a label image.
#[derive(Clone, Debug)]
pub struct Nodes {
    dims: [usize; 3],
    ras_from_vox: Affine,
    vox_from_ras: Affine,
    /// Per voxel the index of its node plus 1; 0 where there is none.
    node_plus_1: Vec<u32>,
    labels: Vec<u32>,
    /// Voxels around one to look at, with the least distance a point in the middle one can have
    /// from their centre, ascending.
    neighbours: Vec<([i32; 3], f64)>,
    /// The farthest of them along each axis.
    reach: [i32; 3],
    radius_mm: f64,
}

impl Nodes {
    /// The nodes of the first volume of a label image; 0 is background.
    ///
    /// # Errors
    /// [`LabelError`] where the image holds anything but labels, or none, or the radius is absurd.
    pub fn new(image: &Image, assignment: Assignment) -> Result<Self, LabelError> {
        // f32 holds every whole number up to 2^24, which also stands for the one after it.
        let is_label = |v: f32| v.fract() == 0.0 && (0.0..16_777_216.0).contains(&v);
        let values = image.volume(0);
        if let Some(at) = values.iter().position(|v| !is_label(*v)) {
            return Err(LabelError::NotALabel { value: values[at], voxel: image.grid.voxel(at) });
        }
        let mut labels: Vec<_> = values.iter().filter(|v| **v > 0.0).map(|v| *v as u32).collect();
        labels.sort_unstable();
        labels.dedup();
        if labels.is_empty() {
            return Err(LabelError::Empty);
        }
        let node = |v: &f32| labels.binary_search(&(*v as u32)).map_or(0, |i| i as u32 + 1);
        let node_plus_1 = values.iter().map(node).collect();
        let ras_from_vox = image.grid.ras_from_vox;
        let vox_from_ras = ras_from_vox.inverse().ok_or(LabelError::Singular)?;
        let (neighbours, radius_mm) = match assignment {
            Assignment::ExactLabel => (vec![([0; 3], 0.0)], f64::INFINITY),
            Assignment::RadialSearch { radius_mm } if (0.0..=100.0).contains(&radius_mm) => {
                (neighbours(&ras_from_vox, image.grid.dims, radius_mm)?, radius_mm)
            }
            Assignment::RadialSearch { radius_mm } => return Err(LabelError::Radius { radius_mm }),
        };
        let dims = image.grid.dims;
        let far = |a: usize| neighbours.iter().map(|(step, _)| step[a].abs()).max().unwrap_or(0);
        let reach = std::array::from_fn(far);
        Ok(Self {
            dims,
            ras_from_vox,
            vox_from_ras,
            node_plus_1,
            labels,
            neighbours,
            reach,
            radius_mm,
        })
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never: a label image without labels is refused.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The label of each node, ascending.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// How many voxels each node has.
    pub fn voxels(&self) -> Vec<u32> {
        let mut voxels = vec![0; self.len()];
        let nodes = self.node_plus_1.iter().filter_map(|node| (*node as usize).checked_sub(1));
        nodes.for_each(|node| voxels[node] += 1);
        voxels
    }

    /// The index of the node at a point in scanner RAS+ mm, if there is one. A point that is not
    /// finite has none.
    pub fn at(&self, pos_ras: [f32; 3]) -> Option<usize> {
        let pos_ras = pos_ras.map(f64::from);
        let pos_vox = self.vox_from_ras.apply(pos_ras);
        let centre = pos_vox.map(|x| x.round());
        // What is so far outside that no neighbour lies inside is not looked for.
        let near = |a: usize| {
            let reach = f64::from(self.reach[a]);
            centre[a] >= -reach && centre[a] < self.dims[a] as f64 + reach
        };
        if !(0..3).all(near) {
            return None;
        }
        // The centre of its own voxel may be farther than the radius, in large voxels.
        if let Some(node) = self.node_of(centre) {
            return Some(node);
        }
        let (mut best, mut best_mm) = (None, self.radius_mm);
        for (step, least_mm) in &self.neighbours {
            if *least_mm > best_mm {
                break;
            }
            let voxel: [f64; 3] = std::array::from_fn(|a| centre[a] + f64::from(step[a]));
            let Some(node) = self.node_of(voxel) else { continue };
            let there = self.ras_from_vox.apply(voxel);
            let mm = (0..3).map(|a| (there[a] - pos_ras[a]).powi(2)).sum::<f64>().sqrt();
            // The first of equals stays.
            if mm < best_mm || (best.is_none() && mm <= best_mm) {
                (best, best_mm) = (Some(node), mm);
            }
        }
        best
    }

    fn node_of(&self, voxel: [f64; 3]) -> Option<usize> {
        let inside = (0..3).all(|a| voxel[a] >= 0.0 && voxel[a] < self.dims[a] as f64);
        let [i, j, k] = voxel.map(|x| x as usize);
        let node = inside.then(|| self.node_plus_1[i + self.dims[0] * (j + self.dims[1] * k)])?;
        (node as usize).checked_sub(1)
    }
}

/// Voxels whose centre can be within the radius of a point in the middle voxel, nearest first. Steps
/// longer than the grid lead from no point in it, or a voxel beside it, to a voxel of it.
fn neighbours(
    ras_from_vox: &Affine,
    dims: [usize; 3],
    radius_mm: f64,
) -> Result<Vec<([i32; 3], f64)>, LabelError> {
    // A point in a voxel is at most half a diagonal from its centre.
    let corners = [[1., 1., 1.], [1., 1., -1.], [1., -1., 1.], [-1., 1., 1.]];
    let length = |d: [f64; 3]| {
        let d = ras_from_vox.apply_linear(d);
        (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
    };
    let half_diagonal = corners.map(|c| length(c) / 2.0).into_iter().fold(0.0, f64::max);
    let reach = radius_mm + half_diagonal;
    // Steps along one voxel axis change that voxel coordinate only as fast as the inverse says.
    let inverse = ras_from_vox.inverse().unwrap_or(Affine::IDENTITY);
    let linear = inverse.linear();
    let most: [i32; 3] = std::array::from_fn(|a| {
        let r = linear[a];
        let steps = (reach * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt()).floor();
        // Saturates far below what an i32 holds, as no axis of a grid is longer.
        steps.min(dims[a] as f64).min(f64::from(i32::MAX / 4)) as i32
    });
    let voxels: f64 = most.iter().map(|n| 2.0 * f64::from(*n) + 1.0).product();
    if voxels > MOST_NEIGHBOURS {
        return Err(LabelError::Reach { radius_mm, voxels });
    }
    let mut found = Vec::new();
    for k in -most[2]..=most[2] {
        for j in -most[1]..=most[1] {
            for i in -most[0]..=most[0] {
                let distance = length([f64::from(i), f64::from(j), f64::from(k)]);
                if distance <= reach {
                    found.push(([i, j, k], (distance - half_diagonal).max(0.0)));
                }
            }
        }
    }
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::Grid;

    fn line_of_labels(labels: &[f32]) -> Image {
        let ras_from_vox = Affine::from_spacing([2.0; 3]);
        let grid = Grid { dims: [labels.len(), 1, 1], ras_from_vox };
        Image { grid, n_volumes: 1, data: labels.to_vec() }
    }

    #[test]
    fn the_exact_label_is_that_of_the_voxel_around_the_point() {
        let image = line_of_labels(&[0., 7., 0., 3.]);
        let nodes = Nodes::new(&image, Assignment::ExactLabel).unwrap();
        assert_eq!(nodes.labels(), [3, 7]);
        assert_eq!(nodes.at([2.9, 0.0, 0.0]), Some(1));
        assert_eq!(nodes.at([3.1, 0.0, 0.0]), None);
        assert_eq!(nodes.at([60.0, 0.0, 0.0]), None);
    }

    #[test]
    fn an_end_in_a_corner_of_a_large_voxel_has_its_label() {
        let grid = Grid { dims: [2, 1, 1], ras_from_vox: Affine::from_spacing([11.0; 3]) };
        let image = Image { grid, n_volumes: 1, data: vec![1.0, 2.0] };
        let nodes = Nodes::new(&image, Assignment::default()).unwrap();
        assert_eq!([nodes.at([5.0; 3]), nodes.at([6.0, 5.0, -5.0])], [Some(0), Some(1)]);
        assert_eq!(nodes.at([-9.0; 3]), None);
    }

    #[test]
    fn voxels_of_a_micrometre_bound_the_search_by_the_grid() {
        let labels = |dims: [usize; 3], edge: f64| {
            let grid = Grid { dims, ras_from_vox: Affine::from_spacing([edge; 3]) };
            Image { grid, n_volumes: 1, data: vec![1.0; grid.len()] }
        };
        let search = Assignment::RadialSearch { radius_mm: 4.0 };
        let small = Nodes::new(&labels([20, 20, 20], 0.002), search).unwrap();
        assert!(small.neighbours.len() <= 41 * 41 * 41);
        assert_eq!(small.at([0.01; 3]), Some(0));
        let large = Nodes::new(&labels([200, 200, 200], 0.002), search);
        assert!(matches!(large, Err(LabelError::Reach { .. })), "no more than memory holds");
        let thin = Nodes::new(&labels([2, 2, 2], 1e-30), search).unwrap();
        assert!(thin.neighbours.len() <= 125);
    }

    #[test]
    fn the_search_finds_the_nearest_centre_within_its_radius() {
        let image = line_of_labels(&[5., 0., 0., 0., 0., 6.]);
        let nodes = Nodes::new(&image, Assignment::RadialSearch { radius_mm: 4.0 }).unwrap();
        assert_eq!(nodes.at([3.9, 0.0, 0.0]), Some(0));
        assert_eq!(nodes.at([5.0, 0.0, 0.0]), None);
        assert_eq!(nodes.at([6.1, 0.0, 0.0]), Some(1));
        // From outside the image too.
        assert_eq!(nodes.at([-3.0, 2.0, 0.0]), Some(0));
    }

    #[test]
    fn the_search_agrees_with_looking_at_every_voxel() {
        let ras_from_vox =
            Affine([[1.7, 0.4, 0.1, -8.], [-0.3, 2.2, 0.2, 3.], [0.1, -0.5, 2.9, 5.]]);
        let grid = Grid { dims: [9, 8, 7], ras_from_vox };
        let mut image = Image::zeros(grid, 1);
        for at in [0, 17, 100, 333, 402, 503] {
            image.data[at] = at as f32 + 1.0;
        }
        let nodes = Nodes::new(&image, Assignment::RadialSearch { radius_mm: 5.0 }).unwrap();
        for i in 0..4000 {
            let t = f64::from(i);
            let vox = [
                (t * 0.618).fract() * 11.0 - 1.5,
                (t * 0.755).fract() * 9.0 - 1.0,
                (t * 0.57).fract() * 8.0 - 1.0,
            ];
            let pos = ras_from_vox.apply(vox).map(|x| x as f32);
            let distance = |at: usize| {
                let there = ras_from_vox.apply(grid.voxel(at).map(|x| x as f64));
                (0..3).map(|a| (there[a] - f64::from(pos[a])).powi(2)).sum::<f64>().sqrt()
            };
            let labelled = (0..grid.len()).filter(|at| image.data[*at] > 0.0);
            let nearest = labelled.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap();
            let expected = (distance(nearest) <= 5.0).then_some(nearest as u32 + 1);
            assert_eq!(nodes.at(pos).map(|node| nodes.labels()[node]), expected);
        }
    }

    #[test]
    fn what_is_no_label_is_named() {
        let error = Nodes::new(&line_of_labels(&[1.0, 2.5]), Assignment::default()).unwrap_err();
        assert_eq!(error, LabelError::NotALabel { value: 2.5, voxel: [1, 0, 0] });
        let empty = Nodes::new(&line_of_labels(&[0.0]), Assignment::default()).unwrap_err();
        assert_eq!(empty, LabelError::Empty);
    }
}
