//! Shapes of b-tensors.

use fimbria_image::GradientTable;

use crate::{Acquisition, PhantomError};

/// How a volume is weighted by diffusion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Along one direction.
    #[default]
    Linear,
    /// Along all directions of a plane alike.
    Planar,
    /// Along all directions alike.
    Spherical,
}

impl Encoding {
    /// Δ of the b-tensor: 1, -0.5 and 0.
    pub fn shape(self) -> f64 {
        match self {
            Self::Linear => 1.0,
            Self::Planar => -0.5,
            Self::Spherical => 0.0,
        }
    }
}

/// The shape of every volume. `of_shells` are those of the shells, or one of all; linear where there are
/// none.
///
/// # Errors
/// Where there are not as many as shells.
pub(super) fn shapes(
    of_shells: &[Encoding],
    acquisition: &Acquisition,
    gradients: &GradientTable,
) -> Result<Vec<f64>, PhantomError> {
    let shells = &acquisition.shells;
    let fits = of_shells.len() <= 1 || of_shells.len() == shells.len();
    let needed = "one of all shells, or one of each";
    PhantomError::require(fits, "shapes of b-tensors", of_shells.len(), needed)?;
    let mut of_weighted = shells.iter().enumerate().flat_map(|(i, shell)| {
        let encoding = of_shells.get(i).or(of_shells.first()).copied().unwrap_or_default();
        std::iter::repeat_n(encoding.shape(), shell.directions)
    });
    let shape = |volume: usize| match gradients.is_b0(volume) {
        true => 1.0,
        false => of_weighted.next().unwrap_or(1.0),
    };
    Ok((0..gradients.len()).map(shape).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShellSpec;

    #[test]
    fn volumes_have_the_shapes_of_their_shells() {
        let shell = |b_s_per_mm2| ShellSpec { b_s_per_mm2, directions: 3 };
        let acquisition = Acquisition { b0s: 2, shells: vec![shell(1000.0), shell(2000.0)] };
        let gradients = acquisition.gradients().unwrap();
        let of = |shapes_of: &[Encoding]| shapes(shapes_of, &acquisition, &gradients);
        assert_eq!(of(&[]).unwrap(), [1.0; 8]);
        let both = of(&[Encoding::Linear, Encoding::Planar]).unwrap();
        assert_eq!(both, [1.0, 1.0, 1.0, 1.0, 1.0, -0.5, -0.5, -0.5]);
        assert_eq!(of(&[Encoding::Spherical]).unwrap().iter().filter(|s| **s == 0.0).count(), 6);
        assert!(of(&[Encoding::Linear; 3]).is_err());
    }
}
