//! The files of an evaluation.

use std::fmt::Write as _;
use std::path::Path;

use fimbria_compute::{Progress as _, Workers};
use fimbria_image::{Image, MapKind, MapSpec, Window};
use fimbria_streamlines::connectome::{Connectome, Nodes};
use fimbria_streamlines::{Column, Format, Group, Header, Streamlines, WriteOptions, create, open};
use serde_json::json;

use super::evidence::table;
use super::prediction::prediction_map;
use super::{Evaluation, Life, pruned_name};
use crate::stages::connectome::warn_where_nothing_is_assigned;
use crate::stages::given_lines::for_each_chunk;
use crate::stages::load::Subject;
use crate::{Carried, FileKind, Logbook, MapContext, OutputFolder, StageError, Written};

/// What `fimbria life` writes.
pub const LIFE_WRITES: &[Written] = &[
    Written::file(
        "weights.txt",
        FileKind::Table,
        "the weight of every streamline, one a line, in the order of the input",
    ),
    Written::file(
        "pruned.*",
        FileKind::Tractogram,
        "the streamlines of positive weight, in the input's format; TRX and TRK with \
         their weights per streamline",
    ),
    Written::file("pruned_weights.txt", FileKind::Table, "those weights").only("of TCK"),
    Written::map(&RMSE),
    Written::map(&RMSE_S0),
    Written::map(&RMSE_S0_WITHOUT),
    Written::image(
        "prediction",
        MapKind::Scalar,
        0,
        "arbitrary",
        "predicted signal of every volume (unweighted volumes: their mean)",
    ),
    Written::file(
        "evidence.tsv",
        FileKind::Table,
        "virtual lesions: of each set of streamlines (all, TRX groups, --sets) what \
         the signal of its voxels loses without it",
    ),
    Written::map(&RMSE_XV).only("with --second"),
    Written::map(&RRMSE).only("with --second"),
    Written::image(
        "isotropic",
        MapKind::Scalar,
        0,
        "",
        "weights of the compartments, a volume each",
    )
    .only("with --isotropic"),
    Written::image(
        "hindered",
        MapKind::Scalar,
        0,
        "",
        "weights of the compartments around fibres: of the first fibre by each diffusivity, then of the next",
    )
    .only("with --hindered"),
    Written::map(&RESTRICTED).only("with --hindered"),
    Written::file(
        "matrix_*.csv",
        FileKind::Table,
        "sums of weights, numbers and mean weights of streamlines of positive weight \
         and their mean lengths (mm) between nodes",
    )
    .only("with --labels"),
    Written::file("matrix_labels.txt", FileKind::Table, "the labels of rows and columns")
        .only("with --labels"),
    Written::file(
        "run.json",
        FileKind::Json,
        "inputs with hashes, parameters, objective, nonzero, iterations, optimality, \
         times, counts, warnings",
    ),
];

static RMSE: MapSpec = MapSpec::scalar(
    "rmse",
    "arbitrary",
    "root mean squared error of the predicted signal, units of the signal, 0 where no streamline is",
)
.within(Window::FromZero);
static RMSE_S0: MapSpec = MapSpec::scalar(
    "rmse_s0",
    "",
    "root mean squared error over the unweighted signal, 0 where no streamline is",
)
.within(Window::FromZero);
static RMSE_S0_WITHOUT: MapSpec = MapSpec::scalar(
    "rmse_s0_without",
    "",
    "the same without streamlines: their weights zero, those of compartments as they are",
)
.within(Window::FromZero);
static RMSE_XV: MapSpec = MapSpec::scalar(
    "rmse_xv",
    "arbitrary",
    "root mean squared error of the prediction of the second series, units of the signal",
)
.within(Window::FromZero);
static RRMSE: MapSpec = MapSpec::scalar(
    "rrmse",
    "",
    "error of the prediction of the second series over the difference of both series",
)
.within(Window::FromZero);

static RESTRICTED: MapSpec = MapSpec::scalar(
    "restricted",
    "",
    "what streamlines are of the voxel: their weights by their parts there, of the unweighted signal",
)
.within(Window::FromZero);

fn hindered(volumes: usize) -> MapSpec {
    MapSpec::of_kind(
        "hindered",
        MapKind::Scalar,
        volumes,
        "",
        "weights of the compartments around fibres: of the first fibre by each diffusivity, then of \
         the next",
    )
}

fn isotropic(volumes: usize) -> MapSpec {
    MapSpec::of_kind(
        "isotropic",
        MapKind::Scalar,
        volumes,
        "",
        "weights of the isotropic compartments, a volume each",
    )
}

/// Matrices: sum of weights, number of streamlines, and mean of weights and of lengths.
const MATRICES: [&str; 4] =
    ["matrix_weights.csv", "matrix_count.csv", "matrix_mean.csv", "matrix_lengths.csv"];
/// The labels of rows and columns.
const LABELS: &str = "matrix_labels.txt";

fn context(life: &Life, carried: Carried) -> MapContext {
    MapContext {
        stage: "life",
        model: "life",
        label: "",
        model_entry: json!({
            "Description": "Linear fascicle evaluation",
            "Parameters": life.parameters.in_effect(),
        }),
        entities: life.entities.clone(),
        carried,
    }
}

/// The names of all files.
pub(super) fn file_names(life: &Life) -> Vec<String> {
    let pruned = pruned_name(&life.files.tractogram);
    let mut files = vec!["weights.txt".to_owned(), pruned.to_owned(), "evidence.tsv".to_owned()];
    if pruned == "pruned.tck" {
        files.push("pruned_weights.txt".to_owned());
    }
    let mut maps = vec![RMSE.clone(), RMSE_S0.clone(), RMSE_S0_WITHOUT.clone(), prediction_map(1)];
    if life.second.is_some() {
        maps.extend([RMSE_XV.clone(), RRMSE.clone()]);
    }
    if !life.parameters.isotropic.is_empty() {
        maps.push(isotropic(1));
    }
    if !life.hindered.hindered.is_empty() {
        maps.extend([hindered(1), RESTRICTED.clone()]);
    }
    let context = context(life, Carried::default());
    files.extend(maps.iter().flat_map(|map| life.style.file_names(map, &context)));
    if life.files.labels.is_some() {
        files.extend(MATRICES.map(str::to_owned));
        files.push(LABELS.to_owned());
    }
    files
}

/// The errors over the unweighted signal with streamlines and without, of a folder.
pub(super) fn read_errors(
    life: &Life,
    folder: &Path,
    workers: &Workers,
) -> Result<(Image, Option<Image>), StageError> {
    let context = context(life, Carried::default());
    let after = life.style.read(&RMSE_S0, &context, folder, workers)?;
    let before = life.style.read_where_written(&RMSE_S0_WITHOUT, &context, folder, workers)?;
    Ok((after, before))
}

/// Writes everything.
pub(super) fn write(
    life: &Life,
    subject: &Subject,
    evaluation: &Evaluation,
    out: &mut OutputFolder,
    log: &Logbook<'_>,
) -> Result<(), StageError> {
    let weights = &evaluation.weights.streamlines;
    out.write("weights.txt", lines(weights.iter()).as_bytes())?;
    out.write("evidence.tsv", table(&evaluation.lesions).as_bytes())?;
    write_maps(life, subject, evaluation, out, log)?;
    write_streamlines(life, weights, evaluation.nodes.as_ref(), out, log)
}

/// One number a line.
fn lines<'w>(weights: impl Iterator<Item = &'w f32>) -> String {
    let mut text = String::new();
    for weight in weights {
        // The shortest decimal that reads back as the same number. Writing to text cannot fail.
        let _ = writeln!(text, "{weight}");
    }
    text
}

fn write_maps(
    life: &Life,
    subject: &Subject,
    evaluation: &Evaluation,
    out: &mut OutputFolder,
    log: &Logbook<'_>,
) -> Result<(), StageError> {
    let carried = subject.carried.clone().with(log.session().header_entries());
    let context = context(life, carried);
    let workers = log.session().on.workers;
    for (map, image) in &evaluation.maps() {
        log.check()?;
        life.style.write(map, image, &context, out, workers)?;
    }
    if let Some(prediction) = &evaluation.prediction {
        log.check()?;
        let places = prediction.places();
        let value = |sample: usize| prediction.value(&places, sample);
        let (map, grid) = (prediction.map(), &prediction.grid);
        life.style.write_samples(&map, grid, &value, &context, out, workers)?;
    }
    Ok(())
}

impl Evaluation {
    /// Errors, and where there are some the comparison with a second series and the weights of
    /// compartments.
    pub fn maps(&self) -> Vec<(MapSpec, Image)> {
        let Self { grid, voxels, s0, rmse, rmse_without, restricted, cross, weights, .. } = self;
        let grid = *grid;
        let image_of = |values: &mut dyn Iterator<Item = f32>| {
            let mut image = Image::zeros(grid, 1);
            for (&voxel, value) in voxels.iter().zip(values) {
                image.data[voxel as usize] = value;
            }
            image
        };
        let usable = |value: f32, s0: f32| if s0 > 0.0 { value } else { f32::NAN };
        let pairs = || rmse.iter().zip(s0);
        let without = || rmse_without.iter().zip(s0);
        let mut maps = vec![
            (RMSE.clone(), image_of(&mut pairs().map(|(e, s0)| usable(*e, *s0)))),
            (RMSE_S0.clone(), image_of(&mut pairs().map(|(e, s0)| usable(e / s0, *s0)))),
            (RMSE_S0_WITHOUT.clone(), image_of(&mut without().map(|(e, s0)| usable(e / s0, *s0)))),
        ];
        if let Some(cross) = cross {
            maps.push((RMSE_XV.clone(), image_of(&mut cross.rmse.iter().copied())));
            maps.push((RRMSE.clone(), image_of(&mut cross.ratio.iter().copied())));
        }
        let volumes_of = |weights: &[Vec<f32>]| {
            let mut image = Image::zeros(grid, weights.len());
            for (volume, weights) in weights.iter().enumerate() {
                let samples = image.volume_mut(volume);
                for (&voxel, &weight) in voxels.iter().zip(weights) {
                    samples[voxel as usize] = weight;
                }
            }
            image
        };
        let (of_water, around_fibres) = weights.compartments.split_at(self.n_isotropic);
        if !of_water.is_empty() {
            maps.push((isotropic(of_water.len()), volumes_of(of_water)));
        }
        if !around_fibres.is_empty() {
            maps.push((hindered(around_fibres.len()), volumes_of(around_fibres)));
        }
        if let Some(restricted) = restricted {
            maps.push((RESTRICTED.clone(), image_of(&mut restricted.iter().copied())));
        }
        maps
    }
}

/// Reads the tractogram again: what has weight goes into the pruned one and into matrices.
fn write_streamlines(
    life: &Life,
    weights: &[f32],
    nodes: Option<&Nodes>,
    out: &mut OutputFolder,
    log: &Logbook<'_>,
) -> Result<(), StageError> {
    let name = pruned_name(&life.files.tractogram);
    let path = out.stage(&name)?;
    let format = Format::from_name(name.as_ref())?;
    let mut reader = open(&life.files.tractogram)?;
    let header = reader.header().clone();
    let holds_weights = format.holds_columns();
    let column = weight_name(&header);
    let mut pruned = kept_header(&header, weights);
    if holds_weights {
        pruned.per_streamline.push(Column::from_f32(column, 1, &[]).kind);
    }
    let mut writer = create(&path, format, &pruned, &WriteOptions::default())?;
    let mut matrices = nodes.map(|nodes| (Connectome::new(nodes), Connectome::new(nodes)));
    for_each_chunk(&mut *reader, "writing streamlines", log, |first, chunk| {
        let of_chunk = &weights[first..first + chunk.len()];
        let mut kept = Streamlines::for_header(&header);
        for (f, _) in of_chunk.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            kept.push_from(chunk, f);
        }
        let kept_weights: Vec<f32> = of_chunk.iter().copied().filter(|w| *w > 0.0).collect();
        if let (Some(nodes), Some((sums, counts))) = (nodes, &mut matrices) {
            let weights: Vec<f64> = kept_weights.iter().map(|w| f64::from(*w)).collect();
            sums.add(nodes, &kept, Some(&weights), log.session().on.workers);
            counts.add(nodes, &kept, None, log.session().on.workers);
        }
        if holds_weights {
            kept.add_per_streamline(Column::from_f32(column, 1, &kept_weights));
        }
        Ok(writer.write(&kept)?)
    })?;
    writer.finish()?;
    if !holds_weights {
        let kept = lines(weights.iter().filter(|w| **w > 0.0));
        out.write("pruned_weights.txt", kept.as_bytes())?;
    }
    if let (Some(nodes), Some((sums, counts))) = (nodes, matrices) {
        let (assigned, total) = counts.assigned_of_total();
        warn_where_nothing_is_assigned(&counts, log);
        log.count("pruned_assigned", assigned);
        log.count("pruned_unassigned", total - assigned);
        write_matrices(nodes, &sums, &counts, out)?;
    }
    Ok(())
}

/// What the weights' column is called: not what another one is.
fn weight_name(header: &Header) -> &'static str {
    let is_taken = header.per_streamline.iter().any(|kind| kind.name == "weight");
    if is_taken { "life_weight" } else { "weight" }
}

/// The header of what has weight: groups by their new numbers.
fn kept_header(header: &Header, weights: &[f32]) -> Header {
    let mut number = vec![u32::MAX; weights.len()];
    let kept = weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
    for (new, (f, _)) in kept.enumerate() {
        number[f] = new as u32;
    }
    let group = |group: &Group| {
        let members = group.members.iter().filter_map(|&f| number.get(f as usize).copied());
        let members = members.filter(|f| *f != u32::MAX).collect();
        Group { members, ..group.clone() }
    };
    Header { groups: header.groups.iter().map(group).collect(), ..header.clone() }
}

fn write_matrices(
    nodes: &Nodes,
    sums: &Connectome,
    counts: &Connectome,
    out: &mut OutputFolder,
) -> Result<(), StageError> {
    let n = nodes.len();
    let (sum, count) = (sums.weights(), counts.weights());
    let mean: Vec<f64> =
        sum.iter().zip(&count).map(|(s, c)| if *c > 0.0 { s / c } else { 0.0 }).collect();
    let lengths = counts.lengths_mm();
    for (name, matrix) in MATRICES.iter().zip([sum, count, mean, lengths]) {
        let row = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let text: Vec<String> = matrix.chunks(n).map(row).collect();
        out.write(name, (text.join("\n") + "\n").as_bytes())?;
    }
    let labels: Vec<String> = nodes.labels().iter().map(u32::to_string).collect();
    out.write(LABELS, (labels.join("\n") + "\n").as_bytes())?;
    Ok(())
}
