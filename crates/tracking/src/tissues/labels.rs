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
    /// Nobody's, in many voxels.
    #[error(
        "label {label} and others, in {voxels} of {of} voxels with labels, are none of FreeSurfer's \
         (aseg, aparc+aseg; SynthSeg's are the same) nor of FAST's (1 fluid, 2 grey, 3 white)"
    )]
    Unknown {
        /// The first of them.
        label: u32,
        /// Voxels with such labels.
        voxels: usize,
        /// Voxels with any.
        of: usize,
    },
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
    /// Whose labels an image of one volume has: FAST's where they are 1, 2 and 3. FreeSurfer's 2 and 3
    /// are white matter and cortex.
    pub fn from_image(image: &Image) -> Self {
        let largest = image.data.iter().fold(0.0, |largest: f32, x| largest.max(*x));
        if largest == 3.0 && image.data.contains(&1.0) { Self::Fast } else { Self::FreeSurfer }
    }

    /// The image of five tissues, each voxel one of them or none; and how many voxels are none as
    /// nobody knows their labels.
    ///
    /// # Errors
    /// [`LabelError`]; where those are more than one in twenty, the labels are another program's.
    pub fn tissues(self, image: &Image) -> Result<(Image, usize), LabelError> {
        let n = image.grid.len();
        let mut data: Vec<f32> = try_zeros(n * super::TISSUES)?;
        let (mut labelled, mut unknown, mut first_unknown) = (0, 0, 0);
        for (voxel, value) in image.volume(0).iter().enumerate() {
            if *value < 0.0 || value.fract() != 0.0 || *value > 1e6 {
                return Err(LabelError::NotALabel(*value));
            }
            let label = *value as u32;
            labelled += usize::from(label != 0);
            match self.meaning(label) {
                Meaning::Tissue(tissue) => data[tissue as usize * n + voxel] = 1.0,
                Meaning::Nothing => {}
                Meaning::Unknown => {
                    if unknown == 0 {
                        first_unknown = label;
                    }
                    unknown += 1;
                }
            }
        }
        if 20 * unknown > labelled {
            let (label, voxels, of) = (first_unknown, unknown, labelled);
            return Err(LabelError::Unknown { label, voxels, of });
        }
        Ok((Image { grid: image.grid, n_volumes: super::TISSUES, data }, unknown))
    }

    fn meaning(self, label: u32) -> Meaning {
        match (self, label) {
            (Self::Fast, 1) => Meaning::Tissue(Tissue::Fluid),
            (Self::Fast, 2) => Meaning::Tissue(Tissue::Cortex),
            (Self::Fast, 3) => Meaning::Tissue(Tissue::White),
            (Self::Fast, _) => Meaning::Nothing,
            (Self::FreeSurfer, label) => free_surfer(label),
        }
    }
}

/// What a label says.
enum Meaning {
    Tissue(Tissue),
    /// Outside the brain.
    Nothing,
    Unknown,
}

/// By FreeSurferColorLUT.txt, with what the head of this program adds to it. The brain stem and the
/// ventral diencephalon, which fibres run through, are white matter.
fn free_surfer(label: u32) -> Meaning {
    Meaning::Tissue(match label {
        // Cortex; that of the cerebellum; parcels of both hemispheres.
        3 | 42 | 8 | 47 | 172 | 1000..=2999 | 11000..=12999 => Tissue::Cortex,
        // Thalamus, caudate, putamen, pallidum; hippocampus, amygdala; accumbens, substantia nigra;
        // claustrum, dentate nucleus; red and subthalamic nuclei of the head.
        9..=13
        | 17..=18
        | 26..=27
        | 48..=54
        | 58..=59
        | 138..=139
        | 171
        | 901..=903
        | 911..=913 => Tissue::Deep,
        // Hemispheres, cerebellum, brain stem whole and in parts, ventral diencephalon, optic chiasm,
        // corpus callosum, fornix; parcels, and white matter of none.
        2
        | 41
        | 7
        | 46
        | 16
        | 170
        | 173..=175
        | 28
        | 60
        | 85
        | 192
        | 250..=255
        | 3000..=5002
        | 13000..=14999 => Tissue::White,
        // Ventricles, choroid plexus, vessels, fluid around the brain.
        4 | 5 | 43 | 44 | 14 | 15 | 24 | 72 | 30 | 31 | 62 | 63 | 122 | 257 => Tissue::Fluid,
        // Lesions, hypointensities.
        25 | 57 | 77..=82 => Tissue::Other,
        // Background, what was left undetermined; skin, fat, muscle, bone, air, eyes.
        0 | 29 | 40 | 61 | 118..=121 | 123..=135 | 165..=169 | 258..=259 | 904 => {
            return Meaning::Nothing;
        }
        _ => return Meaning::Unknown,
    })
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
        let (made, unknown) = Labels::from_image(&labels).tissues(&labels).unwrap();
        assert_eq!(unknown, 0);
        let of = |voxel: usize| (0..5).find(|t| made.volume(*t)[voxel] == 1.0);
        let found: Vec<_> = (0..7).map(of).collect();
        let expected = [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(2)];
        assert_eq!(found, expected);
    }

    #[test]
    fn three_labels_are_those_of_fast() {
        let labels = image(&[0.0, 1.0, 2.0, 3.0]);
        assert_eq!(Labels::from_image(&labels), Labels::Fast);
        assert_eq!(Labels::from_image(&image(&[0.0, 2.0, 3.0])), Labels::FreeSurfer);
        let (made, _) = Labels::Fast.tissues(&labels).unwrap();
        assert_eq!(made.volume(3), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(made.volume(0), [0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn four_classes_of_tissue_are_not_taken_for_freesurfers() {
        // ANTs: fluid, grey, white, deep; FreeSurfer's segmentations have no 1.
        let labels = image(&[1.0, 2.0, 3.0, 4.0]);
        let error = Labels::from_image(&labels).tissues(&labels).unwrap_err();
        assert_eq!(error, LabelError::Unknown { label: 1, voxels: 1, of: 4 });
    }

    #[test]
    fn what_is_no_label_is_an_error() {
        let of = |value| Labels::FreeSurfer.tissues(&image(&[value]));
        assert_eq!(of(0.5), Err(LabelError::NotALabel(0.5)));
        assert_eq!(of(-1.0), Err(LabelError::NotALabel(-1.0)));
    }

    #[test]
    fn a_few_unknown_labels_are_nothing_and_many_are_another_programs() {
        let mut values = [2.0; 40];
        values[..2].fill(700.0);
        let (made, unknown) = Labels::FreeSurfer.tissues(&image(&values)).unwrap();
        assert_eq!((unknown, made.data.iter().sum::<f32>()), (2, 38.0));
        values[2] = 700.0;
        let error = Labels::FreeSurfer.tissues(&image(&values)).unwrap_err();
        assert_eq!(error, LabelError::Unknown { label: 700, voxels: 3, of: 40 });
    }
}
