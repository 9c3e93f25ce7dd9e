//! All methods that a run may make, and those whose folders a page can be drawn of.

use super::accuracy::Compare;
use super::compare::COMPARE_WRITES;
use super::field::PhaseFiles;
use super::fits::FITS;
use super::method::{Method, OptionTable};
use super::quality::{JudgeQuality, QualityOptions};
use super::{connectome, field, life, peaks, qsm, sift2, sticks, track};

/// In the order of a run.
const BEFORE_FITS: &[&Method] = &[
    &Method::named("plan"),
    &Method {
        table: Some(OptionTable::of::<QualityOptions>()),
        restored: |_| Some(Box::new(JudgeQuality { options: QualityOptions::default() })),
        ..Method::named("quality")
    },
];

const AFTER_FITS: &[&Method] = &[
    &peaks::METHOD,
    &sticks::METHOD,
    &track::METHOD,
    &life::METHOD,
    &sift2::METHOD,
    &connectome::METHOD,
    &Method { table: Some(OptionTable::of::<PhaseFiles>()), ..Method::named("gre") },
    &field::METHOD,
    &qsm::METHOD,
    &Method { restored: |_| Some(Box::new(Compare)), ..Method::named("accuracy") },
];

/// What no run makes.
const ALONE: &[&Method] = &[&Method { writes: COMPARE_WRITES, ..Method::named("compare") }];

/// All methods of a run, in its order.
pub(super) fn of_runs() -> impl Iterator<Item = &'static Method> {
    let fits = FITS.iter().map(|fit| fit.method());
    BEFORE_FITS.iter().copied().chain(fits).chain(AFTER_FITS.iter().copied())
}

/// All methods.
pub(super) fn all() -> impl Iterator<Item = &'static Method> {
    of_runs().chain(ALONE.iter().copied())
}

/// The method of this name.
pub(super) fn named(name: &str) -> Option<&'static Method> {
    all().find(|method| method.name == name)
}

/// The table of a run's file with this name.
pub(crate) fn table(name: &str) -> Option<&'static OptionTable> {
    named(name)?.table.as_ref()
}
