//! The stage that lays the volumes of a series on each other: motion, eddy currents, dropped slices.

mod beside;
mod compared;
mod described;
mod distortion;
mod encoding;
mod method;
mod read;
mod section;
mod settings;
mod several;
mod tables;
mod together;

use std::path::Path;
use std::sync::Arc;

use fimbria_compute::Progress as _;
use fimbria_image::{BvecFrame, Grid, Image, MapKind, WriteOptions, write_image};
use fimbria_models::brain_mask::mean_unweighted;
use fimbria_registration::{self as registration, CorrectOptions, Corrected, Motion, Scan};
use serde_json::{Value, json};

use self::compared::Agreement;
pub use self::distortion::MapUnit;
pub use self::encoding::{EncodingError, PhaseEncoding};
pub(crate) use self::method::METHOD;
use self::read::Joined;
use self::section::NOT_UNDISTORTED;
pub(in crate::stages) use self::section::{framewise_mm, section};
pub use self::settings::CorrectSettings;
use self::several::of_series;
pub use self::together::{Together, together};
use super::load::{Subject, SubjectFiles};
use super::made_mask::{MeanB0, mask_options};
use crate::{
    ByteSize, Choice as _, FileKind, Input, Logbook, MapFormat, OutputFolder, Page, Product,
    Products, Stage, StageError, Written,
};

/// What `fimbria correct` writes.
pub const CORRECT_WRITES: &[Written] = &[
    Written::image(
        "dwi",
        MapKind::Scalar,
        0,
        "arbitrary",
        "the series, resampled once; of several all volumes, one series after the other",
    ),
    Written::BVAL,
    Written::BVEC,
    Written::file(
        SIDECAR,
        FileKind::Json,
        "its sidecar as BIDS has it: what was corrected, the phase encoding, and what all series say of their measurement",
    ),
    Written::code("mask", "1 in the brain, in the frame of the series"),
    Written::image("mean_b0", MapKind::Scalar, 0, "arbitrary", "mean of the unweighted volumes"),
    Written::file(
        "confounds.tsv",
        FileKind::Table,
        "a line for each volume: of several series which (from 1), trans_x to rot_z and framewise_displacement as BIDS \
         has them (mm, radians, scanner axes; none from one series to the next), eddy_shift (mm along the phase encoding), what predictions leave of its mean before and after, dropped \
         slices, and the coefficients of its field (mm at 100 mm from the middle)",
    ),
    Written::file(
        "outliers.tsv",
        FileKind::Table,
        "a line for each slice that lost its signal: of several series which, volume and slice from 0, z, the part of the \
         signal left",
    ),
    Written::image(
        "outliers",
        MapKind::Scalar,
        1,
        "arbitrary",
        "these slices as they were measured, in the order of the table",
    )
    .only("where slices were replaced"),
    Written::file(
        "eddy_parameters",
        FileKind::Table,
        "as FSL's eddy has it: mm, radians and field coefficients of each volume",
    ),
    Written::file(
        "eddy_movement_rms",
        FileKind::Table,
        "likewise: mm from the first volume and from the one before",
    ),
    Written::file("eddy_outlier_map", FileKind::Table, "likewise: 1 for each dropped slice"),
    Written::file("eddy_outlier_n_stdev_map", FileKind::Table, "likewise: their z"),
    Written::file("eddy_outlier_report", FileKind::Text, "likewise, in words"),
    Written::RECORD,
];

/// Corrects a series, or several of one head as one.
pub struct CorrectSeries {
    /// The series, its table and its mask.
    pub files: SubjectFiles,
    /// Further series, whose volumes follow: corrected together with it, onto its grid.
    pub others: Vec<SubjectFiles>,
    /// How.
    pub settings: CorrectSettings,
    /// In which format.
    pub format: MapFormat,
}

/// Why a series is not corrected.
#[derive(Debug, thiserror::Error)]
enum CorrectError {
    #[error(
        "correcting takes about {needed} of memory, and {allowed} are allowed: allow more; volumes are laid on each \
         other in memory"
    )]
    Memory { needed: ByteSize, allowed: ByteSize },
    #[error("the series has {0}: nothing says where its volumes should lie")]
    Few(String),
}

/// What is written beside the mask and the table of the corrected [`Subject`].
struct Made {
    series: Arc<Image>,
    corrected: Corrected,
    motions: Vec<Motion>,
    /// What was measured in one go.
    scans: Vec<Scan>,
    /// What the series' sidecar says.
    sidecar: Value,
}

/// The sidecar of the series.
const SIDECAR: &str = "dwi.json";

/// Volumes that are compared with each other.
const FEWEST: usize = 7;

impl CorrectSeries {
    /// The memory it takes, with the program and the file itself.
    fn check_memory(
        &self,
        series: &Image,
        distortions: usize,
        threads: usize,
    ) -> Result<(), CorrectError> {
        let Some(allowed) = self.files.memory else { return Ok(()) };
        let held = 4 * series.data.len() as u64;
        let needed = held
            + registration::bytes_needed(
                &series.grid,
                series.n_volumes,
                self.settings.eddy.0,
                distortions,
                threads,
            );
        if needed > allowed.0 {
            return Err(CorrectError::Memory { needed: ByteSize(needed), allowed });
        }
        Ok(())
    }

    /// The corrected series and its mask in this folder, with their table as FSL or a header has it.
    fn corrected_files(&self, folder: &Path) -> SubjectFiles {
        let file = |name: &str| folder.join(format!("{name}.{}", self.format.name()));
        let SubjectFiles { b0_threshold, memory, scratch, grad_dev, .. } = self.files.clone();
        let mask = Some(file("mask"));
        SubjectFiles {
            mask,
            b0_threshold,
            memory,
            scratch,
            grad_dev,
            ..SubjectFiles::new(file("dwi"))
        }
    }

    fn correct(&self, log: &Logbook<'_>) -> Result<(Subject, Made), StageError> {
        let encodings = self.encodings()?;
        let names: Vec<_> = encodings.iter().map(|encoding| encoding.name()).collect();
        log.note(&format!("phase encoding {}", names.join(", ")));
        let Joined { image: mut series, grids, volumes, gradients, mask, grad_dev, carried } =
            self.read(&encodings, log)?;
        let workers = log.session().on.workers;
        let known = self.distortion(&grids, &mask, &encodings, log)?;
        let distortions = known.as_ref().map_or(0, |known| known.distortions.len());
        self.check_memory(&series, distortions, workers.threads())?;
        let before = Agreement::new(&series, &gradients, &mask, workers);
        let mask = match &known {
            Some(known) => {
                let mask = known.undistorted(&mask)?;
                known.report(&mask, &encodings, log);
                mask
            }
            None => {
                log.note(&format!("susceptibility: {NOT_UNDISTORTED}"));
                mask
            }
        };
        self.warn_of_contrast(log)?;
        let mut distortions = known.into_iter().flat_map(|known| known.distortions);
        let each = encodings.iter().zip(&grids).zip(&volumes);
        let scan = |((encoding, grid), volumes): ((&PhaseEncoding, &Grid), &usize)| Scan {
            volumes: *volumes,
            grid: *grid,
            axis: encoding.axis(),
            is_reversed: encoding.sign() < 0.0,
            distortion: distortions.next(),
        };
        let scans: Vec<Scan> = each.map(scan).collect();
        let options = CorrectOptions {
            eddy: self.settings.eddy.0,
            replace: !self.settings.keep_dropped,
            ..CorrectOptions::default()
        };
        let corrected =
            registration::correct(&mut series, &scans, &gradients, &mask, &options, workers, log)?;
        let after = Agreement::new(&series, &corrected.table, &mask, workers);
        let [before, after] = [before, after].map(|agreement| json!(agreement));
        log.note(&Agreement::in_words(&before, &after));
        log.result(Agreement::RESULT, json!({ "before": before, "after": after }));
        if !corrected.is_better {
            log.warn(
                Page::Correct,
                "volumes agree no better where they were laid than as they were measured: none was moved",
            );
        }
        self.report_scales(&corrected, log);
        let motions = corrected.motions(&scans);
        log.result(section::VOLUMES, tables::volumes(&corrected, &motions, &scans));
        log.result("is_better", corrected.is_better);
        log.result("phase_encoding", of_series(names.into_iter().map(Value::from).collect()));
        log.count("dropped_slices", corrected.outliers.len() as u64);
        let (series, gradients) = (Arc::new(series), corrected.table.clone());
        let subject = Subject { dwi: series.clone(), gradients, mask, grad_dev, carried };
        let sidecar = self.sidecar(&encodings, corrected.is_better)?;
        Ok((subject, Made { series, corrected, motions, scans, sidecar }))
    }
}

impl Stage for CorrectSeries {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Subject>(), Product::of::<MeanB0>(), Product::of::<Made>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs: Vec<Input> = self.series().flat_map(SubjectFiles::inputs).collect();
        inputs.extend(self.distortion_inputs());
        inputs
    }

    fn parameters(&self) -> Value {
        let mut parameters = self.files.table_parameters();
        parameters["settings"] = self.settings.without_paths();
        parameters["format"] = json!(self.format.name());
        parameters
    }

    fn outputs(&self) -> Vec<String> {
        let images =
            ["dwi", "mask", MeanB0::STEM].map(|name| format!("{name}.{}", self.format.name()));
        let mut names = images.to_vec();
        if self.format != MapFormat::Mif {
            names.extend(["dwi.bval".to_owned(), "dwi.bvec".to_owned()]);
        }
        names.push(SIDECAR.to_owned());
        names.extend(tables::NAMES.map(str::to_owned));
        names
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let (subject, made) = self.correct(log)?;
        let Subject { dwi, gradients, .. } = &subject;
        products.put(MeanB0(mean_unweighted(&**dwi, gradients, log.session().on.workers)));
        subject.put(products);
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Made { series, corrected, motions, scans, sidecar } = products.get::<Made>()?;
        let Subject { mask, carried, .. } = products.get::<Subject>()?;
        let workers = log.session().on.workers;
        let mut image =
            |name: &str, image: &Image, options: &WriteOptions| -> Result<(), StageError> {
                let path = out.stage(&format!("{name}.{}", self.format.name()))?;
                Ok(workers.install(|| write_image(&path, image, options))?)
            };
        let options = WriteOptions {
            keyvals: carried.clone().with(log.session().header_entries()).keyvals,
            space_codes: carried.space_codes,
            ..WriteOptions::default()
        };
        let is_mif = self.format == MapFormat::Mif;
        let of_series = WriteOptions {
            description: "series corrected by fimbria".to_owned(),
            dw_scheme: is_mif.then(|| corrected.table.to_dw_scheme()),
            ..options.clone()
        };
        image("dwi", series, &of_series)?;
        image("mask", &mask.to_image(), &mask_options(carried))?;
        if let Some(slices) = corrected.measured_slices(&series.grid) {
            let description = "dropped slices as measured".to_owned();
            image("outliers", &slices, &WriteOptions { description, ..options })?;
        }
        products.get::<MeanB0>()?.write(self.format.name(), carried, out, log)?;
        if !is_mif {
            let fsl = corrected.table.to_fsl(BvecFrame::Fsl, &series.grid.ras_from_vox);
            out.write("dwi.bval", fsl.bvals.as_bytes())?;
            out.write("dwi.bvec", fsl.bvecs.as_bytes())?;
        }
        out.write(SIDECAR, format!("{sidecar:#}\n").as_bytes())?;
        let terms = self.settings.eddy.0.terms();
        for (name, text) in tables::all(corrected, motions, scans, mask, terms) {
            out.write(name, text.as_bytes())?;
        }
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        products.put(self.corrected_files(folder).read(log)?);
        products.put(MeanB0::read(folder, self.format.name(), log)?);
        Ok(())
    }
}
