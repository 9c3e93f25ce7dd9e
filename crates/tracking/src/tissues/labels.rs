//! Tissues by the numbers that segmentations give them.

use fimbria_image::Image;
use fimbria_memory::{Refused, try_zeros};

/// Whose numbers they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// FreeSurfer's, which SynthSeg and FastSurfer share: aseg, aparc+aseg.
    FreeSurfer,
    /// FAST's of T1: 1 fluid, 2 grey, 3 white. Its grey matter is all taken for cortex.
    Fast,
}

/// Labels that say no tissue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LabelError {
    /// No whole number.
    #[error("a voxel has the value {0}: labels are whole numbers from 0 on")]
    NotALabel(f32),
    /// Nobody's.
    #[error(
        "label {0} is none of FreeSurfer's (aseg, aparc+aseg; SynthSeg's are the same) nor of FAST's \
         (1 fluid, 2 grey, 3 white)"
    )]
    Unknown(u32),
    /// There is not enough memory.
    #[error("the tissues do not fit into memory: {0}")]
    Memory(#[from] Refused),
}

/// The tissues in the order of their volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tissue {
    Cortex,
    Deep,
    White,
    Fluid,
    Other,
}

impl Labels {
    /// Whose labels an image of one volume has: FAST's where none is above 3.
    pub fn of(image: &Image) -> Self {
        let largest = image.data.iter().fold(0.0, |largest: f32, x| largest.max(*x));
        if largest <= 3.0 { Self::Fast } else { Self::FreeSurfer }
    }

    /// The image of five tissues: each voxel is one of them, or none.
    ///
    /// # Errors
    /// [`LabelError`].
    pub fn tissues(self, image: &Image) -> Result<Image, LabelError> {
        let n = image.grid.len();
        let mut data: Vec<f32> = try_zeros(n * super::TISSUES)?;
        for (voxel, value) in image.volume(0).iter().enumerate() {
            if *value < 0.0 || value.fract() != 0.0 || *value > 1e6 {
                return Err(LabelError::NotALabel(*value));
            }
            if let Some(tissue) = self.tissue(*value as u32)? {
                data[tissue as usize * n + voxel] = 1.0;
            }
        }
        Ok(Image { grid: image.grid, n_volumes: super::TISSUES, data })
    }

    fn tissue(self, label: u32) -> Result<Option<Tissue>, LabelError> {
        match self {
            Self::Fast => Ok(match label {
                1 => Some(Tissue::Fluid),
                2 => Some(Tissue::Cortex),
                3 => Some(Tissue::White),
                _ => None,
            }),
            Self::FreeSurfer => free_surfer(label),
        }
    }
}

/// By FreeSurferColorLUT.txt. The brain stem and the ventral diencephalon, which fibres run through,
/// are white matter; optic chiasm and vessels are nothing that a streamline would end in.
fn free_surfer(label: u32) -> Result<Option<Tissue>, LabelError> {
    let tissue = match label {
        // Cortex; that of the cerebellum; parcels of both hemispheres.
        3 | 42 | 8 | 47 | 1000..=2999 | 11000..=12999 => Tissue::Cortex,
        // Thalamus, caudate, putamen, pallidum; hippocampus, amygdala; accumbens, substantia nigra.
        9..=13 | 17..=18 | 26..=27 | 48..=54 | 58..=59 => Tissue::Deep,
        // Hemispheres, cerebellum, stem, ventral diencephalon, optic chiasm, corpus callosum, fornix,
        // white-matter parcels, unsegmented white matter.
        2 | 41 | 7 | 46 | 16 | 28 | 60 | 85 | 192 | 250..=255 | 3000..=5002 | 13000..=14999 => {
            Tissue::White
        }
        // Ventricles, choroid plexus, vessels, fluid around the brain.
        4 | 5 | 43 | 44 | 14 | 15 | 24 | 72 | 30 | 31 | 62 | 63 | 257 => Tissue::Fluid,
        // Hypointensities of white and grey matter, lesions.
        25 | 57 | 77..=82 => Tissue::Other,
        // Outside: background, skull, skin, air and what SynthSeg adds.
        0 | 1 | 40 | 29 | 61 | 118..=120 | 165 | 258..=259 => return Ok(None),
        unknown => return Err(LabelError::Unknown(unknown)),
    };
    Ok(Some(tissue))
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;

    fn image(values: &[f32]) -> Image {
        let grid = Grid { dims: [values.len(), 1, 1], ras_from_vox: Affine::IDENTITY };
        Image { grid, n_volumes: 1, data: values.to_vec() }
    }

    #[test]
    fn each_label_becomes_its_tissue() {
        let labels = image(&[0.0, 1035.0, 10.0, 2.0, 43.0, 77.0, 16.0]);
        let made = Labels::of(&labels).tissues(&labels).unwrap();
        let of = |voxel: usize| (0..5).find(|t| made.volume(*t)[voxel] == 1.0);
        let found: Vec<_> = (0..7).map(of).collect();
        let expected = [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(2)];
        assert_eq!(found, expected);
    }

    #[test]
    fn three_labels_are_those_of_fast() {
        let labels = image(&[0.0, 1.0, 2.0, 3.0]);
        assert_eq!(Labels::of(&labels), Labels::Fast);
        let made = Labels::Fast.tissues(&labels).unwrap();
        assert_eq!(made.volume(3), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(made.volume(0), [0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn what_is_no_label_is_an_error() {
        let of = |value| Labels::FreeSurfer.tissues(&image(&[value]));
        assert_eq!(of(0.5), Err(LabelError::NotALabel(0.5)));
        assert_eq!(of(-1.0), Err(LabelError::NotALabel(-1.0)));
        assert_eq!(of(999.0), Err(LabelError::Unknown(999)));
    }
}
