//! Fields of vectors on a grid of the space that they lead from.

use fimbria_image::{Affine, Image};

/// What the vectors of a field are, scanner RAS+ mm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vectors {
    /// Where a voxel goes: beyond the field, and where it is not finite, nothing is known.
    Places,
    /// How far a voxel moves: beyond the field nothing moves.
    Displacements,
}

/// Where each point of one space lies in another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    dims: [usize; 3],
    vox_from_ras: Affine,
    vectors: Vec<[f32; 3]>,
    kind: Vectors,
}

impl Field {
    /// Of an image of three volumes, whose affine has an inverse, with a sign for each component.
    pub(super) fn new(image: &Image, kind: Vectors, signs: [f32; 3]) -> Self {
        let vox_from_ras = image.grid.ras_from_vox.inverse().unwrap_or(Affine::IDENTITY);
        let n = image.grid.len();
        let vector =
            |voxel: usize| [0, 1, 2].map(|axis| signs[axis] * image.data[axis * n + voxel]);
        Self { dims: image.grid.dims, vox_from_ras, vectors: (0..n).map(vector).collect(), kind }
    }

    /// Where a point goes: vectors are interpolated linearly between the centres of voxels, and in the outer half of
    /// the outermost ones are those of the nearest centres.
    pub(super) fn apply(&self, pos_ras: [f64; 3]) -> Option<[f64; 3]> {
        match (self.vector(pos_ras), self.kind) {
            (Some(place), Vectors::Places) => place.iter().all(|x| x.is_finite()).then_some(place),
            (Some(by), Vectors::Displacements) => Some([0, 1, 2].map(|a| pos_ras[a] + by[a])),
            (None, Vectors::Places) => None,
            (None, Vectors::Displacements) => Some(pos_ras),
        }
    }

    fn vector(&self, pos_ras: [f64; 3]) -> Option<[f64; 3]> {
        let pos = self.vox_from_ras.apply(pos_ras);
        let (mut below, mut part) = ([0; 3], [0.0; 3]);
        for axis in 0..3 {
            let last = self.dims[axis] as f64 - 1.0;
            if !(pos[axis] >= -0.5 && pos[axis] <= last + 0.5) {
                return None;
            }
            let x = pos[axis].clamp(0.0, last);
            below[axis] = x as usize;
            part[axis] = x - x.floor();
        }
        let mut sum = [0.0; 3];
        for corner in 0..8 {
            let (mut weight, mut at) = (1.0, below);
            for axis in 0..3 {
                let above = corner >> axis & 1;
                weight *= if above == 1 { part[axis] } else { 1.0 - part[axis] };
                at[axis] += above;
            }
            if weight > 0.0 {
                let v = self.vectors[at[0] + self.dims[0] * (at[1] + self.dims[1] * at[2])];
                (0..3).for_each(|axis| sum[axis] += weight * f64::from(v[axis]));
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Grid;

    use super::*;

    fn shear(p: [f64; 3]) -> [f64; 3] {
        [p[0] + 0.25 * p[1] + 3.0, p[1] - 1.5, p[2] + 0.1 * p[0]]
    }

    fn field(kind: Vectors) -> (Image, Field) {
        let ras_from_vox = Affine([[0., -2., 0., 5.], [1.5, 0., 0., 1.], [0., 0., 3., -4.]]);
        let mut image = Image::zeros(Grid { dims: [5, 4, 3], ras_from_vox }, 3);
        for voxel in 0..60 {
            let p = ras_from_vox.apply(image.grid.voxel(voxel).map(|i| i as f64));
            let q = shear(p);
            for axis in 0..3 {
                let from = if kind == Vectors::Places { 0.0 } else { p[axis] };
                image.volume_mut(axis)[voxel] = (q[axis] - from) as f32;
            }
        }
        let field = Field::new(&image, kind, [1.0; 3]);
        (image, field)
    }

    #[test]
    fn places_and_displacements_lead_to_the_same_place() {
        for kind in [Vectors::Places, Vectors::Displacements] {
            let (image, field) = field(kind);
            for vox in [[0.0, 0.0, 0.0], [1.3, 2.9, 0.5], [4.0, 3.0, 2.0]] {
                let p = image.grid.ras_from_vox.apply(vox);
                let (there, known) = (field.apply(p).unwrap(), shear(p));
                // f32 of tens of mm.
                (0..3).for_each(|a| assert!((there[a] - known[a]).abs() < 1e-5, "{vox:?}"));
            }
        }
    }

    #[test]
    fn beyond_a_field_no_place_is_known_and_nothing_moves() {
        let far = [100.0, 0.0, 0.0];
        assert_eq!(field(Vectors::Places).1.apply(far), None);
        assert_eq!(field(Vectors::Displacements).1.apply(far), Some(far));
        let (mut image, _) = field(Vectors::Places);
        image.data[0] = f32::NAN;
        let holed = Field::new(&image, Vectors::Places, [1.0; 3]);
        assert_eq!(holed.apply(image.grid.ras_from_vox.apply([0.2, 0.0, 0.0])), None);
    }
}
