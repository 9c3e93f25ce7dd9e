//! The maps of a folder: what each is, and how it is drawn.

use fimbria_image::{Image, MapKind, Mask, Status, Window, read_image};
use fimbria_models::FittedMap;
use fimbria_report::figure::{Direction, Scalar, mosaic_rgb, mosaic_scalar};
use fimbria_report::{Figure, FigureError, Scene, Section, colour};
use fimbria_workflow::unchanged;

use super::JobPage;
use super::files::{is_image, is_named, sentence, stem};
use crate::stages::fits::FITS;
use crate::stages::life::section::nearly_most;
use crate::stages::methods;
use crate::stages::pictures::status;
use crate::stages::shown::unit_in_words;
use crate::{FileKind, Logbook, Products, StageError, Written};

/// Maps in slices on a page.
const MOST_MAPS: usize = 24;
/// A map of so many volumes or fewer is shown volume by volume.
const FEW_VOLUMES: usize = 4;

/// A map of the folder.
pub(super) struct Map {
    /// Its name.
    pub(super) name: String,
    /// What stands above it.
    pub(super) heading: String,
    /// Its unit, as people write it.
    pub(super) unit: String,
    /// What it holds.
    pub(super) caption: String,
    pub(super) kind: MapKind,
    pub(super) window: Window,
    pub(super) image: Image,
    /// The voxels with a value.
    pub(super) mask: Mask,
}

impl Map {
    /// Of these words and this image; `None` where it has no value.
    fn new(name: &str, unit: &str, holds: &str, kind: MapKind, image: Image) -> Option<Self> {
        let is_there = |voxel: usize| {
            let mut volumes = (0..image.n_volumes).map(|v| image.volume(v)[voxel]);
            volumes.any(|value| value.is_finite() && value != 0.0)
        };
        let voxels: Vec<u32> =
            (0..image.grid.len()).filter(|v| is_there(*v)).map(|v| v as u32).collect();
        (!voxels.is_empty()).then(|| Self {
            name: name.to_owned(),
            heading: name.to_owned(),
            unit: unit_in_words(unit),
            caption: sentence(holds),
            kind,
            window: Window::Robust,
            mask: Mask { grid: image.grid, voxels },
            image,
        })
    }

    /// Whether it says what became of each voxel.
    pub(super) fn is_status(&self) -> bool {
        self.kind == MapKind::Code && self.name.ends_with("status")
    }

    /// Whether its volumes are numbers by themselves.
    pub(super) fn is_scalar(&self) -> bool {
        self.kind == MapKind::Scalar
    }

    /// The mean over the volumes, of those that are numbers.
    fn mean(&self) -> Image {
        let mut mean = Image::zeros(self.image.grid, 1);
        for &voxel in &self.mask.voxels {
            let values = (0..self.image.n_volumes).map(|v| self.image.volume(v)[voxel as usize]);
            let finite = values.filter(|value| value.is_finite());
            let (sum, n) = finite.fold((0.0, 0), |(sum, n), value| (sum + f64::from(value), n + 1));
            mean.data[voxel as usize] = (sum / f64::from(n.max(1))) as f32;
        }
        mean
    }

    /// Its pictures, each with what stands below.
    fn figures(&self, maps: &[Self]) -> Result<Vec<(Figure, String)>, FigureError> {
        let Self { heading, unit, image, mask, kind, window, caption, .. } = self;
        let scale = match self.name.as_str() {
            "z" => colour::Scale::Difference,
            name if name.contains("rmse") || name == "residual" || name == "visits" => match window
            {
                Window::Symmetric => colour::Scale::Grey,
                _ => colour::Scale::Ember,
            },
            _ => colour::Scale::Grey,
        };
        let style = Scalar { scale, window: *window, ..Scalar::new(heading, unit) };
        Ok(match kind {
            MapKind::Code if self.is_status() => {
                let legend = if caption.is_empty() { Status::LEGEND } else { caption };
                vec![(status(heading, image, mask, legend)?, caption.clone())]
            }
            MapKind::Scalar | MapKind::Code if image.n_volumes == 1 => {
                vec![(mosaic_scalar(image, mask, &style)?, caption.clone())]
            }
            MapKind::Scalar | MapKind::Code if image.n_volumes <= FEW_VOLUMES => {
                let mut figures = Vec::new();
                for volume in 0..image.n_volumes {
                    let heading =
                        format!("{heading}, volume {} of {}", volume + 1, image.n_volumes);
                    let style = Scalar { heading: &heading, volume, ..style.clone() };
                    figures.push((mosaic_scalar(image, mask, &style)?, caption.clone()));
                }
                figures
            }
            MapKind::Scalar | MapKind::Code => {
                let heading = format!("{heading}, mean of {} volumes", image.n_volumes);
                let style = Scalar { heading: &heading, ..style };
                vec![(mosaic_scalar(&self.mean(), mask, &style)?, caption.clone())]
            }
            MapKind::Vector | MapKind::Peaks if image.n_volumes >= 3 => {
                let weight = self.brightness(maps);
                let caption = format!("{caption} In colour, as bright as {}.", weight.1);
                let picture = mosaic_rgb(image, &weight.0, mask, &Direction::new(heading))?;
                vec![(picture, caption)]
            }
            _ => Vec::new(),
        })
    }

    /// What makes directions bright: FA where it is there, else how long they are.
    fn brightness(&self, maps: &[Self]) -> (Image, &'static str) {
        let same = |map: &&Self| {
            map.name == "FA" && map.image.grid.check_same(&self.image.grid, "FA").is_ok()
        };
        if let Some(fa) = maps.iter().find(same) {
            return (fa.image.clone(), "FA");
        }
        let mut length = Image::zeros(self.image.grid, 1);
        for &voxel in &self.mask.voxels {
            let squares = (0..3).map(|axis| self.image.volume(axis)[voxel as usize].powi(2));
            length.data[voxel as usize] = squares.sum::<f32>().sqrt();
        }
        (length, "they are long")
    }

    /// The same to look around in.
    pub(super) fn explored(&self, maps: &[Self], scene: &mut Scene) -> Result<(), FigureError> {
        let Self { heading, unit, image, mask, kind, window, .. } = self;
        match kind {
            MapKind::Scalar if image.n_volumes > 1 => {
                scene.map(&format!("{heading}, mean"), unit, &self.mean(), mask, *window)
            }
            MapKind::Code if self.name.ends_with("mask") => {
                scene.regions(heading, image);
                Ok(())
            }
            MapKind::Scalar | MapKind::Code => scene.map(heading, unit, image, mask, *window),
            MapKind::Vector if self.name == "V1" => {
                scene.directions(heading, image, &self.brightness(maps).0, mask)
            }
            _ => Ok(()),
        }
    }
}

/// The maps of a folder, what says how far they can be trusted first, and what is not drawn in slices.
pub(super) fn of_folder(
    job: &JobPage,
    names: &[&str],
    log: &Logbook<'_>,
) -> Result<(Vec<Map>, Vec<String>), StageError> {
    let fitted = of_fit(job, log)?;
    let is_fit = !fitted.is_empty();
    let mut maps = fitted;
    if !is_fit {
        for name in names.iter().filter(|name| is_image(name)) {
            maps.extend(of_file(job, name)?);
        }
    }
    let differences: Vec<Map> = DIFFERENCES.iter().filter_map(|two| two.map(&maps)).collect();
    maps.extend(differences);
    maps.extend(given_field(job, &maps));
    beside(&mut maps);
    // What became of voxels is not to be lost among many.
    maps.sort_by_key(|map| !map.is_status());
    let mut not_drawn = Vec::new();
    let mut drawn = 0;
    for map in &maps {
        let is_drawn = match map.kind {
            MapKind::Scalar => !map.name.starts_with("merged_"),
            MapKind::Code => true,
            MapKind::Vector => map.image.n_volumes == 3,
            _ => false,
        };
        drawn += usize::from(is_drawn);
        if !is_drawn || drawn > MOST_MAPS {
            not_drawn.push(map.name.clone());
        }
    }
    let known: Vec<&str> = maps.iter().map(|map| map.name.as_str()).collect();
    if !is_fit {
        let empty = names.iter().filter(|name| is_image(name)).map(|name| stem(name));
        not_drawn.extend(empty.filter(|name| !known.contains(name)).map(str::to_owned));
    }
    Ok((maps, not_drawn))
}

/// Of a fit, in the axes of the scanner whatever the layout, with the words of its model.
fn of_fit(job: &JobPage, log: &Logbook<'_>) -> Result<Vec<Map>, StageError> {
    let Some(stage) = FITS.iter().find_map(|fit| fit.of_record(&job.record)) else {
        return Ok(Vec::new());
    };
    let mut products = Products::default();
    stage.restore(&job.folder, &mut products, log)?;
    let shown = stage.shown().map_or_else(Vec::new, |shown| shown.maps);
    let mut maps = Vec::new();
    for FittedMap { spec, image } in stage.take_outcome(&mut products)?.fitted.maps {
        let map = Map::new(&spec.name, &spec.unit, &spec.description, spec.kind, image);
        let Some(mut map) = map else { continue };
        map.window = spec.window;
        if let Some(shown) = shown.iter().find(|shown| shown.name == map.name) {
            map.heading = format!("{}: {}", shown.name, shown.heading);
            if !shown.caption.is_empty() {
                map.caption = shown.caption.to_owned();
            }
        }
        maps.push(map);
    }
    Ok(maps)
}

/// Of any other folder, by the line that its command has for the file.
fn of_file(job: &JobPage, name: &str) -> Result<Option<Map>, StageError> {
    let is_list = |written: &Written| {
        written.kind == FileKind::Binary && written.file.strip_suffix(".*") == Some(stem(name))
    };
    if writes_of(&job.record.task).iter().any(is_list) {
        return Ok(None);
    }
    let image = read_image(job.folder.join(name))?;
    let image_kind = |written: &Written| match written.kind {
        FileKind::Image(kind) => Some(kind),
        _ => None,
    };
    let written = writes_of(&job.record.task).iter().filter(|w| image_kind(w).is_some());
    let line =
        written.filter(|written| is_named(written.file, stem(name))).max_by_key(|w| w.file.len());
    let (unit, holds) = line.map_or(("", ""), |line| (line.unit, line.holds));
    let unsaid = if stem(name).ends_with("status") { MapKind::Code } else { MapKind::Scalar };
    let kind = line.and_then(image_kind).unwrap_or(unsaid);
    let window = line.map_or_else(|| window_of(stem(name)), |line| line.window);
    // A relative field and its map have other units than the table says.
    let spec = methods::all()
        .flat_map(|method| (method.maps)(&job.record))
        .find(|spec| spec.name == stem(name));
    let (unit, holds) = spec.map_or((unit, holds), |spec| (&*spec.unit, &*spec.description));
    Ok(Map::new(stem(name), unit, holds, kind, image).map(|map| Map { window, ..map }))
}

fn writes_of(task: &str) -> &'static [Written] {
    methods::named(task).map_or(&[], |method| method.writes)
}

/// What is to be seen beside something else gets its colours: errors those of errors without streamlines, a guided
/// map those of the map without guidance.
fn beside(maps: &mut [Map]) {
    let of = |maps: &[Map], name: &str| maps.iter().position(|map| map.name == name);
    for (name, other, is_signed) in [("rmse_s0", "rmse_s0_without", false), ("chi", "chi_tv", true)]
    {
        if let (Some(map), Some(other)) = (of(maps, name), of(maps, other)) {
            let most = nearly_most(&maps[other].image);
            let window = Window::Fixed([if is_signed { -most } else { 0.0 }, most]);
            (maps[map].window, maps[other].window) = (window, window);
        }
    }
}

/// What a map is less another, to be seen where a folder has both.
struct Difference {
    name: &'static str,
    map: &'static str,
    less: &'static str,
    holds: &'static str,
}

const DIFFERENCES: [Difference; 2] = [
    Difference {
        name: "background_field",
        map: "total_field",
        less: "local_field",
        holds: "the total field less the local field: smooth, and largest near air, where it was removed well",
    },
    Difference {
        name: "guided less unguided",
        map: "chi",
        less: "chi_tv",
        holds: "what diffusion adds to the map, in colours of its own: a finding that is here and not in chi_tv was \
                not seen by the field",
    },
];

impl Difference {
    fn map(&self, maps: &[Map]) -> Option<Map> {
        let named = |name: &str| maps.iter().find(|map| map.name == name);
        let (map, less) = (named(self.map)?, named(self.less)?);
        let mut image = Image::zeros(less.image.grid, 1);
        for &voxel in &less.mask.voxels {
            let voxel = voxel as usize;
            image.data[voxel] = map.image.data.get(voxel)? - less.image.data[voxel];
        }
        let drawn = Map::new(self.name, &less.unit, self.holds, MapKind::Scalar, image)?;
        Some(Map { window: less.window, ..drawn })
    }
}

/// The field that a map of susceptibility is made of, where its file is still the same.
fn given_field(job: &JobPage, maps: &[Map]) -> Option<Map> {
    let path = unchanged(&job.record, "field")?;
    let mut image = read_image(path).ok()?;
    // Where there is a map.
    let same = |map: &&Map| {
        map.name == "chi" && map.image.grid.check_same(&image.grid, "the field").is_ok()
    };
    if let Some(chi) = maps.iter().find(same) {
        let inside = chi.mask.to_image();
        image.data.iter_mut().zip(&inside.data).for_each(|(field, inside)| *field *= inside);
    }
    let holds = "the local field that the map is made of, as it is stored";
    let map = Map::new("field given", "", holds, MapKind::Scalar, image)?;
    Some(Map { window: Window::Symmetric, ..map })
}

/// What the pictures of a file span that its command has no line for: what those of any map of its name do.
fn window_of(name: &str) -> Window {
    let of_fit = || FITS.iter().flat_map(|fit| fit.maps()).find(|map| map.name == name);
    let of_table =
        || methods::all().flat_map(|method| method.writes).find(|file| file.file == name);
    match name.ends_with("mask") {
        true => Window::Fixed([0.0, 1.0]),
        false => of_fit()
            .map(|map| map.window)
            .or_else(|| of_table().map(|file| file.window))
            .unwrap_or(Window::Robust),
    }
}

/// All in slices, and what is not.
pub(super) fn section(maps: &[Map], not_drawn: &[String]) -> Result<Section, FigureError> {
    let mut section = Section::new("Maps");
    for map in maps.iter().filter(|map| !not_drawn.contains(&map.name)) {
        for (figure, caption) in map.figures(maps)? {
            section = section.figure(figure, caption);
        }
    }
    if !not_drawn.is_empty() {
        let names: Vec<&str> = not_drawn.iter().map(String::as_str).collect();
        section = section.text(format!("Not drawn in slices: {}.", names.join(", ")));
    }
    Ok(section)
}
