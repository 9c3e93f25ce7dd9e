//! Reading samples.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::BedpostxError;
use super::half::{half_file, read_half};
use crate::frames::{Matrix3, turned};
use crate::sticks::{PackedStick, StickSamples};
use crate::{
    BvecFrame, ImageHeader, OpenOptions, SignalSource, StoredImage, image_called, image_files,
    read_mask,
};

/// Voxels that one task packs.
const TASK: usize = 1024;

/// Reads the samples of all fibres inside the mask.
///
/// `samples` is a bedpostX folder, or a base name as probtrackx2 takes it (`FOLDER/merged`, whose
/// files are `FOLDER/merged_th1samples` and so on; those of a single fibre may lack the number).
/// Fibres are counted until a file is missing; where there is none, a [`half_file`] is looked for. `mask` is by default `nodif_brain_mask` in the
/// folder. One fibre's three files are open at a time, held as `options` say; memory beyond them
/// is the eight bytes per stick of the result. Runs on the threads of the current rayon pool.
///
/// # Errors
/// [`BedpostxError`] names the file that is missing, on another grid, of another length, or holds
/// a number that is none.
pub fn read_bedpostx(
    samples: &Path,
    mask: Option<&Path>,
    options: &OpenOptions,
) -> Result<StickSamples, BedpostxError> {
    let base = if samples.is_dir() { samples.join("merged") } else { samples.to_owned() };
    let folder = base.parent().unwrap_or(Path::new(""));
    let half = half_file(&base);
    let fibres = match fibre_files(&base) {
        Err(BedpostxError::Missing(_)) if half.is_file() => return read_half(&half, mask),
        fibres => fibres?,
    };
    let first = ImageHeader::read(&fibres[0][0])?;
    let (grid, n_samples) = (*first.grid(), first.n_volumes());

    let mask_path = match mask {
        Some(path) => path.to_owned(),
        None => existing(folder, "nodif_brain_mask")?,
    };
    let mask = read_mask(&mask_path, &grid)?;
    if mask.is_empty() {
        return Err(BedpostxError::EmptyMask(mask_path));
    }
    let (n_fibres, voxels) = (fibres.len(), mask.len());
    let mut field = StickSamples::empty(mask, n_fibres, n_samples)
        .ok_or(BedpostxError::Memory { n_fibres, n_samples, voxels })?;
    for (fibre, [theta, phi, fraction]) in fibres.iter().enumerate() {
        let files = FibreFiles {
            theta: open(theta, &first, options)?,
            phi: open(phi, &first, options)?,
            fraction: open(fraction, &first, options)?,
            ras_from_fsl: BvecFrame::Fsl.ras_from_frame(&grid.ras_from_vox),
            fibre,
        };
        files.pack_into(&mut field)?;
    }
    Ok(field)
}

/// Every file that [`read_bedpostx`] reads for these samples where no mask is given. Empty where there
/// are no samples.
pub fn sample_files(samples: &Path) -> Vec<PathBuf> {
    let base = if samples.is_dir() { samples.join("merged") } else { samples.to_owned() };
    let half = half_file(&base);
    let mut files = match fibre_files(&base) {
        Ok(fibres) => fibres.into_iter().flatten().collect(),
        Err(_) if half.is_file() => vec![half],
        Err(_) => return Vec::new(),
    };
    files.extend(existing(base.parent().unwrap_or(Path::new("")), "nodif_brain_mask"));
    files.iter().flat_map(|file| image_files(file)).collect()
}

/// The files th, ph and f of every fibre.
fn fibre_files(base: &Path) -> Result<Vec<[PathBuf; 3]>, BedpostxError> {
    let folder = base.parent().unwrap_or(Path::new(""));
    let name = base.file_name().unwrap_or_default().to_string_lossy();
    let of = |number: &str| -> Result<[PathBuf; 3], BedpostxError> {
        let file = |what: &str| existing(folder, &format!("{name}_{what}{number}samples"));
        Ok([file("th")?, file("ph")?, file("f")?])
    };
    let mut fibres = Vec::new();
    while fibres.is_empty()
        || existing(folder, &format!("{name}_th{}samples", fibres.len() + 1)).is_ok()
    {
        match of(&(fibres.len() + 1).to_string()) {
            Ok(files) => fibres.push(files),
            // One fibre only, without its number; else the message is about the numbered file.
            Err(error) => match of("") {
                Ok(files) if fibres.is_empty() => return Ok(vec![files]),
                _ => return Err(error),
            },
        }
    }
    Ok(fibres)
}

/// The image file of this name, whatever its extension.
fn existing(folder: &Path, stem: &str) -> Result<PathBuf, BedpostxError> {
    let stem = folder.join(stem);
    image_called(&stem).ok_or(BedpostxError::Missing(stem))
}

/// Opens one file of samples, which must be like the first.
fn open(
    path: &Path,
    first: &ImageHeader,
    options: &OpenOptions,
) -> Result<StoredImage, BedpostxError> {
    let header = ImageHeader::read(path)?;
    let (found, expected) = (header.n_volumes(), first.n_volumes());
    if found != expected {
        return Err(BedpostxError::Samples { path: path.to_owned(), found, expected });
    }
    let mismatch = |e| BedpostxError::Image(crate::ImageError::Grid(e));
    first.grid().check_same(header.grid(), &path.display().to_string()).map_err(mismatch)?;
    Ok(StoredImage::open(path, options)?)
}

/// The three open files of one fibre.
struct FibreFiles {
    theta: StoredImage,
    phi: StoredImage,
    fraction: StoredImage,
    ras_from_fsl: Matrix3,
    fibre: usize,
}

impl FibreFiles {
    fn pack_into(&self, field: &mut StickSamples) -> Result<(), BedpostxError> {
        let (n_fibres, n_samples) = (field.n_fibres, field.n_samples);
        let tasks = field.sticks.par_chunks_mut(TASK * field.n_fibres * field.n_samples);
        tasks.zip(field.mask.voxels.par_chunks(TASK)).try_for_each(|(sticks, voxels)| {
            let read = |file: &StoredImage| {
                let mut rows = vec![0.0; n_samples * voxels.len()];
                file.gather(voxels, voxels.len(), &mut rows);
                match rows.iter().position(|value| !value.is_finite()) {
                    None => Ok(rows),
                    Some(at) => Err(BedpostxError::NotFinite {
                        path: file.path().to_owned(),
                        voxel: file.grid().voxel(voxels[at % voxels.len()] as usize),
                        sample: at / voxels.len(),
                        value: rows[at],
                    }),
                }
            };
            let (theta, phi) = (read(&self.theta)?, read(&self.phi)?);
            let fraction = read(&self.fraction)?;
            for (lane, sticks) in sticks.chunks_exact_mut(n_fibres * n_samples).enumerate() {
                for (sample, sticks) in sticks.chunks_exact_mut(n_fibres).enumerate() {
                    let at = sample * voxels.len() + lane;
                    let dir = self.direction(theta[at], phi[at]);
                    sticks[self.fibre] = PackedStick::new(dir, f64::from(fraction[at]));
                }
            }
            Ok(())
        })
    }

    /// The direction in scanner axes; zero where the angles say that there is none.
    fn direction(&self, theta: f32, phi: f32) -> [f64; 3] {
        if theta == 0.0 || phi == 0.0 {
            return [0.0; 3];
        }
        let (sin_theta, cos_theta) = f64::from(theta).sin_cos();
        let (sin_phi, cos_phi) = f64::from(phi).sin_cos();
        turned(&self.ras_from_fsl, [sin_theta * cos_phi, sin_theta * sin_phi, cos_theta])
    }
}
