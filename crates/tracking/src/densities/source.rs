//! Densities as a source of numbers: what they are of in the voxels of an array.

use fimbria_image::{Grid, SignalSource};

use super::field::Densities;
use super::form::{multiplicities, terms};
use crate::field::{radiological, voxel};

impl Densities {
    /// Index in the array of the voxel that holds a point, where it is one of the mask.
    pub fn voxel_at(&self, pos: [f32; 3]) -> Option<u32> {
        let at = voxel(pos).map(|x| x as usize);
        self.is_inside(pos).then(|| radiological(self.grid(), self.grid().index(at)) as u32)
    }

    /// The form of a voxel by its index in the array, with multiplicities; of zeros outside the mask.
    fn form_of_voxel(&self, index: u32) -> &[f32] {
        let at = self.grid().voxel(radiological(self.grid(), index as usize));
        let at = self.form_at(&self.lattice(), at.map(|x| x as f32));
        &self.as_stored().1[at..][..terms(self.order())]
    }
}

/// The unique entries of the forms, lexicographic, a volume each.
impl SignalSource for Densities {
    fn grid(&self) -> &Grid {
        Densities::grid(self)
    }

    fn n_volumes(&self) -> usize {
        terms(self.order())
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        let multiplicities = multiplicities(self.order());
        for (l, index) in voxels.iter().enumerate() {
            let form = self.form_of_voxel(*index).iter().zip(&multiplicities);
            form.zip(rows.iter_mut()).for_each(|((x, n), row)| row[l] = x / n);
        }
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Workers;
    use fimbria_image::{Affine, BvecFrame, Mask};

    use super::*;

    /// On a grid whose x axis is reversed in tracking, and on one where it is not.
    #[test]
    fn entries_come_back_as_they_were_stored_of_the_voxels_they_were_stored_for() {
        for x in [2.0, -2.0] {
            let grid = Grid { dims: [4, 3, 2], ras_from_vox: Affine::from_spacing([x, 2.0, 2.0]) };
            let mask = Mask { grid, voxels: vec![1, 6, 23] };
            let workers = Workers::new(1).unwrap();
            let entry = |voxel: u32, i: usize| (voxel * 100) as f32 + i as f32;
            let fill = |voxel: u32, entries: &mut [f32]| {
                entries.iter_mut().enumerate().for_each(|(i, x)| *x = entry(voxel, i));
            };
            let densities = Densities::new(&mask, 4, BvecFrame::Scanner, &workers, fill).unwrap();
            let mut entries = vec![0.0; 15 * 4];
            densities.gather(&[23, 0, 1, 6], 4, &mut entries);
            for i in 0..15 {
                // Times the multiplicity and divided by it: the last bit.
                let expected = [entry(23, i), 0.0, entry(1, i), entry(6, i)];
                for (x, expected) in entries[4 * i..].iter().zip(expected) {
                    assert!((x - expected).abs() <= 1e-6 * expected, "{x} {expected}");
                }
            }
            let space = crate::Space::same(grid);
            for voxel in 0..24 {
                let at = grid.voxel(radiological(&grid, voxel as usize)).map(|x| x as f32 + 0.4);
                let inside = mask.voxels.contains(&voxel).then_some(voxel);
                assert_eq!(densities.voxel_at(space.to_samples(at)), inside, "{voxel}");
            }
            assert_eq!(densities.voxel_at([-9.0; 3]), None);
        }
    }
}
