//! What of a series is there so far.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use fimbria_compute::Progress;
use fimbria_image::{
    Grid, ImageError, OpenOptions, SignalSource, StoredImage, is_single_file_name,
};

/// Looks at a file, or at a folder of volumes.
pub(super) struct Arrivals {
    place: PathBuf,
    /// Files as they were when they were last read, with their sizes and times.
    seen: Vec<Seen>,
    /// Those of a folder that are read.
    volumes: Vec<(PathBuf, Arc<StoredImage>)>,
    n_volumes: usize,
    last_look: SystemTime,
    /// What was last said about a file that cannot be read (yet).
    trouble: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Seen {
    file: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

/// The volumes so far.
pub(super) struct Arrived {
    pub(super) series: Series,
    /// The files they are in.
    pub(super) files: Vec<PathBuf>,
    /// When the last of them came.
    pub(super) at: SystemTime,
}

impl Arrived {
    pub(super) fn n_volumes(&self) -> usize {
        self.series.n_volumes()
    }
}

/// Images one after the other.
#[derive(Clone)]
pub(super) struct Series(Vec<Arc<StoredImage>>);

impl SignalSource for Series {
    /// # Panics
    /// With no image.
    fn grid(&self) -> &Grid {
        self.0[0].grid()
    }

    fn n_volumes(&self) -> usize {
        self.0.iter().map(|image| image.n_volumes()).sum()
    }

    fn gather_rows(&self, voxels: &[u32], mut rows: &mut [&mut [f32]]) {
        for image in &self.0 {
            let (of_image, rest) = rows.split_at_mut(image.n_volumes());
            image.gather_rows(voxels, of_image);
            rows = rest;
        }
    }
}

impl Arrivals {
    pub(super) fn new(place: &Path) -> Self {
        Self {
            place: place.to_owned(),
            seen: Vec::new(),
            volumes: Vec::new(),
            n_volumes: 0,
            last_look: SystemTime::now(),
            trouble: String::new(),
        }
    }

    /// The volumes, where they are others than at the last look.
    pub(super) fn look(&mut self, progress: &dyn Progress) -> Option<Arrived> {
        let before = std::mem::replace(&mut self.last_look, SystemTime::now());
        let there = if self.place.is_dir() { in_folder(&self.place) } else { look_at(&self.place) };
        if there == self.seen {
            return None;
        }
        let read = if self.place.is_dir() { self.volumes_of(&there) } else { one(&there) };
        let series = match read {
            Ok(series) => series,
            Err(error) => {
                // Half written, or no image: the next look may tell.
                let error = error.to_string();
                if error != self.trouble {
                    progress.note(&format!("waiting: {error}"));
                    self.trouble = error;
                }
                return None;
            }
        };
        let latest = there.iter().map(|seen| seen.modified).max();
        let files = there.iter().map(|seen| seen.file.clone()).collect();
        self.seen = there;
        if series.0.is_empty() || series.n_volumes() == self.n_volumes {
            return None;
        }
        self.n_volumes = series.n_volumes();
        // A file that was moved here was written before it came.
        Some(Arrived { series, files, at: latest.map_or(before, |at| at.max(before)) })
    }

    /// The volumes of a folder in the order of their names, those that did not change as they were
    /// read before.
    fn volumes_of(&mut self, there: &[Seen]) -> Result<Series, ImageError> {
        let mut volumes = Vec::new();
        for seen in there {
            let known = self.volumes.iter().find(|(file, _)| *file == seen.file);
            let image = match known {
                Some((_, image)) if self.seen.contains(seen) => image.clone(),
                _ => {
                    let image = StoredImage::open(&seen.file, &OpenOptions::default())?;
                    if let Some((_, first)) = volumes.first() {
                        let first: &Arc<StoredImage> = first;
                        first.grid().check_same(image.grid(), &seen.file.display().to_string())?;
                    }
                    Arc::new(image)
                }
            };
            volumes.push((seen.file.clone(), image));
        }
        self.volumes = volumes;
        Ok(Series(self.volumes.iter().map(|(_, image)| image.clone()).collect()))
    }
}

/// The whole volumes of a file that may still grow. It is read, not mapped: its writer may cut it.
fn one(there: &[Seen]) -> Result<Series, ImageError> {
    let Some(Seen { file, .. }) = there.first() else { return Ok(Series(Vec::new())) };
    let unreadable = |source| ImageError::Io { action: "read", path: file.clone(), source };
    let bytes = fimbria_image::read_regular(file).map_err(unreadable)?;
    let name = file.display().to_string();
    let image = StoredImage::so_far(bytes, &name, &OpenOptions::default())?;
    Ok(Series(image.map(Arc::new).into_iter().collect()))
}

fn look_at(file: &Path) -> Vec<Seen> {
    let seen = || {
        let about = fs::metadata(file).ok()?;
        Some(Seen { file: file.to_owned(), bytes: about.len(), modified: about.modified().ok()? })
    };
    seen().into_iter().collect()
}

/// The images of a folder by name, numbers in names by their value.
fn in_folder(folder: &Path) -> Vec<Seen> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_image = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with('.') && is_single_file_name(file)
    };
    let files = entries.map(|entry| entry.path()).filter(|file| is_image(file));
    let mut seen: Vec<Seen> = files.flat_map(|file| look_at(&file)).collect();
    seen.sort_by_cached_key(|seen| by_number(&seen.file.to_string_lossy()));
    seen
}

/// The runs of digits in a name as numbers, each with the text that follows it, so that volume 10
/// follows volume 9.
fn by_number(name: &str) -> Vec<(u64, String)> {
    let mut parts = vec![(0_u64, String::new())];
    let mut in_number = false;
    for c in name.chars() {
        let digit = c.to_digit(10).map(u64::from);
        if digit.is_some() && !in_number {
            parts.push((0, String::new()));
        }
        in_number = digit.is_some();
        if let Some((number, text)) = parts.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(digit),
                None => text.push(c),
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_come_in_the_order_of_their_numbers() {
        let mut names = ["v10.nii", "v009.nii", "v0.nii", "v100.nii", "v2.nii"];
        names.sort_by_cached_key(|name| by_number(name));
        assert_eq!(names, ["v0.nii", "v2.nii", "v009.nii", "v10.nii", "v100.nii"]);
    }
}
