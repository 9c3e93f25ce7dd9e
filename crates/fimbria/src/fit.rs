//! Model fits.

use fimbria_pipeline::stages::fits::{FITS, fit_named};
use fimbria_pipeline::{MapStyle, Products};

use crate::{Engine, Error, Maps, Options, Series};

/// The names of the models, as [`Engine::fit`] takes them.
pub fn fits() -> impl Iterator<Item = &'static str> {
    FITS.iter().map(|fit| fit.name())
}

impl Engine {
    /// Fits the model `name` in each voxel, as `fimbria fit` does: `dti`, `dki`, `noddi`, `fod` and [others](fits). Every
    /// model gives `status`: 0 outside the mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad
    /// signal, 5 undetermined.
    ///
    /// # Errors
    /// Where there is no such model or option, where the volumes do not determine the model, and where an
    /// observer cancels.
    pub fn fit(&self, name: &str, series: &Series, options: &Options) -> Result<Maps, Error> {
        let fit = fit_named(name).ok_or_else(|| {
            let names: Vec<_> = fits().collect();
            Error::new(format!("there is no model {name}, only {}", names.join(", ")))
        })?;
        let outcome = self.run(|log| {
            let stage = fit.of_values(options.values(), MapStyle::default(), String::new())?;
            let mut products = Products::default();
            products.put(series.subject(log)?);
            stage.compute(&mut products, log)?;
            Ok(stage.take_outcome(&mut products)?)
        })?;
        let maps = outcome.fitted.maps.into_iter();
        Ok(Maps::new(maps.map(|map| (map.spec.name.into_owned(), map.image))))
    }
}
