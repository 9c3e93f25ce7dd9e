//! Densities and amounts in files.

use std::path::{Path, PathBuf};

use fimbria_image::{
    Image, ImageHeader, MapSpec, Mask, counted, image_called, read_image, read_mask,
};
use fimbria_tensors::sh::{ShBasis, lmax_of_count};
use fimbria_workflow::with_sidecar;
use serde_json::{Value, json};

use super::{FOD, Maps, NormaliseParameters, find_gain};
use crate::stages::contents::{Claim, Contents};
use crate::stages::doubts::warn_of_place_of;
use crate::stages::fod_field::Gain;
use crate::{
    Carried, Input, Logbook, MapStyle, OutputFolder, Product, Products, Stage, StageError,
};

/// Normalises images.
pub struct NormaliseFiles {
    /// Harmonics of the densities, then amounts of the other tissues: the `tissues` of `fit fod`, or an image of
    /// l = 0 for each, as MRtrix3 writes them.
    images: Vec<PathBuf>,
    mask: PathBuf,
    parameters: NormaliseParameters,
    maps: Maps,
}

/// Images of no tissues.
#[derive(Debug, thiserror::Error)]
pub enum TissuesError {
    /// A folder that `fit fod` did not leave.
    #[error("{} has no {name} of `fit fod`: give images of the tissues", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is missing.
        name: &'static str,
    },
    /// Volumes of no harmonics.
    #[error("{} has {}, and harmonics of even degrees 1, 6, 15, 28, 45, ...", path.display(), counted(*volumes, "volume"))]
    Harmonics {
        /// The image.
        path: PathBuf,
        /// What it has.
        volumes: usize,
    },
    /// Volumes of no tissues.
    #[error(
        "{} has {}, and a tissue one, or all of `fit fod` three", path.display(), counted(*volumes, "volume")
    )]
    Volumes {
        /// The image.
        path: PathBuf,
        /// What it has.
        volumes: usize,
    },
}

/// What was read, and its gain.
struct Made {
    spec: MapSpec,
    fod: Image,
    tissues: Image,
    gain: Gain,
    carried: Carried,
}

/// The image that `fit fod` calls `name` in a folder.
fn image_in(folder: &Path, name: &'static str) -> Result<PathBuf, TissuesError> {
    image_called(&folder.join(name))
        .ok_or_else(|| TissuesError::Folder { folder: folder.to_owned(), name })
}

impl NormaliseFiles {
    /// Of the densities in an image with those of the other tissues, or in a folder of `fit fod`.
    ///
    /// # Errors
    /// [`TissuesError::Folder`].
    pub fn new(
        densities: PathBuf,
        others: Vec<PathBuf>,
        mask: PathBuf,
        parameters: NormaliseParameters,
        style: MapStyle,
    ) -> Result<Self, TissuesError> {
        let mut images = match densities.is_dir() {
            true => vec![image_in(&densities, "fod")?, image_in(&densities, "tissues")?],
            false => vec![densities],
        };
        images.extend(others);
        let entities = crate::bids_entities(&images[0]);
        Ok(Self { images, mask, parameters, maps: Maps { style, entities } })
    }

    fn made(&self, log: &Logbook<'_>) -> Result<Made, StageError> {
        let workers = log.session().on.workers;
        let path = &self.images[0];
        let header = ImageHeader::read(path)?;
        warn_of_place_of(path, log);
        let fod = workers.install(|| read_image(path))?;
        let volumes = fod.n_volumes;
        if lmax_of_count(volumes).is_none() {
            return Err(TissuesError::Harmonics { path: path.clone(), volumes }.into());
        }
        // l = 0 of a density of integral 1.
        let of_one = (0.25 / std::f32::consts::PI).sqrt();
        let amounts = |coefficients: &[f32]| coefficients.iter().map(|c| c / of_one).collect();
        let mut data: Vec<f32> = amounts(fod.volume(0));
        for path in &self.images[1..] {
            log.session().progress.check()?;
            let image = workers.install(|| read_image(path))?;
            // MRtrix3's files of one scan are often counted along other axes, or the other way.
            Mask::full(image.grid).onto(&fod.grid, &path.display().to_string())?;
            let image = workers.install(|| image.at_nearest_voxels(&fod.grid));
            match image.n_volumes {
                1 => data.extend::<Vec<f32>>(amounts(&image.data)),
                // The first is that of the density.
                3 => data.extend_from_slice(&image.data[fod.grid.len()..]),
                volumes => {
                    return Err(TissuesError::Volumes { path: path.clone(), volumes }.into());
                }
            }
        }
        let tissues = Image { grid: fod.grid, n_volumes: data.len() / fod.grid.len(), data };
        let mask = workers.install(|| read_mask(&self.mask, &fod.grid))?;
        let gain = find_gain(&tissues, &mask, &self.parameters, log)?;
        let is_mrtrix = Claim::from_header(&header)
            .is_some_and(|claim| claim.what == Contents::Harmonics(Some(ShBasis::Mrtrix)));
        let spec = match is_mrtrix {
            true => FOD.clone(),
            // Nobody knows more of it than before.
            false => MapSpec { description: header.description().to_owned().into(), ..FOD.clone() },
        };
        Ok(Made { spec, fod, tissues, gain, carried: Carried::from_header(&header) })
    }
}

impl Stage for NormaliseFiles {
    fn name(&self) -> &'static str {
        super::METHOD.name
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Made>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let images = self.images.iter().flat_map(|path| with_sidecar("image", path));
        images.chain([("mask".to_owned(), self.mask.clone())]).collect()
    }

    fn parameters(&self) -> Value {
        let Maps { style, entities } = &self.maps;
        json!({ "normalise": self.parameters, "maps": style, "entities": entities })
    }

    fn outputs(&self) -> Vec<String> {
        self.maps.names()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(self.made(log)?);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Made { spec, fod, tissues, gain, carried } = products.get::<Made>()?;
        self.maps.write((spec, fod), tissues, gain, carried, out, log)
    }
}
