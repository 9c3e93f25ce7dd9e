//! The parameters of a voxel, in the order in which a jump proposes them.
//!
//! Inside the sampler diffusivities are in µm²/ms, b in ms/µm², angles in turns, and signals in
//! units of the voxel's own scale.

use crate::{Diffusivity, Noise, Offset, SticksOptions};

/// f0, the fraction that no weighting attenuates.
pub(crate) const OFFSET: usize = 0;
/// τ = 1/σ² of Rician noise.
pub(crate) const PRECISION: usize = 1;
/// d, the (mean) diffusivity.
pub(crate) const DIFFUSIVITY: usize = 2;
/// The standard deviation of the diffusivity.
pub(crate) const SPREAD: usize = 3;
/// R, diffusivity across a zeppelin over that along it.
pub(crate) const RATIO: usize = 4;
/// S0.
pub(crate) const S0: usize = 5;
/// θ of the first fibre; φ and f follow, then those of the next.
pub(crate) const FIBRES: usize = 6;
/// All that there may be.
pub(crate) const MOST: usize = FIBRES + 3 * crate::options::MOST_FIBRES;

/// θ of a fibre.
pub(crate) const fn theta(fibre: usize) -> usize {
    FIBRES + 3 * fibre
}

/// φ of a fibre.
pub(crate) const fn phi(fibre: usize) -> usize {
    FIBRES + 3 * fibre + 1
}

/// f of a fibre.
pub(crate) const fn fraction(fibre: usize) -> usize {
    FIBRES + 3 * fibre + 2
}

/// The slots that are sampled, ascending: the order of proposals and of recorded samples.
pub(crate) fn sampled(options: &SticksOptions) -> Vec<usize> {
    let mut slots = Vec::with_capacity(MOST);
    let mut add = |slot, wanted| {
        if wanted {
            slots.push(slot);
        }
    };
    add(OFFSET, options.offset != Offset::None);
    add(PRECISION, options.noise == Noise::Rician);
    add(DIFFUSIVITY, true);
    add(SPREAD, options.diffusivity != Diffusivity::Single);
    add(RATIO, options.diffusivity == Diffusivity::Zeppelin);
    add(S0, true);
    for slot in FIBRES..FIBRES + 3 * options.n_fibres {
        add(slot, true);
    }
    slots
}
