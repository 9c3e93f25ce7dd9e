//! Local fields from phase, and maps of susceptibility.

use fimbria_image::{Image, Mask};
use fimbria_pipeline::options::from_values;
use fimbria_pipeline::stages::field::{
    FieldParameters, Fields, MakeField, PhaseFiles, PhaseImages,
};
use fimbria_pipeline::stages::load_local_field::{FieldImages, LocalFieldFiles};
use fimbria_pipeline::stages::qsm::{ChiMap, GivenReference, MapSusceptibility, QsmParameters};
use fimbria_pipeline::{MapStyle, Products, Stage as _};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::subject::{FieldArg, maps_of, taken_out, values};
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
    let volumes = |image: Image| -> Vec<Vec<f32>> {
        (0..image.n_volumes).map(|v| image.volume(v).to_vec()).collect()
    };
    let image = phase.image()?;
    let (grid, mask) = (image.grid, phase.mask(&image.grid)?);
    let magnitudes = magnitude.map(|magnitude| magnitude.image()).transpose()?;
    let magnitudes = magnitudes.map(volumes).unwrap_or_default();
    let images = PhaseImages { grid, phases: volumes(image), magnitudes, mask };
    let (fields, said) = run(py, &machine, move |log| {
        let files: PhaseFiles = from_values(&files)?;
        let parameters: FieldParameters = from_values(&values)?;
        parameters.check()?;
        let mut products = Products::default();
        products.put(files.of_images(images, log)?);
        let stage = MakeField { files: None, parameters, style: MapStyle::default() };
        stage.compute(&mut products, log)?;
        Ok(products.take::<Fields>()?)
    })?;
    let Fields { total, local, mask, quality, weights, r2star, .. } = fields;
    let mut inside = Image::zeros(mask.grid, 1);
    mask.voxels.iter().for_each(|&v| inside.data[v as usize] = 1.0);
    let maps = [
        ("total_field", Some(total)),
        ("local_field", Some(local)),
        ("mask", Some(inside)),
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
    let mut image = |name: &str, given: Option<FieldArg<'_>>| -> PyResult<Option<Image>> {
        let Some(given) = given else { return Ok(None) };
        // What messages call it; and that it is there is checked with the other options.
        files.insert(name.to_owned(), name.into());
        Ok(Some(given.image()?))
    };
    let (v1, fa) = (image("v1", v1)?, image("fa", fa)?);
    let (weights, truth) = (image("weights", weights)?, image("truth", truth)?);
    let magnitude = image("magnitude", magnitude)?;
    let reliable = image("two_pass", two_pass)?.map(|image| Mask::from_image(&image));
    let reference = reference.map(|reference| reference.image()).transpose()?;
    if reference.is_some() {
        values.insert("reference".to_owned(), "reference".into());
    }
    // They have no option of their own: the program takes them from the folder of a tensor fit.
    let tissue = [md, s0].into_iter().flatten().map(|given| given.image());
    let tissue = tissue.collect::<PyResult<Vec<_>>>()?;
    let field_image = field.image()?;
    let mask = field.mask(&field_image.grid)?;
    let v1 = v1.map(|v1| (v1, None));
    let images = FieldImages {
        field: field_image,
        mask,
        v1,
        fa,
        tissue,
        weights,
        magnitude,
        reliable,
        truth,
    };
    let (made, said) = run(py, &machine, move |log| {
        let files: LocalFieldFiles = from_values(&files)?;
        let parameters: QsmParameters = from_values(&values)?;
        files.check(&parameters)?;
        parameters.check()?;
        let fa_threshold = parameters.threshold();
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
            keep: None,
        };
        stage.compute(&mut products, log)?;
        Ok(products.take::<ChiMap>()?)
    })?;
    let ChiMap { chi, anisotropy, log, stopped, metrics, .. } = made;
    let maps = [("chi", Some(chi)), ("msa", anisotropy)];
    let maps = maps.into_iter().filter_map(|(name, image)| Some((name.to_owned(), image?)));
    let result = PyDict::new(py);
    result.set_item("maps", maps_of(py, maps)?)?;
    let rows = log.iter().map(|i| {
        [i.number as f64, i.rms, i.relative_change, i.data, i.penalty, i.relative_gradient]
    });
    let rows: Vec<f64> = rows.flatten().collect();
    let n = rows.len() / 6;
    result.set_item("iterations", PyArray1::from_vec(py, rows).reshape([n, 6])?)?;
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
