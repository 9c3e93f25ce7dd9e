//! The stage that brings a local field and fibre directions together.

use fimbria_image::{Image, Mask};
use fimbria_models::dti::DtiMap;
use fimbria_phantoms::GreSubject;
use fimbria_qsm::shapes_of;
use serde_json::{Value, json};

use super::field::Fields;
use super::fits::dti;
use super::fits::fit_maps::Maps;
use super::in_run::{InRun, When};
use super::load_local_field::{factor_of_relative, guidance_of};
use super::local_field::LocalField;
use super::method::Method;
use super::qsm::parameters_of;
use crate::{Logbook, Product, Products, Stage, StageError, Taken};

pub(super) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Table("gre"),
        needs: &["field"],
        writes: None,
        stages: |run| {
            let parameters = parameters_of(run)?;
            let (fa_threshold, weighs) = (parameters.fibre_threshold(), parameters.weighs());
            Ok(vec![Box::new(Guide { fa_threshold, weighs })])
        },
    }),
    ..Method::named("guide")
};

/// Makes the [`LocalField`] of the [`Fields`] and the tensor fit, as `fimbria qsm --resample` does
/// of their files: fibre directions are those of the nearest voxel in the scanner.
pub struct Guide {
    /// FA above which a voxel has a fibre.
    pub fa_threshold: f64,
    /// Whether data count as surely as they are known; as published they do not.
    pub weighs: bool,
}

impl Stage for Guide {
    fn name(&self) -> &'static str {
        "guide"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::always::<Fields>(),
            Taken::always::<Maps<dti::Parameters>>(),
            Taken::where_made::<GreSubject>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<LocalField>()]
    }

    fn parameters(&self) -> Value {
        json!({ "fa_threshold": self.fa_threshold, "weighs": self.weighs })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let fields = products.get::<Fields>()?;
        let fit = products.get::<Maps<dti::Parameters>>()?;
        let map = |map: DtiMap, name: &str| {
            let image = fit.map(map).ok_or_else(|| format!("the tensor fit has no {name}"))?;
            Ok::<Image, StageError>(image.at_nearest_voxels(&fields.local.grid))
        };
        let (v1, fa) = (map(DtiMap::V1, "V1")?, map(DtiMap::Fa, "FA")?);
        let mask: &Mask = &fields.mask;
        let shapes = shapes_of(&v1, Some(&fa), mask, self.fa_threshold)?;
        let tissue: Vec<Image> = [(DtiMap::Md, "MD"), (DtiMap::S0, "S0")]
            .into_iter()
            .filter_map(|(m, name)| map(m, name).ok())
            .collect();
        let guidance = Some(guidance_of(&v1, Some(&fa), &tissue, mask));
        let cylinders = shapes.iter().filter(|shape| **shape != fimbria_qsm::Shape::Sphere).count();
        log.count("unknowns", mask.len() as u64);
        log.count("cylinders", cylinders as u64);
        let truth = products.find::<GreSubject>().and_then(|made| made.truth("chi"));
        let factor = match fields.b0_tesla {
            Some(_) => 1.0,
            None => factor_of_relative(&fields.local, mask),
        };
        let field_ppm = fields.local.data.iter().map(|b| (f64::from(*b) * factor) as f32).collect();
        let field = LocalField {
            grid: fields.local.grid,
            geometry: fields.geometry,
            field_ppm,
            relative: fields.b0_tesla.is_none().then_some(factor),
            mask: mask.clone(),
            shapes,
            guidance,
            weights: fields
                .weights
                .as_ref()
                .filter(|_| self.weighs)
                .map(|weights| weights.data.clone()),
            magnitude: fields.magnitude.clone(),
            reliable: None,
            truth_ppm: truth.map(|chi| chi.data.clone()),
            b0_tesla: fields.b0_tesla,
            echo_time_s: fields.b0_tesla.map(|_| fields.echo_time_s),
        };
        products.put(field);
        Ok(())
    }
}
