//! The stage that maps susceptibility.

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_image::MapSpec;
use fimbria_qsm::dqsm_files;
use fimbria_qsm::metrics::{Metrics, compare};
use serde_json::{Value, json};

use super::chi_map::{CHI, CHI_TV, ChiMap, MSA, RESIDUAL, specs};
use super::convergence::{self, ConvergenceLog};
use super::job::{Checkpointing, Job};
use super::reference::{
    GivenReference, reference_of, replace_where_reliable, subtract_reference_mean,
};
use super::{QsmMethod, QsmParameters};
use crate::options::{Place, Resolve as _, Resolved, from_values};
use crate::stages::label_names::table_beside;
use crate::stages::local_field::LocalField;
use crate::{
    Carried, Choice as _, Input, Logbook, MapContext, MapStyle, OutputFolder, Page, Product,
    Products, RunRecord, Stage, StageError, Taken,
};

/// Maps the susceptibility of the [`LocalField`] and hands on a [`ChiMap`]. Processes share the
/// sources; the first one keeps checkpoints.
pub struct MapSusceptibility {
    /// How.
    pub parameters: Resolved<QsmParameters>,
    /// How maps are written.
    pub style: MapStyle,
    /// Also writes the original program's chi.bin.
    pub dqsm_files: bool,
    /// A truth is given: its comparison is written.
    pub compares: bool,
    /// The field is in no known unit, and so is the map.
    pub relative: bool,
    /// Diffusion guides it, where the method can be guided.
    pub guided: bool,
    /// Where to keep checkpoints; `None` for nowhere.
    pub checkpointing: Option<Checkpointing>,
}

impl MapSusceptibility {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn from_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of("qsm")?;
        let part = |name: &str| parameters.get(name).cloned();
        let given: QsmParameters = from_values(part("qsm")?.as_object()?).ok()?;
        Some(Self {
            parameters: given.resolve(&Place::Command),
            style: serde_json::from_value(part("maps")?).ok()?,
            dqsm_files: false,
            compares: false,
            relative: parameters.get("relative") == Some(&Value::Bool(true)),
            // Of earlier versions there is none.
            guided: record.outputs.iter().any(|output| is_unguided(&output.file)),
            checkpointing: None,
        })
    }

    /// What its maps are.
    pub(in crate::stages) fn maps(&self) -> impl Iterator<Item = &'static MapSpec> + use<> {
        specs(self.relative, self.has_unguided(), self.method().has_anisotropy())
    }

    fn has_unguided(&self) -> bool {
        self.guided && self.method().facts().can.unguided
    }

    fn method(&self) -> QsmMethod {
        self.parameters.method.0
    }

    fn context(&self, log: Option<&Logbook<'_>>) -> MapContext {
        MapContext {
            stage: "qsm",
            model: "qsm",
            label: "",
            model_entry: json!({
                "Description": "Quantitative susceptibility mapping",
                "Parameters": self.parameters,
            }),
            entities: String::new(),
            carried: Carried::default()
                .with(log.into_iter().flat_map(|log| log.session().header_entries())),
        }
    }

    fn map(&self, field: &LocalField, log: &Logbook<'_>) -> Result<ChiMap, StageError> {
        let checkpointing = self.checkpointing.as_ref();
        self.parameters.map(&Job { field, parameters: &self.parameters, checkpointing, log })
    }

    /// The map, and once more that of the reliable voxels alone.
    fn map_in_passes(&self, field: &LocalField, log: &Logbook<'_>) -> Result<ChiMap, StageError> {
        let mut map = self.map(field, log)?;
        let Some(reliable) = &field.reliable else { return Ok(map) };
        log.note(&format!("once more, of the reliable voxels alone: {}", reliable.len()));
        let second = self.map(&field.only(reliable), log)?;
        replace_where_reliable(&mut map.chi, &second.chi, &field.mask, reliable);
        if let (Some(unguided), Some(second)) = (&mut map.unguided, &second.unguided) {
            replace_where_reliable(unguided, second, &field.mask, reliable);
        }
        if let (Some(residual), Some(second)) = (&mut map.residual, &second.residual) {
            let voxels = reliable.voxels.iter().map(|&v| v as usize);
            voxels.for_each(|v| residual.data[v] = second.data[v]);
        }
        Ok(map)
    }
}

impl Stage for MapSusceptibility {
    fn name(&self) -> &'static str {
        "qsm"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<LocalField>(), Taken::where_made::<GivenReference>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<ChiMap>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let Some(path) = &self.parameters.reference else { return Vec::new() };
        let names = self.parameters.reference_label.as_ref().and_then(|_| table_beside(path));
        let names = names.map(|table| ("reference names".to_owned(), table));
        std::iter::once(("reference".to_owned(), path.clone())).chain(names).collect()
    }

    fn parameters(&self) -> Value {
        // The reference is an input: what it holds counts, not where it is.
        let qsm = QsmParameters { reference: None, ..(*self.parameters).clone() };
        json!({ "qsm": qsm, "maps": self.style, "relative": self.relative })
    }

    fn outputs(&self) -> Vec<String> {
        let context = self.context(None);
        let mut names: Vec<String> =
            self.maps().flat_map(|map| self.style.file_names(map, &context)).collect();
        let others = [
            (self.method().iterates(), convergence::FILE),
            (self.dqsm_files, "chi.bin"),
            (self.compares, "metrics.json"),
        ];
        names.extend(others.iter().filter(|(is, _)| *is).map(|(_, name)| (*name).to_owned()));
        names
    }

    fn map_files(&self) -> Vec<(MapSpec, String)> {
        self.style.map_files(self.maps().cloned(), &self.context(None))
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let field = products.get::<LocalField>()?;
        let reference = reference_of(&self.parameters, products.find(), &field.mask, log)?;
        if let Some(caution) = self.parameters.caution(field) {
            log.warn(Page::Susceptibility, &caution);
        }
        if !self.method().takes_devices() {
            warn_no_kernel(self.method(), log);
        }
        let mut map = self.map_in_passes(field, log)?;
        if let Some(factor) = field.relative {
            map.convergence.relative(factor);
            let values = map.images_mut().flat_map(|image| &mut image.data);
            values.for_each(|x| *x = (f64::from(*x) / factor) as f32);
        }
        if let Some(reference) = &reference {
            let maps = std::iter::once(&mut map.chi).chain(&mut map.unguided);
            maps.for_each(|chi| subtract_reference_mean(chi, &field.mask, reference));
        }
        if let Some(truth) = &field.truth_ppm {
            let metrics = compare(field.grid.dims, &map.chi.data, truth, &field.mask.voxels);
            log.note(&format!(
                "NRMSE {:.1} % (detrended {:.1} %), HFEN {:.1} %, XSIM {:.3}, correlation {:.3}",
                metrics.nrmse,
                metrics.nrmse_detrended,
                metrics.hfen,
                metrics.xsim,
                metrics.correlation
            ));
            map.metrics = Some(metrics);
        }
        products.put(map);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let map = products.get::<ChiMap>()?;
        let context = self.context(Some(log));
        for (spec, image) in self.maps().zip(map.images()) {
            self.style.write(spec, image, &context, out, log.session().on.workers)?;
        }
        if self.method().iterates() {
            out.write(convergence::FILE, map.convergence.text().as_bytes())?;
        }
        if self.dqsm_files {
            let chi: Vec<f32> = map.chi.data.iter().map(|ppm| ppm * 1e-6).collect();
            out.write("chi.bin", &dqsm_files::chi_bytes(&chi))?;
        }
        if let Some(metrics) = &map.metrics {
            out.write("metrics.json", metrics_json(metrics).as_bytes())?;
        }
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let workers = log.session().on.workers;
        let context = self.context(None);
        let read = |map| self.style.read(map, &context, folder, workers);
        let chi = read(&CHI)?;
        let unguided = self.has_unguided().then(|| read(&CHI_TV)).transpose()?;
        let anisotropy = self.method().has_anisotropy().then(|| read(&MSA)).transpose()?;
        let residual = self.style.read_where_written(&RESIDUAL, &context, folder, workers)?;
        let file = folder.join(convergence::FILE);
        let convergence = match file.exists() {
            true => {
                let text = fimbria_image::read_regular_text(file)?;
                ConvergenceLog::from_text(self.method().facts().columns, &text)
            }
            false => ConvergenceLog::default(),
        };
        let (stopped, metrics, b0_tesla) = (None, None, None);
        products.put(ChiMap {
            chi,
            unguided,
            anisotropy,
            residual,
            convergence,
            stopped,
            metrics,
            b0_tesla,
        });
        Ok(())
    }
}

/// Whether a file is a map without guidance, in any layout.
fn is_unguided(file: &str) -> bool {
    file.contains(&*CHI_TV.name) || file.contains(&CHI_TV.name.replace('_', ""))
}

/// Says that the devices which somebody named do nothing.
fn warn_no_kernel(method: QsmMethod, log: &Logbook<'_>) {
    let on = &log.session().on;
    if !on.devices.is_empty() && !on.only_where_it_pays {
        let name = method.name();
        let text = format!("no kernel does this: --method {name} runs on the CPU");
        log.warn(Page::Troubleshooting, &text);
    }
}

fn metrics_json(metrics: &Metrics) -> String {
    let value = json!({
        "nrmse_percent": metrics.nrmse,
        "nrmse_detrended_percent": metrics.nrmse_detrended,
        "hfen_percent": metrics.hfen,
        "xsim": metrics.xsim,
        "correlation": metrics.correlation,
        "slope": metrics.slope,
    });
    format!("{value:#}\n")
}
