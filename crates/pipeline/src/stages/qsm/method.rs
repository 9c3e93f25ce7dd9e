//! The map of susceptibility among all methods.

use super::{MapSusceptibility, QSM_WRITES, QsmParameters};
use crate::RunRecord;
use crate::stages::method::{Method, OptionTable};

pub(in crate::stages) const METHOD: Method = Method {
    table: Some(OptionTable::of::<QsmParameters>()),
    writes: QSM_WRITES,
    maps: |record| {
        let stage = MapSusceptibility::from_record(record);
        stage.map_or_else(Vec::new, |stage| stage.maps().collect())
    },
    restored: |record| Some(Box::new(MapSusceptibility::from_record(record)?)),
    text: |records| {
        let stage = records.iter().find_map(MapSusceptibility::from_record)?;
        // A run guides by what it has fitted, the command by the directions that it is given.
        let is_guided = |record: &RunRecord| {
            let guide = record.stages.iter().any(|stage| stage.name == "guide");
            guide || record.results.contains_key("v1_frame")
        };
        Some(stage.parameters.methods(records.iter().any(is_guided)))
    },
    ..Method::named("qsm")
};
