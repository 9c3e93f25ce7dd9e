//! Stages and what they hand on.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use serde_json::Value;

use crate::{Input, Logbook, OutputFolder, RunRecord};

/// Any error of a stage.
pub type StageError = Box<dyn Error + Send + Sync>;

/// Values that stages hand on in memory, one of each type.
#[derive(Default)]
pub struct Products(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Products {
    /// Hands on `product`, in place of an earlier one of its type.
    pub fn put<T: Any + Send + Sync>(&mut self, product: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(product));
    }

    /// Adds to the [`StageRecords`].
    pub(crate) fn note(&mut self, record: RunRecord) {
        let records = self.0.get_mut(&TypeId::of::<StageRecords>());
        if let Some(records) = records.and_then(|any| any.downcast_mut::<StageRecords>()) {
            records.0.push(record);
        }
    }

    /// What an earlier stage handed on, if one did.
    pub fn find<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// What an earlier stage handed on.
    ///
    /// # Errors
    /// [`MissingProduct`] where none did: the stage does not list that one in its needs.
    pub fn get<T: Any>(&self) -> Result<&T, MissingProduct> {
        self.find().ok_or(MissingProduct(std::any::type_name::<T>()))
    }
}

/// The records of the stages so far, in order: a product that
/// [`run_stages`](crate::run_stages) hands to each stage.
#[derive(Default)]
pub struct StageRecords(pub Vec<RunRecord>);

/// A stage asked for something that no stage before it made.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no earlier stage made a {0}")]
pub struct MissingProduct(&'static str);

/// One step from inputs to outputs. A new stage is one new file with an implementation of this
/// and its place in a list of stages.
pub trait Stage {
    /// Its name, which is also that of its folder.
    fn name(&self) -> &'static str;

    /// Names of the stages whose products it takes, as far as they are in the graph: a fit takes
    /// its subject from a stage that loads one or from one that makes one.
    fn needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// The files it reads itself.
    fn inputs(&self) -> Vec<Input> {
        Vec::new()
    }

    /// Every parameter in effect.
    fn parameters(&self) -> Value;

    /// The files it writes; a stage with none works in memory only and is never resumed.
    fn outputs(&self) -> Vec<String> {
        Vec::new()
    }

    /// Takes the products of earlier stages and adds its own.
    ///
    /// # Errors
    /// Whatever makes the work impossible.
    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError>;

    /// Computes, and writes to `out` what is too large to be handed on: in a process that writes
    /// nothing there is none.
    ///
    /// # Errors
    /// Whatever makes the work impossible.
    fn compute_into(
        &self,
        products: &mut Products,
        _out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }

    /// Writes its outputs.
    ///
    /// # Errors
    /// Where that fails.
    fn write(
        &self,
        _products: &Products,
        _out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(())
    }

    /// Adds its products as an earlier run left them in `folder`.
    ///
    /// # Errors
    /// Where they cannot be read.
    fn restore(
        &self,
        _folder: &Path,
        _products: &mut Products,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(())
    }
}
