//! Finding and reading what FSL names.

use std::fs;
use std::path::{Path, PathBuf};

use fimbria_image::{Affine, read_image};
use fimbria_tracking::{Region, Seed, Space, is_reversed};

use super::{Probtrackx2Error, Starts, seeds_of};

/// Extensions that FSL's image names may lack.
const EXTENSIONS: [&str; 4] = ["nii.gz", "nii", "hdr", "hdr.gz"];

/// The image of this name, with or without its extension.
pub(super) fn image(name: &Path) -> Result<PathBuf, Probtrackx2Error> {
    image_called(name).ok_or_else(|| Probtrackx2Error::Missing(name.to_owned()))
}

fn image_called(name: &Path) -> Option<PathBuf> {
    let text = name.to_string_lossy();
    let named = [".nii.gz", ".nii", ".hdr", ".hdr.gz", ".img", ".img.gz", ".mif", ".mif.gz"];
    if name.is_file() && named.iter().any(|extension| text.ends_with(extension)) {
        return Some(name.to_owned());
    }
    let with = |extension: &&str| PathBuf::from(format!("{text}.{extension}"));
    EXTENSIONS.iter().map(with).find(|path| path.is_file())
}

/// What a region is called in FSL's outputs: its file without folder and extension.
fn base_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(".nii").next().unwrap_or(&name).to_owned()
}

/// Text files are small; what is not is no list.
fn text(path: &Path) -> Result<String, Probtrackx2Error> {
    let wrong = |reason: String| Probtrackx2Error::Text { path: path.to_owned(), reason };
    fs::read_to_string(path).map_err(|error| wrong(error.to_string()))
}

fn numbers(path: &Path) -> Result<Vec<Vec<f64>>, Probtrackx2Error> {
    let text = text(path)?;
    let row = |line: &str| line.split_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            row(line).map_err(|_| Probtrackx2Error::Text {
                path: path.to_owned(),
                reason: format!("`{line}` is no row of numbers"),
            })
        })
        .collect()
}

/// A matrix as FLIRT writes it.
pub(super) fn flirt(path: &Path) -> Result<Affine, Probtrackx2Error> {
    let rows = numbers(path)?;
    let row = |i: usize| rows.get(i).and_then(|row| <[f64; 4]>::try_from(&row[..]).ok());
    match (row(0), row(1), row(2), rows.len()) {
        (Some(x), Some(y), Some(z), 3 | 4) => Ok(Affine([x, y, z])),
        _ => Err(Probtrackx2Error::Text {
            path: path.to_owned(),
            reason: "a transform has four rows of four numbers; warps are not read".into(),
        }),
    }
}

/// Regions: an image, or a text file that lists images.
pub(super) fn regions(path: &Path, space: &Space) -> Result<Vec<Region>, Probtrackx2Error> {
    let files = match image_called(path) {
        Some(image) => vec![image],
        None if path.is_file() => {
            let text = text(path)?;
            let names = text.split_whitespace().map(Path::new);
            names.map(image).collect::<Result<Vec<_>, _>>()?
        }
        None => return Err(Probtrackx2Error::Missing(path.to_owned())),
    };
    let region = |file: &PathBuf| {
        let image = read_image(file)?;
        let mut region = space.region(&image, &file.display().to_string())?;
        region.name = base_name(file);
        Ok(region)
    };
    files.iter().map(region).collect()
}

/// Seeds in regions.
pub(super) fn seed_regions(path: &Path, space: &Space) -> Result<Starts, Probtrackx2Error> {
    let regions = regions(path, space)?;
    let seeds = seeds_of(space, &regions);
    if seeds.is_empty() {
        return Err(Probtrackx2Error::NoSeeds(path.to_owned()));
    }
    Ok(Starts { seeds, regions, typed: Vec::new() })
}

/// Seeds as points: N rows of three voxel coordinates, or three rows of N.
pub(super) fn points(path: &Path, space: &Space) -> Result<Starts, Probtrackx2Error> {
    let rows = numbers(path)?;
    let typed: Vec<[f32; 3]> = if rows.iter().all(|row| row.len() == 3) && !rows.is_empty() {
        rows.iter().map(|row| std::array::from_fn(|a| row[a] as f32)).collect()
    } else if rows.len() == 3 && rows.iter().all(|row| row.len() == rows[0].len()) {
        (0..rows[0].len()).map(|i| std::array::from_fn(|a| rows[a][i] as f32)).collect()
    } else {
        return Err(Probtrackx2Error::Text {
            path: path.to_owned(),
            reason: "points are N rows of three numbers, or three rows of N".into(),
        });
    };
    let last = space.grid().dims[0] as f32 - 1.0;
    let reversed = is_reversed(space.grid());
    let seed = |(key, &[x, y, z]): (u32, &[f32; 3])| {
        let x = if reversed { last - x } else { x };
        Seed { key, region: 0, pos: [x, y, z] }
    };
    let seeds = (0..).zip(&typed).map(seed).collect();
    Ok(Starts { seeds, regions: Vec::new(), typed })
}
