//! The stage that fits diffusion tensors.

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_compute::queue::Shares;
use fimbria_models::dti::{
    self, Compat, DtiFit, DtiMap, DtiOptions, Method, Precision, RaisedSamples,
};
use fimbria_models::{Status, StatusCounts};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::stages::load::Subject;
use crate::{
    Logbook, MapContext, MapFile, MapKind, MapNames, MapStyle, Named, OutputFolder, Products,
    RunRecord, Stage, StageError,
};

/// The parameters of a tensor fit and of its maps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DtiParameters {
    /// How the tensor is estimated.
    pub method: Named<Method>,
    /// Whose numerics to follow.
    pub compat: Option<Named<Compat>>,
    /// The arithmetic.
    pub precision: Named<Precision>,
    /// Noise level in input units, for RESTORE.
    pub sigma: Option<f64>,
    /// The maps to write; the status map always is.
    pub maps: Vec<Named<DtiMap>>,
}

impl Default for DtiParameters {
    /// fimbria's own WLS, all maps.
    fn default() -> Self {
        let DtiOptions { method, compat, precision, sigma, maps } = DtiOptions::default();
        Self {
            method: Named(method),
            compat: compat.map(Named),
            precision: Named(precision),
            sigma,
            maps: maps.into_iter().map(Named).collect(),
        }
    }
}

impl DtiParameters {
    fn options(&self) -> DtiOptions {
        DtiOptions {
            method: self.method.0,
            compat: self.compat.map(|compat| compat.0),
            precision: self.precision.0,
            sigma: self.sigma,
            maps: self.maps.iter().map(|map| map.0).collect(),
        }
    }

    /// The maps that are written: those asked for, in their order, and the status.
    fn written(&self) -> Vec<DtiMap> {
        let mut maps: Vec<_> = self.maps.iter().map(|map| map.0).collect();
        if !maps.contains(&DtiMap::Status) {
            maps.push(DtiMap::Status);
        }
        maps
    }
}

/// Fits tensors to the [`Subject`] and hands on the [`DtiFit`].
pub struct Dti {
    /// What to fit.
    pub parameters: DtiParameters,
    /// How to write the maps.
    pub style: MapStyle,
    /// Entities for names of BIDS.
    pub entities: String,
}

impl Dti {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        // A stage's own record has its parameters; that of `fit dti` has those of both stages.
        let parameters = record.parameters.get("dti").unwrap_or(&record.parameters);
        let part = |name: &str| parameters.get(name).cloned();
        Some(Self {
            parameters: serde_json::from_value(part("fit")?).ok()?,
            style: serde_json::from_value(part("maps")?).ok()?,
            entities: serde_json::from_value(part("entities")?).ok()?,
        })
    }

    fn context(&self, subject: Option<&Subject>, log_keyvals: Vec<(String, String)>) -> MapContext {
        let mut keyvals = subject.map(|subject| subject.keyvals.clone()).unwrap_or_default();
        keyvals.extend(log_keyvals);
        MapContext {
            model: "tensor",
            model_entry: json!({
                "Description": "Diffusion tensor",
                "Parameters": { "FitMethod": self.parameters.method },
            }),
            entities: self.entities.clone(),
            keyvals,
        }
    }
}

impl Stage for Dti {
    fn name(&self) -> &'static str {
        "dti"
    }

    fn needs(&self) -> &'static [&'static str] {
        &["load", "phantom"]
    }

    fn parameters(&self) -> Value {
        json!({ "fit": self.parameters, "maps": self.style, "entities": self.entities })
    }

    fn outputs(&self) -> Vec<String> {
        let context = self.context(None, Vec::new());
        let maps = self.parameters.written().into_iter();
        maps.flat_map(|map| self.style.file_names(&map_file(map).names, &context)).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = products.get::<Subject>()?;
        let fit = dti::fit(
            &*subject.dwi,
            &subject.mask,
            &subject.gradients,
            subject.grad_dev.as_ref(),
            &self.parameters.options(),
            &log.session().on,
            log,
        )?;
        report_counts(&fit, log);
        report_shares(&fit.shares, log);
        products.put(fit);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let subject = products.find::<Subject>();
        let context = self.context(subject, log.session().header_entries());
        let fit = products.get::<DtiFit>()?;
        for (map, image) in &fit.maps {
            log.check()?;
            self.style.write(&map_file(*map), image, &context, out, log.session().on.workers)?;
        }
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let context = self.context(None, Vec::new());
        let mut maps = Vec::new();
        for map in self.parameters.written() {
            let workers = log.session().on.workers;
            maps.push((map, self.style.read(&map_file(map), &context, folder, workers)?));
        }
        let mut status = StatusCounts::default();
        for (_, image) in maps.iter().filter(|(map, _)| *map == DtiMap::Status) {
            for &code in image.data.iter().filter(|code| **code > 0.0) {
                status.add(Status::from_code(code));
            }
        }
        // What was counted while fitting stands in the record of that run.
        products.put(DtiFit {
            maps,
            status,
            raised: RaisedSamples::default(),
            shares: Shares { devices: Vec::new(), cpu: 0 },
            seconds: 0.0,
        });
        Ok(())
    }
}

/// Notes what became of the voxels, and warns where something did.
fn report_counts(fit: &DtiFit, log: &Logbook<'_>) {
    for (status, name, trouble) in [
        (Status::Fitted, "fitted", ""),
        (Status::Constrained, "constraint_active", ""),
        (Status::NotConverged, "not_converged", "did not converge"),
        (Status::BadSignal, "bad_signal", "have no usable signal and are zero in all maps"),
        (Status::Singular, "singular", "do not determine a tensor and are zero in all maps"),
    ] {
        let voxels = fit.status.of(status);
        log.count(name, voxels);
        if voxels > 0 && !trouble.is_empty() {
            log.warn(&format!("{voxels} voxels {trouble} (see the status map)"));
        }
    }
    let RaisedSamples { samples, voxels } = fit.raised;
    log.count("raised_samples", samples);
    if samples > 0 {
        log.warn(&format!(
            "{samples} samples in {voxels} voxels were zero or negative and were raised to have a \
             logarithm"
        ));
    }
}

/// Counts who did the work where there was a choice.
fn report_shares(shares: &Shares, log: &Logbook<'_>) {
    if shares.devices.is_empty() {
        return;
    }
    log.count("chunks_on_cpu", shares.cpu as u64);
    for (device, chunks) in log.session().on.devices.iter().zip(&shares.devices) {
        log.count(&format!("chunks_on_{}", device.info().name), *chunks as u64);
    }
}

/// How each map is written.
fn map_file(map: DtiMap) -> MapFile<'static> {
    let names = |fsl, mrtrix, bids| MapNames { fimbria: map.name(), fsl, mrtrix, bids };
    let (names, kind, unit) = match map {
        DtiMap::Fa => (names("dti_FA", "fa", "fa"), MapKind::Scalar, ""),
        DtiMap::Md => (names("dti_MD", "adc", "md"), MapKind::Scalar, MM2_PER_S),
        DtiMap::Ad => (names("dti_AD", "ad", "ad"), MapKind::Scalar, MM2_PER_S),
        DtiMap::Rd => (names("dti_RD", "rd", "rd"), MapKind::Scalar, MM2_PER_S),
        DtiMap::L1 => (names("dti_L1", "value1", "l1"), MapKind::Scalar, MM2_PER_S),
        DtiMap::L2 => (names("dti_L2", "value2", "l2"), MapKind::Scalar, MM2_PER_S),
        DtiMap::L3 => (names("dti_L3", "value3", "l3"), MapKind::Scalar, MM2_PER_S),
        DtiMap::V1 => (names("dti_V1", "vector1", "v1"), MapKind::Vector, ""),
        DtiMap::V2 => (names("dti_V2", "vector2", "v2"), MapKind::Vector, ""),
        DtiMap::V3 => (names("dti_V3", "vector3", "v3"), MapKind::Vector, ""),
        DtiMap::Mo => (names("dti_MO", "mode", "mode"), MapKind::Scalar, ""),
        DtiMap::S0 => (names("dti_S0", "b0", "s0"), MapKind::Scalar, "arbitrary"),
        DtiMap::Tensor => (names("dti_tensor", "dt", "diffusivity"), MapKind::Tensor, MM2_PER_S),
        DtiMap::Residual => {
            (names("dti_residual", "residual", "residual"), MapKind::Scalar, "arbitrary")
        }
        DtiMap::Status => (names("dti_status", "status", "status"), MapKind::Code, ""),
    };
    MapFile { names, kind, unit, description: map.description() }
}

/// The unit of diffusivity in files, as BIDS writes it.
const MM2_PER_S: &str = "mm^2/s";
