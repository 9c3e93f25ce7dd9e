//! The stage that hands fibre orientation densities on to the search for peaks.

use fimbria_image::{BvecFrame, Mask};
use fimbria_tensors::sh::ShBasis;
use serde_json::{Value, json};

use super::fits::fit_maps::Maps;
use super::fits::fod;
use super::load_orientations::OrientationField;
use crate::{Carried, Logbook, Product, Products, Stage, StageError, Taken};

/// Makes the [`OrientationField`] of the densities that were just fitted.
pub struct FodField;

impl Stage for FodField {
    fn name(&self) -> &'static str {
        "fod field"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Maps<fod::Parameters>>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<OrientationField>()]
    }

    fn parameters(&self) -> Value {
        json!({})
    }

    fn compute(&self, products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        let fit = products.get::<Maps<fod::Parameters>>()?;
        let fod = fit.map("fod").ok_or("there are no densities")?;
        let status = fit.map("status").ok_or("the densities have no status map")?;
        let field = OrientationField {
            order: fod_order(fod.n_volumes)?,
            coefficients: Box::new(fod.clone()),
            basis: Some(ShBasis::Mrtrix),
            frame: BvecFrame::Scanner,
            mask: Mask::from_image(status),
            carried: Carried::default(),
        };
        products.put(field);
        Ok(())
    }
}

fn fod_order(coefficients: usize) -> Result<usize, StageError> {
    fimbria_tensors::sh::lmax_of_count(coefficients)
        .ok_or_else(|| format!("{coefficients} coefficients are of no even order").into())
}
