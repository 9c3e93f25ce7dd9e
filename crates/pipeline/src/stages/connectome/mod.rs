//! The stage that counts streamlines between the regions of a label image.

mod derivatives;
mod edges;
mod ends;
mod in_run;
pub(in crate::stages) mod section;

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_image::{Image, read_image};
use fimbria_streamlines::connectome::{AssignedNodes, Assignment, Connectome, Nodes};
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::{Value, json};

use self::section::Matrices;
use crate::options::{Described as _, Takes, within};
use crate::stages::contents::check_labels;
use crate::stages::doubts::warn_of_place_of;
use crate::stages::given_lines::{GivenLines, for_each_chunk, open_lines};
use crate::stages::in_run::{InRun, InRunError, RunContext, Stages, When};
use crate::stages::label_names::table_beside;
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::read_back::ReadBack;
use crate::stages::track::tractogram_of;
use crate::stages::weights::{Weights, in_record, weights_file};
use crate::{
    FileKind, Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError, Taken,
    Written,
};

use self::derivatives::DERIVATIVES;
pub use self::edges::Edges;
use self::ends::Labelled;
pub use self::in_run::{ConnectomeInRun, ConnectomeOptions};

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Table("connectome"),
        needs: &[],
        writes: Some(
            Written::folder(
                "connectome/",
                "between which labels they run, as `fimbria connectome` writes it",
            )
            .only("with a table [connectome]"),
        ),
        stages,
    }),
    table: Some(OptionTable::of::<ConnectomeOptions>()),
    writes: CONNECTOME_WRITES,
    restored: |record| {
        let record = record.clone();
        let read = Box::new(move |folder: &Path| Matrices::read(folder, &record));
        Some(Box::new(ReadBack { name: "connectome", read }))
    },
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<Connections>(), Taken::where_made::<Matrices>()],
        draw: |shown| {
            let counted = shown.products.find().map(Matrices::from_connections);
            let matrices = counted.as_ref().or_else(|| shown.products.find::<Matrices>());
            Ok(matrices.map(Matrices::section))
        },
    }),
    derivatives: Some(DERIVATIVES),
    ..Method::named("connectome")
};

fn stages(run: &RunContext<'_>) -> Stages {
    if !run.makes("track") {
        return Err(InRunError::NoStreamlines);
    }
    let (options, tractogram) = (run.options("connectome")?, tractogram_of(run)?);
    Ok(vec![Box::new(ConnectomeInRun::new(options, tractogram, run.makes("sift2")))])
}

/// What `fimbria connectome` writes.
pub const CONNECTOME_WRITES: &[Written] = &[
    Written::file(
        "weights.csv",
        FileKind::Table,
        "number of streamlines, or with --weights the sum of their weights; with --per-length (1/mm) and \
         --per-volume divided",
    ),
    Written::file("counts.csv", FileKind::Table, "number of streamlines")
        .only("where weights.csv has something else"),
    Written::file(
        "lengths.csv",
        FileKind::Table,
        "their length, mm: the (weighted) mean, or what --of-edge says; 0 where there are none",
    ),
    Written::file(
        "mean_*.csv",
        FileKind::Table,
        "(weighted) mean of a map: first along each streamline by length, then over the streamlines; 0 where \
         there are none",
    )
    .only("with --map"),
    Written::file("sum_*.csv", FileKind::Table, "their (weighted) sum in place of the mean")
        .only("with --map and --of-edge sum"),
    Written::file("min_*.csv", FileKind::Table, "the least in place of the mean")
        .only("with --map and --of-edge min"),
    Written::file("max_*.csv", FileKind::Table, "the largest in place of the mean")
        .only("with --map and --of-edge max"),
    Written::file(
        "assignments.txt",
        FileKind::Table,
        "the labels of each streamline, a line each, 0 where an end has none: what `tract edit --assignments` and \
         connectome2tck read",
    )
    .only("with --assignments"),
    Written::file("labels.txt", FileKind::Table, "the label of each row, ascending"),
    Written::file("labels.tsv", FileKind::Table, "index, name: the same with what it is called")
        .only("where the labels have names"),
    Written::file("*.npy", FileKind::Binary, "each matrix again, little-endian f64: numpy.load")
        .only("with --npy"),
    Written::file(
        "run.json",
        FileKind::Json,
        "inputs with hashes, parameters, machine, times, how many were assigned",
    ),
];

/// Counts, weighs and measures the streamlines between labels.
#[derive(Clone, Debug, Args, Serialize)]
pub struct CountConnections {
    /// Tractogram: .tck, .trk, .trx or a TRX folder
    #[arg(takes = Takes::TRACTOGRAM)]
    pub tractogram: PathBuf,

    /// Image of labels: whole numbers, 0 is background
    #[arg(takes = Takes::LABELS)]
    pub labels: PathBuf,

    /// How ends meet labels.
    #[command(flatten)]
    #[serde(flatten)]
    pub reach: Reach,

    /// Weight of each streamline: a text file of numbers, or the name of the tractogram's own data
    #[arg(long, value_name = "FILE|NAME")]
    pub weights: Option<String>,

    /// What is counted, and how it is written.
    #[command(flatten)]
    #[serde(flatten)]
    pub edges: Edges,
}

/// How streamlines meet labels.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Reach {
    /// How far the nearest labelled voxel may be from an end
    #[arg(long, value_name = "MM", number = within(0.0, 100.0, "mm"), default_value_t = 4.0)]
    #[arg(conflicts_with_all = ["exact_label", "reverse_search", "forward_search", "all_voxels"])]
    pub radius: f64,

    /// Take the label of the voxel that holds the end, and no other
    #[arg(long, conflicts_with_all = ["reverse_search", "forward_search", "all_voxels"])]
    pub exact_label: bool,

    /// Take the first label at a point of the streamline, from the end inwards, so far at most and to its middle
    #[arg(long, value_name = "MM", number = within(0.0, 100.0, "mm"))]
    #[arg(conflicts_with_all = ["forward_search", "all_voxels"])]
    pub reverse_search: Option<f64>,

    /// Take the first label on the straight way on from the end, so far at most
    #[arg(long, value_name = "MM", number = within(0.0, 100.0, "mm"), conflicts_with = "all_voxels")]
    pub forward_search: Option<f64>,

    /// Take all labels that the streamline crosses: each two of them are connected, and each with itself
    #[arg(long)]
    pub all_voxels: bool,
}

impl Reach {
    fn assignment(&self) -> Assignment {
        match *self {
            Self { exact_label: true, .. } => Assignment::ExactLabel,
            Self { all_voxels: true, .. } => Assignment::AllVoxels,
            Self { reverse_search: Some(most_mm), .. } => Assignment::ReverseSearch { most_mm },
            Self { forward_search: Some(most_mm), .. } => Assignment::ForwardSearch { most_mm },
            Self { radius, .. } => Assignment::RadialSearch { radius_mm: radius },
        }
    }
}

/// Labels in memory, which are counted between in place of their file.
pub struct GivenLabels(pub Image);

/// Maps in memory with their names, which are looked up in place of files.
pub struct GivenMaps(pub Vec<(String, Image)>);

/// What was counted.
pub struct Connections {
    /// Streamlines between nodes.
    pub connectome: Connectome,
    /// The label of each node, ascending.
    pub labels: Vec<u32>,
    /// Where the labels are.
    pub regions: Image,
    /// How streamlines meet them.
    pub nodes: Nodes,
    /// The nodes of each streamline, where they are asked for.
    pub assignments: Vec<AssignedNodes>,
    /// What they are called, where a table says so.
    pub names: Option<Vec<String>>,
    /// The names of the maps along the streamlines.
    pub maps: Vec<String>,
    /// Whether streamlines have weights.
    pub is_weighted: bool,
}

/// What is in memory, in place of files.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    lines: Option<&'a GivenLines>,
    labels: Option<&'a GivenLabels>,
    maps: Option<&'a GivenMaps>,
    weights: Option<&'a [f32]>,
}

impl CountConnections {
    /// The same with the table of names that lies beside the labels, where none is given.
    #[must_use]
    pub fn with_table_beside(mut self) -> Self {
        self.edges.lut = self.edges.lut.or_else(|| table_beside(&self.labels));
        self
    }

    fn count(&self, given: Given<'_>, log: &Logbook<'_>) -> Result<Connections, StageError> {
        let workers = log.session().on.workers;
        let regions = match given.labels {
            Some(GivenLabels(image)) => image.clone(),
            None => read_labels(&self.labels, log)?,
        };
        let Edges { lut, all_labels, .. } = &self.edges;
        let labelled = Labelled::new(regions, (lut.as_deref(), *all_labels), &self.reach, log)?;
        let nodes = &labelled.nodes;
        let (maps, along) = self.edges.read(given.maps, log)?;
        let mut reader = open_lines(given.lines, &self.tractogram)?;
        let weights = Weights::find(self.weights.as_deref(), reader.header())?;
        let mut connectome = Connectome::along(nodes, along, self.edges.of_edge.0);
        let mut assignments = Vec::new();
        let read = for_each_chunk(&mut *reader, "counting connections", log, |done, chunk| {
            let part = match given.weights.and_then(|all| all.get(done..done + chunk.len())) {
                Some(part) => part.iter().map(|weight| f64::from(*weight)).collect(),
                None => weights.of_chunk(done, chunk)?,
            };
            let met = connectome.add(nodes, chunk, Some(&part), workers);
            if self.edges.assignments {
                assignments.extend(met);
            }
            Ok(())
        })?;
        weights.check_number(read)?;
        let (assigned, total) = connectome.assigned_of_total();
        warn_where_nothing_is_assigned(&connectome, log);
        labelled.tell(&connectome, &self.reach, log);
        log.count("streamlines", total);
        log.count("assigned", assigned);
        let is_weighted = self.weights.is_some() || given.weights.is_some();
        let Labelled { regions, nodes, names, .. } = labelled;
        Ok(Connections {
            connectome,
            labels: nodes.labels().to_vec(),
            regions,
            nodes,
            assignments,
            names,
            maps,
            is_weighted,
        })
    }

    fn weights_file(&self) -> Option<&Path> {
        weights_file(self.weights.as_deref(), std::slice::from_ref(&self.tractogram))
    }
}

impl Stage for CountConnections {
    fn name(&self) -> &'static str {
        "connectome"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::where_made::<GivenLines>(),
            Taken::where_made::<GivenLabels>(),
            Taken::where_made::<GivenMaps>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Connections>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![("tractogram".to_owned(), self.tractogram.clone())];
        inputs.extend(with_sidecar("labels", &self.labels));
        inputs.extend(self.weights_file().map(|path| ("weights".to_owned(), path.to_owned())));
        inputs.extend(self.edges.inputs());
        inputs
    }

    fn parameters(&self) -> Value {
        let Reach { radius, exact_label, reverse_search, forward_search, all_voxels } = &self.reach;
        let is_radial = matches!(self.reach.assignment(), Assignment::RadialSearch { .. });
        let weights = in_record(self.weights.as_deref(), std::slice::from_ref(&self.tractogram));
        let Edges { map: _, of_edge, lut, per_length, per_volume, hollow, .. } = &self.edges;
        let Edges { upper, npy, assignments, all_labels, .. } = &self.edges;
        json!({
            "radius": is_radial.then_some(radius),
            "exact_label": exact_label,
            "reverse_search": reverse_search,
            "forward_search": forward_search,
            "all_voxels": all_voxels,
            "weights": weights,
            "map": self.edges.maps(),
            "of_edge": of_edge,
            "lut": lut.as_ref().map(|_| "given"),
            "all_labels": all_labels,
            "per_length": per_length,
            "per_volume": per_volume,
            "hollow": hollow,
            "upper": upper,
            "npy": npy,
            "assignments": assignments,
        })
    }

    fn outputs(&self) -> Vec<String> {
        self.edges.outputs(self.weights.is_some())
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let given = Given {
            lines: products.find(),
            labels: products.find(),
            maps: products.find(),
            weights: None,
        };
        let counted = self.count(given, log)?;
        products.put(counted);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.edges.write(products.get::<Connections>()?, out)
    }
}

/// Reads a segmentation.
pub(super) fn read_labels(path: &Path, log: &Logbook<'_>) -> Result<Image, StageError> {
    check_labels(path)?;
    let image = log.session().on.workers.install(|| read_image(path))?;
    warn_of_place_of(path, log);
    Ok(image)
}

/// Warns of labels that no streamline reaches.
pub(crate) fn warn_where_nothing_is_assigned(connectome: &Connectome, log: &Logbook<'_>) {
    let (assigned, total) = connectome.assigned_of_total();
    if assigned == 0 && total > 0 {
        log.warn(
            Page::Connectomes,
            "no streamline ends at labels: do the tractogram and the labels lie in the same place?",
        );
    }
}
