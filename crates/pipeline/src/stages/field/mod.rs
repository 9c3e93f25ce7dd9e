//! The stage that makes a local field of the scanner's phase.

mod at_start;
mod background;
pub(super) mod claim;
mod errors;
mod holes;
mod maps;
mod mask;
mod method;
mod options;
mod order;
pub(super) mod phase_files;
mod radians;
mod readouts;
mod section;
mod times;
mod total;
mod ways;

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_image::{Image, MapSpec, Mask};
use fimbria_qsm::Geometry;
use fimbria_qsm::background::remove_background;
use fimbria_qsm::phase::r2star;
use serde_json::{Value, json};

pub use self::background::{BackgroundMethod, references};
pub use self::errors::PhaseFilesError;
use self::holes::report_holes;
use self::maps::{LOCAL, MASK, QUALITY, R2STAR, TOTAL, WEIGHTS, fields};
pub(in crate::stages) use self::method::{METHOD, local_field, scan_of};
pub use self::options::{FieldParameters, StartPhase, Unwrapping};
pub use self::phase_files::{Echoes, PhaseFiles, PhaseImages};
use self::total::Total;
pub(in crate::stages) use self::total::total_hertz;
use crate::options::Resolved;
use crate::stages::magnitude::root_mean_square;
use crate::stages::sidecar::sidecars_of;
use crate::{
    Carried, FileKind, Input, Logbook, MapContext, MapStyle, OutputFolder, Product, Products,
    Stage, StageError, Taken, Written,
};

/// What `fimbria field` writes.
pub const FIELD_WRITES: &[Written] = &[
    Written::map(&TOTAL),
    Written::map(&LOCAL),
    Written::map(&MASK),
    Written::map(&QUALITY),
    Written::map(&WEIGHTS).only("with --magnitude or --imaginary"),
    Written::map(&R2STAR).only("with --magnitude or --imaginary of two echoes or more"),
    Written::file(
        "local_field.json",
        FileKind::Json,
        "B0 and the echo time in which the field turned the phase, for `fimbria qsm`",
    ),
    Written::RECORD,
];

/// Makes fields of [`Echoes`] and hands on the [`Fields`].
pub struct MakeField {
    /// Where the echoes are; `None` where an earlier stage hands them on.
    pub files: Option<PhaseFiles>,
    /// How.
    pub parameters: Resolved<FieldParameters>,
    /// How maps are written.
    pub style: MapStyle,
}

/// What the phase says.
pub struct Fields {
    /// In ppm, with the background, 0 outside the mask.
    pub total: Image,
    /// In ppm, without it.
    pub local: Image,
    /// Where the local field is known.
    pub mask: Mask,
    /// How reliable the phase is, 0 to 1.
    pub quality: Image,
    /// How surely the local field is known; `None` without magnitudes.
    pub weights: Option<Image>,
    /// 1/s; `None` without magnitudes of two echoes.
    pub r2star: Option<Image>,
    /// Voxels and B0.
    pub geometry: Geometry,
    /// B0 in tesla; `None` where fields are in radians of the phase of the one echo, in place of ppm.
    pub b0_tesla: Option<f64>,
    /// The echo time in which the field turned the phase, in seconds: the first; where the phase at echo
    /// time 0 was fitted, the time from the first echo to the second. A first echo that is unwrapped
    /// wrongly is off by whole turns of it.
    pub echo_time_s: f64,
    /// Root mean square of the magnitudes of all echoes; `None` without.
    pub magnitude: Option<Vec<f32>>,
}

impl MakeField {
    fn context(&self, log: Option<&Logbook<'_>>) -> MapContext {
        MapContext {
            stage: "field",
            model: "field",
            label: "",
            model_entry: json!({
                "Description": "Field from phase",
                "Parameters": self.parameters,
            }),
            entities: String::new(),
            carried: Carried::default()
                .with(log.into_iter().flat_map(|log| log.session().header_entries())),
        }
    }

    /// What the fields are.
    fn fields(&self) -> [&'static MapSpec; 2] {
        fields(self.files.as_ref().is_some_and(|files| files.relative))
    }

    fn maps(&self) -> Vec<&'static MapSpec> {
        let [total, local] = self.fields();
        let weighs =
            |files: &PhaseFiles| !files.magnitude.is_empty() || !files.imaginary.is_empty();
        let has_decay =
            |files: &PhaseFiles| weighs(files) && files.te.len() != 1 && !files.relative;
        // What a table of regions shows first comes first.
        let mut maps = Vec::new();
        if self.files.as_ref().is_none_or(has_decay) {
            maps.push(&R2STAR);
        }
        maps.extend([local, total, &MASK, &QUALITY]);
        if self.files.as_ref().is_none_or(weighs) {
            maps.push(&WEIGHTS);
        }
        maps
    }
}

impl MakeField {
    /// What is done about the phase at echo time 0 of so many echoes.
    fn start_phase(&self, echoes: usize) -> Result<StartPhase, PhaseFilesError> {
        // Coils are combined without theirs.
        let coils = self.files.as_ref().and_then(|files| files.coils).unwrap_or(1);
        let usual = if echoes > 1 && coils == 1 { StartPhase::Smooth } else { StartPhase::Zero };
        let start = self.parameters.offset.map_or(usual, |given| given.0);
        if start != StartPhase::Zero && echoes < 2 {
            return Err(PhaseFilesError::OffsetOfOneEcho);
        }
        Ok(start)
    }
}

/// What is surest counts so many times what is usual, at most: few voxels are not to decide.
const LARGEST_WEIGHT: f32 = 2.0;

/// `sureness` over its median, in the voxels of `mask`; 0 elsewhere.
fn weights_of(sureness: &[f32], mask: &[u32]) -> Vec<f32> {
    let mut inside: Vec<f32> = mask.iter().map(|&v| sureness[v as usize]).collect();
    let mut weights = vec![0.0; sureness.len()];
    if inside.is_empty() {
        return weights;
    }
    let middle = inside.len() / 2;
    let usual = *inside.select_nth_unstable_by(middle, f32::total_cmp).1;
    for &v in mask {
        weights[v as usize] = (sureness[v as usize] / usual).min(LARGEST_WEIGHT);
    }
    weights
}

impl Stage for MakeField {
    fn name(&self) -> &'static str {
        "field"
    }

    fn takes(&self) -> Vec<Taken> {
        match self.files {
            Some(_) => Vec::new(),
            None => vec![Taken::always::<Echoes>()],
        }
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Fields>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let Some(files) = &self.files else { return Vec::new() };
        let of_times = files.follows_times();
        let roles = [
            ("phase", &files.phase, true),
            ("imaginary", &files.imaginary, of_times),
            ("magnitude", &files.magnitude, of_times),
        ];
        let mut inputs = Vec::new();
        for (role, paths, is_asked) in roles {
            for path in paths {
                inputs.push((role.to_owned(), path.clone()));
                let sidecars = if is_asked { sidecars_of(path) } else { Vec::new() };
                let there = sidecars.into_iter().filter(|sidecar| sidecar.is_file());
                inputs.extend(there.map(|sidecar| (format!("{role} sidecar"), sidecar)));
            }
        }
        inputs.extend(files.mask.iter().map(|mask| ("mask".to_owned(), mask.clone())));
        inputs
    }

    fn parameters(&self) -> Value {
        let mut parameters = json!({ "field": self.parameters, "maps": self.style });
        if let Some(files) = &self.files {
            parameters["te"] = json!(files.te);
            parameters["b0"] = json!(files.b0);
            parameters["b0_dir"] = json!(files.b0_direction.ras());
            parameters["b0_dir_vox"] = json!(files.b0_direction.vox());
            parameters["phase_range"] = json!(files.phase_range);
            parameters["phase_sign"] = json!(files.phase_sign);
            parameters["relative"] = json!(files.relative);
            parameters["coils"] = json!(files.coils);
            parameters["bipolar"] = json!(files.bipolar);
        }
        parameters
    }

    fn outputs(&self) -> Vec<String> {
        let context = self.context(None);
        let maps = self.maps();
        let maps = maps.iter().flat_map(|map| self.style.file_names(map, &context));
        let mut names: Vec<String> = maps.collect();
        let sidecar = self.style.sidecar_name(&LOCAL, &context);
        if !names.contains(&sidecar) {
            names.push(sidecar);
        }
        names
    }

    fn map_files(&self) -> Vec<(MapSpec, String)> {
        self.style.map_files(self.maps().into_iter().cloned(), &self.context(None))
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let read;
        let echoes = match &self.files {
            Some(files) => {
                read = files.read(log)?;
                &read
            }
            None => products.get::<Echoes>()?,
        };
        let workers = log.session().on.workers;
        let Echoes { grid, geometry, magnitudes, times, b0_tesla, .. } = echoes;
        let Total { ppm: total, sureness, quality, mask, has_offset: offset } =
            self.total(echoes, log)?;
        let mask = &mask;
        let background = self.parameters.removal();
        let local = remove_background(grid, geometry, &total, mask, background, workers, log)?;
        log.check()?;
        log.count("voxels_of_local_field", local.mask.len() as u64);
        report_holes(mask, &local.mask, log);
        let image = |data| Image { grid: *grid, n_volumes: 1, data };
        let weights =
            (!magnitudes.is_empty()).then(|| image(weights_of(&sureness, &local.mask.voxels)));
        let r2star = (times.len() > 1 && !magnitudes.is_empty())
            .then(|| image(r2star(magnitudes, times, &mask.voxels)));
        let (total, field) = (image(total), image(local.field));
        let echo_time_s = if offset { times[1] - times[0] } else { times[0] };
        let magnitude = (!magnitudes.is_empty()).then(|| {
            let data = magnitudes.concat();
            root_mean_square(&Image { grid: *grid, n_volumes: magnitudes.len(), data })
        });
        let (geometry, b0_tesla) = (*geometry, *b0_tesla);
        let (local, mask) = (field, local.mask);
        products.put(Fields {
            total,
            local,
            mask,
            quality: image(quality),
            weights,
            r2star,
            geometry,
            b0_tesla,
            echo_time_s,
            magnitude,
        });
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Fields { total, local, mask, quality, weights, r2star, b0_tesla, echo_time_s, .. } =
            products.get::<Fields>()?;
        let inside = mask.to_image();
        let always = [total, local, &inside, quality].map(Some);
        let images = always.into_iter().chain([weights.as_ref(), r2star.as_ref()]);
        let [of_total, of_local] = self.fields();
        let specs = [of_total, of_local, &MASK, &QUALITY, &WEIGHTS, &R2STAR];
        let (context, workers) = (self.context(Some(log)), log.session().on.workers);
        let of_phase: Vec<(&str, Value)> = match b0_tesla {
            None => Vec::new(),
            Some(b0) => {
                vec![("EchoTime", json!(echo_time_s)), ("MagneticFieldStrength", json!(b0))]
            }
        };
        for (spec, image) in specs.into_iter().zip(images) {
            let Some(image) = image else { continue };
            if spec.name == of_local.name {
                self.style.write_with_sidecar(spec, image, &context, &of_phase, out, workers)?;
            } else {
                self.style.write(spec, image, &context, out, workers)?;
            }
        }
        Ok(())
    }

    /// Makes them again: no later stage reads the files of this one.
    fn restore(
        &self,
        _folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }
}
