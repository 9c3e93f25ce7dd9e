//! Images of diffusion MRI in memory and on disk.
//!
//! In memory everything is in one frame and one order:
//!
//! * a [`Grid`] holds the three spatial dimensions and `ras_from_vox`, the affine from voxel
//!   coordinates (integer = voxel centre) to scanner RAS+ millimetres;
//! * an [`Image`] is a grid with one or more `f32` volumes, x fastest, then y, z, volume;
//! * a [`Mask`] is a set of voxels of a grid; [`morphology`] grows, shrinks and fills such sets;
//! * a [`GradientTable`] holds b in s/mm² and unit directions in scanner RAS+ axes;
//! * a [`SignalSource`] hands out the samples of chosen voxels, whatever type they are stored in;
//! * a [`MapSpec`] says what a map is, a [`Status`] what became of one of its voxels;
//! * [`sticks::StickSamples`] holds samples of fibre directions and fractions in few bytes.
//!
//! On disk there are NIfTI-1, NIfTI-2 and MRtrix images, compressed or not:
//!
//! * [`read_image`] and [`read_mask`] read whole ones, [`write_image`] writes them;
//! * a [`StoredImage`] is a file whose samples stay as they are stored until they are asked for: a
//!   [`SignalSource`] that may be larger than memory;
//! * an [`ImageHeader`] is what a file says of itself;
//! * [`bedpostx`] folders hold samples of fibre directions;
//! * [`fixels`] folders hold fibre populations, [`odx`] archives these and densities;
//! * [`arrays`] are what TRX and ODX are made of;
//! * [`gifti`] files hold surfaces.
//!
//! Conversion from a file's own frame, order and units happens once, in the module of its format:
//! one file per format. This crate knows nothing of models, devices or commands.

pub mod arrays;
pub mod bedpostx;
mod blocks;
mod copy;
mod counted;
mod datatype;
mod decode;
mod eigen;
mod encode;
mod entry_order;
mod error;
pub mod fixels;
mod format;
pub mod frames;
mod gather;
mod geometry;
pub mod gifti;
pub mod gradients;
mod gzip;
mod header;
mod image;
mod image_header;
mod label_statistics;
mod layout;
mod line;
mod map;
mod mask;
mod mask_block;
mod matrix;
mod mif;
pub mod morphology;
mod nifti;
mod number_rows;
pub mod odx;
mod read;
mod regular;
mod signals;
mod status;
pub mod sticks;
mod storage;
mod stored;
mod transcode;
mod window;
mod write;

pub use copy::{Copied, copy_image};
pub use counted::counted;
pub use datatype::{ByteOrder, Datatype, Scaling, UnknownDatatype};
pub use eigen::principal_axis;
pub use entry_order::{EntryOrder, KurtosisOrder, TensorOrder};
pub use error::{HeaderError, ImageError, UnwritableError};
pub use format::{
    beside_image, files_of_image, image_called, image_extensions, is_image_name,
    is_single_file_name, sidecar_of, split_image_name,
};
pub use frames::BvecFrame;
pub use geometry::{Affine, Grid, GridMismatch};
pub use gradients::GradientTable;
pub use header::{Intent, Orientation, SpaceCodes};
pub use image::Image;
pub use image_header::ImageHeader;
pub use label_statistics::{LabelStatistics, label_statistics};
pub use line::{voxels_between, voxels_on_line};
pub use map::{MapKind, MapSpec};
pub use mask::Mask;
pub use mask_block::MaskBlock;
pub use mif::{BadMifLayout, MifLayout};
pub use nifti::NiftiVersion;
pub use number_rows::{NumberRows, NumbersError};
pub use read::{read_image, read_mask};
pub use regular::{open_regular, read_regular, read_regular_text};
pub use signals::SignalSource;
pub use status::{Status, StatusCounts};
pub use storage::OpenOptions;
pub use stored::{StoredImage, image_files};
pub use window::Window;
pub use write::{WriteOptions, write_image, write_samples};
