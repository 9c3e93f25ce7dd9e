//! What the file of a method needs.

pub(super) use crate::StageError;
pub(super) use crate::options::{OptionError, Place, Resolved, Values, values_of};
pub(super) use crate::stages::qsm::QsmParameters;
pub(super) use crate::stages::qsm::chi_map::ChiMap;
pub(super) use crate::stages::qsm::convergence::{ConvergenceLog, PENALTY, VARIATION};
pub(super) use crate::stages::qsm::inversion::{Abilities, Devices, Facts, Inversion};
pub(super) use crate::stages::qsm::job::{Job, stage_error, values_at};
pub(super) use crate::stages::shown::Methods;
