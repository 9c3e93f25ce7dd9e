//! A stage of a finished run of which a page shows no more than its files.

use std::path::Path;

use serde_json::{Value, json};

use crate::{Logbook, Product, Products, Stage, StageError};

/// Reads from a folder.
type Read<T> = Box<dyn Fn(&Path) -> Result<T, StageError> + Sync>;

/// Hands on what `read` makes of the folder that the stage `name` left.
pub(super) struct ReadBack<T> {
    pub(super) name: &'static str,
    pub(super) read: Read<T>,
}

impl<T: Send + Sync + 'static> Stage for ReadBack<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<T>()]
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn compute(&self, _: &mut Products, _: &Logbook<'_>) -> Result<(), StageError> {
        Err(format!("{} is read back, not made", self.name).into())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        products.put(log.session().on.workers.install(|| (self.read)(folder))?);
        Ok(())
    }
}
