//! All methods that a run may make, and those whose folders a page can be drawn of.

use super::compare::COMPARE_WRITES;
use super::field::PhaseFiles;
use super::fits::FITS;
use super::fixel::FIXEL_WRITES;
use super::in_run::{InRun, When};
use super::method::{Method, OptionTable, PageSection};
use super::quality::{JudgeQuality, QualityOptions};
use super::response::RESPONSE_WRITES;
use super::studies::fit_of_folder;
use super::{
    accuracy, align, connectome, correct, field, gradients, guide, life, load, normalise, peaks,
    qsm, regions, sift2, sticks, track,
};
use crate::{Derivatives, Written};

/// In the order of a run.
const BEFORE_FITS: &[&Method] = &[
    &Method::named("plan"),
    &load::METHOD,
    &correct::METHOD,
    &gradients::METHOD,
    &Method {
        table: Some(OptionTable::of::<QualityOptions>()),
        restored: |_| Some(Box::new(JudgeQuality { options: QualityOptions::default() })),
        ..Method::named("quality")
    },
];

/// From densities to connectomes: a run makes them before the other fits.
const FIBRES: &[&Method] = &[
    &align::METHOD,
    &normalise::METHOD,
    &peaks::METHOD,
    &sticks::METHOD,
    &track::METHOD,
    &life::METHOD,
    &sift2::METHOD,
    &connectome::METHOD,
];

const AFTER_FITS: &[&Method] = &[
    &Method { table: Some(OptionTable::of::<PhaseFiles>()), ..Method::named("gre") },
    &field::METHOD,
    &guide::METHOD,
    &qsm::METHOD,
    &regions::METHOD,
];

/// How close all that came to a truth: the last thing made, and what a page begins with.
const TRUTH: &[&Method] = &[&accuracy::METHOD];

/// What no run makes.
const ALONE: &[&Method] = &[
    &Method { writes: COMPARE_WRITES, ..Method::named("compare") },
    &Method { writes: FIXEL_WRITES, ..Method::named("fixel") },
    &Method { writes: RESPONSE_WRITES, ..Method::named("response") },
];

/// All methods of a run; fits first, as its page has them.
pub(super) fn of_runs() -> impl Iterator<Item = &'static Method> {
    let fits = FITS.iter().map(|fit| fit.method());
    let others = [FIBRES, AFTER_FITS, TRUTH].into_iter().flatten().copied();
    BEFORE_FITS.iter().copied().chain(fits).chain(others)
}

/// All methods.
pub(super) fn all() -> impl Iterator<Item = &'static Method> {
    of_runs().chain(ALONE.iter().copied())
}

/// What a run makes besides fits: before most of them, and after.
pub(crate) fn beside_fits() -> [Vec<(&'static str, &'static InRun)>; 2] {
    let made = |methods: &[&'static Method]| {
        methods.iter().filter_map(|method| Some((method.name, method.in_run.as_ref()?))).collect()
    };
    [made(FIBRES), made(AFTER_FITS)]
}

/// The folders of what a run makes besides fits, in its order.
pub fn folders_beside_fits() -> impl Iterator<Item = Written> {
    beside_fits().into_iter().flatten().filter_map(|(_, method)| method.writes)
}

/// What a page of a run shows besides fits: of the truth, of the series, before other fits, and after.
pub(super) fn sections_around_fits() -> [impl Iterator<Item = &'static PageSection>; 4] {
    [TRUTH, BEFORE_FITS, FIBRES, AFTER_FITS]
        .map(|methods| methods.iter().filter_map(|m| m.section.as_ref()))
}

/// Names that `run.fits` may have besides fits; `usual` ones alone where that is true.
pub(crate) fn names(usual: bool) -> impl Iterator<Item = &'static str> {
    let is_named = move |when: When| when == When::Usual || !usual && when == When::Named;
    let named = move |(name, method): (_, &InRun)| is_named(method.when).then_some(name);
    beside_fits().into_iter().flatten().filter_map(named)
}

/// Adds to `names` what each of them needs.
pub(crate) fn with_needs(names: &mut Vec<&'static str>) {
    let methods = beside_fits().concat();
    let mut at = 0;
    while let Some(&name) = names.get(at) {
        let needs = methods.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, m)| m.needs);
        let missing: Vec<_> = needs.iter().filter(|need| !names.contains(need)).collect();
        names.extend(missing);
        at += 1;
    }
}

/// The method of this name.
pub(super) fn named(name: &str) -> Option<&'static Method> {
    all().find(|method| method.name == name)
}

/// The files of the stage of this name among derivatives of BIDS; `None` where they are none.
pub fn derivatives(stage: &str) -> Option<&'static Derivatives> {
    let fit = || fit_of_folder(stage).map(|fit| fit.method());
    named(stage).or_else(fit)?.derivatives.as_ref()
}

/// The table of a run's file with this name.
pub(crate) fn table(name: &str) -> Option<&'static OptionTable> {
    named(name)?.table.as_ref()
}
