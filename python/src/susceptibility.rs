//! Local fields from phase, and maps of susceptibility.

use fimbria_image::Mask;
use fimbria_pipeline::options::{Place, Resolve as _, from_values};
use fimbria_pipeline::stages::field::{
    FieldParameters, Fields, MakeField, PhaseFiles, PhaseImages,
};
use fimbria_pipeline::stages::load_local_field::{FieldImages, LocalFieldFiles};
use fimbria_pipeline::stages::qsm::{ChiMap, GivenReference, MapSusceptibility, QsmParameters};
use fimbria_pipeline::{MapStyle, Products, Stage as _};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::subject::{FieldArg, Given, maps_of, taken_out, values};
use crate::work::{Machine, run};

/// Makes a local field of phase `[x][y][z][echo]`: maps total_field, local_field, mask, weights and r2star.
#[pyfunction]
pub(crate) fn local_field<'py>(
    py: Python<'py>,
    phase: FieldArg<'py>,
    magnitude: Option<FieldArg<'py>>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let mut values = values(options)?;
    let mut files = taken_out::<PhaseFiles>(&mut values);
    files.insert("phase".to_owned(), "the phase".into());
    let phase = phase.given()?;
    let magnitude = magnitude.map(|magnitude| magnitude.given()).transpose()?;
    let (fields, said) = run(py, &machine, move |log| {
        let files: PhaseFiles = from_values(&files)?;
        let parameters: FieldParameters = from_values(&values)?;
        parameters.check()?;
        let grid = *phase.grid();
        let magnitudes = match &magnitude {
            Some(magnitude) => {
                grid.check_same(magnitude.grid(), "the magnitude")?;
                magnitude.volumes(log)?
            }
            None => Vec::new(),
        };
        let (phases, mask) = (phase.volumes(log)?, phase.mask(log)?);
        let images = PhaseImages { grid, phases, magnitudes, mask };
        let mut products = Products::default();
        products.put(files.of_images(images, log)?);
        let parameters = parameters.resolve(&Place::Command);
        let stage = MakeField { files: None, parameters, style: MapStyle::default() };
        stage.compute(&mut products, log)?;
        Ok(products.take::<Fields>()?)
    })?;
    let Fields { total, local, mask, quality, weights, r2star, .. } = fields;
    let maps = [
        ("total_field", Some(total)),
        ("local_field", Some(local)),
        ("mask", Some(mask.to_image())),
        ("quality", Some(quality)),
        ("weights", weights),
        ("r2star", r2star),
    ];
    let maps = maps.into_iter().filter_map(|(name, image)| Some((name.to_owned(), image?)));
    let result = PyDict::new(py);
    result.set_item("maps", maps_of(py, maps)?)?;
    said.put_into(&result)?;
    Ok(result)
}

/// The images of a field that are no field.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Beside<'py> {
    v1: Option<FieldArg<'py>>,
    fa: Option<FieldArg<'py>>,
    md: Option<FieldArg<'py>>,
    s0: Option<FieldArg<'py>>,
    weights: Option<FieldArg<'py>>,
    magnitude: Option<FieldArg<'py>>,
    two_pass: Option<FieldArg<'py>>,
    truth: Option<FieldArg<'py>>,
    reference: Option<FieldArg<'py>>,
}

/// Maps susceptibility from a local field: maps chi and msa, each iteration, and how near the truth.
#[pyfunction]
pub(crate) fn qsm<'py>(
    py: Python<'py>,
    field: FieldArg<'py>,
    beside: Beside<'py>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let mut values = values(options)?;
    let mut files = taken_out::<LocalFieldFiles>(&mut values);
    files.insert("field".to_owned(), "the field".into());
    let Beside { v1, fa, md, s0, weights, magnitude, two_pass, truth, reference } = beside;
    let given = |given: Option<FieldArg<'_>>| given.map(|given| given.given()).transpose();
    for (name, is_given) in [
        ("v1", v1.is_some()),
        ("fa", fa.is_some()),
        ("weights", weights.is_some()),
        ("magnitude", magnitude.is_some()),
        ("two_pass", two_pass.is_some()),
        ("truth", truth.is_some()),
    ] {
        // What messages call it; and that it is there is checked with the other options.
        if is_given {
            files.insert(name.to_owned(), name.into());
        }
    }
    if reference.is_some() {
        values.insert("reference".to_owned(), "reference".into());
    }
    let (v1, fa, weights, truth) = (given(v1)?, given(fa)?, given(weights)?, given(truth)?);
    // They have no option of their own: the program takes them from the folder of a tensor fit.
    let (magnitude, two_pass) = (given(magnitude)?, given(two_pass)?);
    let (tissue, reference) = ([given(md)?, given(s0)?], given(reference)?);
    let field = field.given()?;
    let (made, said) = run(py, &machine, move |log| {
        let files: LocalFieldFiles = from_values(&files)?;
        let parameters: QsmParameters = from_values(&values)?;
        files.check(&parameters)?;
        parameters.check()?;
        let parameters = parameters.resolve(&Place::Command);
        let fa_threshold = parameters.fibre_threshold();
        let image = |given: Option<Given>| given.map(|given| given.image(log)).transpose();
        let tissue = tissue.into_iter().flatten().map(|given| given.image(log));
        let (mask, reference) = (field.mask(log)?, image(reference)?);
        let images = FieldImages {
            field: field.image(log)?,
            mask,
            v1: image(v1)?.map(|v1| (v1, None)),
            fa: image(fa)?,
            tissue: tissue.collect::<Result<_, _>>()?,
            weights: image(weights)?,
            magnitude: image(magnitude)?,
            reliable: image(two_pass)?.map(|image| Mask::from_image(&image)),
            truth: image(truth)?,
        };
        let mut products = Products::default();
        let local = files.of_images(images, fa_threshold, log)?;
        if let Some(reference) = reference {
            local.grid.check_same(&reference.grid, "the reference")?;
            products.put(GivenReference(Mask::from_image(&reference)));
        }
        products.put(local);
        let stage = MapSusceptibility {
            parameters,
            style: MapStyle::default(),
            dqsm_files: false,
            compares: false,
            relative: files.is_relative(),
            guided: files.has_directions(),
            checkpointing: None,
        };
        stage.compute(&mut products, log)?;
        Ok(products.take::<ChiMap>()?)
    })?;
    let ChiMap { chi, unguided, anisotropy, residual, convergence, stopped, metrics, .. } = made;
    let maps =
        [("chi", Some(chi)), ("chi_tv", unguided), ("msa", anisotropy), ("residual", residual)];
    let maps = maps.into_iter().filter_map(|(name, image)| Some((name.to_owned(), image?)));
    let result = PyDict::new(py);
    result.set_item("maps", maps_of(py, maps)?)?;
    let (n, columns) = (convergence.rows.len(), convergence.columns.len());
    let rows: Vec<f64> = convergence.rows.into_iter().flatten().collect();
    result.set_item("iterations", PyArray1::from_vec(py, rows).reshape([n, columns])?)?;
    result.set_item("stopped", stopped.map(|stopped| stopped.as_str()))?;
    let metrics = metrics.map(|found| {
        [
            ("nrmse_percent", found.nrmse),
            ("nrmse_detrended_percent", found.nrmse_detrended),
            ("hfen_percent", found.hfen),
            ("xsim", found.xsim),
            ("correlation", found.correlation),
            ("slope", found.slope),
        ]
        .into_iter()
        .collect::<std::collections::BTreeMap<_, _>>()
    });
    result.set_item("metrics", metrics)?;
    said.put_into(&result)?;
    Ok(result)
}
