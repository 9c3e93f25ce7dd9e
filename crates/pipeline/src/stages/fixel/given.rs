//! Fixels that are there already.

use std::path::{Path, PathBuf};

use fimbria_image::arrays::{ArraysError, Column, ColumnKind, is_safe_name};
use fimbria_image::fixels::Fixels;
use fimbria_image::odx::Odx;

use super::Made;
use super::exchange::{name_in_folder, values_of};
use crate::{Carried, StageError};

/// A folder of fixels, or an ODX without densities.
pub enum GivenFixels {
    /// MRtrix3's folder.
    Folder(PathBuf),
    /// One archive, with the values that each of its fixels has.
    Odx(PathBuf, Vec<ColumnKind>),
}

impl GivenFixels {
    /// What there is at a path; `None` where it is densities.
    ///
    /// # Errors
    /// [`ArraysError`] where it is an ODX that cannot be read.
    pub fn at(path: &Path) -> Result<Option<Self>, ArraysError> {
        if Odx::is_named(path) {
            let listing = Odx::listing(path)?;
            let is_given = !listing.has_densities;
            return Ok(is_given.then(|| Self::Odx(path.to_owned(), listing.per_fixel)));
        }
        Ok(path.is_dir().then(|| Self::Folder(path.to_owned())))
    }

    /// Names of the values of each fixel that go on.
    pub(super) fn values(&self) -> Vec<String> {
        match self {
            Self::Folder(_) => Vec::new(),
            Self::Odx(_, kinds) => {
                let kept = kinds.iter().filter(|kind| is_kept(kind));
                kept.map(|kind| name_in_folder(&kind.name).to_owned()).collect()
            }
        }
    }

    /// The files that are read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Folder(folder) => Fixels::files(folder).collect(),
            Self::Odx(path, _) => vec![path.clone()],
        }
    }

    /// Reads them.
    pub(super) fn read(&self) -> Result<Made, StageError> {
        let (fixels, values) = match self {
            Self::Folder(folder) => (Fixels::read(folder)?, Vec::new()),
            Self::Odx(path, _) => {
                let odx = Odx::read(path)?;
                let kept = odx.per_fixel.iter().filter(|column| is_kept(&column.kind));
                (odx.fixels()?, kept.map(|column: &Column| values_of(column)).collect())
            }
        };
        Ok(Made { fixels, values, carried: Carried::default() })
    }
}

/// One number per fixel, by a name that is none of the folder's own.
fn is_kept(kind: &ColumnKind) -> bool {
    kind.width == 1 && is_safe_name(&kind.name) && !["index", "directions"].contains(&&*kind.name)
}
