//! From where weights are found, how they are kept meanwhile, and which problem they belong to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fimbria_compute::Progress;
use fimbria_compute::comm::Comm;
use fimbria_life::solve::Step;
use fimbria_life::{
    EncodeOptions, Encoding, Grouped, Groups, Hindered, LifeError, Protocol, Signal, System,
    TissueOptions, WeighOptions, Weights,
};
use fimbria_workflow::ensure_same_work;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128};

use super::{Life, LifeInputError, LifeParameters, NamedSet};
use crate::stages::load::Subject;
use crate::{CheckpointFile, Logbook, Page, StageError};

/// How long apart weights are written.
const EVERY: Duration = Duration::from_secs(30);

/// What weights are found from.
pub(super) struct Beginning {
    /// Where they are kept.
    checkpoint: Option<CheckpointFile>,
    /// The first ones; `None` for zero.
    start: Option<Vec<f32>>,
}

fn to_bytes(weights: &[f32]) -> Vec<u8> {
    weights.iter().flat_map(|weight| weight.to_le_bytes()).collect()
}

/// So many weights.
fn from_bytes(bytes: &[u8], unknowns: usize) -> Option<Vec<f32>> {
    let (weights, left) = bytes.as_chunks();
    (weights.len() == unknowns && left.is_empty())
        .then(|| weights.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

impl Life {
    /// The penalty on sets; all streamlines together are none of them.
    pub(super) fn grouped(
        &self,
        sets: &[NamedSet],
        streamlines: usize,
    ) -> Result<Option<Grouped>, StageError> {
        let Some(share) = self.parameters.group.filter(|share| *share > 0.0) else {
            return Ok(None);
        };
        let members: Vec<_> = sets[1..].iter().map(|set| set.members.clone()).collect();
        let groups = Groups::new(members, streamlines)?;
        if groups.is_empty() {
            return Err(LifeInputError::NoGroups.into());
        }
        Ok(Some(Grouped { groups, share }))
    }

    /// Where to begin: with the weights that interrupted work on the same problem left, where that
    /// is wanted, else with those of a file, else with none. All processes begin with the same.
    pub(super) fn begin(
        &self,
        encoding: &Encoding,
        signal: &Signal,
        protocol: &Protocol,
        tissue: &TissueOptions,
        groups: Option<&Grouped>,
        start: Option<Vec<f32>>,
        log: &Logbook<'_>,
    ) -> Result<Beginning, StageError> {
        let (comm, streamlines) = (log.session().on.comm, encoding.streamlines());
        if let Some(found) = start.as_ref().map(Vec::len).filter(|found| *found != streamlines) {
            return Err(LifeError::WarmStart { found, streamlines }.into());
        }
        let fingerprint = self.fingerprint(encoding, signal, protocol, tissue, groups, comm);
        let mut begin = Beginning { checkpoint: None, start };
        if let Some((path, resumes)) = &self.checkpoint {
            let checkpoint = CheckpointFile::new(path, fingerprint, EVERY);
            if *resumes {
                let unknowns =
                    streamlines + tissue.compartments_per_voxel() * encoding.passed.len();
                match checkpoint.read(|bytes| from_bytes(bytes, unknowns))? {
                    Some(weights) => {
                        log.note(&format!("going on from the weights in {}", path.display()));
                        // The solver's steps begin anew, so that the weights are as good, not the
                        // same.
                        log.goes_on_from(xxh3_64(bytemuck::cast_slice(&weights)));
                        begin.start = Some(weights);
                    }
                    None => log.warn(Page::Connectomes, "nothing to resume from: beginning anew"),
                }
            }
            begin.checkpoint = Some(checkpoint).filter(|_| comm.rank() == 0);
        }
        let begins_at = begin.start.as_deref().map_or(0, |w| xxh3_64(bytemuck::cast_slice(w)));
        ensure_same_work(comm, fingerprint, begins_at)?;
        Ok(begin)
    }

    /// Finds the weights. They are kept every half minute, where Ctrl-C stops the work, and at the
    /// end, until they are written with all else.
    pub(super) fn weigh(
        &self,
        system: &System,
        groups: Option<Grouped>,
        begin: Beginning,
        log: &Logbook<'_>,
    ) -> Result<Weights, StageError> {
        let on = log.session().on;
        let Beginning { mut checkpoint, start } = begin;
        let _held = checkpoint.as_ref().map(|_| log.session().unfinished.hold());
        let until_kept = UntilKept { log, is_kept: AtomicBool::new(false) };
        let mut watch = |_: &Step, weights: &dyn Fn() -> Vec<f32>| {
            let is_last = log.is_cancelled();
            if let Some(checkpoint) = checkpoint.as_mut().filter(|c| is_last || c.is_due()) {
                let written = checkpoint.write(&to_bytes(&weights()));
                match written {
                    Ok(()) if is_last => self.say_how_to_go_on(log),
                    Ok(()) => {}
                    Err(error) => {
                        log.warn(Page::Connectomes, &format!("the weights cannot be kept: {error}"))
                    }
                }
            }
            until_kept.is_kept.store(is_last, Ordering::Relaxed);
        };
        let options = WeighOptions { groups, ..self.parameters.weigh() };
        let start = start.as_deref();
        let mut product = system.product(&on, log);
        let weights =
            system.weigh_by(&mut product, &options, start, on.comm, &until_kept, &mut watch)?;
        log.count_shares_of("entries", &product.shares());
        if let Some(checkpoint) = &mut checkpoint {
            let beside = weights.compartments.iter().flatten();
            let all: Vec<f32> = weights.streamlines.iter().chain(beside).copied().collect();
            if let Err(error) = checkpoint.write(&to_bytes(&all)) {
                log.warn(Page::Connectomes, &format!("the weights cannot be kept: {error}"));
            }
        }
        Ok(weights)
    }

    /// Says where the weights are that work which is about to end has found.
    pub(super) fn say_how_to_go_on(&self, log: &Logbook<'_>) {
        if let Some((path, _)) = self.checkpoint.as_ref().filter(|(path, _)| path.exists()) {
            log.warn(Page::Connectomes, &format!(
                "the weights so far are in {}: the same command with --resume goes on from them",
                path.display()
            ));
        }
    }

    /// What all processes must have the same of, beside the streamlines.
    pub(super) fn inputs_of_all(
        &self,
        subject: &Subject,
        protocol: &Protocol,
        options: &EncodeOptions,
        log: &Logbook<'_>,
    ) -> Xxh3 {
        /// Voxels whose samples stand for the series: another one differs in most.
        const SAMPLED: usize = 1000;
        let mut hash = Xxh3::new();
        if log.session().on.comm.size() == 1 {
            return hash;
        }
        let (dwi, voxels) = (&subject.dwi, &subject.mask.voxels);
        let same = self.parameters.in_effect();
        hash.update(format!("{same} {protocol:?} {options:?} {:?}", dwi.grid()).as_bytes());
        hash.update(bytemuck::cast_slice(voxels));
        let every = voxels.len().div_ceil(SAMPLED).max(1);
        let some: Vec<u32> = voxels.iter().step_by(every).copied().collect();
        let mut samples = vec![0.0; some.len() * dwi.n_volumes()];
        dwi.gather(&some, some.len(), &mut samples);
        hash.update(bytemuck::cast_slice(&samples));
        hash
    }

    /// Tells one problem from another: by everything that its optimum depends on. It is the same for any
    /// number of processes that share it.
    fn fingerprint(
        &self,
        encoding: &Encoding,
        signal: &Signal,
        protocol: &Protocol,
        tissue: &TissueOptions,
        groups: Option<&Grouped>,
        comm: &dyn Comm,
    ) -> u128 {
        let mut hash = Xxh3::new();
        hash.update(env!("CARGO_PKG_VERSION").as_bytes());
        // The rule for stopping may change on the way.
        let same = LifeParameters { max_iterations: 0, tolerance: 0.0, ..self.parameters.clone() };
        hash.update(same.in_effect().to_string().as_bytes());
        hash.update(format!("{protocol:?} {groups:?} {:?}", encoding.grid).as_bytes());
        hash.update(bytemuck::cast_slice(&encoding.passed));
        // Each entry and each voxel by itself: their hashes add up in any order.
        let entries = (0..encoding.streamlines()).flat_map(|f| {
            encoding.entries_of(f).iter().map(move |entry| {
                let [x, y, z] = encoding.atoms[entry.atom as usize].map(f32::to_bits);
                let voxel = encoding.voxels[entry.voxel as usize];
                xxh3_128(bytemuck::cast_slice(&[f as u32, voxel, x, y, z, entry.value.to_bits()]))
            })
        });
        let voxels = encoding.voxels.iter().enumerate().map(|(place, &voxel)| {
            let mut hash = Xxh3::with_seed(u64::from(voxel));
            hash.update(bytemuck::cast_slice(signal.voxel(place)));
            hash.update(&signal.s0[place].to_le_bytes());
            if let Some(Hindered { radial_mm2_per_s, fibres }) = &tissue.hindered {
                let dirs: Vec<_> = fibres.of_voxel(voxel as usize).collect();
                hash.update(format!("{radial_mm2_per_s:?} {dirs:?}").as_bytes());
            }
            hash.digest128()
        });
        let sum = entries.chain(voxels).fold(0, u128::wrapping_add);
        // By 32 bits, whose sums need no carry.
        let mut parts: [i64; 4] = std::array::from_fn(|i| (sum >> (32 * i)) as u32 as i64);
        comm.sum_i64(&mut parts);
        let sums = parts.iter().enumerate().map(|(i, &part)| (part as u128) << (32 * i));
        hash.update(&sums.fold(0, u128::wrapping_add).to_le_bytes());
        hash.digest128()
    }
}

/// The progress of a fit that is stopped once its weights are kept, so that nothing done is lost.
struct UntilKept<'l> {
    log: &'l Logbook<'l>,
    is_kept: AtomicBool,
}

impl Progress for UntilKept<'_> {
    fn start(&self, what: &str, total: u64) {
        self.log.start(what, total);
    }

    fn advance(&self, items: u64) {
        self.log.advance(items);
    }

    fn warn(&self, message: &str) {
        Progress::warn(self.log, message);
    }

    fn note(&self, message: &str) {
        self.log.note(message);
    }

    fn is_cancelled(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }
}
