//! The stage that hands fibre orientation densities on to the search for peaks.

use fimbria_image::{BvecFrame, Image, Mask};
use fimbria_tensors::sh::ShBasis;
use serde_json::{Value, json};

use super::fits::fit_maps::Maps;
use super::fits::fod;
use super::load_orientations::OrientationField;
use crate::{Carried, Logbook, Product, Products, Stage, StageError, Taken};

/// How bright the scanner was, where tissues tell.
pub struct Gain {
    /// What densities are to be divided by.
    pub gain: Image,
    /// Which voxels it was found of.
    pub used: Image,
}

/// Makes the [`OrientationField`] of the densities that were just fitted, normalised where they are.
pub struct FodField;

impl Stage for FodField {
    fn name(&self) -> &'static str {
        "fod field"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Maps<fod::Parameters>>(), Taken::where_made::<Gain>()]
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
        let mut fod = fod.clone();
        if let Some(Gain { gain, .. }) = products.find() {
            for volume in fod.data.chunks_exact_mut(gain.data.len()) {
                volume.iter_mut().zip(&gain.data).for_each(|(value, gain)| *value /= gain);
            }
        }
        let field = OrientationField {
            order: fod_order(fod.n_volumes)?,
            coefficients: Box::new(fod),
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
