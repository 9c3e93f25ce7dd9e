//! The ways of removing the background: a file each.

mod lbv;
mod pdf;
mod resharp;
mod vsharp;

use super::background::BackgroundMethod;

/// Every way with its name and what it is.
pub(super) const WAYS: &[(BackgroundMethod, &str, &str)] = &[
    BackgroundMethod::listed(&vsharp::FACTS, &vsharp::VSharp),
    BackgroundMethod::listed(&pdf::FACTS, &pdf::Pdf),
    DEFAULT,
    BackgroundMethod::listed(&resharp::FACTS, &resharp::Resharp),
];

/// The one that is taken where none is chosen.
pub(super) const DEFAULT: (BackgroundMethod, &str, &str) =
    BackgroundMethod::listed(&lbv::FACTS, &lbv::Lbv);
