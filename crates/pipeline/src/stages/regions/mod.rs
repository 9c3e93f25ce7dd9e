//! The stage that sums maps up over the regions of a segmentation.

mod method;
mod section;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{
    Image, LabelStatistics, Status, counted, label_statistics, read_image, split_image_name,
};
use fimbria_streamlines::connectome::{Assignment, Nodes};
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::{Value, json};

pub(in crate::stages) use self::method::METHOD;
use super::connectome::read_labels;
use super::doubts::warn_of_place_of;
use super::label_names::{names_of, table_beside};
use super::tract::stem;
use crate::options::{Described as _, Takes};
use crate::{
    FileKind, Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError, Taken,
    Written,
};

const FILE: &str = "regions.tsv";

/// What `fimbria regions` writes.
pub const REGIONS_WRITES: &[Written] = &[
    Written::file(
        FILE,
        FileKind::Table,
        "a line for each region and map: index, name, map, voxels, volume_ml, n (voxels with a value), mean, sd (n - 1), \
         median, p5, p25, p75, p95; n/a where there is no value",
    ),
    Written::RECORD,
];

/// A segmentation.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Segmentation {
    /// Segmentation: whole numbers, 0 is background; on any grid of the same scanner space
    #[arg(takes = Takes::LABELS)]
    pub labels: PathBuf,

    /// Names of the labels: a table of FreeSurfer or MRtrix3, or dseg.tsv of BIDS
    #[arg(
        long,
        value_name = "FILE",
        usually = "the .tsv, .txt or FreeSurferColorLUT.txt beside the segmentation"
    )]
    #[arg(takes = Takes::TABLE)]
    pub lut: Option<PathBuf>,
}

/// The regions and the maps.
#[derive(Clone, Debug, Args, Serialize)]
pub struct RegionsOptions {
    /// The regions.
    #[command(flatten)]
    #[serde(flatten)]
    pub segmentation: Segmentation,

    /// Maps to sum up, of one volume each: FA, MD, chi, ...
    #[arg(long = "map", value_name = "IMAGE", required = true, num_args = 1..)]
    #[arg(takes = Takes::IMAGE)]
    pub map: Vec<PathBuf>,

    /// Where maps have a value: other voxels of a region do not count, on whatever grid
    #[arg(long, value_name = "MASK", takes = Takes::MASK)]
    pub mask: Option<PathBuf>,
}

/// Sums maps up over regions, and hands on the [`RegionTable`].
pub struct SumUpRegions {
    segmentation: Segmentation,
    maps: Vec<MapFile>,
    /// Where all of them have a value.
    mask: Option<PathBuf>,
    /// What of a run the maps are.
    takes: Vec<Taken>,
}

/// The text of `regions.tsv`.
pub struct RegionTable(pub String);

/// A map to sum up.
struct MapFile {
    name: String,
    path: PathBuf,
    valid: Option<Valid>,
    /// True where an earlier stage of the run writes it.
    is_made: bool,
}

/// Which voxels of a map have a value: what a stage writes beside its maps.
#[derive(Clone)]
enum Valid {
    /// Those that were fitted, by the status of each.
    Fitted(PathBuf),
    /// Those in a mask.
    Inside(PathBuf),
}

/// What a region is called, and the statistics of each map in it.
struct Summaries {
    names: Vec<String>,
    labels: Vec<u32>,
    maps: Vec<MapSummary>,
}

struct MapSummary {
    name: String,
    voxel_ml: f64,
    regions: Vec<LabelStatistics>,
}

impl Valid {
    /// The status that a fit wrote beside one of its maps, or the mask that another stage did.
    fn beside(map: &Path) -> Option<Self> {
        let name = map.file_name()?.to_str()?;
        let (stem, extension) = split_image_name(name)?;
        let beside = |file: &str| {
            let path = map.with_file_name(format!("{file}.{extension}"));
            (stem != file && path.is_file()).then_some(path)
        };
        beside("status").map(Self::Fitted).or_else(|| beside("mask").map(Self::Inside))
    }

    fn path(&self) -> &Path {
        let (Self::Fitted(path) | Self::Inside(path)) = self;
        path
    }

    /// Whether the value of this image says that the voxel has one.
    fn holds(&self, value: f32) -> bool {
        match self {
            Self::Fitted(_) => Status::from_code(value).is_fitted(),
            Self::Inside(_) => value > 0.0,
        }
    }
}

/// What each map is called: its file without extension, after its folder where two are the same.
fn map_names(maps: &[PathBuf]) -> Vec<String> {
    let stems: Vec<String> = maps.iter().map(|path| stem(path)).collect();
    let name = |(path, name): (&PathBuf, &String)| {
        let is_one = stems.iter().filter(|other| *other == name).count() == 1;
        let folder = path.parent().and_then(Path::file_name);
        let name = match folder.filter(|_| !is_one) {
            Some(folder) => format!("{}/{name}", folder.to_string_lossy()),
            None => name.clone(),
        };
        name.replace(['\t', '\n'], "_")
    };
    maps.iter().zip(&stems).map(name).collect()
}

impl SumUpRegions {
    /// Of these files.
    pub fn new(options: RegionsOptions) -> Self {
        let RegionsOptions { segmentation, map, mask } = options;
        Self { segmentation, maps: Self::given(map), mask, takes: Vec::new() }
    }

    fn given(map: Vec<PathBuf>) -> Vec<MapFile> {
        let names = map_names(&map);
        let file = |(path, name): (PathBuf, String)| MapFile {
            name,
            valid: Valid::beside(&path),
            path,
            is_made: false,
        };
        map.into_iter().zip(names).map(file).collect()
    }

    fn lut(&self) -> Option<PathBuf> {
        let Segmentation { labels, lut } = &self.segmentation;
        lut.clone().or_else(|| table_beside(labels))
    }

    fn sum_up(&self, log: &Logbook<'_>) -> Result<Summaries, StageError> {
        let workers = log.session().on.workers;
        let read = |path: &Path| -> Result<Image, StageError> {
            warn_of_place_of(path, log);
            Ok(workers.install(|| read_image(path))?)
        };
        let segmentation = read_labels(&self.segmentation.labels, log)?;
        let labels = Nodes::new(&segmentation, Assignment::ExactLabel)?.labels().to_vec();
        let mask = self.mask.as_deref().map(read).transpose()?;
        let mut maps = Vec::new();
        for MapFile { name, path, valid, .. } in &self.maps {
            log.check()?;
            let image = read(path)?;
            if image.n_volumes != 1 {
                return Err(format!(
                    "{} has {}; regions are of maps of one volume",
                    path.display(),
                    counted(image.n_volumes, "volume")
                )
                .into());
            }
            let of_map =
                valid.as_ref().map(|valid| Ok::<_, StageError>((read(valid.path())?, valid)));
            let is_on_its_grid =
                |(there, _): &(Image, _)| there.grid.check_same(&image.grid, "").is_ok();
            let of_map = of_map.transpose()?.filter(is_on_its_grid);
            let has_value = |voxel: usize| {
                of_map.as_ref().is_none_or(|(there, valid)| valid.holds(there.data[voxel]))
            };
            let summed = || match &mask {
                None => summary(&segmentation, &labels, name, &image, has_value),
                Some(mask) => {
                    let inside = mask.at_nearest_voxels(&image.grid);
                    let is_inside = |voxel: usize| inside.data[voxel] > 0.0 && has_value(voxel);
                    summary(&segmentation, &labels, name, &image, is_inside)
                }
            };
            maps.push(workers.install(summed)?);
        }
        let names = names_of(self.lut().as_deref(), &labels, log)?;
        let names = names.unwrap_or_else(|| labels.iter().map(u32::to_string).collect());
        for map in &maps {
            if map.regions.iter().all(|region| region.n == 0) {
                log.warn(
                    Page::Regions,
                    &format!(
                        "{} has no value in any region: do they lie in the same space?",
                        map.name
                    ),
                );
            }
        }
        log.note(&format!(
            "{} of {} summed up in {FILE}",
            counted(labels.len(), "region"),
            counted(maps.len(), "map")
        ));
        log.count("regions", labels.len() as u64);
        log.count("maps", maps.len() as u64);
        Ok(Summaries { names, labels, maps })
    }
}

/// A map over the regions: on its own grid, where the segmentation is looked up at the nearest voxel.
fn summary(
    segmentation: &Image,
    labels: &[u32],
    name: &str,
    map: &Image,
    has_value: impl Fn(usize) -> bool,
) -> Result<MapSummary, StageError> {
    let is_same = map.grid.check_same(&segmentation.grid, "").is_ok();
    let looked_up = (!is_same).then(|| segmentation.at_nearest_voxels(&map.grid));
    let label_of = looked_up.as_ref().unwrap_or(segmentation);
    let regions = label_statistics(labels, label_of.volume(0), &map.data, has_value);
    if regions.iter().all(|region| region.voxels == 0) {
        return Err(format!("no region of the segmentation lies within {name}").into());
    }
    let voxel_ml = map.grid.ras_from_vox.determinant().abs() / 1000.0;
    Ok(MapSummary { name: name.to_owned(), voxel_ml, regions })
}

impl Summaries {
    fn table(&self) -> String {
        let mut text =
            "index\tname\tmap\tvoxels\tvolume_ml\tn\tmean\tsd\tmedian\tp5\tp25\tp75\tp95\n"
                .to_owned();
        let number = |x: f64| if x.is_finite() { format!("{x:.6e}") } else { "n/a".to_owned() };
        for (region, (label, name)) in self.labels.iter().zip(&self.names).enumerate() {
            for map in &self.maps {
                let LabelStatistics { voxels, n, mean, sd, percentiles } = map.regions[region];
                let [p5, p25, median, p75, p95] = percentiles;
                let numbers = [mean, sd, median, p5, p25, p75, p95].map(number).join("\t");
                let ml = voxels as f64 * map.voxel_ml;
                let _ = writeln!(
                    text,
                    "{label}\t{name}\t{}\t{voxels}\t{ml:.3}\t{n}\t{numbers}",
                    map.name
                );
            }
        }
        text
    }
}

impl Stage for SumUpRegions {
    fn name(&self) -> &'static str {
        "regions"
    }

    fn takes(&self) -> Vec<Taken> {
        self.takes.clone()
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<RegionTable>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs: Vec<Input> = with_sidecar("labels", &self.segmentation.labels).collect();
        for map in self.maps.iter().filter(|map| !map.is_made) {
            inputs.extend(with_sidecar("map", &map.path));
            inputs.extend(map.valid.iter().map(|valid| match valid {
                Valid::Fitted(path) => ("status".to_owned(), path.clone()),
                Valid::Inside(path) => ("valid".to_owned(), path.clone()),
            }));
        }
        inputs.extend(self.mask.iter().map(|mask| ("mask".to_owned(), mask.clone())));
        inputs.extend(self.lut().map(|path| ("lut".to_owned(), path)));
        inputs
    }

    fn parameters(&self) -> Value {
        // Those of a run are what its other stages make.
        let names: Vec<_> =
            self.maps.iter().filter(|map| !map.is_made).map(|map| &map.name).collect();
        json!({ "map": names, "lut": self.lut().map(|_| "given") })
    }

    fn outputs(&self) -> Vec<String> {
        vec![FILE.to_owned()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(RegionTable(self.sum_up(log)?.table()));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write(FILE, products.get::<RegionTable>()?.0.as_bytes())?)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        products.put(RegionTable(fimbria_image::read_regular_text(folder.join(FILE))?));
        Ok(())
    }
}
