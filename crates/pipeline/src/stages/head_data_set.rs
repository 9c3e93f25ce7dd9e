//! The stage that makes heads as preprocessed BIDS derivatives, in the shape that QSIPrep leaves.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{BvecFrame, Datatype, GradientTable, Image, Mask, WriteOptions};
use fimbria_models::brain_mask::mean_unweighted;
use fimbria_phantoms::GreSubject;
use fimbria_phantoms::head::{Faulty, Head, Pose, head, lookup_table};
use serde::Serialize;
use serde_json::{Value, json};

use crate::options::{Described as _, at_least};
use crate::stages::confounds::displaced_mm;
use crate::stages::head::{HeadOptions, POSE_COLUMNS, Snr, pose_numbers, pose_row, shapes_line};
use crate::stages::phantom::Files;
use crate::{
    Choice as _, FileKind, Logbook, MapFormat, OutputFolder, Products, Stage, StageError, Written,
};

/// What asks for a data set.
const BIDS: &str = "with --bids, in place of all these";

/// What `fimbria phantom head --bids` writes.
pub const DATA_SET_WRITES: [Written; 4] = [
    Written::file("dataset_description.json", FileKind::Json, "what the data set is").only(BIDS),
    Written::file("participants.tsv", FileKind::Table, "the number of each head and its noise")
        .only(BIDS),
    Written::folder(
        "sub-*/",
        "dwi/ as QSIPrep has it: series, its tables, mask, mean unweighted volume, confounds and \
         image_qc, with --nonlinearity graddev; anat/: T1-weighted picture, labels, five tissues, with --gre phase and \
         magnitude of every echo",
    )
    .only(BIDS),
    Written::file("README", FileKind::Text, "what is simulated").only(BIDS),
];

/// The options of a data set of heads.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
pub struct DataSetOptions {
    /// Write a BIDS data set in the shape of QSIPrep's derivatives instead, of so many subjects:
    /// each has other folds and noise, and the second has two sessions
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3")]
    #[arg(number = at_least(1_u32, "").up_to(9999))]
    pub bids: Option<u32>,

    /// Cut the series of its last subject short, as a full disk does
    #[arg(long, requires = "bids")]
    pub broken: bool,
}

/// Makes heads one after the other and writes each, with nothing of the truth: `phantom head` of the
/// same numbers has that.
pub struct HeadDataSet {
    /// The first head; each further one has the next number.
    pub options: HeadOptions,
    /// How many, and in which state.
    pub data_set: DataSetOptions,
    /// Format of its images.
    pub format: MapFormat,
}

/// One session of a subject.
struct Scan {
    subject: u32,
    session: Option<u32>,
    options: HeadOptions,
}

/// The noise of subjects, as parts of the signal-to-noise ratio that is asked for.
const QUALITY: [f64; 3] = [1.0, 0.8, 0.65];

/// The subject with two sessions.
const TWICE: u32 = 2;

/// Seeds of one subject are so far from the next one's.
const SEEDS: u64 = 16;

impl HeadDataSet {
    fn n_subjects(&self) -> u32 {
        self.data_set.bids.unwrap_or(1)
    }

    /// Every session, in order.
    fn scans(&self) -> Vec<Scan> {
        let mut scans = Vec::new();
        for subject in 1..=self.n_subjects() {
            let sessions = match subject {
                TWICE => vec![Some(1), Some(2)],
                _ => vec![None],
            };
            for session in sessions {
                let mut options = self.options.clone();
                let further = u64::from(subject - 1);
                options.subject += further;
                options.series.rng_seed +=
                    further * SEEDS + u64::from(session.map_or(0, |session| session - 1));
                options.series.snr = Snr(self.snr(subject));
                scans.push(Scan { subject, session, options });
            }
        }
        scans
    }

    fn snr(&self, subject: u32) -> f64 {
        self.options.series.snr.0 * QUALITY[(subject as usize - 1) % QUALITY.len()]
    }

    /// The label of a subject: as many digits for all.
    fn label(&self, subject: u32) -> String {
        let digits = self.n_subjects().to_string().len().max(2);
        format!("{subject:0digits$}")
    }

    fn participants(&self) -> String {
        let mut table = "participant_id\thead\tsnr\n".to_owned();
        for subject in 1..=self.n_subjects() {
            let (label, head) =
                (self.label(subject), self.options.subject + u64::from(subject - 1));
            let _ = writeln!(table, "sub-{label}\t{head}\t{}", self.snr(subject));
        }
        table
    }
}

impl Stage for HeadDataSet {
    fn name(&self) -> &'static str {
        "head"
    }

    fn parameters(&self) -> Value {
        let mut values = json!(self.options);
        values["data_set"] = json!(self.data_set);
        values["format"] = json!(self.format.name());
        values
    }

    fn outputs(&self) -> Vec<String> {
        DATA_SET_WRITES
            .iter()
            .filter(|w| w.kind != FileKind::Folder)
            .map(|w| w.file.into())
            .collect()
    }

    fn compute(&self, _: &mut Products, _: &Logbook<'_>) -> Result<(), StageError> {
        Ok(())
    }

    fn compute_into(
        &self,
        _: &mut Products,
        out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Some(out) = out else { return Ok(()) };
        let mut dwi = None;
        for scan in self.scans() {
            log.check()?;
            let made = head(&scan.options.spec(), log.session().on.workers, log)?;
            let name = Names::new(&self.label(scan.subject), scan.session);
            dwi = Some(self.write_scan(&name, &scan, &made, out, log)?);
        }
        log.count("subjects", self.n_subjects().into());
        if let Some(path) = dwi.filter(|_| self.data_set.broken) {
            cut_short(&path)?;
        }
        Ok(())
    }

    fn write(
        &self,
        _: &Products,
        out: &mut OutputFolder,
        _: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let description = json!({
            "Name": "Simulated heads in the shape of QSIPrep's derivatives",
            "BIDSVersion": "1.10.0",
            "DatasetType": "derivative",
            "License": "CC0",
            "Authors": ["fimbria"],
            "GeneratedBy": [{
                "Name": "fimbria",
                "Version": env!("CARGO_PKG_VERSION"),
                "Description": "phantom head --bids: simulated, not measured",
                "CodeURL": env!("CARGO_PKG_REPOSITORY"),
            }],
            "SourceDatasets": [],
        });
        out.write("dataset_description.json", format!("{description:#}\n").as_bytes())?;
        out.write("participants.tsv", self.participants().as_bytes())?;
        out.write("README", README.as_bytes())?;
        let columns = json!({
            "head": { "Description": "number of the head: `fimbria phantom head --subject`" },
            "snr": { "Description": "unweighted white-matter signal over the noise" },
        });
        out.write("participants.json", format!("{columns:#}\n").as_bytes())?;
        out.write(".bidsignore", IGNORED.as_bytes())?;
        Ok(())
    }
}

/// What QSIPrep writes and BIDS has no rule for.
const IGNORED: &str = "\
run.json
*_dwi.b
*_dwi.bshape
*_desc-preproc_dwi.bval
*_desc-preproc_dwi.bvec
*_desc-confounds_timeseries.*
*_desc-image_qc.tsv
*_dwiref.*
*_graddev.*
";

const README: &str = "\
Simulated heads of known truth, with files and names as QSIPrep leaves them: to try programs on that
take its derivatives further. Nothing here was measured or corrected.

Written by `fimbria phantom head --bids`; run.json has the parameters.
";

/// Half of a file is lost.
fn cut_short(path: &Path) -> std::io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_len(file.metadata()?.len() / 2)
}

/// What files of a session are called.
struct Names {
    /// `sub-01/ses-1/`.
    folder: String,
    /// `sub-01_ses-1_`.
    entities: String,
}

impl Names {
    fn new(label: &str, session: Option<u32>) -> Self {
        let session = |end: char| session.map_or(String::new(), |s| format!("ses-{s}{end}"));
        Self {
            folder: format!("sub-{label}/{}", session('/')),
            entities: format!("sub-{label}_{}", session('_')),
        }
    }

    /// A file of the series.
    fn dwi(&self, rest: &str) -> String {
        format!("{}dwi/{}{rest}", self.folder, self.entities)
    }

    /// A file of the anatomy.
    fn anat(&self, rest: &str) -> String {
        format!("{}anat/{}{rest}", self.folder, self.entities)
    }
}

/// Images on their way to a data set.
struct DataSetFiles<'f, 'a> {
    files: Files<'a>,
    name: &'f Names,
}

impl DataSetFiles<'_, '_> {
    fn text(&mut self, name: &str, text: &str) -> Result<(), StageError> {
        Ok(self.files.out.write(name, text.as_bytes())?)
    }

    fn sidecar(&mut self, name: &str, sidecar: &Value) -> Result<(), StageError> {
        let mut sidecar = sidecar.clone();
        if name.contains("_space-ACPC_") {
            let picture = self.name.anat("space-ACPC_desc-preproc_T1w");
            let picture = format!("bids::{picture}.{}", self.files.format.name());
            sidecar["SpatialReference"] = json!(picture);
        }
        self.text(&format!("{name}.json"), &format!("{sidecar:#}\n"))
    }

    /// An image with its sidecar.
    fn image(
        &mut self,
        name: &str,
        image: &Image,
        described: &str,
        datatype: Datatype,
        sidecar: &Value,
    ) -> Result<PathBuf, StageError> {
        let options = WriteOptions { datatype, ..self.files.options(described) };
        self.sidecar(name, sidecar)?;
        self.files.image(name, image, &options)
    }

    fn mask(&mut self, name: &str, mask: &Mask) -> Result<(), StageError> {
        let sidecar = json!({ "Type": "Brain" });
        self.image(name, &mask.to_image(), "brain mask", Datatype::UInt8, &sidecar)?;
        Ok(())
    }

    /// Series, tables, and what is known of them; says where the series is meanwhile.
    fn series(
        &mut self,
        dwi: &Image,
        gradients: &GradientTable,
        shapes: &[f64],
        faults: &Faulty,
    ) -> Result<PathBuf, StageError> {
        let name = self.name.dwi("space-ACPC_desc-preproc_dwi");
        if shapes.iter().any(|shape| *shape != 1.0) {
            self.text(&format!("{name}.bshape"), &shapes_line(shapes))?;
        }
        let fsl = gradients.to_fsl(BvecFrame::Fsl, &dwi.grid.ras_from_vox);
        self.text(&format!("{name}.bval"), &fsl.bvals)?;
        self.text(&format!("{name}.bvec"), &fsl.bvecs)?;
        self.text(&format!("{name}.b"), &gradients.to_mrtrix())?;
        let sidecar = json!({
            "EchoTime": 0.075,
            "RepetitionTime": 4.0,
            "MagneticFieldStrength": 3.0,
            "SkullStripped": false,
        });
        let described = "simulated diffusion-weighted series";
        let series = self.image(&name, dwi, described, Datatype::Float32, &sidecar)?;
        let confounds = self.name.dwi("desc-confounds_timeseries");
        let moved = Moved::from_poses(&faults.poses, dwi.n_volumes);
        self.text(&format!("{confounds}.tsv"), &moved.table)?;
        let said = json!({ "Description": "where the simulated head is: nothing was estimated" });
        self.sidecar(&confounds, &said)?;
        if let Some(deviation) = &faults.deviation {
            let described = "gradient non-linearity: L, column by column, as FSL's";
            let said = json!({ "Description": described });
            let name = self.name.dwi("space-ACPC_graddev");
            self.image(&name, deviation, described, Datatype::Float32, &said)?;
        }
        let largest = gradients.b_s_per_mm2.iter().copied().fold(0.0, f64::max);
        let [x, y, z] = dwi.grid.ras_from_vox.spacing();
        let table = format!(
            "file_name\traw_voxel_size_x\traw_voxel_size_y\traw_voxel_size_z\traw_max_b\t\
             raw_num_directions\tmean_fd\tmax_fd\n{}\t{x:.4}\t{y:.4}\t{z:.4}\t{largest}\t{}\t{:.6}\t\
             {:.6}\n",
            self.name.entities.trim_end_matches('_'),
            gradients.b_s_per_mm2.len(),
            moved.mean,
            moved.most,
        );
        self.text(&format!("{}.tsv", self.name.dwi("space-ACPC_desc-image_qc")), &table)?;
        Ok(series)
    }

    /// Labels with their table, five tissues, and a picture.
    fn anatomy(&mut self, made: &Head) -> Result<(), StageError> {
        let (float, name) = (Datatype::Float32, self.name);
        let t1w = name.anat("space-ACPC_desc-preproc_T1w");
        let plain = json!({ "SkullStripped": false });
        self.image(&t1w, &made.t1w, "simulated T1-weighted picture", float, &plain)?;
        let labels = name.anat("space-ACPC_desc-aparcaseg_dseg");
        let said = json!({ "Description": "numbers of FreeSurfer where it has them" });
        self.image(&labels, &made.labels, "labels", Datatype::UInt16, &said)?;
        self.text(&format!("{labels}.tsv"), &label_table())?;
        let five = name.anat("space-ACPC_seg-5tt_probseg");
        let said = json!({
            "Description": "parts of a voxel, as MRtrix3's 5TT",
            "LabelMap": ["cortical_grey", "subcortical_grey", "white", "fluid", "none"],
        });
        self.image(&five, &made.five_tissues, "five tissues", float, &said)?;
        Ok(())
    }

    /// A file for each echo.
    fn echoes(&mut self, scan: &GreSubject, times: &[f64], tesla: f64) -> Result<(), StageError> {
        for (echo, time) in times.iter().enumerate() {
            for (part, image, unit) in
                [("phase", &scan.phase, "rad"), ("mag", &scan.magnitude, "arbitrary")]
            {
                let mut volume = Image::zeros(image.grid, 1);
                volume.data.copy_from_slice(image.volume(echo));
                let rest = format!("echo-{}_part-{part}_space-ACPC_MEGRE", echo + 1);
                let sidecar = json!({
                    "EchoTime": time,
                    "MagneticFieldStrength": tesla,
                    "Units": unit,
                    "SkullStripped": false,
                });
                let (name, described) = (self.name.anat(&rest), format!("simulated {part}"));
                self.image(&name, &volume, &described, Datatype::Float32, &sidecar)?;
            }
        }
        Ok(())
    }
}

/// The motion of a head, as tables of confounds have it.
struct Moved {
    table: String,
    /// Displacement from volume to volume, mm.
    mean: f64,
    most: f64,
}

impl Moved {
    fn from_poses(poses: &[Pose], n_volumes: usize) -> Self {
        let at = |volume: usize| poses.get(volume).copied().unwrap_or_default();
        let mut table = format!("framewise_displacement\t{POSE_COLUMNS}\n");
        let (mut sum, mut most) = (0.0, 0.0_f64);
        for volume in 0..n_volumes {
            let pose = at(volume);
            if volume == 0 {
                table += "n/a";
            } else {
                let [before, here] = [at(volume - 1), pose].map(|pose| pose_numbers(&pose));
                let displaced = displaced_mm(before, here);
                let _ = write!(table, "{displaced:.6}");
                (sum, most) = (sum + displaced, most.max(displaced));
            }
            let _ = writeln!(table, "\t{}", pose_row(&pose));
        }
        Self { table, mean: sum / n_volumes.saturating_sub(1).max(1) as f64, most }
    }
}

/// The table of labels as BIDS has it.
fn label_table() -> String {
    let mut table = "index\tname\n".to_owned();
    for line in lookup_table().lines() {
        let mut words = line.split_whitespace();
        if let (Some(number), Some(name)) = (words.next(), words.next()) {
            let _ = writeln!(table, "{number}\t{name}");
        }
    }
    table
}

impl HeadDataSet {
    /// Writes a session, and says where the series is meanwhile.
    fn write_scan(
        &self,
        name: &Names,
        scan: &Scan,
        made: &Head,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<PathBuf, StageError> {
        let workers = log.session().on.workers;
        let mut files =
            DataSetFiles { files: Files { out, folder: "", format: self.format, log }, name };
        let fimbria_phantoms::Subject { dwi, gradients, mask, .. } = &*made.subject;
        let series = files.series(dwi, gradients, &made.shapes, &made.faults)?;
        files.mask(&name.dwi("space-ACPC_desc-brain_mask"), mask)?;
        let mean = mean_unweighted(dwi, gradients, workers);
        let plain = json!({ "Description": "mean of the unweighted volumes" });
        let dwiref = name.dwi("space-ACPC_dwiref");
        files.image(&dwiref, &mean, "mean of the unweighted volumes", Datatype::Float32, &plain)?;
        files.anatomy(made)?;
        if let (Some(echoes), Some(of)) = (&made.scan, scan.options.spec().scan) {
            files.echoes(echoes, &of.echo_times_s, of.b0_tesla)?;
        }
        Ok(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displacement_is_from_volume_to_volume() {
        let pose =
            |x: f64, turned: f64| Pose { moved_mm: [x, 0.0, 0.0], turned_deg: [0.0, turned, 0.0] };
        let moved = Moved::from_poses(&[pose(0.0, 0.0), pose(-0.5, 0.0), pose(-0.5, 1.0)], 3);
        // A degree at 50 mm.
        let turn = 50.0 * 1.0_f64.to_radians();
        assert!(
            (moved.most - turn).abs() < 1e-12 && (moved.mean - (0.5 + turn) / 2.0).abs() < 1e-12
        );
        let first: Vec<_> = moved.table.lines().map(|l| l.split('\t').next().unwrap()).collect();
        assert_eq!(first, ["framewise_displacement", "n/a", "0.500000", "0.872665"]);
        assert_eq!(Moved::from_poses(&[], 4).most, 0.0);
    }
}
