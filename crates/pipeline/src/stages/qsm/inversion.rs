//! What a method of susceptibility says of itself, once: a file each in [`ways`](super::ways).

use std::fmt::{self, Debug};

use fimbria_qsm::FA_THRESHOLD;
use serde::de::DeserializeOwned;

use super::chi_map::ChiMap;
use super::choices::DataTerm;
use super::job::Job;
use super::options::QsmParameters;
use super::ways::{GUIDED, UNGUIDED, WAYS};
use crate::options::{OptionError, Place, Resolved, Values, Variant, Way, values_of};
use crate::stages::local_field::LocalField;
use crate::stages::shown::Methods;
use crate::{Choice, Named, StageError};

/// A method that turns a field into susceptibilities. Options are those that are resolved for it;
/// [`read`](Resolved::read) has them with their types.
pub(in crate::stages) trait Inversion: Sync {
    /// The options that it uses where only `given` are given, null where one may be left out.
    fn defaults(&self, given: &QsmParameters, place: Place) -> Values;

    /// Whether the options go together.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    fn check(&self, _: &Resolved<QsmParameters>) -> Result<(), OptionError> {
        Ok(())
    }

    /// Whether the map explains the phase, for which echo time and B0 have to be known.
    fn explains_phase(&self, options: &Resolved<QsmParameters>) -> bool {
        options.data == Some(Named(DataTerm::Phase))
    }

    /// FA above which a voxel has a fibre.
    fn fa_threshold(&self, options: &Resolved<QsmParameters>) -> f64 {
        options.fa_threshold.unwrap_or(FA_THRESHOLD)
    }

    /// What a user is to know before the field is mapped, of which `error` is how far off the method was.
    fn caution(
        &self,
        _: &Resolved<QsmParameters>,
        _: &LocalField,
        error: Option<String>,
    ) -> Option<String> {
        error
    }

    /// The map.
    ///
    /// # Errors
    /// Where the field cannot be inverted, or somebody says to stop.
    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError>;

    /// What was done, in words for a paper; `is_guided` where there were fibre directions.
    fn methods(&self, options: &Resolved<QsmParameters>, is_guided: bool) -> Methods;
}

/// What is said of a method whatever its options.
pub(in crate::stages) struct Facts {
    /// Its name on a command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub sentence: &'static str,
    /// What it minimises or does, for the help; empty where the sentence says all.
    pub details: &'static str,
    /// What it rests on.
    pub references: &'static [&'static str],
    /// The NRMSE in % of its map of a simulated brain, from the local field with noise
    /// (docs/susceptibility.md).
    pub nrmse_percent: f64,
    /// The columns of its file of iterations; none of a method that does not iterate.
    pub columns: &'static [&'static str],
    /// What it can make use of.
    pub can: Abilities,
}

/// What a method can make use of, and what it makes beside the map.
#[derive(Clone, Copy)]
pub(in crate::stages) struct Abilities {
    /// Fibre directions.
    pub guidance: bool,
    /// A weight of each voxel's field.
    pub weights: bool,
    /// Edges of a magnitude.
    pub magnitude: bool,
    /// Parts of the mask mapped by themselves, for it maps in one go.
    pub passes: bool,
    /// What an interrupted iteration left.
    pub checkpoints: bool,
    /// Devices.
    pub devices: Devices,
    /// What several processes share.
    pub processes: Option<&'static str>,
    /// A map of the anisotropy.
    pub anisotropy: bool,
    /// Beside a map that diffusion guides one without.
    pub unguided: bool,
}

impl Abilities {
    /// Those of most methods: weighted, in one go, on the first device.
    pub(in crate::stages) const PLAIN: Self = Self {
        guidance: false,
        weights: true,
        magnitude: false,
        passes: true,
        checkpoints: false,
        devices: Devices::First,
        processes: None,
        anisotropy: false,
        unguided: false,
    };
}

/// Which devices help a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stages) enum Devices {
    /// It has no kernel.
    None,
    /// The first.
    First,
    /// All: what they share.
    Shared(&'static str),
}

/// Maps whose errors differ by no more than this, in %, are as good as each other.
const ALIKE: f64 = 1.0;

/// How far off the map of a method was, where a better one takes the same files.
fn measured_error(facts: &Facts) -> Option<String> {
    let Facts { name, nrmse_percent: error, .. } = facts;
    let (unguided, guided) = (UNGUIDED, GUIDED);
    (*error > unguided.nrmse_percent + ALIKE).then(|| {
        format!(
            "of a simulated brain the map of --method {name} has an NRMSE of {error:.1} %, that of zeros \
             100 %, that of --method {} {:.1} %, that of --method {} {:.1} %",
            unguided.name, unguided.nrmse_percent, guided.name, guided.nrmse_percent
        )
    })
}

/// How a map is made: one of `WAYS`.
#[derive(Clone, Copy)]
pub struct QsmMethod {
    facts: &'static Facts,
    inversion: &'static dyn Inversion,
}

impl QsmMethod {
    /// A line of the list of methods.
    pub(super) const fn listed(
        facts: &'static Facts,
        inversion: &'static dyn Inversion,
    ) -> (Self, &'static str, &'static str) {
        (Self { facts, inversion }, facts.name, facts.sentence)
    }

    /// Every method of which `is` is true.
    pub(in crate::stages) fn all(is: impl Fn(&'static Facts) -> bool) -> Vec<Self> {
        let all = WAYS.iter().map(|(method, ..)| *method);
        all.filter(|method| is(method.facts())).collect()
    }

    pub(in crate::stages) fn facts(self) -> &'static Facts {
        self.facts
    }

    /// Whether devices help with it.
    pub fn takes_devices(self) -> bool {
        self.facts().can.devices != Devices::None
    }

    /// Whether several processes share it.
    pub fn takes_processes(self) -> bool {
        self.facts().can.processes.is_some()
    }

    /// Whether an interrupted iteration can go on.
    pub fn takes_checkpoints(self) -> bool {
        self.facts().can.checkpoints
    }

    /// Whether it maps the anisotropy, too.
    pub(super) fn has_anisotropy(self) -> bool {
        self.facts().can.anisotropy
    }

    /// Whether it has a file of iterations.
    pub(super) fn iterates(self) -> bool {
        !self.facts().columns.is_empty()
    }

    pub(super) fn check(self, options: &Resolved<QsmParameters>) -> Result<(), OptionError> {
        self.inversion.check(options)
    }
}

impl Resolved<QsmParameters> {
    /// Those of a method, with their types.
    pub(super) fn read<T: DeserializeOwned>(&self) -> T {
        let values = values_of(&QsmParameters { reference: None, ..(**self).clone() });
        serde_json::from_value(values.into())
            .unwrap_or_else(|error| unreachable!("options of {:?}: {error}", self.method.0))
    }

    /// Whether the map explains the phase, for which echo time and B0 have to be known.
    pub fn explains_phase(&self) -> bool {
        self.method.0.inversion.explains_phase(self)
    }

    /// Whether fields count as surely as they are known; as published they do not.
    pub fn weighs(&self) -> bool {
        self.compat.is_none()
    }

    /// FA above which a voxel has a fibre.
    pub fn fibre_threshold(&self) -> f64 {
        self.method.0.inversion.fa_threshold(self)
    }

    /// What was done, in words for a paper; `is_guided` where there were fibre directions.
    pub(in crate::stages) fn methods(&self, is_guided: bool) -> Methods {
        self.method.0.inversion.methods(self, is_guided)
    }

    pub(super) fn caution(&self, field: &LocalField) -> Option<String> {
        self.method.0.inversion.caution(self, field, measured_error(self.method.0.facts))
    }

    pub(super) fn map(&self, job: &Job<'_>) -> Result<ChiMap, StageError> {
        self.method.0.inversion.map(self, job)
    }
}

impl Default for QsmMethod {
    fn default() -> Self {
        WAYS[0].0
    }
}

impl PartialEq for QsmMethod {
    fn eq(&self, other: &Self) -> bool {
        self.facts().name == other.facts().name
    }
}

impl Debug for QsmMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}

impl Choice for QsmMethod {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = WAYS;
}

impl Way for QsmMethod {
    type Options = QsmParameters;
    const OPTION: &'static str = "method";
    const VARIANTS: &'static [Variant<QsmParameters>] =
        &[("with --compat dqsm", |given| given.compat = Some(Named(super::QsmCompat::Dqsm)))];

    fn defaults(self, given: &QsmParameters, place: Place) -> Values {
        self.inversion.defaults(given, place)
    }
}
