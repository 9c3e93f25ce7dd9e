//! The densities of a run.

use std::path::Path;

use fimbria_image::Mask;
use fimbria_models::normalise::NormaliseError;
use serde_json::{Value, json};

use super::{FOD, GAIN, Maps, NormaliseParameters, USED, find_gain};
use crate::options::from_values;
use crate::stages::fits::fit_maps;
use crate::stages::fits::fod;
use crate::stages::fod_field::Gain;
use crate::stages::load::Subject;
use crate::{
    Carried, Logbook, MapStyle, OutputFolder, Page, Product, Products, RunRecord, Stage,
    StageError, Taken,
};

/// Finds the [`Gain`] of the densities that were just fitted, where tissues are told apart.
pub(in crate::stages) struct NormaliseInRun {
    pub(super) parameters: NormaliseParameters,
    maps: Maps,
}

impl NormaliseInRun {
    pub(super) fn new(parameters: NormaliseParameters, style: MapStyle, entities: String) -> Self {
        Self { parameters, maps: Maps { style, entities } }
    }

    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub(super) fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of(super::METHOD.name)?;
        let part = |name: &str| parameters.get(name).cloned();
        Some(Self::new(
            from_values(part("normalise")?.as_object()?).ok()?,
            serde_json::from_value(part("maps")?).ok()?,
            serde_json::from_value(part("entities")?).ok()?,
        ))
    }
}

impl Stage for NormaliseInRun {
    fn name(&self) -> &'static str {
        super::METHOD.name
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<fit_maps::Maps<fod::Parameters>>(), Taken::where_made::<Subject>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Gain>()]
    }

    fn parameters(&self) -> Value {
        let Maps { style, entities } = &self.maps;
        json!({ "normalise": self.parameters, "maps": style, "entities": entities })
    }

    fn outputs(&self) -> Vec<String> {
        self.maps.names()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let fit = products.get::<fit_maps::Maps<fod::Parameters>>()?;
        let tissues = fit.map("tissues").ok_or("the densities have no tissues")?;
        let status = fit.map("status").ok_or("the densities have no status map")?;
        match find_gain(tissues, &Mask::from_image(status), &self.parameters, log) {
            Ok(gain) => products.put(gain),
            Err(NormaliseError::Interrupted(interrupted)) => return Err(interrupted.into()),
            // A crop, or one tissue: the densities are as good as they were.
            Err(error) => log.warn(
                Page::Densities,
                &format!(
                    "densities are not normalised, and do not compare between subjects: {error}"
                ),
            ),
        }
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Some(gain) = products.find::<Gain>() else { return Ok(()) };
        let subject = products.find::<Subject>();
        let carried = subject.map(|subject| subject.carried.clone()).unwrap_or_default();
        let fit = products.get::<fit_maps::Maps<fod::Parameters>>()?;
        let fod = fit.map("fod").ok_or("there are no densities")?;
        let tissues = fit.map("tissues").ok_or("the densities have no tissues")?;
        self.maps.write((&FOD, fod), tissues, gain, &carried, out, log)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let (context, workers) = (self.maps.context(Carried::default()), log.session().on.workers);
        let read = |map| self.maps.style.read_where_written(map, &context, folder, workers);
        // Where nothing could be found nothing was written.
        if let (Some(gain), Some(used)) = (read(&GAIN)?, read(&USED)?) {
            products.put(Gain { gain, used });
        }
        Ok(())
    }
}
