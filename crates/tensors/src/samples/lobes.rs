//! Samples from functions on the sphere: each of the largest lobes a fibre.

use fimbria_compute::Workers;
use fimbria_compute::dense::vec3::dot;
use fimbria_compute::philox::{Philox, uniform};
use fimbria_image::frames::turned;
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{BvecFrame, Mask, SignalSource};
use rayon::prelude::*;

use super::{N_SAMPLES, SamplesError, room};
use crate::sh::{ShBasis, ShToForm, evaluate};
use crate::starts::half_sphere;

/// Fibres of a sample drawn from a function: its largest lobes.
const N_LOBES: usize = 3;
/// Directions of the half sphere on which functions are looked at: 4 degrees apart.
const N_DIRECTIONS: usize = 1281;

/// A function on the sphere in every voxel.
#[derive(Clone, Copy)]
pub struct Functions<'a> {
    /// The coefficients, one volume for each.
    pub coefficients: &'a (dyn SignalSource + Sync),
    /// Order of the form, or the highest degree.
    pub order: usize,
    /// The basis; `None` for unique entries of a form.
    pub basis: Option<ShBasis>,
    /// The axes they refer to.
    pub frame: BvecFrame,
    /// The voxels that have one.
    pub mask: &'a Mask,
}

/// Draws directions from the lobes of functions: each lobe is what of the sphere is nearer to its
/// maximum than to that of another, its directions are drawn in proportion to the function, and its
/// fraction is its part of the whole. `None` where no voxel has a lobe.
///
/// # Errors
/// Where there is no memory, or the order is not known.
pub fn from_functions(
    field: Functions<'_>,
    rng_seed: u64,
    workers: &Workers,
) -> Result<Option<StickSamples>, SamplesError> {
    let sphere = Sphere::new(field.basis, field.order)?;
    let mask = field.mask.clone();
    let Some(mut samples) = room(mask, |_| true, N_LOBES, N_SAMPLES)? else { return Ok(None) };
    let (n, grid) = (sphere.n_coefficients, samples.mask.grid);
    let turn = field.frame.ras_from_frame(&grid.ras_from_vox);
    let voxel_len = samples.voxel_len();
    let (voxels, sticks) = (&samples.mask.voxels, &mut samples.sticks);
    workers.install(|| {
        voxels.par_iter().zip(sticks.par_chunks_mut(voxel_len)).for_each(|(voxel, sticks)| {
            let mut coefficients = vec![0.0; n];
            field.coefficients.gather(&[*voxel], 1, &mut coefficients);
            let lobes = sphere.lobes(&coefficients);
            for (at, stick) in sticks.iter_mut().enumerate() {
                let (sample, fibre) = (at / N_LOBES, at % N_LOBES);
                let Some(lobe) = lobes.get(fibre) else { continue };
                let [u, ..] = Philox::new(rng_seed)
                    .stream(u32::MAX - fibre as u32)
                    .at(u64::from(*voxel), sample as u32);
                let v = sphere.dirs[lobe.draw(uniform::<f32>(u))];
                *stick = PackedStick::new(turned(&turn, v), lobe.part);
            }
        });
    });
    let nothing = samples.sticks.iter().all(|stick| !stick.has_direction());
    Ok((!nothing).then_some(samples))
}

/// Directions, and what takes coefficients to the values there.
struct Sphere {
    dirs: Vec<[f64; 3]>,
    n_coefficients: usize,
    /// `[direction][coefficient]`.
    rows: Vec<f32>,
    /// The nearest directions of each.
    neighbours: Vec<[u16; 6]>,
}

/// A lobe: its directions with their cumulative shares.
struct Lobe {
    members: Vec<(usize, f32)>,
    part: f64,
}

impl Lobe {
    fn draw(&self, u: f32) -> usize {
        let total = self.members.last().map_or(0.0, |(_, sum)| *sum);
        let at = self.members.partition_point(|(_, sum)| *sum < u * total);
        self.members[at.min(self.members.len() - 1)].0
    }
}

impl Sphere {
    fn new(basis: Option<ShBasis>, order: usize) -> Result<Self, SamplesError> {
        let dirs: Vec<[f64; 3]> = half_sphere(N_DIRECTIONS);
        let in_basis = basis.unwrap_or(ShBasis::Mrtrix);
        let form = ShToForm::new(in_basis, order).map_err(|_| SamplesError::Order(order))?;
        let n = form.count();
        let row = |dir: &[f64; 3]| -> Vec<f32> {
            let values = evaluate(in_basis, order, *dir);
            match basis {
                Some(_) => values.iter().map(|x| *x as f32).collect(),
                None => (0..n)
                    .map(|j| {
                        let column = form.sh_from_form().iter().skip(j).step_by(n);
                        values.iter().zip(column).map(|(a, b)| a * b).sum::<f64>() as f32
                    })
                    .collect(),
            }
        };
        let rows = dirs.iter().flat_map(row).collect();
        let neighbours = dirs.iter().enumerate().map(|(i, v)| nearest(&dirs, i, v)).collect();
        Ok(Self { dirs, n_coefficients: n, rows, neighbours })
    }

    /// The largest lobes of a function, largest first.
    fn lobes(&self, coefficients: &[f32]) -> Vec<Lobe> {
        let product = |row: &[f32]| row.iter().zip(coefficients).map(|(a, b)| a * b).sum::<f32>();
        let values: Vec<_> = self.rows.chunks_exact(self.n_coefficients).map(product).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Vec::new();
        }
        let is_maximum = |i: &usize| {
            values[*i] > 0.0
                && self.neighbours[*i].iter().all(|j| {
                    let other = values[usize::from(*j)];
                    // Of equals the first.
                    other < values[*i] || (other == values[*i] && usize::from(*j) > *i)
                })
        };
        let mut maxima: Vec<_> = (0..values.len()).filter(is_maximum).collect();
        maxima.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        maxima.truncate(N_LOBES);
        let mut lobes: Vec<_> =
            maxima.iter().map(|_| Lobe { members: Vec::new(), part: 0.0 }).collect();
        let mut whole = 0.0;
        for (i, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let v = self.dirs[i];
            let cos = |m: usize| dot(v, self.dirs[m]).abs();
            let lobe = (0..maxima.len()).max_by(|a, b| cos(maxima[*a]).total_cmp(&cos(maxima[*b])));
            let Some(lobe) = lobe else { continue };
            let lobe = &mut lobes[lobe];
            let before = lobe.members.last().map_or(0.0, |(_, sum)| *sum);
            lobe.members.push((i, before + value));
            lobe.part += f64::from(*value);
            whole += f64::from(*value);
        }
        lobes.iter_mut().for_each(|lobe| lobe.part /= whole);
        lobes
    }
}

/// The six directions nearest to one, opposite ones counted as near.
fn nearest(dirs: &[[f64; 3]], of: usize, v: &[f64; 3]) -> [u16; 6] {
    let cos = |d: &[f64; 3]| dot(*v, *d).abs();
    let mut others: Vec<_> = (0..dirs.len()).filter(|j| *j != of).collect();
    others.select_nth_unstable_by(6, |a, b| cos(&dirs[*b]).total_cmp(&cos(&dirs[*a])));
    std::array::from_fn(|k| others[k] as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    /// The form wx x⁴ + wy y⁴.
    fn form(wx: f32, wy: f32) -> Vec<f32> {
        let layout = Layout::new(4, 3).unwrap();
        let mut a = vec![0.0; layout.len()];
        (a[layout.index_of(&[0; 4])], a[layout.index_of(&[1; 4])]) = (wx, wy);
        a
    }

    #[test]
    fn a_lobe_is_what_is_nearest_to_its_maximum_and_has_its_part() {
        let sphere = Sphere::new(None, 4).unwrap();
        let lobes = sphere.lobes(&form(3.0, 1.0));
        assert_eq!(lobes.len(), 2);
        assert!((lobes[0].part + lobes[1].part - 1.0).abs() < 1e-6);
        assert!(lobes[0].part > 0.6);
        for u in [0.0, 0.3, 0.9, 0.999_999] {
            let v = sphere.dirs[lobes[0].draw(u)];
            assert!(v[0].abs() >= v[1].abs() - 0.1, "{v:?} is no direction of the lobe along x");
        }
    }

    #[test]
    fn what_is_no_number_or_nowhere_positive_has_no_lobes() {
        let sphere = Sphere::new(None, 4).unwrap();
        assert!(sphere.lobes(&form(f32::NAN, 1.0)).is_empty());
        assert!(sphere.lobes(&form(-1.0, -1.0)).is_empty());
        assert_eq!(Sphere::new(Some(ShBasis::Mrtrix), 5).err(), Some(SamplesError::Order(5)));
    }
}
