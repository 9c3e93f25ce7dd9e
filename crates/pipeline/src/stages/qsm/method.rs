//! The map of susceptibility among all methods.

use serde_json::Value;

use super::ways::{NOISE, STRENGTH};
use super::{ChiMap, section};
use super::{MapSusceptibility, QSM_WRITES, QsmParameters};
use crate::RunRecord;
use crate::options::{Place, Resolve as _, Resolved};
use crate::stages::field::local_field;
use crate::stages::field::scan_of;
use crate::stages::in_run::{InRun, InRunError, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::{Derivatives, Source, Taken, Written};

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Table("gre"),
        needs: &[],
        writes: Some(
            Written::folder("qsm/", "as `fimbria qsm` writes it").only("with a table [gre]"),
        ),
        stages,
    }),
    table: Some(OptionTable::of::<QsmParameters>()),
    writes: QSM_WRITES,
    maps: |record| {
        let stage = MapSusceptibility::from_record(record);
        stage.map_or_else(Vec::new, |stage| stage.maps().collect())
    },
    restored: |record| Some(Box::new(MapSusceptibility::from_record(record)?)),
    text: |records| {
        let (record, stage) = records
            .iter()
            .find_map(|record| Some((record, MapSusceptibility::from_record(record)?)))?;
        // A run guides by what it has fitted, the command by the directions that it is given.
        let is_guided = |record: &RunRecord| {
            let guide = record.stages.iter().any(|stage| stage.name == "guide");
            guide || record.results.contains_key("v1_frame")
        };
        let mut methods = stage.parameters.methods(records.iter().any(is_guided));
        let result = |name| record.results.get(name).and_then(Value::as_f64);
        if let (Some(lambda), Some(noise)) = (result(STRENGTH), result(NOISE)) {
            methods.text +=
                &format!(" The field's noise was {noise:.1e}, so that λ = {lambda:.1e}.");
        }
        Some(methods)
    },
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<ChiMap>()],
        draw: |shown| match shown.products.find::<ChiMap>() {
            Some(map) => Ok(Some(section::susceptibility(map, local_field(shown.products))?)),
            None => Ok(None),
        },
    }),
    derivatives: Some(Derivatives {
        sources: &[Source::Scan, Source::Series],
        place: |file, names| {
            let suffix = match file.map() {
                "chi" => Some("Chimap"),
                "mask" => Some("desc-qsm_mask"),
                _ => None,
            };
            names.beside_scan(file, suffix)
        },
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("qsm")
};

fn stages(run: &RunContext<'_>) -> Stages {
    let parameters = parameters_of(run)?;
    let scan = scan_of(run)?;
    Ok(vec![Box::new(MapSusceptibility {
        parameters,
        style: run.style,
        dqsm_files: false,
        compares: scan.is_none(),
        relative: scan.is_some_and(|scan| scan.relative),
        guided: true,
        checkpointing: None,
    })])
}

/// The options of the map of a run, in effect.
pub(in crate::stages) fn parameters_of(
    run: &RunContext<'_>,
) -> Result<Resolved<QsmParameters>, InRunError> {
    let parameters: QsmParameters = run.options("qsm")?;
    parameters.check().map_err(InRunError::in_table("qsm"))?;
    Ok(parameters.resolve(&Place::Run))
}
