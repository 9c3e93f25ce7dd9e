//! Regions among all methods: in a run, of all maps that it has made; and on its page.

use std::path::PathBuf;

use clap::Args;
use fimbria_image::MapKind;
use serde::Serialize;
use serde_json::{Value, json};

use super::section::section;
use super::{MapFile, REGIONS_WRITES, RegionTable, Segmentation, SumUpRegions, Valid};
use crate::options::{Described as _, Takes};
use crate::stages::field::Fields;
use crate::stages::in_run::{InRun, RunContext, Stages, When};
use crate::stages::local_field::LocalField;
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::{Derivatives, Product, Source, Taken, Written};

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
        Some(Box::new(SumUpRegions {
            segmentation,
            maps: Vec::new(),
            mask: None,
            takes: Vec::new(),
        }))
    },
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<RegionTable>()],
        draw: |shown| Ok(shown.products.find::<RegionTable>().map(section)),
    }),
    derivatives: Some(Derivatives {
        sources: &[Source::Series, Source::Mask, Source::Labels],
        by_labels: true,
        gathers: true,
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
    // Where the field is known, which what is made of it has no file of.
    let mut known = None;
    for stage in run.earlier {
        let files = stage.map_files();
        let path = |file: &String| run.root.join(stage.name()).join(file);
        let code = |name: &str| files.iter().find(|(map, _)| map.name == name);
        let inside = code("mask").map(|(_, file)| Valid::Inside(path(file)));
        if stage.makes().contains(&Product::of::<Fields>()) {
            known.clone_from(&inside);
        }
        let field = Product::of::<LocalField>();
        let is_of_field = stage.takes().iter().any(|taken| taken.product == field);
        let valid = code("status").map(|(_, file)| Valid::Fitted(path(file)));
        let valid = valid.or(inside).or_else(|| known.clone().filter(|_| is_of_field));
        let before = maps.len();
        for (map, file) in &files {
            if map.kind == MapKind::Scalar && map.n_volumes == 1 {
                // Several fits have a map of the same name.
                let name = format!("{}/{}", stage.name(), map.name);
                let (path, valid) = (path(file), valid.clone());
                maps.push(MapFile { name, path, valid, is_made: true });
            }
        }
        if maps.len() > before {
            let made = stage.makes().into_iter();
            takes.extend(made.map(|product| Taken { product, is_needed: true }));
        }
    }
    maps.extend(SumUpRegions::given(map));
    let segmentation = Segmentation { labels, lut };
    Ok(vec![Box::new(SumUpRegions { segmentation, maps, mask: None, takes })])
}
