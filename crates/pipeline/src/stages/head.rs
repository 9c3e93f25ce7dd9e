//! The stage that makes a head of known truth.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use fimbria_image::{Datatype, MapKind, WriteOptions};
use fimbria_phantoms::head::{
    Dropped, Encoding, Faults, Faulty, Head, HeadBundle, HeadScan, HeadSpec, Pose, head,
    lookup_table,
};
use fimbria_phantoms::{Acquisition, GreSubject, Placement, ShellSpec};
use fimbria_streamlines::{Group, Header, Streamlines, Tractogram, WriteOptions as LineOptions};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::options::{Described as _, above, at_least, choice, within};
use crate::stages::field::Echoes;
use crate::stages::gre::{GreFiles, echoes};
use crate::stages::head_data_set::DATA_SET_WRITES;
use crate::stages::load::Subject;
use crate::stages::phantom::{Files, handed_on};
use crate::{
    Choice, FileKind, Logbook, MapFormat, Named, OutputFolder, Product, Products, Stage,
    StageError, Written,
};

/// What asks for faults.
const MOTION: &str = "with --motion";
const DROPPED: &str = "with --dropped-slices";
const B_TENSOR: &str = "with --b-tensor";
const NONLINEARITY: &str = "with --nonlinearity";
/// What asks for the gradient-echo scan.
const GRE: &str = "with --gre";

/// What `fimbria phantom head` writes.
pub const HEAD_WRITES: &[Written] = &[
    Written::image("dwi", MapKind::Scalar, 0, "arbitrary", "the series"),
    Written::BVAL,
    Written::BVEC,
    Written::file(
        "dwi.bshape",
        FileKind::Table,
        "shape of each volume's b-tensor: 1 linear, -0.5 planar, 0 spherical",
    )
    .only(B_TENSOR),
    Written::code("mask", "voxels at least half of which are brain or its fluid"),
    Written::scalar("t1w", "arbitrary", "a T1-weighted picture without noise"),
    Written::scalar("labels", "", "numbers of labels.txt (uint16), FreeSurfer's where it has them"),
    Written::file(
        "labels.txt",
        FileKind::Table,
        "number, name, red, green, blue, 0: a table that FSLeyes and mrview read",
    ),
    Written::image(
        "5tt",
        MapKind::Scalar,
        5,
        "",
        "cortical grey, subcortical grey, white, fluid, none; sum 1 in the mask, 0 \
         outside: what `track --act` and MRtrix3 read",
    ),
    Written::image(
        "truth/tissues",
        MapKind::Scalar,
        9,
        "",
        "sum 1 everywhere: cortical and subcortical grey, white, fluid, blood, soft, \
         fat, bone, air",
    ),
    Written::image(
        "truth/dirs",
        MapKind::Peaks,
        12,
        "",
        "x y z of up to four fibres, largest fraction first, 0 = none",
    ),
    Written::image(
        "truth/fractions",
        MapKind::Scalar,
        4,
        "",
        "their parts of the unweighted signal",
    ),
    Written::image(
        "truth/bundles",
        MapKind::Scalar,
        4,
        "",
        "numbers of their bundles, as in truth/bundles.txt",
    ),
    Written::image("truth/ODI", MapKind::Scalar, 4, "", "NODDI's index of their dispersion"),
    Written::image("truth/NDI", MapKind::Scalar, 4, "", "part of their water that is inside axons"),
    Written::scalar("truth/FA", "", "of the signal without noise, in closed form, in the mask"),
    Written::scalar("truth/MD", "mm^2/s", "the same"),
    Written::scalar("truth/MK", "", "the same"),
    Written::scalar("truth/S0", "arbitrary", "signal without weighting and noise"),
    Written::scalar("truth/coil", "", "sensitivity of the coil"),
    Written::scalar("truth/PD", "", "proton density, 1 in fluid"),
    Written::scalar("truth/T1", "s", "mean over the voxel's water"),
    Written::scalar("truth/T2", "s", "the same"),
    Written::file(
        "truth/tracts.trx",
        FileKind::Tractogram,
        "the streamlines, a group for each bundle",
    ),
    Written::code("truth/bundles/*", "of each bundle the voxels that its streamlines pass"),
    Written::file(
        "truth/bundles.txt",
        FileKind::Table,
        "number, name and streamlines of each bundle; the last number is that of \
         fibres of no bundle",
    ),
    Written::image(
        "grad_dev",
        MapKind::Scalar,
        9,
        "",
        "L of every voxel, column by column, as FSL's: what --grad-dev of the fits reads",
    )
    .only(NONLINEARITY),
    Written::file(
        "truth/motion.tsv",
        FileKind::Table,
        "where the head is in each volume: mm along scanner x, y, z, then radians about them",
    )
    .only(MOTION),
    Written::file(
        "truth/dropped.tsv",
        FileKind::Table,
        "volume and slice, from 0, and what is left of the signal",
    )
    .only(DROPPED),
    Written::image("gre/phase", MapKind::Scalar, 0, "rad", "phase of every echo, wrapped")
        .only(GRE),
    Written::file("gre/phase.json", FileKind::Json, "echo times and B0").only(GRE),
    Written::image("gre/magnitude", MapKind::Scalar, 0, "arbitrary", "magnitude of every echo")
        .only(GRE),
    Written::code("gre/mask", "voxels that are brain or its fluid alone").only(GRE),
    Written::scalar(
        "gre/truth/chi",
        "ppm",
        "mean of the susceptibility tensor, 0 outside the mask",
    )
    .only(GRE),
    Written::scalar("gre/truth/local_field", "ppm", "field of what is in the mask").only(GRE),
    Written::scalar("gre/truth/total_field", "ppm", "the same with all outside it, shimmed")
        .only(GRE),
    Written::image(
        "gre/truth/fibre",
        MapKind::Vector,
        3,
        "",
        "direction of the largest fibre, as long as its fraction",
    )
    .only(GRE),
    Written::scalar("gre/truth/r2star", "1/s", "decay of the magnitude but for that by the field")
        .only(GRE),
    Written::scalar("gre/truth/phase_offset", "rad", "phase at echo time 0").only(GRE),
    Written::scalar("gre/truth/labels", "", "numbers of labels.txt").only(GRE),
    DATA_SET_WRITES[0],
    DATA_SET_WRITES[1],
    DATA_SET_WRITES[2],
    DATA_SET_WRITES[3],
    Written::file("run.json", FileKind::Json, "parameters, machine, times"),
];

/// The options of a head.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct HeadOptions {
    /// Which head: folds, size and ventricles differ from number to number
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub subject: u64,

    /// Voxel size in mm
    #[arg(long, value_name = "MM", default_value = "2.5")]
    pub voxel: Three<f64>,

    /// Number of voxels along x, y, z
    #[arg(long, value_name = "NX,NY,NZ", usually = "what holds the whole head")]
    pub size: Option<Three<usize>>,

    /// Turns of the grid about scanner x, y, z in degrees
    #[arg(long, value_name = "DEG", default_value = "6,-4,3", allow_hyphen_values = true)]
    pub tilt: Three<f64>,

    /// Store x from left to right (det(affine) > 0) instead of right to left
    #[arg(long)]
    pub x_left_to_right: bool,

    /// Its series.
    #[command(flatten)]
    #[serde(flatten)]
    pub series: SeriesOptions,

    /// Shape of the b-tensors: of all shells, or of each
    #[arg(long, value_name = "SHAPE,...", value_delimiter = ',', value_parser = choice::<Encoding>())]
    #[arg(usually = "linear")]
    pub b_tensor: Option<Vec<Named<Encoding>>>,

    /// The head moves during the series, up to so far from where it was first, and turns by up to as
    /// many degrees
    #[arg(long, value_name = "MM", default_value_t = 0.0, number = within(0.0, 50.0, "mm"))]
    pub motion: f64,

    /// Slices of weighted volumes that lose 60 to 95 % of their signal
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(number = at_least(0_usize, ""))]
    pub dropped_slices: usize,

    /// Largest deviation of the gradients in the brain, as a fraction
    #[arg(long, value_name = "PART", default_value_t = 0.0, number = within(0.0, 0.3, ""))]
    pub nonlinearity: f64,

    /// Points along each axis at which a voxel on a boundary is sampled
    #[arg(long, value_name = "N", default_value_t = 3, number = within(2_usize, 8, ""))]
    pub samples: usize,

    /// Also a gradient-echo scan; echo times in milliseconds
    #[arg(long, value_name = "MS,...", num_args = 0..=1, default_missing_value = "4,12,20,28")]
    pub gre: Option<EchoTimes>,

    /// Strength of B0 in that scan; it is along scanner z
    #[arg(long, value_name = "TESLA", number = above(0.0, "T"), requires = "gre", usually = "3")]
    pub gre_b0: Option<f64>,

    /// Voxel size of that scan, the same along all axes
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), requires = "gre")]
    #[arg(usually = "that of the series")]
    pub gre_voxel: Option<f64>,

    /// White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", requires = "gre", usually = "100")]
    pub gre_snr: Option<Snr>,
}

/// The options of a phantom's diffusion series.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct SeriesOptions {
    /// Number of unweighted volumes
    #[arg(long, value_name = "N", default_value_t = 6)]
    #[arg(number = at_least(0_usize, ""))]
    pub b0s: usize,

    /// Shells, each b in s/mm² and number of directions
    #[arg(long, value_name = "B:N,...", default_value = "1000:30,2000:60", value_delimiter = ',')]
    pub shells: Vec<Shell>,

    /// Unweighted white-matter signal over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", default_value = "30")]
    pub snr: Snr,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,
}

impl SeriesOptions {
    /// Which volumes it has.
    pub(crate) fn acquisition(&self) -> Acquisition {
        Acquisition { b0s: self.b0s, shells: self.shells.iter().map(|shell| shell.0).collect() }
    }
}

impl Choice for Encoding {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Linear, "linear", "along one direction, as in nearly every scan"),
        (Self::Planar, "planar", "in the plane across it"),
        (Self::Spherical, "spherical", "in all directions alike"),
    ];
}

/// Where the gradient-echo scan is written.
const SCAN: &str = "gre/";

/// The size of a box that holds the head, mm.
const HEAD_MM: [f64; 3] = [180.0, 220.0, 176.0];

impl HeadOptions {
    /// What they describe.
    pub fn spec(&self) -> HeadSpec {
        let voxel_mm = self.voxel.0;
        let whole = || [0, 1, 2].map(|a| (HEAD_MM[a] / voxel_mm[a]).ceil().max(1.0) as usize);
        HeadSpec {
            placement: Placement {
                dims: self.size.map_or_else(whole, |size| size.0),
                voxel_mm,
                tilt_deg: self.tilt.0,
                x_right_to_left: !self.x_left_to_right,
            },
            acquisition: self.series.acquisition(),
            snr: self.series.snr.0,
            seed: self.series.rng_seed,
            subject: self.subject,
            samples_per_axis: self.samples,
            encodings: self.b_tensor.iter().flatten().map(|named| named.0).collect(),
            faults: Faults {
                motion: self.motion,
                dropped_slices: self.dropped_slices,
                nonlinearity: self.nonlinearity,
            },
            scan: self.gre.as_ref().map(|times| {
                let usual = HeadScan::default();
                HeadScan {
                    echo_times_s: times.0.iter().map(|ms| 1e-3 * ms).collect(),
                    b0_tesla: self.gre_b0.unwrap_or(usual.b0_tesla),
                    snr: self.gre_snr.map_or(usual.snr, |snr| snr.0),
                    voxel_mm: self.gre_voxel,
                    ..usual
                }
            }),
        }
    }
}

/// Echo times in milliseconds, written with commas between.
#[derive(Clone, Debug, PartialEq)]
pub struct EchoTimes(pub Vec<f64>);

impl FromStr for EchoTimes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let times: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        times.map(Self).map_err(|_| "write times in ms separated by commas".to_owned())
    }
}

impl Serialize for EchoTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let times: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        serializer.collect_str(&times.join(","))
    }
}

/// Two numbers, written with a comma between; one stands for both.
pub type Two<T> = Several<T, 2>;

/// Three numbers, written with commas between; one stands for all three.
pub type Three<T> = Several<T, 3>;

/// So many numbers, written with commas between; one stands for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Several<T, const N: usize>(pub [T; N]);

impl<T: FromStr + Copy, const N: usize> FromStr for Several<T, N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<T>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        let numbers = numbers.unwrap_or_default();
        match (numbers.as_slice().try_into(), numbers.as_slice()) {
            (Ok(each), _) => Ok(Self(each)),
            (Err(_), &[all]) => Ok(Self([all; N])),
            _ if N == 2 => Err("write one number, or two separated by a comma".to_owned()),
            _ => Err("write one number, or three separated by commas".to_owned()),
        }
    }
}

impl<T: fmt::Display, const N: usize> Serialize for Several<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers: Vec<_> = self.0.iter().map(T::to_string).collect();
        serializer.serialize_str(&numbers.join(","))
    }
}

/// A shell, written as in `1000:30`: b in s/mm² and number of directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shell(pub ShellSpec);

impl FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':');
        let shell = parts.and_then(|(b, n)| {
            let (b_s_per_mm2, directions) = (b.trim().parse().ok()?, n.trim().parse().ok()?);
            Some(Self(ShellSpec { b_s_per_mm2, directions }))
        });
        shell.ok_or_else(|| "write b and number of directions, such as 1000:30".to_owned())
    }
}

impl Serialize for Shell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ShellSpec { b_s_per_mm2, directions } = self.0;
        serializer.collect_str(&format_args!("{b_s_per_mm2}:{directions}"))
    }
}

/// A signal-to-noise ratio, `inf` for no noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snr(pub f64);

impl FromStr for Snr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(snr) if snr > 0.0 => Ok(Self(snr)),
            _ => Err("it must be a number above 0, or inf for no noise".to_owned()),
        }
    }
}

impl Serialize for Snr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // JSON has no infinity.
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.serialize_str("inf")
        }
    }
}

/// Makes a head: hands on a [`Head`], its [`Subject`] and its truth, the [`Echoes`] and the truth of
/// its gradient-echo scan where there is one, and writes them.
pub struct HeadPhantom {
    /// What to make.
    pub options: HeadOptions,
    /// Format of its images.
    pub format: MapFormat,
}

impl Stage for HeadPhantom {
    fn name(&self) -> &'static str {
        "head"
    }

    fn makes(&self) -> Vec<Product> {
        let mut made = vec![
            Product::of::<Head>(),
            Product::of::<Subject>(),
            Product::of::<Arc<fimbria_phantoms::Subject>>(),
        ];
        if self.options.gre.is_some() {
            made.extend([Product::of::<Echoes>(), Product::of::<GreSubject>()]);
        }
        made
    }

    fn parameters(&self) -> Value {
        let mut values = json!(self.options);
        values["format"] = json!(self.format.name());
        values
    }

    fn outputs(&self) -> Vec<String> {
        let image = |name| format!("{name}.{}", self.format.name());
        let mut files = ["dwi", "mask", "t1w", "labels", "5tt"].map(image).to_vec();
        files.push("labels.txt".to_owned());
        if self.format != MapFormat::Mif {
            files.extend(["dwi.bval".to_owned(), "dwi.bvec".to_owned()]);
        }
        if self.options.b_tensor.is_some() {
            files.push("dwi.bshape".to_owned());
        }
        if self.options.nonlinearity > 0.0 {
            files.push(image("grad_dev"));
        }
        if self.options.gre.is_some() {
            files.extend(GreFiles { folder: SCAN, format: self.format }.names());
        }
        files
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let spec = self.options.spec();
        let mut made = head(&spec, log.session().on.workers, log)?;
        log.count("volumes", made.subject.dwi.n_volumes as u64);
        log.count("voxels", made.subject.mask.len() as u64);
        let lines = made.bundles.iter().map(|bundle| bundle.streamlines.len() as u64);
        log.count("streamlines", lines.sum());
        if let (Some(scan), Some(of)) = (made.scan.take(), spec.scan) {
            products.put(echoes(&scan, &of.echo_times_s, of.b0_tesla)?);
            products.put(scan);
        }
        products.put(handed_on(&made.subject));
        products.put(made.subject.clone());
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let made = products.get::<Head>()?;
        out.write("labels.txt", lookup_table().as_bytes())?;
        out.write("truth/bundles.txt", numbered(&made.bundles).as_bytes())?;
        let mut files = Files { out, folder: "", format: self.format, log };
        files.series(&made.subject.dwi, &made.subject.gradients)?;
        if self.options.b_tensor.is_some() {
            files.out.write("dwi.bshape", shapes_line(&made.shapes).as_bytes())?;
        }
        files.mask(&made.subject.mask)?;
        let t1w = files.options("simulated T1-weighted picture without noise");
        files.image("t1w", &made.t1w, &t1w)?;
        let described = "numbers of labels.txt";
        let labels = WriteOptions { datatype: Datatype::UInt16, ..files.options(described) };
        files.image("labels", &made.labels, &labels)?;
        let described = "parts: cortical grey, subcortical grey, white, fluid, none";
        let five = files.options(described);
        files.image("5tt", &made.five_tissues, &five)?;
        let described = "parts: both greys, white, fluid, blood, soft, fat, bone, air";
        let tissues = files.options(described);
        files.image("truth/tissues", &made.tissues, &tissues)?;
        files.truth(&made.subject.truth.maps)?;
        if let Some(deviation) = &made.faults.deviation {
            let described = files.options("gradient non-linearity: L, column by column, as FSL's");
            files.image("grad_dev", deviation, &described)?;
        }
        if !made.faults.poses.is_empty() {
            files.out.write("truth/motion.tsv", poses(&made.faults).as_bytes())?;
        }
        if !made.faults.dropped.is_empty() {
            files.out.write("truth/dropped.tsv", dropped(&made.faults).as_bytes())?;
        }
        for bundle in &made.bundles {
            let options = WriteOptions {
                datatype: Datatype::UInt8,
                ..files.options("voxels that streamlines of the bundle pass")
            };
            let name = format!("truth/bundles/{}", bundle.name);
            files.image(&name, &made.bundle_mask(bundle), &options)?;
        }
        let lines = grouped(made);
        lines.write(files.out.stage("truth/tracts.trx")?, &LineOptions::default())?;
        if let Some(spec) = self.options.spec().scan {
            let files = GreFiles { folder: SCAN, format: self.format };
            let made = products.get::<GreSubject>()?;
            files.write(made, &spec.echo_times_s, spec.b0_tesla, out, log)?;
        }
        Ok(())
    }

    /// Makes it again, as the other phantoms.
    fn restore(
        &self,
        _folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }
}

/// A row for each volume.
fn poses(faults: &Faulty) -> String {
    let rows: String = faults.poses.iter().map(|pose| format!("{}\n", pose_row(pose))).collect();
    format!("{POSE_COLUMNS}\n{rows}")
}

/// As fMRIPrep and QSIPrep name them.
pub(crate) const POSE_COLUMNS: &str = "trans_x\ttrans_y\ttrans_z\trot_x\trot_y\trot_z";

/// Along the scanner's axes in mm, about them in radians.
pub(crate) fn pose_numbers(pose: &Pose) -> [f64; 6] {
    let Pose { moved_mm: [x, y, z], turned_deg } = *pose;
    let [a, b, c] = turned_deg.map(f64::to_radians);
    [x, y, z, a, b, c]
}

/// The numbers under [`POSE_COLUMNS`].
pub(crate) fn pose_row(pose: &Pose) -> String {
    pose_numbers(pose).map(|number| format!("{number:.6}")).join("\t")
}

/// What is in a `.bshape`.
pub(crate) fn shapes_line(shapes: &[f64]) -> String {
    let words: Vec<_> = shapes.iter().map(f64::to_string).collect();
    format!("{}\n", words.join(" "))
}

fn dropped(faults: &Faulty) -> String {
    let line = |d: &Dropped| format!("{}\t{}\t{:.4}\n", d.volume, d.slice, d.left);
    let lines: String = faults.dropped.iter().map(line).collect();
    format!("volume\tslice\tleft\n{lines}")
}

/// The numbers of the bundles, their names and how many streamlines each has.
fn numbered(bundles: &[HeadBundle]) -> String {
    let line =
        |(i, b): (usize, &HeadBundle)| format!("{} {} {}\n", i + 1, b.name, b.streamlines.len());
    let mut text: String = bundles.iter().enumerate().map(line).collect();
    text += &format!("{} none 0\n", bundles.len() + 1);
    text
}

/// All streamlines, each bundle a group.
fn grouped(made: &Head) -> Tractogram {
    let mut header = Header::on(made.labels.grid);
    let mut lines = Streamlines::default();
    for bundle in &made.bundles {
        let first = lines.len() as u32;
        bundle.streamlines.iter().for_each(|line| lines.push(line));
        let members = (first..lines.len() as u32).collect();
        header.groups.push(Group { name: bundle.name.clone(), members, data: Vec::new() });
    }
    Tractogram::new(header, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Values, from_values, usual};

    #[test]
    fn the_record_gives_the_options_back() {
        let usual: HeadOptions = usual();
        let quiet = HeadOptions {
            series: SeriesOptions { snr: Snr(f64::INFINITY), ..usual.series },
            size: Some(Several([4, 5, 6])),
            gre: Some(EchoTimes(vec![5.0, 10.5])),
            gre_b0: Some(7.0),
            ..usual
        };
        let Value::Object(values) = json!(quiet) else { panic!("no object") };
        assert_eq!(from_values::<HeadOptions>(&values as &Values).unwrap(), quiet);
    }

    #[test]
    fn the_usual_grid_is_that_of_the_library() {
        assert_eq!(usual::<HeadOptions>().spec(), HeadSpec::default());
    }

    /// A head takes too long for the test that proves the records of other commands by running them.
    #[test]
    fn every_option_is_in_the_record() {
        let record = |values: &Values| {
            let options = from_values::<HeadOptions>(values).unwrap();
            HeadPhantom { options, format: MapFormat::NiiGz }.parameters()
        };
        let plain = record(&Values::new());
        let others = json!({
            "subject": 2, "voxel": "3", "size": "4,5,6", "tilt": "0", "x_left_to_right": true, "b0s": 2,
            "shells": ["700:6"], "snr": "inf", "rng_seed": 2, "samples": 2, "gre": "5,10", "gre_b0": 7,
            "gre_voxel": 2, "gre_snr": 50, "motion": 2, "dropped_slices": 3, "nonlinearity": 0.1,
            "b_tensor": ["planar"],
        });
        let others = others.as_object().unwrap();
        let command = HeadOptions::augment_args(clap::Command::new("head"));
        for option in command.get_arguments().map(|arg| arg.get_id().as_str()) {
            let value = others.get(option).unwrap_or_else(|| panic!("no other {option}"));
            let mut values = Values::from_iter([(option.to_owned(), value.clone())]);
            // The scan's options are of a scan.
            let plain = if option.starts_with("gre_") {
                let scan = ("gre".to_owned(), others["gre"].clone());
                values.extend([scan.clone()]);
                &record(&Values::from_iter([scan]))
            } else {
                &plain
            };
            assert_ne!(record(&values), *plain, "{option}");
        }
    }
}
