//! The page of what a single command left, by its files.
//!
//! A folder of `run` or `fit dti` is drawn by its stages, which know their maps; of any other finished folder
//! every file is shown as what it is: maps in slices, directions as sticks, streamlines on three planes with
//! their lengths, why they ended, matrices, weights, tables, and what the record says.

mod files;
mod maps;
mod orientations;

use std::path::{Path, PathBuf};

use fimbria_image::{Affine, Grid, Mask, read_image};
use fimbria_report::figure::{Tracts, tracts};
use fimbria_report::{Page, Scene, SceneLines, Section};
use fimbria_streamlines::{Format, Tractogram};
use fimbria_workflow::{all_unchanged, unchanged};
use serde_json::{Value, json};

use self::maps::Map;
use super::scene::MOST_LINES;
use super::sections;
use super::{ReportPage, methods_of};
use crate::stages::life;
use crate::stages::pictures::lines;
use crate::{Input, Logbook, OutputFolder, Product, Products, RunRecord, Stage, StageError, Taken};

/// Draws the page of a finished folder, file by file.
pub struct JobPage {
    /// The folder.
    pub folder: PathBuf,
    /// Its record.
    pub record: RunRecord,
    /// Heading of the page.
    pub title: String,
    /// Its name.
    pub file_name: String,
}

impl Stage for JobPage {
    fn name(&self) -> &'static str {
        "report"
    }

    fn takes(&self) -> Vec<Taken> {
        Vec::new()
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<ReportPage>()]
    }

    fn inputs(&self) -> Vec<Input> {
        vec![("record".to_owned(), self.folder.join(OutputFolder::RECORD))]
    }

    fn parameters(&self) -> Value {
        json!({ "title": self.title })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let page = log.session().on.workers.install(|| self.page(log))?;
        products.put(ReportPage(page.to_html()));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write(&self.file_name, products.get::<ReportPage>()?.0.as_bytes())?)
    }
}

/// What the inputs that say where something was done are called on the page, by their role.
const REGIONS: [(&str, &str); 7] = [
    ("labels", "Labels"),
    ("seeds", "Seeds"),
    ("include", "Waypoint"),
    ("exclude", "Excluded"),
    ("stop", "Stop"),
    ("target", "Target"),
    ("mask", "Mask"),
];

impl JobPage {
    fn page(&self, log: &Logbook<'_>) -> Result<Page, StageError> {
        let names: Vec<&str> =
            self.record.outputs.iter().map(|output| output.file.as_str()).collect();
        let mut page = Page::new(&self.title)
            .subtitle(format!("what fimbria {} wrote", self.record.task))
            .footer(format!("fimbria {}", env!("CARGO_PKG_VERSION")))
            .rated();
        for warning in &self.record.warnings {
            page = page.warning(warning.clone());
        }
        for (name, value) in &self.record.results {
            if let Some(text) = files::number_of(value) {
                page = page.fact(name.replace('_', " "), text);
            }
        }
        let (maps, not_drawn) = maps::of_folder(self, &names, log)?;
        let mut scene = Scene::default();
        // What is looked at first is anatomy.
        let (status, others): (Vec<&Map>, Vec<&Map>) = maps.iter().partition(|map| map.is_status());
        for map in others.into_iter().chain(status) {
            map.explored(&maps, &mut scene)?;
        }
        for section in self.orientations(&maps, &mut scene, log)? {
            page = page.section(section);
        }
        for name in &names {
            let path = self.folder.join(name);
            if Format::from_name(&path).is_ok() {
                page = page.section(self.streamlines(name, &path, &maps, &mut scene)?);
            }
        }
        if names.iter().all(|name| Format::from_name(Path::new(name)).is_err())
            && let Some(path) = unchanged(&self.record, "tractogram")
            && let Ok(tractogram) = Tractogram::read(&path)
        {
            explored("Streamlines given", &tractogram, &mut scene);
        }
        self.regions(&mut scene);
        if let (Some(before), Some(after)) =
            (named(&maps, "rmse_s0_without"), named(&maps, "rmse_s0"))
        {
            let figure = life::section::errors(&before.image, &after.image);
            let section = Section::new("What streamlines explain");
            page = page.section(section.figure(figure, life::section::BEFORE_AND_AFTER));
        }
        if !maps.is_empty() || !not_drawn.is_empty() {
            page = page.section(maps::section(&maps, &not_drawn)?);
        }
        for section in files::sections(self, &names)? {
            page = page.section(section);
        }
        let methods = methods_of(std::slice::from_ref(&self.record));
        if !methods.is_empty() {
            page = page.section(sections::Methods::section(methods));
        }
        page = page.section(sections::record::record(std::slice::from_ref(&self.record)));
        Ok(page.scene(scene))
    }

    fn streamlines(
        &self,
        name: &str,
        path: &Path,
        maps: &[Map],
        scene: &mut Scene,
    ) -> Result<Section, StageError> {
        let tractogram = Tractogram::read(path)?;
        let lines = &tractogram.streamlines;
        let mut section = Section::new(format!("Streamlines: {name}"));
        let behind = named(maps, "visits").or_else(|| maps.iter().find(|map| map.is_scalar()));
        match behind {
            Some(map) => {
                let heading = format!("Streamlines over {}", map.heading);
                let points = (0..lines.len()).map(|line| lines.points(line));
                let figure = tracts(points, &map.image, &map.mask, &Tracts::new(&heading))?;
                let caption = format!(
                    "Within half a voxel of the middle slices, each piece in the colour of its direction; {} \
                     streamlines in all.",
                    lines.len()
                );
                section = section.figure(figure, caption);
            }
            None => section = section.text("There is no map to draw them over."),
        }
        explored(name, &tractogram, scene);
        if let Some(lengths) = lines::lengths(lines) {
            section = section.figure(lengths, "");
        }
        Ok(match lines::ends(std::slice::from_ref(&self.record)) {
            Some(table) => section.table(table),
            None => section,
        })
    }

    /// Where it was done, as far as the files that said so are still the same.
    fn regions(&self, scene: &mut Scene) {
        for (role, called) in REGIONS {
            for path in all_unchanged(&self.record, role) {
                // A surface, or a list of points, is no image.
                let Ok(image) = read_image(&path) else { continue };
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let regions = match role {
                    "labels" => image,
                    _ => Mask::from_image(&image).to_image(),
                };
                scene.regions(&format!("{called}: {}", files::stem(&name)), &regions);
            }
        }
    }
}

/// The map of this name.
fn named<'m>(maps: &'m [Map], name: &str) -> Option<&'m Map> {
    maps.iter().find(|map| map.name == name)
}

/// Streamlines among what can be looked around in.
fn explored(name: &str, tractogram: &Tractogram, scene: &mut Scene) {
    let (values, lines) = (lines::values_of(tractogram), &tractogram.streamlines);
    // Points are in the scanner: of a format without a grid any will do.
    let anywhere = Grid { dims: [1; 3], ras_from_vox: Affine::IDENTITY };
    let shown = SceneLines {
        grid: tractogram.header.grid.unwrap_or(anywhere),
        lines: (0..lines.len()).map(|line| lines.points(line)).collect(),
        values: values.iter().map(|(name, values)| (*name, &values[..])).collect(),
    };
    if !shown.lines.is_empty() {
        scene.lines(name, &shown, MOST_LINES);
    }
}
