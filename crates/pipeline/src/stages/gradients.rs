//! The stage that checks the gradient table by how far fibres run on.

use fimbria_compute::Progress as _;
use fimbria_image::{BvecFrame, ImageHeader};
use fimbria_models::dti::DtiMap;
use fimbria_models::gradient_check::{GradientCheck, GradientVerdict, TableChange};
use serde_json::Value;

use super::fits::dti;
use super::fits::fit_maps::{FitMaps, Maps};
use super::load::{Load, SubjectFiles};
use crate::options::usual;
use crate::{Logbook, MapStyle, Product, Products, Stage, StageError, Taken};

/// What records call what was found.
pub(crate) const GRADIENT_TABLE: &str = "gradient_table";

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
        let fit = products.get::<Maps<dti::Parameters>>()?;
        let (Some(v1), Some(fa)) = (fit.map(DtiMap::V1), fit.map(DtiMap::Fa)) else {
            log.note("the gradient table is not checked: the fit has no V1 or no FA");
            return Ok(());
        };
        let check = GradientCheck::new(v1, fa, self.axes, log.session().on.workers);
        log.result(GRADIENT_TABLE, said(&check));
        if let GradientVerdict::Wrong(_) = check.verdict() {
            log.warn(&format!("the gradient table looks wrong: {}", said(&check)));
        }
        products.put(check);
        Ok(())
    }
}

/// Checks the table of a series by a tensor fit with the usual options; what was found, in words.
///
/// # Errors
/// Where the series cannot be read or fitted.
pub fn check_table(files: SubjectFiles, log: &Logbook<'_>) -> Result<String, StageError> {
    let axes = files.table_axes(&ImageHeader::read(&files.dwi)?);
    let stages: [&dyn Stage; 3] = [
        &Load { files, found: None },
        &FitMaps {
            parameters: usual::<dti::Parameters>(),
            style: MapStyle::default(),
            entities: String::new(),
        },
        &CheckGradients { axes },
    ];
    let mut products = Products::default();
    stages.into_iter().try_for_each(|stage| stage.compute(&mut products, log))?;
    Ok(said(products.get()?))
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
