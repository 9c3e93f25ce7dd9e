//! Regions among all methods: in a run, of all maps that it has made; and on its page.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use fimbria_image::{MapKind, counted};
use fimbria_report::{Section, Table};
use serde::Serialize;
use serde_json::{Value, json};

use super::{MapFile, REGIONS_WRITES, RegionTable, Segmentation, SumUpRegions};
use crate::options::{Described as _, Takes};
use crate::stages::in_run::{InRun, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::{Derivatives, Source, Taken, Written};

pub(in crate::stages) const METHOD: Method = Method {
    table: Some(OptionTable::of::<RegionsInRun>()),
    in_run: Some(InRun {
        when: When::Table("regions"),
        needs: &[],
        writes: Some(
            Written::folder(
                "regions/",
                "all maps over the regions of a segmentation, as `fimbria regions` writes them",
            )
            .only("with a table [regions]"),
        ),
        stages,
    }),
    writes: REGIONS_WRITES,
    restored: |record| {
        record.parameters_of("regions")?;
        let segmentation = Segmentation { labels: PathBuf::new(), lut: None };
        Some(Box::new(SumUpRegions { segmentation, maps: Vec::new(), takes: Vec::new() }))
    },
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<RegionTable>()],
        draw: |shown| Ok(shown.products.find::<RegionTable>().map(section)),
    }),
    derivatives: Some(Derivatives {
        sources: &[Source::Series, Source::Mask, Source::Labels],
        by_labels: true,
        place: |file, names| names.beside_labels("scalarstats", file.extension()),
        describe: |_| Some(columns()),
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("regions")
};

/// What the columns of the table hold, as a sidecar of BIDS.
fn columns() -> Value {
    json!({
        "Description": "maps over the regions of a segmentation, a line for each region and map",
        "index": { "Description": "number of the region in the segmentation" },
        "name": { "Description": "what the region is called" },
        "map": { "Description": "the map, after the stage that made it (dti/FA)" },
        "voxels": { "Description": "voxels of the map in the region" },
        "volume_ml": { "Description": "their volume", "Units": "ml" },
        "n": { "Description": "those of them that have a value" },
        "mean": { "Description": "mean of the values, in the unit of the map" },
        "sd": { "Description": "standard deviation (n - 1)" },
        "median": { "Description": "median" },
        "p5": { "Description": "5th percentile; p25, p75 and p95 likewise" },
    })
}

/// The table `[regions]` of a run.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
struct RegionsInRun {
    /// Segmentation: whole numbers, 0 is background; on any grid of the same scanner space
    #[arg(long, value_name = "FILE", required = true, takes = Takes::LABELS)]
    labels: PathBuf,

    /// Names of the labels: a table of FreeSurfer or MRtrix3, or dseg.tsv of BIDS
    #[arg(long, value_name = "FILE", takes = Takes::TABLE)]
    lut: Option<PathBuf>,

    /// Maps of one volume besides those that the run makes
    #[arg(long, value_name = "IMAGE", num_args = 1.., takes = Takes::IMAGE)]
    map: Vec<PathBuf>,
}

fn stages(run: &RunContext<'_>) -> Stages {
    let RegionsInRun { labels, lut, map } = run.options("regions")?;
    let (mut maps, mut takes) = (Vec::new(), Vec::new());
    for stage in run.earlier {
        let files = stage.map_files();
        let path = |file: &String| run.root.join(stage.name()).join(file);
        let status = files.iter().find(|(map, _)| map.name == "status").map(|(_, file)| path(file));
        let before = maps.len();
        for (map, file) in &files {
            if map.kind == MapKind::Scalar && map.n_volumes == 1 {
                // Several fits have a map of the same name.
                let name = format!("{}/{}", stage.name(), map.name);
                let (path, status) = (path(file), status.clone());
                maps.push(MapFile { name, path, status, is_made: true });
            }
        }
        if maps.len() > before {
            let made = stage.makes().into_iter();
            takes.extend(made.map(|product| Taken { product, is_needed: true }));
        }
    }
    maps.extend(SumUpRegions::given(map));
    let segmentation = Segmentation { labels, lut };
    Ok(vec![Box::new(SumUpRegions { segmentation, maps, takes })])
}

/// The means, a row for each region.
fn section(table: &RegionTable) -> Section {
    /// Columns and rows that a page has room for.
    const MOST: [usize; 2] = [8, 120];
    let mut maps: Vec<&str> = Vec::new();
    let mut regions: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in table.0.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [index, name, map, _, _, _, mean, sd, ..] = cells[..] else { continue };
        if !maps.contains(&map) {
            maps.push(map);
        }
        let row = regions.entry(index.parse().unwrap_or(0)).or_insert_with(|| {
            vec![if name == index { index.to_owned() } else { format!("{index} {name}") }]
        });
        if row.len() <= MOST[0] {
            row.push(mean_and_sd(mean, sd));
        }
    }
    let (n_maps, n_regions) = (maps.len(), regions.len());
    maps.truncate(MOST[0]);
    let columns = std::iter::once("region").chain(maps).map(str::to_owned).collect();
    let rows = regions.into_values().take(MOST[1]).collect();
    let caption =
        "Mean ± standard deviation over the voxels of each region that have a value.".to_owned();
    let all = format!(
        "{} and {}; medians, percentiles, volumes and what is not shown here are in regions/regions.tsv.",
        counted(n_regions, "region"),
        counted(n_maps, "map")
    );
    Section::new("Regions").text(all).table(Table { caption, columns, rows })
}

/// With three digits; empty where there is no mean.
fn mean_and_sd(mean: &str, sd: &str) -> String {
    let number = |text: &str| {
        let x = text.parse::<f64>().ok()?;
        let is_small = x != 0.0 && !(1e-2..1e4).contains(&x.abs());
        Some(if is_small { format!("{x:.2e}") } else { format!("{x:.3}") })
    };
    match (number(mean), number(sd)) {
        (Some(mean), Some(sd)) => format!("{mean} ± {sd}"),
        (Some(mean), None) => mean,
        (None, _) => String::new(),
    }
}
