//! What can be wrong with a folder of samples.

use std::path::PathBuf;

use crate::ImageError;

/// Samples could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BedpostxError {
    /// A file cannot be read, or lies on another grid than the mask.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// No file of the name, whatever its extension.
    #[error(
        "there is no {} (.nii.gz, .nii, .img or .hdr); samples are \
         merged_th1samples, merged_ph1samples and merged_f1samples in a bedpostX folder, or \
         merged_samples.f16",
        .0.display()
    )]
    Missing(PathBuf),
    /// Files with different numbers of samples.
    #[error("{} has {found} samples, the files before it have {expected}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// Its volumes.
        found: usize,
        /// Those of the files before.
        expected: usize,
    },
    /// A sample inside the mask that is no number.
    #[error(
        "{}: sample {sample} of voxel {voxel:?} is {value}; \
         samples inside the mask must be finite",
        path.display()
    )]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The voxel, as the file counts.
        voxel: [usize; 3],
        /// The volume, counted from 0.
        sample: usize,
        /// What stands there.
        value: f32,
    },
    /// A file of half precision that is none, or not whole.
    #[error("{} cannot be read: {why}", path.display())]
    Half {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The mask has no voxel.
    #[error("the mask {} is empty", .0.display())]
    EmptyMask(PathBuf),
    /// There is not enough memory.
    #[error(
        "{n_fibres} fibres with {n_samples} samples in {voxels} voxels need more memory than the \
         system gives"
    )]
    Memory {
        /// Fibres per sample.
        n_fibres: usize,
        /// Samples per voxel.
        n_samples: usize,
        /// Voxels inside the mask.
        voxels: usize,
    },
}
