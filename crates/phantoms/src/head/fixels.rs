//! Directions and parts of the fibres in white matter, from the streamlines that are there.

use fimbria_compute::dense::vec3::{Vec3, norm, scale, sub};
use fimbria_compute::{Interrupted, Progress, Workers};
use rayon::prelude::*;

use super::anatomy::Anatomy;
use super::labels::Part;
use super::lines::HeadBundle;
use super::made;
use super::packing::Packing;
use super::tissue::Bundled;
use super::watson::{Spread, Watson};
use crate::bundle::unit;

/// Most fibre populations of a voxel.
pub(super) const FIXELS: usize = 4;
/// Fibres of no named bundle take at least this part.
const LEAST_UNNAMED: f64 = 0.12;
/// From node to node of what is held, mm.
const SPACING_MM: f64 = 2.0;

/// Fibres of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fixel {
    /// Of the white matter.
    pub(super) part: f64,
    /// Unit length, scanner RAS+.
    pub(super) dir_ras: Vec3,
    /// The bundle's number; those of no bundle have the next after the last.
    pub(super) bundle: usize,
    /// How they lie.
    pub(super) fibres: Bundled,
}

/// The fibres of all bundles as densities.
pub(super) struct Fixels {
    fields: Vec<Field>,
    /// How far fibres of every [`Spread`] keep to their mean, falling.
    orders: Vec<f64>,
}

/// One bundle on a lattice around it.
struct Field {
    low: Vec3,
    dims: [usize; 3],
    /// Part of the volume, and it times xx xy xz yy yz zz of the direction.
    nodes: Vec<[f32; 7]>,
    /// How its fibres lie in deep white matter.
    fibres: Bundled,
}

impl Fixels {
    /// # Errors
    /// Where the user stops it.
    pub(super) fn new(
        bundles: &[HeadBundle],
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, Interrupted> {
        let field = |bundle| Some(Field::new(&bundles[bundle]));
        let fields = made(0..bundles.len(), workers, progress, field)?;
        let order = |spread: Spread| Watson::new(spread.index()).order();
        Ok(Self { fields, orders: workers.install(|| Spread::all().map(order).collect()) })
    }

    /// The index of dispersion of fibres that spread by `dispersion` about streamlines which keep to
    /// their own mean as far as `order` says: both orders multiply.
    fn fanned(&self, dispersion: f64, order: f64) -> f64 {
        let own = Spread::near(dispersion);
        let both = self.orders[own.place()] * order;
        let place = self.orders.partition_point(|of| *of > both);
        dispersion.max(Spread::at(place).index())
    }

    /// What part of a volume around `p` the streamlines of every bundle stand for, and their
    /// directions; before they are made to fill it.
    fn found(&self, p: Vec3) -> Vec<Fixel> {
        let found = self.fields.iter().enumerate().filter_map(|(bundle, field)| {
            let [part, dyad @ ..] = field.at(p)?;
            (part > 1e-3).then(|| {
                let dir_ras = main_axis(dyad);
                let dispersion = self.fanned(field.fibres.dispersion, order(dyad, dir_ras) / part);
                Fixel { part, dir_ras, bundle, fibres: Bundled { dispersion, ..field.fibres } }
            })
        });
        found.collect()
    }

    /// The fibres at a point of white matter, largest part first, of sum 1.
    pub(super) fn at(&self, anatomy: &Anatomy, p: Vec3) -> Vec<Fixel> {
        let mut all = self.found(p);
        let named: f64 = all.iter().map(|fixel| fixel.part).sum();
        let is_callosum = anatomy.part(p).0 == Part::Callosum;
        // Of the callosum every fibre is of the bundle that runs nearest.
        let unnamed =
            if is_callosum && named > 0.0 { 0.0 } else { (1.0 - named).max(LEAST_UNNAMED) };
        let bundle = self.fields.len();
        let packing = Packing::at(anatomy, p);
        let (across, crossing) = anatomy.crossing_fibre(p).unwrap_or_default();
        let crossing = crossing * (1.0 - packing.capsule);
        let parts = [(anatomy.unnamed_fibre(p), 1.0 - crossing), (across, crossing)];
        let fibres = packing.unnamed();
        let fixels =
            parts.map(|(dir_ras, of)| Fixel { part: unnamed * of, dir_ras, bundle, fibres });
        all.extend(fixels.into_iter().filter(|fixel| fixel.part > 0.0));
        // Stable: equal parts stay in the order of the bundles.
        all.sort_by(|a, b| b.part.total_cmp(&a.part));
        all.truncate(FIXELS);
        let total: f64 = all.iter().map(|fixel| fixel.part).sum();
        for fixel in &mut all {
            fixel.part /= total;
            fixel.fibres = packing.pack(fixel.fibres);
        }
        all
    }
}

impl Field {
    fn new(bundle: &HeadBundle) -> Self {
        let points = || bundle.streamlines.iter().flatten().map(|p| p.map(f64::from));
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for p in points() {
            for a in 0..3 {
                low[a] = p[a].min(low[a]);
                high[a] = p[a].max(high[a]);
            }
        }
        if low[0] > high[0] {
            let fibres = bundle.fibres;
            return Self { low: [0.0; 3], dims: [0; 3], nodes: Vec::new(), fibres };
        }
        // Nodes are at the same places for every bundle.
        let low = low.map(|c| ((c / SPACING_MM).floor() - 1.0) * SPACING_MM);
        let dims = [0, 1, 2].map(|a| ((high[a] - low[a]) / SPACING_MM).ceil() as usize + 2);
        let nodes = vec![[0.0; 7]; dims.iter().product()];
        let mut field = Self { low, dims, nodes, fibres: bundle.fibres };
        let volume = SPACING_MM.powi(3);
        for line in &bundle.streamlines {
            for pair in line.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|p| p.map(f64::from));
                let along = sub(b, a);
                let length = norm(along);
                let [x, y, z] = unit(along);
                let part = bundle.area_mm2 * length / volume;
                let values = [1.0, x * x, x * y, x * z, y * y, y * z, z * z];
                let middle = [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]));
                field.each_node(middle, |node, weight| {
                    for (sum, value) in node.iter_mut().zip(values) {
                        *sum += (weight * part * value) as f32;
                    }
                });
            }
        }
        field
    }

    /// The nodes around a point with their weights of trilinear interpolation.
    fn corners(&self, p: Vec3) -> Option<[(usize, f64); 8]> {
        let (mut first, mut part) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            let x = (p[a] - self.low[a]) / SPACING_MM;
            if !(x >= 0.0 && x < self.dims[a] as f64 - 1.0) {
                return None;
            }
            first[a] = x as usize;
            part[a] = x - first[a] as f64;
        }
        Some(std::array::from_fn(|c| {
            let (mut node, mut weight, mut step) = (0, 1.0, 1);
            for a in 0..3 {
                let up = c >> a & 1;
                node += step * (first[a] + up);
                weight *= if up == 1 { part[a] } else { 1.0 - part[a] };
                step *= self.dims[a];
            }
            (node, weight)
        }))
    }

    fn each_node(&mut self, p: Vec3, mut add: impl FnMut(&mut [f32; 7], f64)) {
        for (node, weight) in self.corners(p).into_iter().flatten() {
            add(&mut self.nodes[node], weight);
        }
    }

    fn at(&self, p: Vec3) -> Option<[f64; 7]> {
        let mut sum = [0.0; 7];
        for (node, weight) in self.corners(p)? {
            for (sum, value) in sum.iter_mut().zip(self.nodes[node]) {
                *sum += weight * f64::from(value);
            }
        }
        Some(sum)
    }
}

/// The sum over the directions of a sum of dyads (xx xy xz yy yz zz) of the second Legendre polynomial of
/// the cosine to an axis.
fn order([xx, xy, xz, yy, yz, zz]: [f64; 6], [x, y, z]: Vec3) -> f64 {
    let squares = xx * x * x + yy * y * y + zz * z * z;
    let along = squares + 2.0 * (xy * x * y + xz * x * z + yz * y * z);
    1.5 * along - 0.5 * (xx + yy + zz)
}

/// The axis along which a sum of dyads (xx xy xz yy yz zz) is largest.
fn main_axis([xx, xy, xz, yy, yz, zz]: [f64; 6]) -> Vec3 {
    let rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    // By powers: squaring the matrix a few times leaves its largest part alone.
    let mut m = rows;
    for _ in 0..8 {
        let trace = m[0][0] + m[1][1] + m[2][2];
        let squared = |i: usize, j: usize| (0..3).map(|k| m[i][k] * m[k][j]).sum::<f64>();
        let next: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| squared(i, j) / (trace * trace)));
        m = next;
    }
    let longest = (0..3).max_by(|&i, &j| norm(m[i]).total_cmp(&norm(m[j]))).unwrap_or(0);
    unit(scale(m[longest], 1.0 / norm(m[longest]).max(1e-300)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_axis_is_the_larger_of_two() {
        let (a, b) = ([0.6, 0.0, 0.8], [0.0, 1.0, 0.0]);
        let sum = |i: usize, j: usize| 2.0 * a[i] * a[j] + b[i] * b[j];
        let axis = main_axis([sum(0, 0), sum(0, 1), sum(0, 2), sum(1, 1), sum(1, 2), sum(2, 2)]);
        assert!(norm(sub(scale(axis, axis[2].signum()), a)) < 1e-9, "{axis:?}");
    }

    #[test]
    fn the_volume_of_a_bundle_is_its_streamlines() {
        let line = |x: f32| (0..31).map(|i| [x, i as f32, 0.3 * i as f32]).collect();
        let streamlines: Vec<Vec<[f32; 3]>> = (0..10).map(|i| line(0.5 * i as f32)).collect();
        let (name, fibres) = ("one".to_owned(), Bundled::default());
        let bundle = HeadBundle { name, streamlines, area_mm2: 0.3, fibres };
        let field = Field::new(&bundle);
        let volume: f64 =
            field.nodes.iter().map(|n| f64::from(n[0])).sum::<f64>() * SPACING_MM.powi(3);
        let expected = 10.0 * 0.3 * 30.0 * 1.09_f64.sqrt();
        // f32 sums.
        assert!((volume / expected - 1.0).abs() < 1e-4, "{volume} {expected}");
        let fixels = Fixels { fields: vec![field], orders: vec![1.0] }.found([2.0, 12.0, 3.6]);
        let cos = (fixels[0].dir_ras[1] + 0.3 * fixels[0].dir_ras[2]) / 1.09_f64.sqrt();
        assert!(cos.abs() > 0.9999, "{cos}");
    }
}
