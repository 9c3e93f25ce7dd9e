//! The stages that check the gradient table by how far fibres run on, and mend it.

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_image::gradients::{BScaling, GradientFiles, TableOptions};
use fimbria_image::{BvecFrame, GradientTable, ImageHeader};
use fimbria_models::dti::DtiMap;
use fimbria_models::gradient_check::{GradientCheck, GradientVerdict, TableChange};
use serde_json::{Value, json};

use super::fits::dti;
use super::fits::fit_maps::{FitMaps, FitModel as _, Maps};
use super::load::{Load, Subject, SubjectFiles};
use super::method::Method;
use crate::options::usual;
use crate::{
    Derivatives, Logbook, MapStyle, Named, OutputFolder, Page, Product, Products, Stage,
    StageError, Taken,
};

pub(super) const METHOD: Method = Method {
    derivatives: Some(Derivatives {
        place: |file, names| names.beside_series("desc-fixed_dwi", file.extension()),
        describe: |_| {
            Some(json!({
                "Description": "the gradient table in use, x y z in scanner RAS axes and b in s/mm^2, a row for \
                                each volume",
            }))
        },
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("fix_gradients")
};

/// What records call what was found.
pub(crate) const GRADIENT_TABLE: &str = "gradient_table";

/// What records call what was done to a table.
pub const GRADIENTS_FIXED: &str = "gradients_fixed";

/// What they say where nothing was.
pub const NOTHING_FIXED: &str = "nothing: it lies as the image does";

/// Checks the gradient table by the directions of the tensor fit, and makes a [`GradientCheck`]; warns
/// where the table does not lie as the image does.
pub struct CheckGradients {
    /// The axes that the table was given in.
    pub axes: BvecFrame,
}

impl Stage for CheckGradients {
    fn name(&self) -> &'static str {
        "gradients"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Maps<dti::Parameters>>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<GradientCheck>()]
    }

    fn parameters(&self) -> Value {
        Value::Null
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let Some(check) = check_of(products, self.axes, log)? else {
            log.note("the gradient table is not checked: the fit has no V1 or no FA");
            return Ok(());
        };
        log.result(GRADIENT_TABLE, said(&check));
        if let GradientVerdict::Wrong(_) = check.verdict() {
            log.warn(Page::Quality, &format!("the gradient table looks wrong: {}", said(&check)));
        }
        products.put(check);
        Ok(())
    }
}

/// What the tensor fit says of a table that was given in these axes; `None` without V1 and FA.
fn check_of(
    products: &Products,
    axes: BvecFrame,
    log: &Logbook<'_>,
) -> Result<Option<GradientCheck>, StageError> {
    let fit = products.get::<Maps<dti::Parameters>>()?;
    let maps = fit.map(DtiMap::V1).zip(fit.map(DtiMap::Fa));
    Ok(maps.map(|(v1, fa)| GradientCheck::new(v1, fa, axes, log.session().on.workers)))
}

/// Checks the table of a series by a tensor fit with the usual options; what was found, in words.
///
/// # Errors
/// Where the series cannot be read or fitted.
pub fn check_table(files: SubjectFiles, log: &Logbook<'_>) -> Result<String, StageError> {
    let axes = files.table_axes(&ImageHeader::read(&files.dwi)?);
    let stages: [&dyn Stage; 3] =
        [&Load { files, found: None }, &fit_of_check(), &CheckGradients { axes }];
    let mut products = Products::default();
    stages.into_iter().try_for_each(|stage| stage.compute(&mut products, log))?;
    Ok(said(products.get()?))
}

/// The data do not tell how a table lies, so that nothing can be done about it.
#[derive(Debug, thiserror::Error)]
#[error("--fix-gradients cannot be followed: {0}")]
pub struct CannotFix(String);

/// Applies to the [`Subject`] what a check of its gradient table finds, before anything is fitted.
pub struct FixGradients {
    /// The axes that the table was given in.
    pub axes: BvecFrame,
}

/// The table in use, as a file.
const TABLE: &str = "gradients.b";

impl Stage for FixGradients {
    fn name(&self) -> &'static str {
        "fix_gradients"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Subject>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Subject>()]
    }

    fn parameters(&self) -> Value {
        json!({ "axes": Named(self.axes) })
    }

    fn outputs(&self) -> Vec<String> {
        vec![TABLE.to_owned()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let mut subject = products.take::<Subject>()?;
        let mut own = Products::default();
        subject.clone().put(&mut own);
        fit_of_check().compute(&mut own, log)?;
        let check = check_of(&own, self.axes, log)?.ok_or("no V1 and FA")?;
        let done = match check.verdict() {
            GradientVerdict::Right => NOTHING_FIXED.to_owned(),
            GradientVerdict::Wrong(change) => {
                let GradientTable { dirs_ras, .. } = &mut subject.gradients;
                *dirs_ras = change.applied(dirs_ras, &subject.mask.grid.ras_from_vox);
                log.warn(
                    Page::Quality,
                    &format!("the gradient table was mended: {change} ({})", said(&check)),
                );
                change.to_string()
            }
            GradientVerdict::Unclear | GradientVerdict::TooThin => {
                return Err(CannotFix(said(&check)).into());
            }
        };
        log.result(GRADIENTS_FIXED, done);
        subject.put(products);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let table = products.get::<Subject>()?.gradients.to_mrtrix();
        Ok(out.write(TABLE, table.as_bytes())?)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let mut subject = products.take::<Subject>()?;
        let options = TableOptions {
            n_volumes: Some(subject.gradients.len()),
            b0_threshold: subject.gradients.b0_threshold,
            b_scaling: BScaling::No,
        };
        let files = GradientFiles::Mrtrix(folder.join(TABLE));
        let ras_from_vox = subject.mask.grid.ras_from_vox;
        subject.gradients = files.read(BvecFrame::Scanner, &ras_from_vox, &options)?.table;
        subject.put(products);
        Ok(())
    }
}

/// The tensor fit that a check rests on.
fn fit_of_check() -> FitMaps<dti::Parameters> {
    FitMaps {
        name: dti::Parameters::STAGE,
        parameters: usual::<dti::Parameters>(),
        style: MapStyle::default(),
        entities: String::new(),
    }
}

/// What a check found.
fn said(check: &GradientCheck) -> String {
    let (none, given) = check.lengths_mm[0];
    let ((best, _), others) = (check.best(), check.longest_but(none));
    match check.verdict() {
        GradientVerdict::Right => format!(
            "fibres run on for {given:.1} mm with the table as it is, {others:.1} mm at most with axes \
             swapped or flipped"
        ),
        GradientVerdict::Wrong(TableChange { change, axes }) => {
            let place = match axes {
                BvecFrame::Fsl => "in the bvecs",
                BvecFrame::Voxel if none.axes == BvecFrame::Voxel => "in the bvecs",
                BvecFrame::Voxel => "in the axes of the voxels",
                BvecFrame::Scanner => "in the table, which is in scanner axes",
            };
            format!(
                "fibres run on for {given:.1} mm with the table as it is, {others:.1} mm with {change} \
                 ({place})"
            )
        }
        GradientVerdict::Unclear => {
            let other =
                if best == none { "another at most".to_owned() } else { best.change.to_string() };
            format!(
                "the data do not tell whether the table lies as the image does: fibres run on for \
                 {given:.1} mm with it, {others:.1} mm with {other}"
            )
        }
        GradientVerdict::TooThin => {
            "the image is too thin, or has too few fibres, to tell whether the \
                                     gradient table lies as it does"
                .to_owned()
        }
    }
}
