//! The ways of removing the background: a file each.

mod lbv;
mod pdf;
mod resharp;
mod vsharp;

use super::background::BackgroundMethod;

/// Every way with its name and what it is.
pub(super) const WAYS: &[(BackgroundMethod, &str, &str)] = &[
    DEFAULT,
    BackgroundMethod::listed(&lbv::FACTS, &lbv::Lbv),
    BackgroundMethod::listed(&vsharp::FACTS, &vsharp::VSharp),
    BackgroundMethod::listed(&resharp::FACTS, &resharp::Resharp),
];

/// The one that is taken where none is chosen: of many heads, masks and field strengths its maps are the best in
/// the mean and at their worst, and the rim of the mask keeps a map (docs/susceptibility.md).
pub(super) const DEFAULT: (BackgroundMethod, &str, &str) =
    BackgroundMethod::listed(&pdf::FACTS, &pdf::Pdf);
