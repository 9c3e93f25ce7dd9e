//! What is read beside the series and the streamlines: opened and checked before work begins, so
//! that hours of it are not lost to a file of another scan.

use std::path::Path;
use std::sync::Arc;

use fimbria_image::gradients::GradientError;
use fimbria_image::{
    GradientTable, Grid, Image, NumberRows, SignalSource as _, StoredImage, read_image,
};
use fimbria_streamlines::connectome::{Assignment, Nodes};

use super::evidence::{NumberedSet, read_sets};
use super::{Life, LifeFiles, LifeInputError};
use crate::stages::contents::check_labels;
use crate::stages::doubts::warn_of_place_of;
use crate::stages::load::{LoadError, Subject, SubjectFiles};
use crate::stages::weights::{WeightsError, read_weights};
use crate::{Logbook, StageError};

/// Degrees that directions of repeated volumes may differ by: what tables turned with the head's
/// motion do.
const TURNED_DEG: f64 = 5.0;

/// The files beside the series and the streamlines.
#[derive(Default)]
pub(super) struct OtherInputs {
    /// A second measurement of the same volumes.
    pub(super) second: Option<StoredImage>,
    /// Nodes of matrices.
    pub(super) nodes: Option<Nodes>,
    /// Sets of streamlines; of which streamlines, the tractogram says.
    pub(super) sets: Vec<NumberedSet>,
    /// Weights to begin with.
    pub(super) start: Option<Vec<f32>>,
}

impl OtherInputs {
    /// Opens and checks all there are.
    pub(super) fn open(
        life: &Life,
        subject: &Subject,
        log: &Logbook<'_>,
    ) -> Result<Self, StageError> {
        let LifeFiles { tractogram: _, labels, sets, start } = &life.files;
        let second = life.second.as_ref();
        Ok(Self {
            second: second.map(|files| repetition(files, subject, log)).transpose()?,
            nodes: labels.as_ref().map(|path| nodes(path, subject.dwi.grid(), log)).transpose()?,
            sets: sets.as_ref().map_or(Ok(Vec::new()), |path| read_sets(path))?,
            start: start.as_ref().map(|path| start_weights(path)).transpose()?,
        })
    }
}

/// The weights of a file in the precision of the solvers.
pub(super) fn start_weights(path: &Path) -> Result<Vec<f32>, WeightsError> {
    Ok(read_weights(path)?.into_iter().map(|weight| weight as f32).collect())
}

/// The directions listed in a file, three numbers a line; what stands behind a # is not read.
///
/// # Errors
/// Where it cannot be read, a line holds anything else, or there is none.
pub fn read_directions(path: &Path) -> Result<Arc<[[f64; 3]]>, LifeInputError> {
    let direction = |(line, row): (usize, &[f64])| {
        let dir = <[f64; 3]>::try_from(row).ok().filter(|dir| *dir != [0.0; 3]);
        dir.ok_or_else(|| LifeInputError::Direction { path: path.to_owned(), line })
    };
    let dirs: Arc<[_]> = NumberRows::read(path)?.rows().map(direction).collect::<Result<_, _>>()?;
    if dirs.is_empty() {
        Err(LifeInputError::NoDirections { path: path.to_owned() })
    } else {
        Ok(dirs)
    }
}

/// A series that repeats the subject's volume by volume.
fn repetition(
    files: &SubjectFiles,
    subject: &Subject,
    log: &Logbook<'_>,
) -> Result<StoredImage, StageError> {
    let (path, first) = (&files.dwi, &subject.gradients);
    let options = files.open_options();
    let stored = log.session().on.workers.install(|| StoredImage::open(path, &options))?;
    subject.dwi.grid().check_same(stored.grid(), &path.display().to_string())?;
    let other = |what: String| LifeInputError::NoRepetition { path: path.clone(), what };
    if stored.n_volumes() != first.len() {
        return Err(
            other(format!("it has {} volumes of {}", stored.n_volumes(), first.len())).into()
        );
    }
    match files.read_gradients(&stored) {
        Ok(read) => {
            difference(first, &read.table).map_or(Ok(stored), |what| Err(other(what).into()))
        }
        // Without a table of its own it is what it is said to be.
        Err(LoadError::Gradients(GradientError::NotFound { .. })) => Ok(stored),
        Err(error) => Err(error.into()),
    }
}

/// Where the volumes of two tables of one length are no repetitions of each other.
fn difference(first: &GradientTable, second: &GradientTable) -> Option<String> {
    (0..first.len()).find_map(|volume| {
        let [b, other] = [first, second].map(|table| table.b_s_per_mm2[volume]);
        if first.is_b0(volume) != second.is_b0(volume)
            || (b - other).abs() > GradientTable::SHELL_GAP
        {
            return Some(format!("volume {volume} (from 0) is of b {other} s/mm², not of {b}"));
        }
        let [u, v] = [first, second].map(|table| table.dirs_ras[volume]);
        let dot = (0..3).map(|i| u[i] * v[i]).sum::<f64>().abs().min(1.0);
        let apart_deg = dot.acos().to_degrees();
        let is_turned = !first.is_b0(volume) && apart_deg > TURNED_DEG;
        is_turned
            .then(|| format!("the direction of volume {volume} (from 0) is {apart_deg:.0}° off"))
    })
}

/// The nodes of a label image, which may be on a grid of its own in the same space.
fn nodes(path: &Path, grid: &Grid, log: &Logbook<'_>) -> Result<Nodes, StageError> {
    check_labels(path)?;
    let image = log.session().on.workers.install(|| read_image(path))?;
    warn_of_place_of(path, log);
    let path = || path.to_owned();
    let unusable = |source| LifeInputError::Labels { path: path(), source };
    let nodes = Nodes::new(&image, Assignment::default()).map_err(unusable)?;
    if !shares_space(&image, grid) {
        return Err(LifeInputError::LabelsElsewhere { path: path() }.into());
    }
    Ok(nodes)
}

/// True where a labelled voxel's centre lies in `grid`, or the grid cannot say.
fn shares_space(labels: &Image, grid: &Grid) -> bool {
    let Some(vox_from_ras) = grid.ras_from_vox.inverse() else { return true };
    let mut labelled = (0..labels.grid.len()).filter(|&voxel| labels.data[voxel] > 0.0);
    labelled.any(|voxel| {
        let centre = labels.grid.voxel(voxel).map(|c| c as f64);
        let there = vox_from_ras.apply(labels.grid.ras_from_vox.apply(centre));
        (0..3).all(|i| there[i] > -0.5 && there[i] < grid.dims[i] as f64 - 0.5)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(b: [f64; 2], dir: [f64; 3]) -> GradientTable {
        let dirs_ras = vec![[0.0; 3], dir];
        GradientTable { b_s_per_mm2: b.to_vec(), dirs_ras, b0_threshold: 50.0 }
    }

    #[test]
    fn a_repetition_has_the_shells_and_directions_of_the_first() {
        let first = table([0.0, 1000.0], [1.0, 0.0, 0.0]);
        let near = [0.999, -0.04, 0.0];
        for same in [first.clone(), table([5.0, 1020.0], [-1.0, 0.0, 0.0]), table([0.0, 1e3], near)]
        {
            assert_eq!(difference(&first, &same), None);
        }
        for (other, said) in [
            (table([0.0, 2000.0], [1.0, 0.0, 0.0]), "b 2000"),
            (table([60.0, 1000.0], [1.0, 0.0, 0.0]), "volume 0"),
            (table([0.0, 1000.0], [0.6, 0.8, 0.0]), "53°"),
        ] {
            let found = difference(&first, &other).unwrap();
            assert!(found.contains(said), "{found}");
        }
    }
}
