//! The sparse matrices and the files that name their rows and columns.

use std::fmt::Write as _;
use std::path::Path;

use fimbria_image::gifti::Surface;
use fimbria_image::{Affine, Image, ImageHeader, WriteOptions, read_image, write_image};
use fimbria_tracking::{
    Locations, Pairs, PlaceMatrix, Propagation, SeedMatrix, Space, Tally, VoxelMatrix, is_reversed,
};
use fimbria_workflow::OutputFolder;

use super::inputs::SeedSpace;
use super::job::Job;
use super::seed_set::SeedSet;
use super::{MatrixFiles, Probtrackx2Error, inputs};
use crate::stages::contents::check_region;
use crate::surfaces::is_surface;

/// What rows and columns stand for, of the matrices that are wanted.
#[derive(Default)]
pub(super) struct Matrices {
    seeds: Option<(Locations, f32)>,
    /// The grid of `--target2`, which takes seed voxels to its own, and its voxels.
    target2: Option<(Space, Locations)>,
    target3: Option<(Places, f32)>,
    lrtarget3: Option<Places>,
}

/// Places with the surfaces that their vertices are of, by region.
struct Places {
    locations: Locations,
    surfaces: Vec<Option<Surface>>,
}

impl Places {
    fn read(path: &Path, here: &SeedSpace<'_>) -> Result<Self, Probtrackx2Error> {
        let (mut regions, mut surfaces) = (Vec::new(), Vec::new());
        for file in inputs::files(path)? {
            let surface = if is_surface(&file) { Some(Surface::read(&file)?) } else { None };
            regions.push(match &surface {
                Some(surface) => here.crossed(&file, surface)?,
                None => inputs::region(&file, here)?,
            });
            surfaces.push(surface);
        }
        Ok(Self { locations: Locations::of_regions(here.space, &regions), surfaces })
    }
}

impl Matrices {
    /// Reads the targets.
    pub(super) fn read(
        files: &MatrixFiles,
        here: &SeedSpace<'_>,
        seed_set: &SeedSet,
    ) -> Result<Self, Probtrackx2Error> {
        let (mut matrices, space) = (Self::default(), here.space);
        if files.omatrix1 {
            let seeds = Locations::of_seeds(space, &seed_set.seeds, &seed_set.all_regions(here)?);
            matrices.seeds = Some((seeds, files.distthresh1));
        }
        if let (true, Some(path)) = (files.omatrix2, &files.target2) {
            let path = inputs::image(path)?;
            let grid = *ImageHeader::read(&path)?.grid();
            // The same millimetres from the centre of the first voxel.
            let other = Space::flirt(grid, space.grid(), &Affine::IDENTITY)?;
            let image = here.workers.install(|| read_image(&path))?;
            check_region(&path, &image)?;
            let region = other.region(&image, &path.display().to_string())?;
            let places = Locations::of_regions(&other, &[region]);
            matrices.target2 = Some((other, places));
        }
        if let (true, Some(path)) = (files.omatrix3, &files.target3) {
            matrices.target3 = Some((Places::read(path, here)?, files.distthresh3));
            let columns = files.lrtarget3.as_deref();
            matrices.lrtarget3 = columns.map(|path| Places::read(path, here)).transpose()?;
        }
        Ok(matrices)
    }

    /// Lets a tally count them.
    pub(super) fn count_in<'t>(
        &'t self,
        tally: &mut Tally<'t>,
        space: &'t Space,
        propagation: &Propagation,
    ) {
        let points = |mm: f32| (mm / propagation.step_mm).ceil().min(2e6) as usize + 1;
        if let Some((seeds, least_mm)) = &self.seeds {
            tally.matrix1 = Some(SeedMatrix::new(seeds, points(*least_mm)));
        }
        if let Some((grid, places)) = &self.target2 {
            tally.matrix2 = Some(VoxelMatrix::new(grid, places));
        }
        if let Some((rows, least_mm)) = &self.target3 {
            let columns = self.lrtarget3.as_ref().map(|columns| &columns.locations);
            let least = points(*least_mm);
            tally.matrix3 = Some(PlaceMatrix::new(space, &rows.locations, columns, least));
        }
    }
}

impl Job<'_> {
    /// Every matrix that was counted, with its coordinates.
    pub(super) fn write_matrices(
        &self,
        tally: &Tally<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let n_seeds = self.seed_set.seeds.len();
        if let Some(matrix) = &tally.matrix1 {
            self.write_dot("fdt_matrix1", matrix.pairs(), [n_seeds; 2], out)?;
            out.write("coords_for_fdt_matrix1", self.seed_coordinates().as_bytes())?;
        }
        if let (Some(matrix), Some((grid, places))) = (&tally.matrix2, &self.matrices.target2) {
            self.write_dot("fdt_matrix2", matrix.pairs(), [n_seeds, places.len()], out)?;
            out.write("coords_for_fdt_matrix2", self.seed_coordinates().as_bytes())?;
            let coordinates: String = places
                .places()
                .iter()
                .map(|(_, voxel)| {
                    let [i, j, k] = stored(grid, *voxel);
                    format!("{i}  {j}  {k}  \n")
                })
                .collect();
            out.write("tract_space_coords_for_fdt_matrix2", coordinates.as_bytes())?;
            let mut column = vec![0.0; grid.grid().len()];
            for (number, (_, voxel)) in (1..).zip(places.places()) {
                column[*voxel as usize] = number as f32;
            }
            let lookup: Image = grid.image(|voxel| column[voxel]);
            let path = out.stage("lookup_tractspace_fdt_matrix2.nii.gz")?;
            self.workers.install(|| write_image(&path, &lookup, &WriteOptions::default()))?;
        }
        if let (Some(matrix), Some((places, _))) = (&tally.matrix3, &self.matrices.target3) {
            let columns = self.matrices.lrtarget3.as_ref();
            let dims = [places, columns.unwrap_or(places)].map(|places| places.locations.len());
            self.write_dot("fdt_matrix3", matrix.pairs(), dims, out)?;
            let coordinates = rows(self.space, places);
            out.write("coords_for_fdt_matrix3", coordinates.as_bytes())?;
            if let Some(columns) = columns {
                let coordinates = rows(self.space, columns);
                out.write("tract_space_coords_for_fdt_matrix3", coordinates.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Row, column and value of each entry, counted from 1, and the numbers of both at the end;
    /// with `--ompl` mean lengths in a second file.
    fn write_dot(
        &self,
        name: &str,
        pairs: &Pairs,
        [n_rows, n_columns]: [usize; 2],
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let step_mm = f64::from(self.options.propagation.step_mm);
        let entries = pairs.entries();
        let mut write = |name: &str, value: &dyn Fn(u64, f64) -> f64| {
            let mut text = String::new();
            for entry in &entries {
                let value = value(entry.samples, entry.steps as f64 * step_mm);
                let _ = writeln!(text, "{}  {}  {value}", entry.row + 1, entry.column + 1);
            }
            let _ = writeln!(text, "{n_rows}  {n_columns}  0");
            out.write(&format!("{name}.dot"), text.as_bytes())
        };
        let pd = self.options.pd;
        write(name, &|samples, mm| if pd { mm } else { samples as f64 })?;
        if self.options.ompl {
            write(&format!("{name}_lengths"), &|samples, mm| mm / samples as f64)?;
        }
        Ok(())
    }

    /// A row for each seed: stored voxel coordinates, or for a vertex those of its file; the number
    /// of its region, and its own in it from 1, for a vertex its number in the file.
    fn seed_coordinates(&self) -> String {
        let mut text = String::new();
        let (seed_set, mut within) = (self.seed_set, 0);
        for (index, seed) in seed_set.seeds.iter().enumerate() {
            let before = index.checked_sub(1).map(|i| seed_set.seeds[i].region);
            within = if before == Some(seed.region) { within + 1 } else { 1 };
            let surface = (seed.region as usize).checked_sub(seed_set.regions.len());
            if let Some((_, surface)) = surface.and_then(|number| seed_set.surfaces.get(number)) {
                let [x, y, z] = surface.vertices[seed.key as usize];
                let _ = writeln!(text, "{x}  {y}  {z}  {}  {}  ", seed.region, seed.key);
            } else {
                let [i, j, k] = stored(self.space, seed.key);
                let _ = writeln!(text, "{i}  {j}  {k}  {}  {within}  ", seed.region);
            }
        }
        text
    }
}

/// A row for each place: stored voxel coordinates, its region and its number there from 1; of a
/// vertex the coordinates and the number of its file.
fn rows(space: &Space, places: &Places) -> String {
    let (mut text, mut within, mut before) = (String::new(), 0, None);
    for &(region, key) in places.locations.places() {
        within = if before == Some(region) { within + 1 } else { 1 };
        before = Some(region);
        if let Some(surface) = &places.surfaces[region as usize] {
            let [x, y, z] = surface.vertices[key as usize];
            let _ = writeln!(text, "{x}  {y}  {z}  {region}  {key}  ");
        } else {
            let [i, j, k] = stored(space, key);
            let _ = writeln!(text, "{i}  {j}  {k}  {region}  {within}  ");
        }
    }
    text
}

/// Coordinates of a voxel in the array, from its radiological index.
fn stored(space: &Space, voxel: u32) -> [usize; 3] {
    let grid = space.grid();
    let [mut i, j, k] = grid.voxel(voxel as usize);
    if is_reversed(grid) {
        i = grid.dims[0] - 1 - i;
    }
    [i, j, k]
}
