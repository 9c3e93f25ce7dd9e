//! The stage that makes an image of streamlines.

use std::path::PathBuf;

use clap::Args;
use fimbria_image::{Affine, Grid, ImageHeader, WriteOptions, write_image};
use fimbria_streamlines::{
    Header, LookUp, Passing, ReadStreamlines as _, Statistic, TrackMap, arc_length_mm,
};
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::{Value, json};

use super::edit::{name_of, warn_of_different_data};
use super::profile::map_along;
use super::source::{grid_of, open_all, pass, warn_of_doubts};
use crate::options::{Described as _, OptionError, Takes, above, choice};
use crate::stages::weights::{Weights, in_record, weights_file};
use crate::{
    Choice, FileKind, Input, Logbook, Named, OutputFolder, Page, Product, Products, Stage,
    StageError, Written,
};

/// What `fimbria tract map` writes.
pub const MAP_WRITES: &[Written] = &[
    Written::image(
        "OUT",
        fimbria_image::MapKind::Scalar,
        0,
        "",
        "the map: .nii, .mif, each also with .gz; with --of directions three volumes",
    ),
    Written::file("OUT.run.json", FileKind::Json, "what was done"),
];

/// What voxels hold of the streamlines that pass them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapOf {
    /// Their length there.
    #[default]
    Density,
    /// How many.
    Number,
    /// How many ends.
    Ends,
    /// Their length along the axes.
    Directions,
    /// How long they are.
    Length,
    /// A statistic of a map along them.
    Map,
}

impl Choice for MapOf {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Density, "density", "length in the voxel of the streamlines that pass it, mm"),
        (Self::Number, "number", "number of them, each once"),
        (Self::Ends, "ends", "number of their ends in the voxel"),
        (
            Self::Directions,
            "directions",
            "length in the voxel along x, y and z: red, green and blue",
        ),
        (Self::Length, "length", "mean of their whole lengths, mm"),
        (Self::Map, "map", "mean of the statistic --along of the map --map along each"),
    ];
}

impl Choice for Statistic {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Mean, "mean", "by length"),
        (Self::Median, "median", "of the values at its points"),
        (Self::Least, "min", "the least at its points"),
        (Self::Largest, "max", "the largest at its points"),
    ];
}

/// Of which streamlines, of what, and on which grid.
#[derive(Clone, Debug, Args, Serialize)]
pub struct MapOptions {
    /// Tractograms: .tck, .trk, .trx or a TRX folder; several count as one
    #[arg(required = true, value_name = "TRACTOGRAM")]
    #[arg(takes = Takes::TRACTOGRAM)]
    pub inputs: Vec<PathBuf>,

    /// What the voxels hold of the streamlines that pass them; means are weighted by length in the voxel
    #[arg(long, value_name = "WHAT", value_parser = choice::<MapOf>(), default_value = "density")]
    pub of: Named<MapOf>,

    /// With --of map: an image of one volume, on any grid of the same scanner space
    #[arg(long, value_name = "IMAGE")]
    #[arg(takes = Takes::IMAGE)]
    pub map: Option<PathBuf>,

    /// With --of map: what stands for a streamline; points without a value do not count
    #[arg(long, value_name = "STATISTIC", value_parser = choice::<Statistic>(), requires = "map")]
    #[arg(usually = "mean")]
    pub along: Option<Named<Statistic>>,

    /// Weight of each streamline: a text file of numbers, or the name of the tractograms' own data
    #[arg(long, value_name = "FILE|NAME", usually = "1 each")]
    pub weights: Option<String>,

    /// Image whose grid the map has
    #[arg(long, value_name = "IMAGE", usually = "the grid that the tractogram names")]
    #[arg(takes = Takes::IMAGE)]
    pub template: Option<PathBuf>,

    /// Edge of the voxels, over the same field of view
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), usually = "as on that grid")]
    pub voxel: Option<f64>,
}

impl MapOptions {
    /// Refuses options without use.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self) -> Result<(), OptionError> {
        let why = match (self.of.0, &self.map) {
            (MapOf::Map, None) => "`of map` needs `map`, an image",
            (MapOf::Map, Some(_)) | (_, None) => return Ok(()),
            (_, Some(_)) => "`map` has no use without `of map`: leave it out",
        };
        Err(OptionError::Unusable(why.to_owned()))
    }
}

/// Makes an image of streamlines.
pub struct MapTracts {
    /// How.
    pub options: MapOptions,
    /// Where.
    pub to: PathBuf,
}

/// The map, and the spaces that its header names.
struct Made(fimbria_image::Image, Option<fimbria_image::SpaceCodes>);

/// A grid over the same field of view with cubes of this edge; the last of them may reach beyond it.
fn with_voxels(grid: &Grid, mm: f64) -> Grid {
    let (spacing, from) = (grid.ras_from_vox.spacing(), grid.ras_from_vox);
    // Of a field that they fill the rounding is no further voxel.
    let dims =
        [0, 1, 2].map(|a| (grid.dims[a] as f64 * spacing[a] / mm - 1e-4).ceil().max(1.0) as usize);
    let corner = from.apply([-0.5; 3]);
    let row = |r: usize| {
        let column = |a: usize| from.0[r][a] * mm / spacing[a];
        let [x, y, z] = [0, 1, 2].map(column);
        [x, y, z, corner[r] + 0.5 * (x + y + z)]
    };
    Grid { dims, ras_from_vox: Affine([0, 1, 2].map(row)) }
}

impl MapTracts {
    fn grid(&self, header: &Header) -> Result<Grid, StageError> {
        let named = grid_of(self.options.template.as_deref())?.or(header.grid);
        let grid = named.ok_or("the tractogram names no grid: say with --template on which")?;
        Ok(self.options.voxel.map_or(grid, |mm| with_voxels(&grid, mm)))
    }

    fn make(&self, log: &Logbook<'_>) -> Result<Made, StageError> {
        let MapOptions { inputs, of, map, along, weights, template, .. } = &self.options;
        let mut lines = open_all(inputs)?;
        warn_of_different_data(&lines, log);
        let weights = Weights::find(weights.as_deref(), lines.header())?;
        let passing = match of.0 {
            MapOf::Density => Passing::Density,
            MapOf::Number => Passing::Number,
            MapOf::Ends => Passing::Ends,
            MapOf::Directions => Passing::Directions,
            MapOf::Length | MapOf::Map => Passing::Mean,
        };
        let mut made = TrackMap::new(passing, self.grid(lines.header())?)?;
        let map = map.as_ref().map(|path| map_along(path, log)).transpose()?;
        let along = along.unwrap_or_default().0;
        let value = |points: &[[f32; 3]]| match &map {
            None => Some(arc_length_mm(points)),
            Some(map) => map.statistic(points, LookUp::Linear, along),
        };
        let workers = log.session().on.workers;
        let read = pass(&mut lines, "mapping streamlines", log, |first, chunk| {
            made.add(chunk, &weights.of_chunk(first, chunk)?, value, workers);
            Ok(())
        })?;
        weights.check_number(read)?;
        warn_of_doubts(&lines, log);
        let image = made.image();
        log.count("streamlines", read as u64);
        if read > 0 && image.data.iter().all(|x| *x == 0.0) {
            let warning =
                "no streamline passes the grid of the map: do they lie in the same space?";
            log.warn(Page::Tracts, warning);
        }
        let codes = match template {
            Some(path) => ImageHeader::read(path)?.space_codes(),
            None => None,
        };
        Ok(Made(image, codes))
    }
}

impl Stage for MapTracts {
    fn name(&self) -> &'static str {
        "map"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Made>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let MapOptions { inputs, map, weights, template, .. } = &self.options;
        let mut all: Vec<Input> =
            inputs.iter().map(|path| ("tractogram".to_owned(), path.clone())).collect();
        all.extend(map.iter().flat_map(|path| with_sidecar("map", path)));
        let weights = weights_file(weights.as_deref(), inputs);
        all.extend(weights.map(|path| ("weights".to_owned(), path.to_owned())));
        all.extend(template.iter().flat_map(|path| with_sidecar("template", path)));
        all
    }

    fn parameters(&self) -> Value {
        let MapOptions { inputs, of, map, along, weights, template: _, voxel } = &self.options;
        json!({
            "of": of,
            "along": map.as_ref().map(|_| along.unwrap_or_default()),
            "weights": in_record(weights.as_deref(), inputs),
            "voxel": voxel,
        })
    }

    fn outputs(&self) -> Vec<String> {
        vec![name_of(&self.to)]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(self.make(log)?);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Made(image, space_codes) = products.get::<Made>()?;
        let path = out.stage(&name_of(&self.to))?;
        let description = format!("tract map: {}", self.options.of.0.name());
        let options =
            WriteOptions { space_codes: *space_codes, description, ..WriteOptions::default() };
        log.session().on.workers.install(|| write_image(&path, image, &options))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_voxels_fill_the_same_field_of_view() {
        let ras_from_vox = Affine([[-2., 0., 0., 9.], [0., 2.4, 0., -3.], [0., 0., 3., 1.]]);
        let fine = with_voxels(&Grid { dims: [10, 5, 4], ras_from_vox }, 0.4);
        assert_eq!(fine.dims, [50, 30, 30]);
        let corner = |affine: &Affine, dims: [usize; 3]| affine.apply(dims.map(|n| n as f64 - 0.5));
        for (a, b) in [
            (ras_from_vox.apply([-0.5; 3]), fine.ras_from_vox.apply([-0.5; 3])),
            (corner(&ras_from_vox, [10, 5, 4]), corner(&fine.ras_from_vox, fine.dims)),
        ] {
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-9), "{a:?} {b:?}");
        }
    }
}
