//! From a streamline to its nodes.

use fimbria_image::{Affine, Image, voxels_on_line};

use crate::distance_mm;

/// How a streamline finds its nodes.
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
    /// The first label at a point of the streamline, from the end inwards, up to this distance along it and
    /// no farther than its middle.
    ReverseSearch {
        /// The farthest.
        most_mm: f64,
    },
    /// The first label on the straight way on from the end, up to this distance.
    ForwardSearch {
        /// The farthest.
        most_mm: f64,
    },
    /// All labels in voxels that the streamline crosses: each pair of them is connected.
    AllVoxels,
}

/// The nodes of a streamline, by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignedNodes {
    /// Of its first and its last point.
    Ends([Option<u32>; 2]),
    /// Of all that it crosses, ascending.
    All(Vec<u32>),
}

impl AssignedNodes {
    /// Hands on each pair of nodes that the streamline connects, the smaller first: of its ends one, of all that it
    /// crosses every pair, and each with itself. Says whether there was one.
    pub fn pairs(&self, mut take: impl FnMut(usize, usize)) -> bool {
        match self {
            Self::Ends([Some(a), Some(b)]) => take(*a.min(b) as usize, *a.max(b) as usize),
            Self::Ends(_) => return false,
            Self::All(nodes) => {
                for (i, a) in nodes.iter().enumerate() {
                    nodes[i..].iter().for_each(|b| take(*a as usize, *b as usize));
                }
                return !nodes.is_empty();
            }
        }
        true
    }
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
    #[error("a search over {radius_mm} mm is not between 0 and 100")]
    Radius {
        /// The distance asked for.
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
    assignment: Assignment,
    /// Voxels around one to look at, ascending by their least distance.
    neighbours: Vec<Neighbour>,
    /// The farthest of them along each axis.
    reach: [i32; 3],
    radius_mm: f64,
}

/// A voxel beside the one that holds a point.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    step: [i32; 3],
    /// So much farther on in the image.
    offset: isize,
    /// The least distance of its centre from a point in the middle one.
    least_mm: f64,
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
        let dims = image.grid.dims;
        let check = |mm: f64| match (0.0..=100.0).contains(&mm) {
            true => Ok(mm),
            false => Err(LabelError::Radius { radius_mm: mm }),
        };
        let (neighbours, radius_mm) = match assignment {
            Assignment::RadialSearch { radius_mm } => {
                (neighbours(&ras_from_vox, dims, check(radius_mm)?)?, radius_mm)
            }
            Assignment::ReverseSearch { most_mm } | Assignment::ForwardSearch { most_mm } => {
                (Vec::new(), check(most_mm)?)
            }
            Assignment::ExactLabel | Assignment::AllVoxels => (Vec::new(), 0.0),
        };
        let far = |a: usize| neighbours.iter().map(|one| one.step[a].abs()).max().unwrap_or(0);
        let reach = std::array::from_fn(far);
        Ok(Self {
            dims,
            ras_from_vox,
            vox_from_ras,
            node_plus_1,
            labels,
            assignment,
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

    /// The nodes of a streamline, scanner RAS+ mm.
    pub fn assigned(&self, points: &[[f32; 3]]) -> AssignedNodes {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return AssignedNodes::Ends([None; 2]);
        };
        let back = || points.iter().rev();
        let ends = match self.assignment {
            Assignment::ExactLabel | Assignment::RadialSearch { .. } => {
                [self.at(*first), self.at(*last)]
            }
            Assignment::ReverseSearch { most_mm } => {
                let most_mm = most_mm.min(crate::arc_length_mm(points) / 2.0);
                [self.inwards(points.iter(), most_mm), self.inwards(back(), most_mm)]
            }
            Assignment::ForwardSearch { most_mm } => {
                [self.onwards(back(), most_mm), self.onwards(points.iter(), most_mm)]
            }
            Assignment::AllVoxels => {
                let mut nodes = Vec::new();
                let points_vox = points.iter().map(|p| self.vox_from_ras.apply(p.map(f64::from)));
                voxels_on_line(self.dims, points_vox, |voxel| {
                    nodes.extend(self.node_of(voxel.map(|x| x as f64)).map(|node| node as u32));
                });
                nodes.sort_unstable();
                nodes.dedup();
                return AssignedNodes::All(nodes);
            }
        };
        AssignedNodes::Ends(ends.map(|node| node.map(|node| node as u32)))
    }

    /// The node at the first of these points that has one, up to this distance along them.
    fn inwards<'a>(
        &self,
        points: impl Iterator<Item = &'a [f32; 3]>,
        most_mm: f64,
    ) -> Option<usize> {
        let (mut mm, mut before) = (0.0, None);
        for point in points {
            mm += before.map_or(0.0, |before| distance_mm(before, point));
            before = Some(point);
            if mm > most_mm {
                return None;
            }
            if let Some(node) = self.at(*point) {
                return Some(node);
            }
        }
        None
    }

    /// The first node on the straight way on from the last of these points.
    fn onwards<'a>(
        &self,
        points: impl DoubleEndedIterator<Item = &'a [f32; 3]>,
        most_mm: f64,
    ) -> Option<usize> {
        let mut back = points.rev();
        let end = *back.next()?;
        let Some(before) = back.find(|point| distance_mm(point, &end) > 0.0) else {
            return self.at(end);
        };
        let scale = most_mm / distance_mm(before, &end);
        let end = end.map(f64::from);
        let to = std::array::from_fn(|a| end[a] + scale * (end[a] - f64::from(before[a])));
        let way = [end, to].map(|pos_ras| self.vox_from_ras.apply(pos_ras));
        let mut node = None;
        voxels_on_line(self.dims, way, |voxel| {
            node = node.or_else(|| self.node_of(voxel.map(|x| x as f64)));
        });
        node
    }

    /// The index of the node at a point in scanner RAS+ mm, if there is one: that of its voxel, or by
    /// [`Assignment::RadialSearch`] of the nearest. A point that is not finite has none.
    pub fn at(&self, pos_ras: [f32; 3]) -> Option<usize> {
        let pos_ras = pos_ras.map(f64::from);
        let centre = self.vox_from_ras.apply(pos_ras).map(f64::round);
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
        let centre = centre.map(|x| x as i64);
        let is_inner = (0..3).all(|a| {
            let reach = i64::from(self.reach[a]);
            centre[a] >= reach && centre[a] + reach < self.dims[a] as i64
        });
        let [nx, ny, _] = self.dims.map(|n| n as i64);
        let base = (centre[0] + nx * (centre[1] + ny * centre[2])) as isize;
        let (mut best, mut best_mm) = (None, self.radius_mm);
        for Neighbour { step, offset, least_mm } in &self.neighbours {
            if *least_mm > best_mm {
                break;
            }
            let voxel: [f64; 3] = std::array::from_fn(|a| (centre[a] + i64::from(step[a])) as f64);
            let node = match is_inner {
                true => (self.node_plus_1[(base + offset) as usize] as usize).checked_sub(1),
                false => self.node_of(voxel),
            };
            let Some(node) = node else { continue };
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
) -> Result<Vec<Neighbour>, LabelError> {
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
                    let [nx, ny, _] = dims.map(|n| n as isize);
                    found.push(Neighbour {
                        step: [i, j, k],
                        offset: i as isize + nx * (j as isize + ny * k as isize),
                        least_mm: (distance - half_diagonal).max(0.0),
                    });
                }
            }
        }
    }
    found.sort_by(|a, b| a.least_mm.total_cmp(&b.least_mm));
    Ok(found)
}

#[cfg(test)]
mod tests;
