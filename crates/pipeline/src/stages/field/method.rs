//! The field among all methods.

use serde_json::Value;

use super::Fields;
use super::section::{self, FieldFiles, FieldsOfRun};
use super::{FIELD_WRITES, FieldParameters, MakeField, PhaseFiles, fields};
use crate::options::{Place, Resolve as _, from_values};
use crate::stages::in_run::{InRun, InRunError, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::read_back::ReadBack;
use crate::{Derivatives, Source, Written};
use crate::{Products, Taken};
use fimbria_image::Image;
use std::path::Path;

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Table("gre"),
        needs: &[],
        writes: Some(
            Written::folder("field/", "as `fimbria field` writes it").only("with a table [gre]"),
        ),
        stages,
    }),
    table: Some(OptionTable::of::<FieldParameters>()),
    writes: FIELD_WRITES,
    maps: |record| {
        let parameters = record.parameters_of("field");
        let is_relative = |p: &Value| p.get("relative") == Some(&Value::Bool(true));
        parameters.map_or_else(Vec::new, |p| fields(is_relative(p)).to_vec())
    },
    restored: |record| {
        let files = FieldFiles::from_record(record)?;
        let read = Box::new(move |folder: &Path| files.read(folder));
        Some(Box::new(ReadBack { name: "field", read }))
    },
    text: |records| {
        let parameters = records.iter().find_map(|record| record.parameters_of("field"))?;
        let given = parameters.get("field")?.as_object()?;
        Some(from_values::<FieldParameters>(given).ok()?.resolve(&Place::Command).methods())
    },
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<Fields>(), Taken::where_made::<FieldsOfRun>()],
        draw: |shown| Ok(section::section(shown.products)?),
    }),
    derivatives: Some(Derivatives {
        sources: &[Source::Scan],
        place: |file, names| {
            let suffix = match file.map() {
                "totalfield" => Some("desc-total_fieldmap"),
                "localfield" => Some("desc-local_fieldmap"),
                "r2star" => Some("R2starmap"),
                "mask" => Some("desc-gre_mask"),
                _ => None,
            };
            names.beside_scan(file, suffix)
        },
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("field")
};

fn stages(run: &RunContext<'_>) -> Stages {
    let parameters: FieldParameters = run.options("field")?;
    parameters.check().map_err(InRunError::in_table("field"))?;
    let (parameters, style) = (parameters.resolve(&Place::Run), run.style);
    Ok(vec![Box::new(MakeField { files: scan_of(run)?, parameters, style })])
}

/// The gradient-echo scan of a run; `None` where it is that of a phantom.
pub(in crate::stages) fn scan_of(run: &RunContext<'_>) -> Result<Option<PhaseFiles>, InRunError> {
    run.tables.contains_key("gre").then(|| run.options("gre")).transpose()
}

/// The local field of a run, ppm.
pub(in crate::stages) fn local_field(products: &Products) -> Option<&Image> {
    let made = products.find::<Fields>().map(|fields| &fields.local);
    made.or_else(|| products.find::<FieldsOfRun>().map(|fields| &fields.local))
}
