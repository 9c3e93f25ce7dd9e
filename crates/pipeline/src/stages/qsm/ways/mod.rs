//! The methods of susceptibility: a file each. `fourier`, `smooth` and `variation` hold what several share.

mod dqsm;
mod dtv;
mod dtv_all;
mod fourier;
mod ilsqr;
mod medi;
mod ndi;
mod prelude;
mod rts;
mod smooth;
mod smooth_map;
mod tensor;
mod tgv;
mod tikhonov;
mod tkd;
mod tv;
mod variation;

pub use self::dqsm::NeedsB0;
pub use self::medi::NeedsMagnitude;
pub(super) use self::variation::{NOISE, OF_PHASE, STRENGTH, words_of_strength};
use super::inversion::{Facts, QsmMethod};

/// Every method with its name and what it is, the default first.
pub(super) const WAYS: &[(QsmMethod, &str, &str)] = &[
    QsmMethod::listed(&dtv::FACTS, &dtv::DTV),
    QsmMethod::listed(&dtv_all::FACTS, &dtv_all::DTV_ALL),
    QsmMethod::listed(&dqsm::FACTS, &dqsm::Dqsm),
    QsmMethod::listed(&tensor::FACTS, &tensor::Tensor),
    QsmMethod::listed(&tkd::FACTS, &tkd::Tkd),
    QsmMethod::listed(&tikhonov::FACTS, &tikhonov::Tikhonov),
    QsmMethod::listed(&tv::FACTS, &tv::Tv),
    QsmMethod::listed(&rts::FACTS, &rts::Rts),
    QsmMethod::listed(&tgv::FACTS, &tgv::Tgv),
    QsmMethod::listed(&medi::FACTS, &medi::Medi),
    QsmMethod::listed(&ndi::FACTS, &ndi::Ndi),
    QsmMethod::listed(&ilsqr::FACTS, &ilsqr::IterativeLsqr),
];

/// The name of the default.
pub(super) const DEFAULT: &str = WAYS[0].1;
/// The name of the one that `--compat` and the original program's files stand for.
pub(super) const PUBLISHED: &str = dqsm::FACTS.name;

/// What others are measured against: the default, which is guided, and the best without guidance.
pub(super) const GUIDED: &Facts = &dtv::FACTS;
/// As [`GUIDED`].
pub(super) const UNGUIDED: &Facts = &tv::FACTS;
