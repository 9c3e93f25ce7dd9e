//! Regions of the seed space: voxels, or a surface.

use std::sync::Arc;

use crate::mesh::Mesh;

/// A region of the seed space.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// What it is called.
    pub name: String,
    place: Extent,
}

#[derive(Clone, Debug, PartialEq)]
enum Extent {
    /// By radiological index.
    Voxels {
        inside: Vec<bool>,
        len: usize,
    },
    Surface {
        mesh: Arc<Mesh>,
        closest: bool,
    },
}

/// A step of a streamline, in radiological voxel coordinates of the seed space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Where it starts; `None` at the seed point, which no step leads to, and for the step after it
    /// a little off the seed.
    pub from: Option<[f32; 3]>,
    /// Where it ends.
    pub to: [f32; 3],
    /// The radiological index of the voxel it ends in; `None` outside the grid.
    pub voxel: Option<u32>,
}

/// The steps of a half from its seed on, as surfaces see them. The first starts a thousandth of it off
/// the seed, as a vertex that is a seed lies on its surface only to rounding.
pub(crate) fn steps_of(half: &[[f32; 3]]) -> impl Iterator<Item = Step> + '_ {
    (0..).zip(half.windows(2)).map(|(number, ends)| {
        let from = if number == 0 { off_the_seed(ends[0], ends[1]) } else { ends[0] };
        Step { from: Some(from), to: ends[1], voxel: None }
    })
}

pub(crate) fn off_the_seed(seed: [f32; 3], next: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|a| seed[a] + 1e-3 * (next[a] - seed[a]))
}

impl Region {
    pub(crate) fn of_voxels(name: &str, inside: Vec<bool>) -> Self {
        let len = inside.iter().filter(|inside| **inside).count();
        Self { name: name.to_owned(), place: Extent::Voxels { inside, len } }
    }

    /// A surface, which is met where it is crossed; of a triangle that is crossed all vertices are
    /// met, or the `closest` alone.
    pub fn of_surface(name: &str, mesh: Mesh, closest: bool) -> Self {
        Self { name: name.to_owned(), place: Extent::Surface { mesh: Arc::new(mesh), closest } }
    }

    /// True where the voxel with this radiological index is inside; `None` is outside, and a surface
    /// has no inside.
    #[inline]
    pub fn holds(&self, voxel: Option<u32>) -> bool {
        match &self.place {
            Extent::Voxels { inside, .. } => voxel.is_some_and(|voxel| inside[voxel as usize]),
            Extent::Surface { .. } => false,
        }
    }

    /// True where a step ends in one of the voxels, or crosses the surface.
    #[inline]
    pub fn is_met(&self, step: &Step) -> bool {
        match (&self.place, step.from) {
            (Extent::Voxels { .. }, _) => self.holds(step.voxel),
            (Extent::Surface { mesh, closest: false }, Some(from)) => {
                mesh.is_crossed(from, step.to)
            }
            (Extent::Surface { closest: true, .. }, Some(_)) => {
                let mut met = false;
                self.met_vertices(step, |_| met = true);
                met
            }
            (Extent::Surface { .. }, None) => false,
        }
    }

    /// The surface; `None` for voxels.
    pub fn mesh(&self) -> Option<&Mesh> {
        match &self.place {
            Extent::Voxels { .. } => None,
            Extent::Surface { mesh, .. } => Some(mesh),
        }
    }

    /// Hands over the vertices of the surface that a step meets; one may come several times.
    pub(crate) fn met_vertices(&self, step: &Step, each: impl FnMut(u32)) {
        if let (Extent::Surface { mesh, closest }, Some(from)) = (&self.place, step.from) {
            mesh.crossed_vertices(from, step.to, *closest, each);
        }
    }

    /// Number of voxels, or of vertices that count.
    pub fn len(&self) -> usize {
        match &self.place {
            Extent::Voxels { len, .. } => *len,
            Extent::Surface { mesh, .. } => mesh.len(),
        }
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its voxels by radiological index: z slowest, x fastest, as probtrackx2 visits seeds; of a
    /// surface none.
    pub fn voxels(&self) -> impl Iterator<Item = u32> + '_ {
        let inside: &[bool] = match &self.place {
            Extent::Voxels { inside, .. } => inside,
            Extent::Surface { .. } => &[],
        };
        (0..).zip(inside).filter(|(_, inside)| **inside).map(|(index, _)| index)
    }
}
