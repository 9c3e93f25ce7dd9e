//! What devices that nobody named are left out of.

use fimbria_compute::Backend;

/// Voxels of a padded volume from which its transforms gain by a device that nobody named: of smaller ones a
/// map is finished on threads before a device has its kernels.
const PAYS_FROM: usize = 1 << 21;

/// Whether the devices of `on` are expected to gain by the transforms of a volume of `dims`, padded to half as
/// much again: true of any where somebody named them.
pub fn gains(on: &Backend<'_>, dims: [usize; 3]) -> bool {
    let voxels: usize = dims.map(|n| n + n / 2).iter().product();
    !on.devices.is_empty() && (voxels >= PAYS_FROM || !on.only_where_it_pays)
}

/// `on` without its devices where these do not [gain](gains).
pub(crate) fn where_it_gains<'a>(on: &Backend<'a>, dims: [usize; 3]) -> Backend<'a> {
    if gains(on, dims) { *on } else { Backend { devices: &[], ..*on } }
}
