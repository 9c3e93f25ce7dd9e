//! What every voxel is made of, by sampling the anatomy inside it.

use fimbria_compute::{Progress, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};
use rayon::prelude::*;

use crate::PhantomError;
use crate::anatomy::Anatomy;
use crate::bundle::unit;
use crate::zeros::zeros;
use fimbria_compute::dense::vec3::{Vec3, add, norm};

/// Most fibre populations in one voxel.
pub(crate) const FIBRES: usize = 3;
/// Compartments of a voxel: the fibres, then grey matter, then fluid.
pub(crate) const COMPARTMENTS: usize = FIBRES + 2;
pub(crate) const GREY: usize = FIBRES;
pub(crate) const FLUID: usize = FIBRES + 1;

/// Unweighted signal of pure tissue, in the units of the series.
pub(crate) const S0_WHITE: f64 = 800.0;
pub(crate) const S0_GREY: f64 = 1000.0;
pub(crate) const S0_FLUID: f64 = 2000.0;

/// Voxels per block of parallel work.
const BLOCK: usize = 4096;

/// The composition of every voxel. Zero outside the mask.
#[derive(Clone, Debug)]
pub(crate) struct Tissue {
    /// Three volumes (x y z, scanner RAS+) per fibre, unit, largest fraction first; zero where
    /// there is none.
    pub(crate) dirs_ras: Image,
    /// [`COMPARTMENTS`] volumes: parts of the unweighted signal, of sum 1.
    pub(crate) fractions: Image,
    /// Unweighted signal.
    pub(crate) s0: Image,
    /// Voxels of which at least half is tissue.
    pub(crate) mask: Mask,
}

/// The composition of one voxel.
#[derive(Clone, Copy, Default)]
struct Cell {
    dirs_ras: [[f32; 3]; FIBRES],
    fractions: [f32; COMPARTMENTS],
    s0: f32,
}

impl Tissue {
    /// Samples `anatomy`, `unit_mm` mm per unit, at `per_axis`³ points of every voxel that a
    /// surface passes through, and at the centre of all others.
    ///
    /// # Errors
    /// Where memory is short or the user stops it.
    pub(crate) fn sample(
        anatomy: &Anatomy,
        unit_mm: f64,
        grid: Grid,
        per_axis: usize,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, PhantomError> {
        let sampler = Sampler::new(anatomy, unit_mm, grid, per_axis);
        let n = grid.len();
        progress.start("sampling the anatomy", n as u64);
        let mut dirs_ras = zeros(grid, 3 * FIBRES)?;
        let mut fractions = zeros(grid, COMPARTMENTS)?;
        let mut s0 = zeros(grid, 1)?;
        workers.install(|| {
            // Slabs of a few blocks bound what is held between sampling and storing.
            for first in (0..n).step_by(64 * BLOCK) {
                progress.check()?;
                let last = n.min(first + 64 * BLOCK);
                let cells: Vec<Cell> = (first..last)
                    .into_par_iter()
                    .with_min_len(256)
                    .map(|v| sampler.cell(v))
                    .collect();
                for (l, cell) in cells.iter().enumerate() {
                    let voxel = first + l;
                    for (i, component) in cell.dirs_ras.as_flattened().iter().enumerate() {
                        dirs_ras.data[i * n + voxel] = *component;
                    }
                    for (i, fraction) in cell.fractions.iter().enumerate() {
                        fractions.data[i * n + voxel] = *fraction;
                    }
                    s0.data[voxel] = cell.s0;
                }
                progress.advance((last - first) as u64);
            }
            Ok::<_, PhantomError>(())
        })?;
        let mask = Mask::from_image(&s0);
        Ok(Self { dirs_ras, fractions, s0, mask })
    }
}

/// The anatomy as seen from the voxels of a grid.
struct Sampler<'a> {
    anatomy: &'a Anatomy,
    grid: Grid,
    /// From voxel coordinates to the anatomy's units.
    unit_from_vox: Affine,
    /// Points of a voxel relative to its centre, in the anatomy's units.
    offsets: Vec<Vec3>,
    /// From a voxel's centre to its corner, in the anatomy's units.
    half_diagonal: f64,
}

/// Signal of one fibre population in a voxel, and the sum of its directions.
#[derive(Clone, Copy, Default)]
struct Share {
    signal: f64,
    direction: Vec3,
}

impl Share {
    fn add(&mut self, signal: f64, direction: Vec3) {
        self.signal += signal;
        self.direction = add(self.direction, direction);
    }
}

impl<'a> Sampler<'a> {
    fn new(anatomy: &'a Anatomy, unit_mm: f64, grid: Grid, per_axis: usize) -> Self {
        let unit_from_vox = Affine(grid.ras_from_vox.0.map(|row| row.map(|c| c / unit_mm)));
        let along = |i: usize| (i as f64 + 0.5) / per_axis as f64 - 0.5;
        let point = |i: usize| {
            let [x, y, z] = [i, i / per_axis, i / (per_axis * per_axis)].map(|i| i % per_axis);
            unit_from_vox.apply_linear([along(x), along(y), along(z)])
        };
        let corner = |c: usize| {
            let sign = |axis: usize| if c >> axis & 1 == 1 { 0.5 } else { -0.5 };
            norm(unit_from_vox.apply_linear([sign(0), sign(1), sign(2)]))
        };
        Self {
            anatomy,
            grid,
            unit_from_vox,
            offsets: (0..per_axis.pow(3)).map(point).collect(),
            half_diagonal: (0..8).map(corner).fold(0.0, f64::max),
        }
    }

    /// The composition of a voxel; empty where less than half of it is tissue.
    fn cell(&self, voxel: usize) -> Cell {
        let Anatomy { brain, rim, ventricles, bundles, fan } = self.anatomy;
        let centre = self.unit_from_vox.apply(self.grid.voxel(voxel).map(|i| i as f64));
        let reach = self.half_diagonal;
        if brain.level(centre) > 1.0 && brain.clearance(centre, 1.0) > reach {
            return Cell::default();
        }
        let mut crossed = brain.clearance(centre, 1.0) < reach
            || brain.clearance(centre, *rim) < reach
            || fan.is_some_and(|fan| brain.clearance(centre, fan.level) < reach)
            || ventricles.iter().any(|v| v.clearance(centre, 1.0) < reach);
        let mut near = Vec::new();
        for (i, bundle) in bundles.iter().enumerate() {
            let distance = bundle.probe(centre).0;
            if distance < reach {
                near.push(i);
                crossed |= distance > -reach;
            }
        }
        let points = if crossed { &self.offsets[..] } else { &[[0.0; 3]] };

        let mut shares = vec![Share::default(); near.len()];
        let mut fanned = Share::default();
        let (mut grey, mut fluid, mut tissue_points) = (0.0, 0.0, 0);
        for offset in points {
            let p = add(centre, *offset);
            let level = brain.level(p);
            if level >= 1.0 {
                continue;
            }
            tissue_points += 1;
            if level >= *rim {
                fluid += S0_FLUID;
                continue;
            }
            let inside: Vec<_> = near
                .iter()
                .enumerate()
                .map(|(s, &i)| (s, bundles[i].probe(p)))
                .filter(|(_, (distance, _))| *distance < 0.0)
                .collect();
            for (s, (_, direction)) in &inside {
                shares[*s].add(S0_WHITE / inside.len() as f64, *direction);
            }
            if !inside.is_empty() {
                continue;
            }
            match fan {
                _ if ventricles.iter().any(|v| v.level(p) < 1.0) => fluid += S0_FLUID,
                Some(fan) if level < fan.level => fanned.add(S0_WHITE, fan.direction(p)),
                _ => grey += S0_GREY,
            }
        }
        shares.push(fanned);
        if 2 * tissue_points < points.len() {
            return Cell::default();
        }
        composed(shares, grey, fluid, points.len())
    }
}

/// Fibres by descending signal, and everything as parts of the whole. Where more than
/// [`FIBRES`] populations meet, the least go and the others take their part.
fn composed(mut shares: Vec<Share>, grey: f64, fluid: f64, points: usize) -> Cell {
    shares.retain(|share| share.signal > 0.0);
    // Stable, so that equal shares stay in the order of the anatomy.
    shares.sort_by(|a, b| b.signal.total_cmp(&a.signal));
    let white: f64 = shares.iter().map(|share| share.signal).sum();
    shares.truncate(FIBRES);
    let kept: f64 = shares.iter().map(|share| share.signal).sum();
    let total = white + grey + fluid;
    let mut cell = Cell { s0: (total / points as f64) as f32, ..Cell::default() };
    for (i, share) in shares.iter().enumerate() {
        cell.fractions[i] = (share.signal * white / kept / total) as f32;
        cell.dirs_ras[i] = unit(share.direction).map(|c| c as f32);
    }
    cell.fractions[GREY] = (grey / total) as f32;
    cell.fractions[FLUID] = (fluid / total) as f32;
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    use fimbria_compute::Silent;

    use crate::anatomy::Ellipsoid;
    use crate::bundle::{Bundle, Path};

    /// An oblique grid of uneven voxels around one straight bundle in a ball of grey matter.
    #[test]
    fn volumes_are_conserved_at_the_edges() {
        let (radius, half) = (0.21, [0.1, 0.25, -0.3]);
        let path = Path::Segment { from: half.map(|c: f64| -c), to: half };
        let anatomy = Anatomy {
            brain: Ellipsoid { centre: [0.0; 3], semi_axes: [0.9; 3] },
            rim: 1.0,
            ventricles: Vec::new(),
            bundles: vec![Bundle { path, radius }],
            fan: None,
        };
        let placement = crate::Placement {
            dims: [34, 40, 30],
            voxel_mm: [2.0, 1.7, 2.2],
            tilt_deg: [20.0, 10.0, -30.0],
            x_right_to_left: true,
        };
        let (grid, unit_mm) = (placement.grid().unwrap(), 35.0);
        let workers = Workers::new(1).unwrap();
        let tissue = Tissue::sample(&anatomy, unit_mm, grid, 4, &workers, &Silent).unwrap();
        let white: f64 = (0..grid.len())
            .map(|v| f64::from(tissue.fractions.volume(0)[v] * tissue.s0.data[v]) / S0_WHITE)
            .sum();
        let volume = white * grid.ras_from_vox.determinant().abs() / unit_mm.powi(3);
        let (area, length) = (std::f64::consts::PI * radius * radius, 2.0 * norm(half));
        let expected = area * (length + 4.0 / 3.0 * radius);
        // Some 400 voxels on the surface, each known to a few percent by 64 points.
        assert!((volume / expected - 1.0).abs() < 0.005, "{volume} {expected}");
    }

    fn share(signal: f64, axis: usize) -> Share {
        Share { signal, direction: std::array::from_fn(|i| if i == axis { 5.0 } else { 0.0 }) }
    }

    #[test]
    fn fibres_come_largest_first_and_parts_sum_to_one() {
        let shares = vec![share(100.0, 0), share(0.0, 1), share(300.0, 2)];
        let cell = composed(shares, 500.0, 100.0, 2);
        assert_eq!(cell.fractions, [0.3, 0.1, 0.0, 0.5, 0.1]);
        assert_eq!(cell.dirs_ras[0], [0.0, 0.0, 1.0]);
        assert_eq!(cell.dirs_ras[1], [1.0, 0.0, 0.0]);
        assert_eq!(cell.dirs_ras[2], [0.0; 3]);
        assert_eq!(cell.s0, 500.0);
    }

    #[test]
    fn the_least_of_four_populations_gives_way() {
        let shares = vec![share(1.0, 0), share(4.0, 1), share(2.0, 2), share(3.0, 0)];
        let cell = composed(shares, 0.0, 0.0, 1);
        let sum: f32 = cell.fractions.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6);
        assert!((cell.fractions[0] - 4.0 / 9.0).abs() < 1e-6);
        assert_eq!(cell.dirs_ras[1], [1.0, 0.0, 0.0]);
    }
}
