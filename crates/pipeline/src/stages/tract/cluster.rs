//! The stage that finds streamlines that lie together.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::Args;
use fimbria_streamlines::bundle::QuickBundles;
use fimbria_streamlines::edit::Chosen;
use fimbria_streamlines::{
    Column, Format, Header, Streamlines, WriteOptions, arc_length_mm, create, open,
};
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::{Value, json};

use super::bundles::{TractFormat, format_of};
use super::profile::warn_of_those_left_out;
use super::source::{Kept, grid_of, pass, warn_of_doubts, warn_of_losses};
use crate::options::{Described as _, Named, Takes, above, at_least, choice, within};
use crate::{FileKind, Input, Logbook, OutputFolder, Products, Stage, StageError, Written};

/// What `fimbria tract cluster` writes.
pub const CLUSTER_WRITES: &[Written] = &[
    Written::file(
        "clusters.tsv",
        FileKind::Table,
        "cluster, streamlines, length_mm: the number of each from 1 in the order of their first streamlines, how many \
         it has, how long its centroid is",
    ),
    Written::file(
        "clusters.txt",
        FileKind::Table,
        "the cluster of each streamline, a line each; 0 for one without points, or not finite",
    ),
    Written::file("centroids.*", FileKind::Tractogram, "the centroid of each cluster"),
    Written::file(
        "kept.*",
        FileKind::Tractogram,
        "the streamlines of clusters that are large enough",
    )
    .only("with --min-size"),
    Written::RECORD,
];

/// The streamlines, and how near they lie together.
#[derive(Clone, Debug, Args, Serialize)]
pub struct ClusterOptions {
    /// Tractogram: .tck, .trk, .trx or a TRX folder
    #[arg(takes = Takes::TRACTOGRAM)]
    pub tractogram: PathBuf,

    /// A streamline as far as this from all centroids begins a cluster
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), default_value_t = 10.0)]
    pub threshold: f64,

    /// Points of each streamline and centroid, evenly spaced
    #[arg(long, value_name = "N", number = within(2_usize, 1000, ""), default_value_t = 12)]
    pub points: usize,

    /// Write the streamlines of clusters that have so many at least
    #[arg(long, value_name = "N", number = at_least(1_u32, ""))]
    pub min_size: Option<u32>,

    /// Format of the tractograms
    #[arg(long, value_name = "FORMAT", value_parser = choice::<TractFormat>())]
    #[arg(usually = "that of the input", help_heading = "Output")]
    pub tracks: Option<Named<TractFormat>>,

    /// Image whose grid .trk and .trx name
    #[arg(long, value_name = "IMAGE", help_heading = "Output")]
    #[arg(usually = "the one that the input names")]
    #[arg(takes = Takes::IMAGE)]
    pub reference: Option<PathBuf>,
}

/// Finds clusters of streamlines.
pub struct ClusterTracts {
    options: ClusterOptions,
    format: Format,
}

impl ClusterTracts {
    /// Of these options.
    ///
    /// # Errors
    /// Where the format of the tractogram cannot be told.
    pub fn new(options: ClusterOptions) -> Result<Self, StageError> {
        let format = format_of(options.tracks.as_ref(), Some(&options.tractogram))?;
        Ok(Self { options, format })
    }

    fn file(&self, name: &str) -> String {
        format!("{name}.{}", self.format.extension())
    }

    fn cluster(&self, out: &mut OutputFolder, log: &Logbook<'_>) -> Result<(), StageError> {
        let ClusterOptions { tractogram, threshold, points, min_size, reference, .. } =
            &self.options;
        let workers = log.session().on.workers;
        let mut bundles = QuickBundles::new(*threshold, *points);
        let mut lines = open(tractogram)?;
        let header = lines.header().clone();
        let path = out.stage("clusters.txt")?;
        let mut numbers = BufWriter::new(std::fs::File::create(&path)?);
        let (mut of_line, mut left_out) = (Vec::new(), 0);
        let read = pass(&mut *lines, "clustering streamlines", log, |_, chunk| {
            for cluster in bundles.add(chunk, workers) {
                let number = cluster.map_or(0, |cluster| cluster + 1);
                writeln!(numbers, "{number}")?;
                left_out += usize::from(number == 0);
                of_line.extend(min_size.map(|_| number));
            }
            Ok(())
        })?;
        numbers.flush()?;
        warn_of_doubts(&*lines, log);
        warn_of_those_left_out(left_out, log);
        log.count("streamlines", read as u64);
        log.count("clusters", bundles.clusters().len() as u64);
        let grid = grid_of(reference.as_deref())?.or(header.grid);
        self.write_centroids(&bundles, Header { grid, ..Header::default() }, out)?;
        let Some(least) = *min_size else { return Ok(()) };
        let size = |number: usize| bundles.clusters()[number - 1].size;
        let mut chosen = Chosen::default();
        of_line
            .iter()
            .for_each(|&number| chosen.push(number > 0 && size(number as usize) >= least));
        let kept = self.write_kept(header, &chosen, out, log)?;
        log.count("kept", kept);
        Ok(())
    }

    fn write_centroids(
        &self,
        bundles: &QuickBundles,
        mut header: Header,
        out: &mut OutputFolder,
    ) -> Result<(), StageError> {
        let (mut lines, mut sizes) = (Streamlines::default(), Vec::new());
        let mut table = "cluster\tstreamlines\tlength_mm\n".to_owned();
        for (number, cluster) in (1..).zip(bundles.clusters()) {
            lines.push(&cluster.centroid);
            sizes.push(cluster.size);
            let length_mm = arc_length_mm(&cluster.centroid);
            table += &format!("{number}\t{}\t{length_mm:.3}\n", cluster.size);
        }
        if self.format.holds_columns() {
            let column = Column::from_u32("streamlines", &sizes);
            header.per_streamline.push(column.kind.clone());
            lines.add_per_streamline(column);
        }
        let path = out.stage(&self.file("centroids"))?;
        let mut writer = create(&path, self.format, &header, &WriteOptions::default())?;
        writer.write(&lines)?;
        writer.finish()?;
        Ok(out.write("clusters.tsv", table.as_bytes())?)
    }

    /// Reads the streamlines again and writes those that are kept.
    fn write_kept(
        &self,
        header: Header,
        chosen: &Chosen,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<u64, StageError> {
        let header = Header { groups: chosen.groups(&header.groups), ..header };
        warn_of_losses(self.format, &header, log);
        let grid = grid_of(self.options.reference.as_deref())?;
        let name = self.file("kept");
        let mut writer = Kept::create(out, &name, self.format, &header, grid, false)?;
        let mut lines = open(&self.options.tractogram)?;
        pass(&mut *lines, "writing streamlines", log, |first, chunk| {
            writer.write(chunk, &vec![1.0; chunk.len()], |index| {
                chosen.contains((first + index) as u64)
            })
        })?;
        Ok(writer.finish()?.streamlines)
    }
}

impl Stage for ClusterTracts {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn inputs(&self) -> Vec<Input> {
        let ClusterOptions { tractogram, reference, .. } = &self.options;
        let mut all = vec![("tractogram".to_owned(), tractogram.clone())];
        all.extend(reference.iter().flat_map(|path| with_sidecar("reference", path)));
        all
    }

    fn parameters(&self) -> Value {
        let ClusterOptions { threshold, points, min_size, .. } = &self.options;
        json!({
            "threshold": threshold,
            "points": points,
            "min_size": min_size,
            "format": self.format.to_string(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let kept = self.options.min_size.map(|_| self.file("kept"));
        let tables = ["clusters.tsv", "clusters.txt"].map(str::to_owned);
        tables.into_iter().chain([self.file("centroids")]).chain(kept).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.compute_into(products, None, log)
    }

    /// Streamlines may be larger than memory: they are written as they are read.
    fn compute_into(
        &self,
        _products: &mut Products,
        out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.cluster(out.ok_or("one process clusters")?, log)
    }
}
