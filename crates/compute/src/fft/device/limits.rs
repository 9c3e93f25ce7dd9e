//! What transforms may take of a device.

use crate::device::Device;

/// What a device's groups may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Memory of a group, bytes.
    pub(crate) bytes: usize,
    /// Items of a group.
    pub(crate) items: usize,
}

impl Limits {
    pub(crate) fn of(device: &Device) -> Self {
        let info = device.info();
        let bytes = usize::try_from(info.local_memory_bytes).unwrap_or(usize::MAX);
        Self { bytes, items: info.max_group_size as usize }
    }

    /// What common devices have at least: texts are compiled for it to be checked.
    pub(crate) const LEAST: Self = Self { bytes: 32 << 10, items: 256 };

    /// What cards have.
    pub(crate) const CARD: Self = Self { bytes: 48 << 10, items: 1024 };

    /// So little that items of a group have several turns at short lines, of which several fit.
    pub(crate) const SMALL: Self = Self { bytes: 8 << 10, items: 48 };

    /// No memory for groups.
    pub(crate) const NONE: Self = Self { bytes: 0, items: 1 };
}
