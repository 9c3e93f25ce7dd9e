//! What an evaluation holds, said before it begins.

use fimbria_compute::Progress as _;
use fimbria_compute::device::Device;
use fimbria_image::counted;
use fimbria_life::{Deal, Dictionary, Protocol, Rank, Survey, TissueOptions};

use super::{Life, LifeInputError};
use crate::stages::load::Subject;
use crate::{ByteSize, Logbook};

/// Bytes of an entry as it is encoded, and again as products have it.
const ENTRY: u64 = 12;
/// Vectors of columns where as few are taken as miss 0.1 % of them: 43 for 96 directions at
/// b = 2000 s/mm², more with several shells.
const SHORT: usize = 64;
/// The part of the entries that rounds on some of the streamlines copy.
const COPIED: f64 = 0.7;
/// Bytes of an entry in host memory while it is dealt to a device: as the device has it, and its slot.
const DEALT: u64 = 20;
/// Vectors over streamlines of a solver and of a product, which makes sums in f64. Over voxels there are none.
const VECTORS: u64 = 12;
/// The program itself with its threads, a chunk of streamlines, what is being compressed.
const BESIDE: u64 = 48 << 20;

impl Life {
    /// Says how much memory the evaluation takes, about; of several processes the one that takes most.
    ///
    /// # Errors
    /// Where that is more than may be held.
    pub(super) fn state_memory(
        &self,
        survey: &Survey,
        deal: &Deal,
        subject: &Subject,
        second_held: Option<u64>,
        protocol: &Protocol,
        tissue: &TissueOptions,
        log: &Logbook<'_>,
    ) -> Result<(), LifeInputError> {
        let rows = protocol.rows();
        let rank = match self.parameters.rank.0 {
            Rank::Full => rows,
            Rank::Vectors(n) => n.min(rows),
            Rank::Error(_) => SHORT.min(rows),
        };
        let Survey { streamlines, points: _, entries, voxels: passed, atoms } = *survey;
        let is_one_process = deal.processes() == 1;
        let [of_entries, voxels] = deal.largest();
        let (all_entries, entries) = (entries, if is_one_process { entries } else { of_entries });
        let compartments = tissue.compartments_per_voxel() as u64;
        let numbers = |count: usize| 4 * count as u64;
        let stride = numbers(rank.next_multiple_of(Dictionary::ALIGN));
        let unknowns = streamlines + compartments * passed;
        let encoding = ENTRY * entries + 8 * streamlines + 12 * atoms + 8 * passed;
        // What was measured, and what was taken from it.
        let signal = voxels * (2 * numbers(rows) + 4);
        let in_blocks = entries + compartments * voxels;
        let blocks = ENTRY * in_blocks;
        // Fibres share columns, of which there are no more than fibres.
        let columns = compartments + tissue.hindered.as_ref().map_or(0, |_| compartments * voxels);
        let system = blocks + stride * (atoms + columns + voxels) + 4 * unknowns;
        let dealt = dealt(in_blocks, log.session().on.devices);
        let solving = dealt.max((COPIED * blocks as f64) as u64) + VECTORS * 4 * unknowns;
        let again = second_held.map_or(0, |_| signal);
        let predicted = voxels * numbers(rows);
        let judging = voxels * 2 * numbers(rank) + predicted;
        // The first process has the prediction of all voxels, once more as others hand it over.
        let writing = 2 * passed * numbers(rows) + numbers(subject.dwi.grid().len());
        let most = signal + again + (system + solving.max(judging)).max(writing);
        // The second series is let go once it is gathered.
        let series = subject.dwi.held_bytes();
        let second = second_held.unwrap_or(0) + signal + again;
        let needed = ByteSize(BESIDE + series + encoding + most.max(second));
        let all_entries = match 1e-6 * all_entries as f64 {
            millions if millions >= 1.0 => format!("{millions:.1} million"),
            _ => all_entries.to_string(),
        };
        log.note(&format!(
            "about {all_entries} entries in {}: about {needed} of memory at most{}",
            counted(passed, "voxel"),
            if is_one_process { "" } else { ", in each process" }
        ));
        log.count("bytes_foreseen", needed.0);
        match self.memory {
            Some(allowed) if needed.0 > allowed.0 => {
                Err(LifeInputError::Memory { needed, allowed })
            }
            _ => Ok(()),
        }
    }
}

/// What the largest share of so many entries takes before its device has it. Shares are dealt one after the
/// other, and what a device has no memory for is not put together for it: there an entry takes no less.
fn dealt(entries: u64, devices: &[Device]) -> u64 {
    let share = DEALT * entries.div_ceil(devices.len().max(1) as u64);
    devices.iter().map(|device| share.min(device.available_bytes())).max().unwrap_or(0)
}
