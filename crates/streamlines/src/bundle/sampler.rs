//! Values of a map between its voxels.

use fimbria_image::{Affine, Image};

/// A map that has no value anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SamplerError {
    /// A profile has one number at each point.
    #[error("it has {0} volumes, and a profile is of one")]
    Volumes(usize),
    /// No place can be found in a matrix that has no inverse.
    #[error("its affine cannot be inverted")]
    Singular,
}

/// A map that is read at places of the scanner.
#[derive(Clone, Debug)]
pub struct Sampler {
    image: Image,
    vox_from_ras: Affine,
}

impl Sampler {
    /// Of a map of one volume.
    ///
    /// # Errors
    /// [`SamplerError`].
    pub fn new(image: Image) -> Result<Self, SamplerError> {
        if image.n_volumes != 1 {
            return Err(SamplerError::Volumes(image.n_volumes));
        }
        let vox_from_ras = image.grid.ras_from_vox.inverse().ok_or(SamplerError::Singular)?;
        Ok(Self { image, vox_from_ras })
    }

    /// The value at a place in scanner RAS+ mm, interpolated linearly between the centres of voxels; in the outer half
    /// of the outermost voxels that of the nearest centres. NaN beyond them, and where one of the voxels that have a
    /// part in it is NaN.
    pub fn at(&self, pos_ras: [f64; 3]) -> f64 {
        let dims = self.image.grid.dims;
        let pos = self.vox_from_ras.apply(pos_ras);
        let (mut below, mut part) = ([0; 3], [0.0; 3]);
        for axis in 0..3 {
            let last = dims[axis] as f64 - 1.0;
            if !(pos[axis] >= -0.5 && pos[axis] <= last + 0.5) {
                return f64::NAN;
            }
            let x = pos[axis].clamp(0.0, last);
            below[axis] = x as usize;
            part[axis] = x - x.floor();
        }
        let mut sum = 0.0;
        for corner in 0..8 {
            let mut weight = 1.0;
            let mut voxel = below;
            for axis in 0..3 {
                let above = corner >> axis & 1;
                weight *= if above == 1 { part[axis] } else { 1.0 - part[axis] };
                voxel[axis] += above;
            }
            if weight > 0.0 {
                sum += weight * f64::from(self.image.data[self.image.grid.index(voxel)]);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Grid;

    use super::*;

    #[test]
    fn a_linear_map_is_itself_between_voxels() {
        let ras_from_vox = Affine([[0., -2., 0., 5.], [1.5, 0., 0., 1.], [0., 0., 3., -4.]]);
        let mut image = Image::zeros(Grid { dims: [5, 4, 3], ras_from_vox }, 1);
        let linear = |p: [f64; 3]| 0.5 * p[0] - 0.25 * p[1] + p[2] + 3.0;
        for voxel in 0..image.grid.len() {
            let at = ras_from_vox.apply(image.grid.voxel(voxel).map(|i| i as f64));
            image.data[voxel] = linear(at) as f32;
        }
        let sampler = Sampler::new(image).unwrap();
        for vox in [[0.0, 0.0, 0.0], [1.3, 2.9, 0.5], [4.0, 3.0, 2.0], [3.99, 0.01, 1.5]] {
            let at = ras_from_vox.apply(vox);
            assert!((sampler.at(at) - linear(at)).abs() < 1e-5, "{vox:?}");
        }
        let edge = sampler.at(ras_from_vox.apply([4.4, 0.0, 0.0]));
        assert!((edge - sampler.at(ras_from_vox.apply([4.0, 0.0, 0.0]))).abs() < 1e-12);
        assert!(sampler.at(ras_from_vox.apply([4.6, 0.0, 0.0])).is_nan());
        assert!(sampler.at([f64::NAN; 3]).is_nan());
    }
}
