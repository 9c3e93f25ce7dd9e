//! The parameters of a voxel in the order in which their samples are recorded, and the moves of a
//! jump.
//!
//! Inside the sampler diffusivities are in µm²/ms, b in ms/µm², angles in turns, and signals in
//! units of the voxel's own scale.

use crate::options::MOST_FIBRES;
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
pub(crate) const MOST: usize = FIBRES + 3 * MOST_FIBRES;
/// The joint move of the curve; not a parameter, but it has a scale as they do.
pub(crate) const JOINT: usize = MOST;
/// Scales of moves.
pub(crate) const SCALES: usize = MOST + 1;
/// Parameters that a move changes at most.
pub(crate) const MOST_CHANGED: usize = 4;

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

/// The fibre that a slot is of; the first for other slots.
pub(crate) const fn fibre(slot: usize) -> usize {
    slot.saturating_sub(FIBRES) / 3
}

/// True for θ of a fibre.
pub(crate) const fn is_theta(slot: usize) -> bool {
    slot >= FIBRES && slot < MOST && (slot - FIBRES).is_multiple_of(3)
}

/// True for f of a fibre.
pub(crate) const fn is_fraction(slot: usize) -> bool {
    slot >= FIBRES && slot < MOST && (slot - FIBRES) % 3 == 2
}

/// The slots that are sampled, ascending.
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

/// What the joint move changes: S0 and what the curve of sticks and ball depends on.
pub(crate) fn joint(diffusivity: Diffusivity) -> &'static [usize] {
    match diffusivity {
        Diffusivity::Single => &[S0, DIFFUSIVITY],
        Diffusivity::Gamma => &[S0, DIFFUSIVITY, SPREAD],
        Diffusivity::Zeppelin => &[S0, DIFFUSIVITY, SPREAD, RATIO],
    }
}

/// The moves of a jump in their order: d stands for the move of the curve, θ for both angles of a
/// fibre, f for a fraction and S0.
pub(crate) fn moves(options: &SticksOptions) -> Vec<usize> {
    let mut moves = vec![S0, DIFFUSIVITY];
    if options.offset != Offset::None {
        moves.push(OFFSET);
    }
    if options.noise == Noise::Rician {
        moves.push(PRECISION);
    }
    let of_fibre = |j| [theta(j), fraction(j), theta(j), fraction(j)];
    moves.extend((0..options.n_fibres).flat_map(of_fibre));
    moves
}

/// What a move is in a jump: that of the curve is the joint one on even jumps, and s alone on every fourth
/// where there is one.
pub(crate) fn turn(slot: usize, jump: u32, joint: &[usize]) -> usize {
    match jump % 4 {
        _ if slot != DIFFUSIVITY => slot,
        0 | 2 => JOINT,
        3 if joint.contains(&SPREAD) => SPREAD,
        _ => slot,
    }
}

/// The slots that a move changes, and how many they are.
pub(crate) fn changed(slot: usize, joint: &[usize]) -> ([usize; MOST_CHANGED], usize) {
    let mut slots = [slot; MOST_CHANGED];
    match slot {
        JOINT => {
            slots[..joint.len()].copy_from_slice(joint);
            (slots, joint.len())
        }
        _ if is_theta(slot) => {
            slots[1] = slot + 1;
            (slots, 2)
        }
        _ if is_fraction(slot) => {
            slots[1] = S0;
            (slots, 2)
        }
        _ => (slots, 1),
    }
}
