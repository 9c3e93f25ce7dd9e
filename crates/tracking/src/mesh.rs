//! Surfaces that streamlines cross.

use fimbria_compute::dense::vec3::{cross, dot, sub};
use fimbria_image::Grid;
use fimbria_memory::try_zeros;

use crate::field::floor;

/// Triangles in radiological voxel coordinates of the seed space, listed by the voxels they touch.
///
/// A step crosses a triangle where it passes through it or ends on it; one that starts on it does
/// not, so that every passage is one crossing. What lies outside the grid is never crossed.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    vertices: Vec<[f32; 3]>,
    /// Which of them count.
    is_active: Vec<bool>,
    /// Triangles with a vertex that counts.
    triangles: Vec<[u32; 3]>,
    dims: [usize; 3],
    /// Where each voxel's triangles begin in `listed`; one more at the end.
    first: Vec<u32>,
    listed: Vec<u32>,
}

/// A surface that touches too many voxels to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a surface of {triangles} triangles touches too many voxels of the seed space to be held")]
pub struct MeshTooLarge {
    /// How many triangles it has.
    pub triangles: usize,
}

/// A triangle that is crossed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Crossing {
    triangle: u32,
    /// Shares of its three vertices in the point.
    shares: [f64; 3],
}

impl Mesh {
    /// Of the triangles between `vertices` of which one at least `is_active`.
    ///
    /// # Errors
    /// Where there is no memory to list them.
    pub fn new(
        grid: &Grid,
        vertices: Vec<[f32; 3]>,
        triangles: &[[u32; 3]],
        is_active: Vec<bool>,
    ) -> Result<Self, MeshTooLarge> {
        let too_large = MeshTooLarge { triangles: triangles.len() };
        let counts = |triangle: &[u32; 3]| triangle.iter().any(|v| is_active[*v as usize]);
        let triangles: Vec<_> = triangles.iter().copied().filter(counts).collect();
        let mut mesh = Self {
            vertices,
            is_active,
            triangles,
            dims: grid.dims,
            first: vec![0; grid.len() + 1],
            listed: Vec::new(),
        };
        // Count, then fill: the lists lie one after the other.
        let mut total = 0_u64;
        let mut first = std::mem::take(&mut mesh.first);
        for triangle in 0..mesh.triangles.len() {
            mesh.touched(triangle, |voxel| {
                first[voxel] += 1;
                total += 1;
            });
        }
        let total = u32::try_from(total).map_err(|_| too_large)? as usize;
        mesh.listed = try_zeros(total).map_err(|_| too_large)?;
        let mut sum = 0;
        for first in &mut first {
            sum += std::mem::replace(first, sum);
        }
        let mut next = first.clone();
        let mut listed = std::mem::take(&mut mesh.listed);
        for triangle in 0..mesh.triangles.len() {
            mesh.touched(triangle, |voxel| {
                listed[next[voxel] as usize] = triangle as u32;
                next[voxel] += 1;
            });
        }
        (mesh.first, mesh.listed) = (first, listed);
        Ok(mesh)
    }

    /// How many triangles can be crossed.
    pub fn n_triangles(&self) -> usize {
        self.triangles.len()
    }

    /// How many vertices there are.
    pub fn n_vertices(&self) -> usize {
        self.vertices.len()
    }

    /// How many vertices count.
    pub fn len(&self) -> usize {
        self.active().count()
    }

    /// True where none does.
    pub fn is_empty(&self) -> bool {
        !self.is_active.contains(&true)
    }

    /// The vertices that count.
    pub fn active(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.is_active).filter(|(_, active)| **active).map(|(vertex, _)| vertex)
    }

    /// True where a step from `from` to `to` crosses a triangle.
    pub fn is_crossed(&self, from: [f32; 3], to: [f32; 3]) -> bool {
        let mut crossed = false;
        self.crossings(from, to, |_| {
            crossed = true;
            false
        });
        crossed
    }

    /// Hands over the vertices that count of every triangle that a step crosses; of each triangle
    /// all, or where `closest` the one nearest to the crossing alone. One may come several times.
    pub fn crossed_vertices(
        &self,
        from: [f32; 3],
        to: [f32; 3],
        closest: bool,
        mut each: impl FnMut(u32),
    ) {
        self.crossings(from, to, |crossing| {
            let triangle = self.triangles[crossing.triangle as usize];
            let nearest = closest.then(|| self.nearest(&crossing));
            for vertex in triangle {
                if self.is_active[vertex as usize] && nearest.is_none_or(|at| at == vertex) {
                    each(vertex);
                }
            }
            true
        });
    }

    /// The vertex of the triangle that is nearest to the crossing.
    fn nearest(&self, crossing: &Crossing) -> u32 {
        let triangle = self.triangles[crossing.triangle as usize];
        let corners = triangle.map(|vertex| wide(self.vertices[vertex as usize]));
        let at: [f64; 3] =
            std::array::from_fn(|a| (0..3).map(|k| crossing.shares[k] * corners[k][a]).sum());
        let distance = |k: &usize| {
            let d = sub(corners[*k], at);
            dot(d, d)
        };
        let nearest = (0..3).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        triangle[nearest.unwrap_or(0)]
    }

    /// Hands over every crossing of a step, once, until `each` says no.
    fn crossings(&self, from: [f32; 3], to: [f32; 3], mut each: impl FnMut(Crossing) -> bool) {
        let low: [f32; 3] = std::array::from_fn(|a| from[a].min(to[a]));
        let high: [f32; 3] = std::array::from_fn(|a| from[a].max(to[a]));
        let Some(voxels) = self.voxels(low, high) else { return };
        let is_one = voxels.iter().all(|axis| axis.0 == axis.1);
        let mut known: Vec<u32> = Vec::new();
        let (from, to) = (wide(from), wide(to));
        for voxel in indices(voxels, self.dims) {
            let listed = self.first[voxel] as usize..self.first[voxel + 1] as usize;
            for &triangle in &self.listed[listed] {
                let corners = self.triangles[triangle as usize];
                let corners = corners.map(|vertex| wide(self.vertices[vertex as usize]));
                let Some(shares) = crossed(corners, from, to) else { continue };
                // A triangle is listed in every voxel it touches.
                if !is_one {
                    if known.contains(&triangle) {
                        continue;
                    }
                    known.push(triangle);
                }
                if !each(Crossing { triangle, shares }) {
                    return;
                }
            }
        }
    }

    /// The voxels that a triangle may touch: those of the box around it that its plane passes.
    fn touched(&self, triangle: usize, mut each: impl FnMut(usize)) {
        let corners = self.triangles[triangle].map(|vertex| self.vertices[vertex as usize]);
        let low = std::array::from_fn(|a| corners.iter().map(|c| c[a]).fold(f32::MAX, f32::min));
        let high = std::array::from_fn(|a| corners.iter().map(|c| c[a]).fold(f32::MIN, f32::max));
        let Some(voxels) = self.voxels(low, high) else { return };
        let corners = corners.map(wide);
        let normal = cross(sub(corners[1], corners[0]), sub(corners[2], corners[0]));
        // Half a voxel, and a little more against rounding.
        let reach = 0.501 * normal.iter().map(|x| x.abs()).sum::<f64>();
        for z in voxels[2].0..=voxels[2].1 {
            for y in voxels[1].0..=voxels[1].1 {
                for x in voxels[0].0..=voxels[0].1 {
                    let centre = [x as f64, y as f64, z as f64];
                    if dot(normal, sub(centre, corners[0])).abs() <= reach {
                        each(x + self.dims[0] * (y + self.dims[1] * z));
                    }
                }
            }
        }
    }

    /// First and last voxel along each axis of a box; `None` where it lies outside the grid.
    fn voxels(&self, low: [f32; 3], high: [f32; 3]) -> Option<[(usize, usize); 3]> {
        let mut voxels = [(0, 0); 3];
        for (axis, range) in voxels.iter_mut().enumerate() {
            let last = self.dims[axis] as f32 - 1.0;
            let (low, high) = (floor(low[axis] + 0.5), floor(high[axis] + 0.5));
            // Also where one is no number.
            if !(low <= last && high >= 0.0) {
                return None;
            }
            *range = (low.max(0.0) as usize, high.min(last) as usize);
        }
        Some(voxels)
    }
}

/// Indices of the voxels of a box, x fastest.
fn indices(voxels: [(usize, usize); 3], dims: [usize; 3]) -> impl Iterator<Item = usize> {
    let [x, y, z] = voxels.map(|(first, last)| first..=last);
    z.flat_map(move |z| {
        let x = x.clone();
        y.clone().flat_map(move |y| x.clone().map(move |x| x + dims[0] * (y + dims[1] * z)))
    })
}

/// The shares of the corners in the point where a segment passes a triangle, its first end left out
/// (Moeller and Trumbore 1997, J Graphics Tools 2, 21); `None` where it does not.
fn crossed(corners: [[f64; 3]; 3], from: [f64; 3], to: [f64; 3]) -> Option<[f64; 3]> {
    let along = sub(to, from);
    let (e1, e2) = (sub(corners[1], corners[0]), sub(corners[2], corners[0]));
    let p = cross(along, e2);
    let det = dot(e1, p);
    if det == 0.0 {
        return None;
    }
    let s = sub(from, corners[0]);
    let u = dot(s, p) / det;
    let q = cross(s, e1);
    let v = dot(along, q) / det;
    let t = dot(e2, q) / det;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0 && t <= 1.0).then_some([1.0 - u - v, u, v])
}

fn wide(v: [f32; 3]) -> [f64; 3] {
    v.map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::Affine;

    fn grid() -> Grid {
        Grid { dims: [20, 18, 16], ras_from_vox: Affine::IDENTITY }
    }

    /// A ball of triangles around `centre`, each patch of a latitude and longitude grid two.
    fn ball(centre: [f32; 3], radius: f32) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let (rows, columns) = (24_u32, 48_u32);
        let mut vertices = Vec::new();
        for i in 0..=rows {
            for j in 0..columns {
                let theta = std::f32::consts::PI * i as f32 / rows as f32;
                let phi = std::f32::consts::TAU * j as f32 / columns as f32;
                let v = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
                vertices.push(std::array::from_fn(|a| centre[a] + radius * v[a]));
            }
        }
        let at = |i: u32, j: u32| i * columns + j % columns;
        let mut triangles = Vec::new();
        for i in 0..rows {
            for j in 0..columns {
                triangles.push([at(i, j), at(i + 1, j), at(i, j + 1)]);
                triangles.push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
            }
        }
        (vertices, triangles)
    }

    fn mesh(vertices: Vec<[f32; 3]>, triangles: &[[u32; 3]]) -> Mesh {
        let active = vec![true; vertices.len()];
        Mesh::new(&grid(), vertices, triangles, active).unwrap()
    }

    /// A pseudo-random number in 0 to 1.
    fn number(state: &mut u64) -> f32 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f32 / (1 << 24) as f32
    }

    #[test]
    fn a_ball_is_crossed_where_one_end_is_inside_and_the_other_is_not() {
        let (centre, radius) = ([9.3, 8.1, 7.7], 5.0);
        let (vertices, triangles) = ball(centre, radius);
        let mesh = mesh(vertices, &triangles);
        let mut state = 7;
        let (mut crossed, mut not) = (0, 0);
        for _ in 0..20_000 {
            let from: [f32; 3] =
                std::array::from_fn(|a| centre[a] + 13.0 * (number(&mut state) - 0.5));
            let to: [f32; 3] = std::array::from_fn(|a| from[a] + 0.8 * (number(&mut state) - 0.5));
            let height = |p: [f32; 3]| {
                (0..3).map(|a| (p[a] - centre[a]).powi(2)).sum::<f32>().sqrt() - radius
            };
            let (a, b) = (height(from), height(to));
            // Between its corners a triangle lies up to 0.021 below the ball; a step within or
            // without comes nearer to it by 0.012 than both its ends.
            if a.abs() < 0.05 || b.abs() < 0.05 {
                continue;
            }
            let is_crossed = mesh.is_crossed(from, to);
            assert_eq!(is_crossed, (a > 0.0) != (b > 0.0), "{from:?} {to:?}");
            if is_crossed { crossed += 1 } else { not += 1 }
        }
        assert!(crossed > 300 && not > 5000, "{crossed} {not}");
    }

    #[test]
    fn a_path_crosses_once_however_it_is_cut_into_steps() {
        // Two triangles of a square at z = 5, and a path through the edge they share.
        let square = vec![[2.0, 2.0, 5.0], [8.0, 2.0, 5.0], [8.0, 8.0, 5.0], [2.0, 8.0, 5.0]];
        let mesh = mesh(square, &[[0, 1, 2], [0, 2, 3]]);
        for ends in [[4.0, 5.0, 6.0], [4.5, 5.0, 5.5], [4.4, 4.9, 5.4]] {
            let at = |z: f32| [4.0, 4.0, z];
            let steps = ends.windows(2).filter(|z| mesh.is_crossed(at(z[0]), at(z[1]))).count();
            assert_eq!(steps, 1, "{ends:?}");
        }
        assert!(!mesh.is_crossed([1.9, 4.0, 4.0], [1.9, 4.0, 6.0]));
        assert!(!mesh.is_crossed([f32::NAN; 3], [4.0, 4.0, 6.0]));
    }

    #[test]
    fn vertices_that_count_are_met_all_or_the_nearest() {
        let square = vec![[2.0, 2.0, 5.0], [8.0, 2.0, 5.0], [8.0, 8.0, 5.0], [2.0, 8.0, 5.0]];
        let active = vec![true, true, false, false];
        let mesh = Mesh::new(&grid(), square, &[[0, 1, 2], [0, 2, 3]], active).unwrap();
        let met = |x: f32, y: f32, closest: bool| {
            let mut met = Vec::new();
            mesh.crossed_vertices([x, y, 4.8], [x, y, 5.1], closest, |vertex| met.push(vertex));
            met
        };
        assert_eq!(met(7.0, 3.0, false), [0, 1]);
        assert_eq!(met(7.0, 3.0, true), [1]);
        assert_eq!(met(3.0, 7.0, false), [0]);
        // Nearest is vertex 3, which does not count.
        assert!(met(3.0, 7.0, true).is_empty());
    }

    #[test]
    fn triangles_larger_than_voxels_or_outside_the_grid_are_crossed_inside_it() {
        let far = vec![[-1000.0, -1000.0, 7.3], [3000.0, -1000.0, 7.3], [-1000.0, 3000.0, 7.3]];
        let mesh = mesh(far, &[[0, 1, 2]]);
        for x in 0..20 {
            assert!(mesh.is_crossed([x as f32, 17.0, 7.2], [x as f32, 16.8, 7.6]));
        }
        assert!(!mesh.is_crossed([30.0, 17.0, 7.2], [30.0, 17.0, 7.6]));
    }
}
