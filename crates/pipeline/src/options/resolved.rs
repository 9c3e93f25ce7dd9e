//! Options as a method runs with them.

use std::ops::Deref;

use serde::Serialize;

/// Options with every default filled in. Only [`Resolve::resolve`] makes them, and only they reach science,
/// records, fingerprints and pages, so that all of them have the same values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Resolved<T>(T);

impl<T> Deref for Resolved<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Options whose defaults depend on each other or on what they are for.
pub trait Resolve: Sized {
    /// What the defaults depend on besides the options.
    type Setting;

    /// These, with the default of every option that is used and was not given. Filled in twice they are the
    /// same.
    #[must_use]
    fn with_defaults(&self, setting: &Self::Setting) -> Self;

    /// What the method runs with.
    fn resolve(&self, setting: &Self::Setting) -> Resolved<Self> {
        Resolved(self.with_defaults(setting))
    }
}

/// Where a method's options are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In the method's own command.
    #[default]
    Command,
    /// In a stage of a run.
    Run,
}
