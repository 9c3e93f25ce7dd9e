//! MRtrix3's fixel folders: fibre populations of voxels, as many in each as there are.
//!
//! `index` has two volumes, how many fixels a voxel has and the number of its first; `directions` is n by 3 by
//! 1, scanner axes; whatever else is n by 1 by 1 holds a value for each fixel. All may be .mif or .nii.

use std::path::{Path, PathBuf};

use crate::{Affine, Grid, Image, ImageError, image_called, read_image};

/// Fixels at most: images in memory hold whole numbers up to this exactly.
pub const MOST_FIXELS: usize = 1 << 24;

/// The fixels of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixels {
    /// The voxels.
    pub grid: Grid,
    /// For each voxel the first of its fixels, and how many they are.
    pub of_voxel: Vec<[u32; 2]>,
    /// Unit direction of each, scanner axes.
    pub dirs_ras: Vec<[f32; 3]>,
}

/// Why a folder holds no fixels.
#[derive(Debug, thiserror::Error)]
pub enum FixelsError {
    /// An image of it cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An image is missing.
    #[error("{} is no fixel folder: it has no {name}", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The image.
        name: &'static str,
    },
    /// An image has another shape than the format asks for.
    #[error("{}: {what}", path.display())]
    Shape {
        /// The image.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// More than can be numbered.
    #[error(
        "{0} fixels: {MOST_FIXELS} are the most that can be numbered here; take a mask or a larger --least-peak"
    )]
    Many(usize),
}

impl Fixels {
    /// Of the voxels of `grid`, in order: `first[k] .. first[k + 1]` are those of `voxels[k]`.
    ///
    /// # Errors
    /// [`FixelsError::Many`].
    ///
    /// # Panics
    /// Where `first` is not one longer than `voxels`, or a voxel is not of the grid.
    pub fn new(
        grid: Grid,
        voxels: &[u32],
        first: &[u32],
        dirs_ras: Vec<[f32; 3]>,
    ) -> Result<Self, FixelsError> {
        assert_eq!(first.len(), voxels.len() + 1, "where fixels of each voxel begin");
        if dirs_ras.len() > MOST_FIXELS {
            return Err(FixelsError::Many(dirs_ras.len()));
        }
        let mut of_voxel = vec![[0; 2]; grid.len()];
        for (&voxel, ends) in voxels.iter().zip(first.windows(2)) {
            of_voxel[voxel as usize] = [ends[0], ends[1] - ends[0]];
        }
        Ok(Self { grid, of_voxel, dirs_ras })
    }

    /// Reads `index` and `directions` of a folder.
    ///
    /// # Errors
    /// [`FixelsError`] where they are not there, or do not belong together.
    pub fn read(folder: &Path) -> Result<Self, FixelsError> {
        let missing = |name| FixelsError::Missing { folder: folder.to_owned(), name };
        let image = |name: &'static str| {
            let path = image_called(&folder.join(name)).ok_or_else(|| missing(name))?;
            Ok::<_, FixelsError>((read_image(&path)?, path))
        };
        let (index, index_path) = image("index")?;
        let (directions, path) = image("directions")?;
        let directions = as_mrtrix_counts(directions);
        let n = directions.grid.dims[0];
        let shape = |path: &PathBuf, what: String| FixelsError::Shape { path: path.clone(), what };
        if directions.grid.dims[1..] != [3, 1] || directions.n_volumes != 1 {
            let what = format!("directions are n x 3 x 1, not {:?}", directions.grid.dims);
            return Err(shape(&path, what));
        }
        if index.n_volumes != 2 {
            return Err(shape(
                &index_path,
                format!("an index has 2 volumes, not {}", index.n_volumes),
            ));
        }
        if n > MOST_FIXELS {
            return Err(FixelsError::Many(n));
        }
        let (counts, firsts) = (index.volume(0), index.volume(1));
        // Of voxels without fixels any number may stand for the first.
        let of_voxel = |(&count, &first): (&f32, &f32)| match count > 0.0 {
            true => [first as u32, count as u32],
            false => [0, 0],
        };
        let of_voxel: Vec<_> = counts.iter().zip(firsts).map(of_voxel).collect();
        let ends = of_voxel.iter().map(|[first, count]| *first as usize + *count as usize);
        if let Some(end) = ends.max().filter(|end| *end > n) {
            return Err(shape(
                &index_path,
                format!("it counts up to fixel {end}, and there are {n}"),
            ));
        }
        let dir = |k: usize| [0, 1, 2].map(|axis| directions.data[k + axis * n]);
        Ok(Self { grid: index.grid, of_voxel, dirs_ras: (0..n).map(dir).collect() })
    }

    /// Reads a value for each fixel.
    ///
    /// # Errors
    /// [`FixelsError`] where it cannot be read, or has another shape.
    pub fn read_values(&self, path: &Path) -> Result<Vec<f32>, FixelsError> {
        let values = as_mrtrix_counts(read_image(path)?);
        if values.grid.dims != [self.len(), 1, 1] || values.n_volumes != 1 {
            let what = format!(
                "values are n x 1 x 1 of {} fixels, not {:?}",
                self.len(),
                values.grid.dims
            );
            return Err(FixelsError::Shape { path: path.to_owned(), what });
        }
        Ok(values.data)
    }

    /// The files that [`Fixels::read`] reads.
    pub fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
        ["index", "directions"].into_iter().filter_map(|name| image_called(&folder.join(name)))
    }

    /// Number of fixels.
    pub fn len(&self) -> usize {
        self.dirs_ras.len()
    }

    /// True where no voxel has one.
    pub fn is_empty(&self) -> bool {
        self.dirs_ras.is_empty()
    }

    /// The fixel of a voxel whose direction is nearest to the unit vector `dir_ras`, within an angle of this
    /// cosine.
    pub fn along(&self, voxel: u32, dir_ras: [f64; 3], least_cos: f64) -> Option<u32> {
        let [first, count] = self.of_voxel[voxel as usize];
        let cos = |fixel: u32| {
            let dir = self.dirs_ras[fixel as usize];
            (0..3).map(|axis| f64::from(dir[axis]) * dir_ras[axis]).sum::<f64>().abs()
        };
        let all = (first..first + count).map(|fixel| (fixel, cos(fixel)));
        let nearest = all.max_by(|a, b| a.1.total_cmp(&b.1));
        nearest.filter(|(_, cos)| *cos >= least_cos).map(|(fixel, _)| fixel)
    }

    /// The image of `index`, to be written as whole numbers.
    pub fn index_image(&self) -> Image {
        let counts = self.of_voxel.iter().map(|[_, count]| *count as f32);
        let firsts = self.of_voxel.iter().map(|[first, _]| *first as f32);
        Image { grid: self.grid, n_volumes: 2, data: counts.chain(firsts).collect() }
    }

    /// The image of `directions`.
    pub fn directions_image(&self) -> Image {
        let along = |axis: usize| self.dirs_ras.iter().map(move |dir| dir[axis]);
        let data: Vec<f32> = along(0).chain(along(1)).chain(along(2)).collect();
        self.sparse(3, data)
    }

    /// The image of a value for each fixel.
    ///
    /// # Panics
    /// Where there are not as many as fixels.
    pub fn data_image(&self, values: &[f32]) -> Image {
        self.sparse(1, values.to_vec())
    }

    fn sparse(&self, columns: usize, data: Vec<f32>) -> Image {
        assert_eq!(data.len(), self.len() * columns, "values of each fixel");
        let ras_from_vox = Affine::from_spacing([1.0; 3]);
        Image { grid: Grid { dims: [self.len(), columns, 1], ras_from_vox }, n_volumes: 1, data }
    }
}

/// The samples in the order in which MRtrix3 counts them: it turns axes that run from right to left, back to front
/// or top to bottom, although fixels lie nowhere.
fn as_mrtrix_counts(mut image: Image) -> Image {
    let Grid { dims, ras_from_vox } = image.grid;
    let is_turned = [0, 1, 2].map(|axis| ras_from_vox.0[axis][axis] < 0.0);
    let source = |sample: usize| {
        let mut at = image.grid.voxel(sample);
        (0..3)
            .filter(|axis| is_turned[*axis])
            .for_each(|axis| at[axis] = dims[axis] - 1 - at[axis]);
        image.data[image.grid.index(at)]
    };
    if is_turned.contains(&true) && image.n_volumes == 1 {
        image.data = (0..image.data.len()).map(source).collect();
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Datatype, WriteOptions, write_image};

    /// Three fixels in two of four voxels.
    fn fixels() -> Fixels {
        let grid = Grid { dims: [2, 2, 1], ras_from_vox: Affine::from_spacing([2.0, 2.0, 3.0]) };
        let dirs = vec![[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.0, -1.0]];
        Fixels::new(grid, &[1, 3], &[0, 2, 3], dirs).unwrap()
    }

    fn write(fixels: &Fixels, folder: &Path, extension: &str) {
        let options = WriteOptions { datatype: Datatype::UInt32, ..WriteOptions::default() };
        let path = |name: &str| folder.join(format!("{name}.{extension}"));
        write_image(path("index"), &fixels.index_image(), &options).unwrap();
        write_image(path("directions"), &fixels.directions_image(), &WriteOptions::default())
            .unwrap();
    }

    #[test]
    fn a_folder_comes_back_as_it_was_written() {
        for extension in ["mif", "nii", "nii.gz"] {
            let folder = tempfile::tempdir().unwrap();
            write(&fixels(), folder.path(), extension);
            assert_eq!(Fixels::read(folder.path()).unwrap(), fixels(), "{extension}");
        }
    }

    #[test]
    fn axes_that_mrtrix_turns_are_turned() {
        // As MRtrix3 writes them beside an image whose first axis runs from right to left.
        let folder = tempfile::tempdir().unwrap();
        write(&fixels(), folder.path(), "nii");
        let mut turned = fixels().directions_image();
        turned.grid.ras_from_vox.0[0][0] = -1.0;
        turned.data.chunks_mut(3).for_each(<[f32]>::reverse);
        write_image(folder.path().join("directions.nii"), &turned, &WriteOptions::default())
            .unwrap();
        assert_eq!(Fixels::read(folder.path()).unwrap(), fixels());
        let mut values = fixels().data_image(&[3.0, 2.0, 1.0]);
        values.grid.ras_from_vox.0[0][0] = -1.0;
        let path = folder.path().join("afd.nii");
        write_image(&path, &values, &WriteOptions::default()).unwrap();
        assert_eq!(fixels().read_values(&path).unwrap(), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn the_nearest_fixel_within_the_angle_is_found_whichever_way_it_points() {
        let (fixels, least) = (fixels(), 45.0_f64.to_radians().cos());
        assert_eq!(fixels.along(1, [-1.0, 0.0, 0.0], least), Some(0));
        assert_eq!(fixels.along(1, [0.0, -0.8, -0.6], least), Some(1));
        assert_eq!(fixels.along(3, [0.0, 1.0, 0.0], least), None);
        assert_eq!(fixels.along(0, [1.0, 0.0, 0.0], 0.0), None);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || Fixels::read(folder.path()).unwrap_err().to_string();
        assert!(refused().contains("has no index"));
        let more = Fixels { of_voxel: vec![[0, 0], [0, 2], [0, 0], [2, 2]], ..fixels() };
        write(&more, folder.path(), "nii");
        assert!(refused().contains("fixel 4"), "{}", refused());
        let flat = Image { n_volumes: 1, data: vec![0.0; 4], ..fixels().index_image() };
        write_image(folder.path().join("directions.nii"), &flat, &WriteOptions::default()).unwrap();
        assert!(refused().contains("n x 3 x 1"), "{}", refused());
    }
}
