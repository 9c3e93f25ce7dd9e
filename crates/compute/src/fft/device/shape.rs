//! The volumes that a transform takes.

use crate::device::{Argument, Launch};

/// The shape of the volumes that a transform on a device takes, x fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeShape(pub(super) [usize; 3]);

impl VolumeShape {
    /// Number of elements along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.0
    }

    /// Number of elements of a volume.
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// A work item for each element of a volume.
    pub fn launch(&self) -> Launch {
        Launch::items(self.elements())
    }

    /// The shape, as kernels over the same volume take it: three `u32`.
    pub fn shape_arguments(&self) -> [Argument; 3] {
        self.0.map(|n| (n as u32).into())
    }
}
