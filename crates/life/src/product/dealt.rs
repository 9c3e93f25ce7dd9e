//! The products by whoever has the blocks.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fimbria_compute::device::DeviceError;
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};
use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, HostError, HostSpace, Progress, Silent, Workers};

use super::holders::{Holders, Part, Whole};
use super::on_device::Subtracted;
use super::on_threads::{Asked, OnThreads, Told};
use super::{Agree, Blocks, Kept, PartialProduct};
use crate::Dictionary;
use crate::exact::{Lattice, exact_parts};

/// M on devices and threads: each device has an even share of the entries, the threads what no device has
/// room for, all of them where there is no device.
///
/// Vectors are in host memory. Of a product every device gets the weights and gives back the sums of its
/// voxels, which add up exactly: results have the same bits whoever has which blocks. A device that fails
/// hands its blocks to others in the middle of a product, which then goes on; nothing else is lost with it.
///
/// The range holds `stride` numbers of each voxel, in the order of [`Blocks::voxel_order`]; those
/// beyond the dictionary's rank are zero.
pub struct DealtProduct<'a> {
    whole: Whole<'a>,
    kept: Option<Kept>,
    domain: HostSpace<'a>,
    range: HostSpace<'a>,
    state: Mutex<State<'a>>,
}

/// What products change.
struct State<'a> {
    holders: Holders<'a>,
    /// The blocks of the columns that are kept, for the threads.
    some: Option<Blocks>,
    slot_sums: Vec<f32>,
    sums: Vec<f64>,
}

impl<'a> DealtProduct<'a> {
    /// M on the devices and threads of `on`, which has `signal` there too; `progress` hears of devices that
    /// fail or have no room.
    pub fn new(
        blocks: &'a Blocks,
        dictionary: &'a Dictionary,
        signal: &'a [f32],
        on: &Backend<'a>,
        progress: &'a dyn Progress,
    ) -> Self {
        let whole = Whole { blocks, dictionary, signal };
        let holders = Holders::new(whole, on.devices, progress);
        Self {
            whole,
            kept: None,
            domain: HostSpace::new(on.workers, blocks.streamlines),
            range: HostSpace::new(on.workers, blocks.voxels() * dictionary.stride()),
            state: Mutex::new(State {
                holders,
                some: None,
                slot_sums: Vec::new(),
                sums: Vec::new(),
            }),
        }
    }

    /// M on threads alone.
    pub fn on_threads(
        blocks: &'a Blocks,
        dictionary: &'a Dictionary,
        workers: &'a Workers,
    ) -> Self {
        Self::new(blocks, dictionary, &[], &Backend::cpu(workers), &Silent)
    }

    /// From now on M has these columns only, numbered anew in their order; all of them where there is none.
    pub fn restrict(&mut self, kept: Option<&[bool]>) {
        self.kept = kept.map(Kept::new);
        let columns = self.kept.as_ref().map_or(self.whole.blocks.streamlines, Kept::len);
        self.domain = HostSpace::new(self.domain.workers(), columns);
        let kept = self.kept.as_ref();
        let State { holders, some, .. } =
            self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        *some = None;
        let failed = holders.on_all(|part| part.on_device.restrict(kept), || ());
        holders.hand_over(failed, kept);
    }

    /// Entries that each device has, and the threads.
    pub fn shares(&self) -> Shares {
        self.lock().holders.shares()
    }

    /// Loses devices after so many calls each.
    #[cfg(test)]
    pub(super) fn lose_devices(&mut self, to_lose: &[(usize, usize)]) {
        *self.lock().holders.to_lose.lock().unwrap() = to_lose.to_vec();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The threads, with the columns that are kept; blocks of some are made once they are needed.
    fn threads<'s>(&'s self, some: &'s mut Option<Blocks>) -> OnThreads<'s> {
        let Whole { blocks, dictionary, .. } = self.whole;
        let workers = self.domain.workers();
        let blocks = match (&self.kept, some) {
            (None, _) => blocks,
            (Some(_), Some(some)) => some,
            (Some(kept), none) => match blocks.restricted(kept, workers) {
                Ok(some) => none.insert(some),
                Err(_) => unreachable!("fewer slots than those that were counted"),
            },
        };
        OnThreads { blocks, dictionary, workers }
    }

    /// Which vector a part subtracts: where it is the signal, the part has it.
    fn subtracted<'b>(&self, b: Option<&'b [f32]>, blocks: &Range<usize>) -> Subtracted<'b> {
        match b {
            None => Subtracted::Nothing,
            Some(b) if std::ptr::eq(b, self.whole.signal) => Subtracted::Signal,
            Some(b) => Subtracted::Other(&b[self.places(blocks)]),
        }
    }

    /// The places of these blocks in a vector over voxels.
    fn places(&self, blocks: &Range<usize>) -> Range<usize> {
        let (voxels, stride) =
            (self.whole.blocks.voxels_of(blocks), self.whole.dictionary.stride());
        voxels.start * stride..voxels.end * stride
    }

    /// A product with M'; `take` gets the sums of all columns, on a lattice that `agree` makes that of all
    /// processes. Gives two numbers whose sum is ‖M x - b‖².
    fn product(&self, asked: Asked<'_>, agree: Agree<'_>, take: impl FnOnce(&[f64])) -> [f64; 2] {
        let mut state = self.lock();
        let State { holders, some, slot_sums, sums } = &mut *state;
        let (of_all, kept) = (self.whole.blocks.of_all, self.kept.as_ref());
        holders.begin();
        let (mut of_threads, mut agreed) = (None, None);
        loop {
            self.sum_slots(asked, holders, some, slot_sums, &mut of_threads);
            let told = holders.parts().iter().filter_map(|part| part.told.as_ref());
            let largest = told.chain(&of_threads).map(|told| told.largest).fold(0.0, f64::max);
            // Once: other processes do not make anything anew. What was handed over has the same sums.
            let agreed = *agreed.get_or_insert_with(|| agree(largest));
            sums.clear();
            sums.resize(self.domain.len(), 0.0);
            if !f64::is_finite(agreed) {
                sums.fill(f64::NAN);
                break;
            }
            let lattice = Lattice::new(agreed, of_all);
            let (to, has_threads) = (Mutex::new(&mut *sums), !holders.threads().is_empty());
            let to = || to.lock().unwrap_or_else(PoisonError::into_inner);
            let second = |part: &mut Part| {
                part.on_device.bring_onto(lattice)?;
                part.on_device.add(&mut to());
                Ok(())
            };
            let failed = holders.on_all(second, || {
                if has_threads {
                    let add = |to: &mut f64, sum| *to += sum;
                    self.threads(some).add_up(slot_sums, lattice, &mut to(), add);
                }
            });
            if failed.is_empty() {
                break;
            }
            holders.hand_over(failed, kept);
        }
        take(sums);
        match asked {
            Asked::Adjoint { .. } => [0.0; 2],
            _ => exact_parts(&squares_told(holders, &of_threads), of_all, agree),
        }
    }

    /// The first half of a product by whoever has not made it yet. Devices that fail are replaced.
    fn sum_slots(
        &self,
        asked: Asked<'_>,
        holders: &mut Holders<'_>,
        some: &mut Option<Blocks>,
        slot_sums: &mut Vec<f32>,
        of_threads: &mut Option<Told>,
    ) {
        loop {
            let mine = holders.threads().to_vec();
            let blocks: usize = mine.iter().map(Range::len).sum();
            let is_missing = of_threads.as_ref().map_or(0, |told| told.squares.len()) != blocks;
            let failed = holders.on_all(
                |part| self.first_half(asked, part),
                || {
                    if is_missing {
                        let threads = self.threads(some);
                        *of_threads = Some(threads.slot_sums(&mine, asked, slot_sums));
                    }
                },
            );
            if failed.is_empty() {
                return;
            }
            holders.hand_over(failed, self.kept.as_ref());
        }
    }

    fn first_half(&self, asked: Asked<'_>, part: &mut Part) -> Result<(), DeviceError> {
        if part.told.is_some() {
            return Ok(());
        }
        let (asked, subtracted) = match asked {
            Asked::Gradient { b, .. } => (asked, self.subtracted(b, &part.blocks)),
            Asked::Squares { .. } => (asked, Subtracted::Nothing),
            Asked::Adjoint { y } => {
                (Asked::Adjoint { y: &y[self.places(&part.blocks)] }, Subtracted::Nothing)
            }
        };
        part.told = Some(part.on_device.slot_sums(asked, &subtracted)?);
        Ok(())
    }

    /// ‖M x‖², as two numbers.
    fn squares_of(&self, x: &[f32], agree: Agree<'_>) -> [f64; 2] {
        assert_eq!(x.len(), self.domain.len(), "a vector of another space");
        let mut state = self.lock();
        let State { holders, some, slot_sums, .. } = &mut *state;
        holders.begin();
        let mut of_threads = None;
        self.sum_slots(Asked::Squares { x }, holders, some, slot_sums, &mut of_threads);
        exact_parts(&squares_told(holders, &of_threads), self.whole.blocks.of_all, agree)
    }

    fn gradient_of(
        &self,
        x: &[f32],
        b: Option<&[f32]>,
        agree: Agree<'_>,
        take: impl FnOnce(&[f64]),
    ) -> [f64; 2] {
        assert_eq!(x.len(), self.domain.len(), "a vector of another space");
        assert!(b.is_none_or(|b| b.len() == self.range.len()), "a vector of another space");
        self.product(Asked::Gradient { x, b }, agree, take)
    }
}

/// What was told of every block.
fn squares_told(holders: &Holders<'_>, of_threads: &Option<Told>) -> Vec<f64> {
    let of_devices = holders.parts().iter().filter_map(|part| part.told.as_ref());
    of_devices.chain(of_threads).flat_map(|told| told.squares.iter().copied()).collect()
}

/// What a process by itself agrees on.
fn alone(mine: f64) -> f64 {
    mine
}

/// Takes sums rounded to f32.
fn rounded(to: &mut [f32]) -> impl FnOnce(&[f64]) {
    |sums| to.iter_mut().zip(sums).for_each(|(to, sum)| *to = *sum as f32)
}

impl<'a> Operator for DealtProduct<'a> {
    fimbria_compute::between!(HostSpace<'a> => HostSpace<'a>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        assert_eq!((x.len(), y.len()), (self.domain.len(), self.range.len()), "other spaces");
        let mut state = self.lock();
        let State { holders, some, .. } = &mut *state;
        loop {
            let mine = holders.threads().to_vec();
            let to = Mutex::new(&mut y[..]);
            let to = || to.lock().unwrap_or_else(PoisonError::into_inner);
            let of_part = |part: &mut Part| {
                let places = self.places(&part.blocks);
                let mut own = vec![0.0; places.len()];
                part.on_device.apply(x, &mut own)?;
                to()[places].copy_from_slice(&own);
                Ok(())
            };
            let failed = holders.on_all(of_part, || {
                // Of their own, so that devices need not wait.
                let mut own = vec![0.0; if mine.is_empty() { 0 } else { self.range.len() }];
                if !mine.is_empty() {
                    self.threads(some).apply(&mine, x, &mut own);
                }
                for places in mine.iter().map(|blocks| self.places(blocks)) {
                    to()[places.clone()].copy_from_slice(&own[places]);
                }
            });
            if failed.is_empty() {
                return Ok(());
            }
            holders.hand_over(failed, self.kept.as_ref());
        }
    }
}

impl LinearOperator for DealtProduct<'_> {
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        assert_eq!((x.len(), y.len()), (self.domain.len(), self.range.len()), "other spaces");
        self.product(Asked::Adjoint { y }, &alone, rounded(x));
        Ok(())
    }

    fn gradient(&self, x: &Vec<f32>, b: &Vec<f32>, g: &mut Vec<f32>) -> Result<f64, HostError> {
        assert_eq!(g.len(), self.domain.len(), "a vector of another space");
        Ok(self.gradient_of(x, Some(b), &alone, rounded(g)).iter().sum())
    }

    fn normal(&self, x: &Vec<f32>, g: &mut Vec<f32>) -> Result<f64, HostError> {
        assert_eq!(g.len(), self.domain.len(), "a vector of another space");
        Ok(self.gradient_of(x, None, &alone, rounded(g)).iter().sum())
    }

    fn squares(&self, x: &Vec<f32>) -> Result<f64, HostError> {
        Ok(self.squares_of(x, &alone).iter().sum())
    }
}

impl PartialProduct for DealtProduct<'_> {
    fn adjoint_sums(
        &self,
        y: &Vec<f32>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<(), HostError> {
        assert_eq!(y.len(), self.range.len(), "a vector of another space");
        self.product(Asked::Adjoint { y }, agree, |found| sums.copy_from_slice(found));
        Ok(())
    }

    fn gradient_sums(
        &self,
        x: &Vec<f32>,
        b: Option<&Vec<f32>>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<[f64; 2], HostError> {
        let take = |found: &[f64]| sums.copy_from_slice(found);
        Ok(self.gradient_of(x, b.map(|b| &b[..]), agree, take))
    }

    fn squares_sums(&self, x: &Vec<f32>, agree: Agree<'_>) -> Result<[f64; 2], HostError> {
        Ok(self.squares_of(x, agree))
    }

    fn dot_sums(
        &self,
        x: &Vec<f32>,
        y: &Vec<f32>,
        agree: Agree<'_>,
    ) -> Result<[f64; 2], HostError> {
        assert!([x.len(), y.len()] == [self.range.len(); 2], "vectors of another space");
        let Whole { blocks, dictionary, .. } = self.whole;
        let threads = OnThreads { blocks, dictionary, workers: self.domain.workers() };
        Ok(exact_parts(&threads.dots(x, y), blocks.of_all, agree))
    }
}
