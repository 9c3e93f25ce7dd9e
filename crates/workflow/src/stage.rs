//! Stages and what they hand on.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use fimbria_image::MapSpec;
use serde_json::Value;

use crate::{Input, Logbook, OutputFolder, RunRecord};

/// Any error of a stage.
pub type StageError = Box<dyn Error + Send + Sync>;

/// A type of what stages hand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    id: TypeId,
    name: &'static str,
}

impl Product {
    /// The type `T`.
    pub fn of<T: Any>() -> Self {
        Self { id: TypeId::of::<T>(), name: std::any::type_name::<T>() }
    }

    /// Its path in the code.
    pub fn name(self) -> &'static str {
        self.name
    }
}

/// What a stage takes of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The product.
    pub product: Product,
    /// True where it cannot work without.
    pub is_needed: bool,
}

impl Taken {
    /// It cannot work without `T`.
    pub fn always<T: Any>() -> Self {
        Self { product: Product::of::<T>(), is_needed: true }
    }

    /// It takes `T` where an earlier stage makes one.
    pub fn where_made<T: Any>() -> Self {
        Self::product_where_made(Product::of::<T>())
    }

    /// The same of a type that is not known here.
    pub fn product_where_made(product: Product) -> Self {
        Self { product, is_needed: false }
    }
}

/// What is done with a product once a stage has ended.
type Rest = Box<dyn Fn(&dyn Any) + Send + Sync>;

/// Values that stages hand on in memory, one of each type.
#[derive(Default)]
pub struct Products {
    made: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    /// The stage at work, what it says that it takes or makes, and what it says that it makes;
    /// `None` where nobody says.
    declared: Option<(&'static str, Vec<TypeId>, Vec<TypeId>)>,
    /// By the types of the products.
    resting: HashMap<TypeId, Rest>,
}

impl Products {
    /// Hands on `product`, in place of an earlier one of its type.
    ///
    /// # Panics
    /// In debug builds, where the stage at work does not say that it makes one.
    pub fn put<T: Any + Send + Sync>(&mut self, product: T) {
        if let Some((stage, _, made)) = &self.declared {
            let (is_declared, name) = (made.contains(&TypeId::of::<T>()), Product::of::<T>().name);
            debug_assert!(is_declared, "the stage {stage} does not say that it makes a {name}");
        }
        self.made.insert(TypeId::of::<T>(), Box::new(product));
    }

    /// Hands on `product`, which is told to `rest` after each stage: the next one may need the memory that it
    /// can do without.
    ///
    /// # Panics
    /// As [`Self::put`] does.
    pub fn put_resting<T: Any + Send + Sync>(&mut self, product: T, rest: fn(&T)) {
        let rest_any = move |product: &dyn Any| product.downcast_ref().into_iter().for_each(rest);
        self.resting.insert(TypeId::of::<T>(), Box::new(rest_any));
        self.put(product);
    }

    /// Lets products rest.
    pub(crate) fn rest(&self) {
        for (id, rest) in &self.resting {
            if let Some(product) = self.made.get(id) {
                rest(&**product);
            }
        }
    }

    /// Adds to the [`StageRecords`].
    pub(crate) fn note(&mut self, record: RunRecord) {
        let records = self.made.get_mut(&TypeId::of::<StageRecords>());
        if let Some(records) = records.and_then(|any| any.downcast_mut::<StageRecords>()) {
            records.0.push(record);
        }
    }

    /// From now on `stage` is at work.
    pub(crate) fn open_to(&mut self, stage: &dyn Stage) {
        let made: Vec<_> = stage.makes().iter().map(|product| product.id).collect();
        let mut known: Vec<_> = stage.takes().iter().map(|taken| taken.product.id).collect();
        known.extend(&made);
        known.push(TypeId::of::<StageRecords>());
        self.declared = Some((stage.name(), known, made));
    }

    /// Drops what none of `stages` takes before another of them makes it anew.
    pub(crate) fn keep_for(&mut self, stages: &[Box<dyn Stage>]) {
        let mut kept = vec![TypeId::of::<StageRecords>()];
        let mut made_anew: Vec<TypeId> = Vec::new();
        for stage in stages {
            let taken = stage.takes().into_iter().map(|taken| taken.product.id);
            kept.extend(taken.filter(|id| !made_anew.contains(id)));
            made_anew.extend(stage.makes().iter().map(|product| product.id));
        }
        self.made.retain(|id, _| kept.contains(id));
    }

    /// From now on nobody is at work.
    pub(crate) fn close(&mut self) {
        self.declared = None;
    }

    /// What an earlier stage handed on, if one did.
    ///
    /// # Panics
    /// In debug builds, where the stage at work does not say that it takes one.
    pub fn find<T: Any>(&self) -> Option<&T> {
        if let Some((stage, known, _)) = &self.declared {
            let (is_declared, name) = (known.contains(&TypeId::of::<T>()), Product::of::<T>().name);
            debug_assert!(is_declared, "the stage {stage} does not say that it takes a {name}");
        }
        self.made.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Takes out what an earlier stage handed on.
    ///
    /// # Errors
    /// [`MissingProduct`] where none did.
    pub fn take<T: Any>(&mut self) -> Result<T, MissingProduct> {
        let taken = self.made.remove(&TypeId::of::<T>());
        let taken = taken.and_then(|any| any.downcast().ok()).map(|product| *product);
        taken.ok_or(MissingProduct(std::any::type_name::<T>()))
    }

    /// What an earlier stage handed on.
    ///
    /// # Errors
    /// [`MissingProduct`] where none did.
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

    /// What it takes of earlier stages. That each of what it needs is made before is checked before
    /// the first stage runs.
    fn takes(&self) -> Vec<Taken> {
        Vec::new()
    }

    /// What it hands on.
    fn makes(&self) -> Vec<Product> {
        Vec::new()
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

    /// The maps among its outputs, each with its file.
    fn map_files(&self) -> Vec<(MapSpec, String)> {
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
