//! Where a subject's data are, and how they are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fimbria_compute::{Progress as _, Workers};
use fimbria_image::gradients::{BScaling, GradientFiles, GradientsRead, TableOptions, find_beside};
use fimbria_image::{
    BvecFrame, GradientTable, Grid, Image, ImageHeader, Mask, OpenOptions, SignalSource,
    StoredImage, read_image, read_mask,
};
use fimbria_models::brain_mask::brain_mask;
use fimbria_workflow::with_sidecar;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{JoinedSeries, LoadError, Subject};
use crate::stages::contents::{Claim, Contents};
use crate::stages::doubts::{Doubt, check_table, warn_of_decay, warn_of_place};
use crate::stages::made_mask::warn_of_made_mask;
use crate::{ByteSize, Carried, Input, Logbook, Named, Page};

/// Series that are read as one.
pub(crate) struct Opened {
    /// One after the other.
    pub(crate) series: Vec<StoredImage>,
    /// Of all volumes.
    pub(crate) gradients: GradientTable,
    /// The voxels to work on.
    pub(crate) mask: Mask,
    /// FSL's gradient non-linearity.
    pub(crate) grad_dev: Option<Arc<Image>>,
}

/// Where a subject's data are and how to read them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SubjectFiles {
    /// The diffusion-weighted series.
    pub dwi: PathBuf,
    /// The voxels to work on; `None` for a [`brain_mask`](fn@brain_mask).
    pub mask: Option<PathBuf>,
    /// FSL's b-values.
    pub bval: Option<PathBuf>,
    /// FSL's directions.
    pub bvec: Option<PathBuf>,
    /// An MRtrix3 gradient table.
    pub grad: Option<PathBuf>,
    /// A table of b-matrices.
    pub bmatrix: Option<PathBuf>,
    /// The axes bvecs and b-matrices are in.
    pub bvec_frame: Named<BvecFrame>,
    /// b at or below which a volume counts as unweighted, s/mm²; `None` for 50.
    pub b0_threshold: Option<f64>,
    /// What the length of a direction says about b.
    pub bvalue_scaling: Named<BScaling>,
    /// FSL's image of gradient non-linearity (nine volumes).
    pub grad_dev: Option<PathBuf>,
    /// Further series of the same head, which a correction joins to this one.
    pub joined: Vec<JoinedSeries>,
    /// Memory that the program may take.
    pub memory: Option<ByteSize>,
    /// Folder for a scratch file where the samples take more than their share.
    pub scratch: Option<PathBuf>,
}

impl SubjectFiles {
    /// A series by itself; everything else by default and beside it.
    pub fn new(dwi: impl Into<PathBuf>) -> Self {
        Self { dwi: dwi.into(), ..Self::default() }
    }

    /// Another series, which repeats this one: read in the same way, with what is found beside it.
    #[must_use]
    pub fn repeated_by(&self, dwi: PathBuf) -> Self {
        let Self { bvec_frame, b0_threshold, bvalue_scaling, memory, scratch, .. } = self.clone();
        Self { bvec_frame, b0_threshold, bvalue_scaling, memory, scratch, ..Self::new(dwi) }
    }

    /// The series that are joined to this one, each with its table, read in the same way.
    pub(crate) fn others(&self) -> Vec<Self> {
        let other = |joined: &JoinedSeries| {
            let JoinedSeries { dwi, bval, bvec, grad, bmatrix } = joined.clone();
            Self { bval, bvec, grad, bmatrix, ..self.repeated_by(dwi) }
        };
        self.joined.iter().map(other).collect()
    }

    /// Every path among them.
    pub(crate) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let Self { dwi, mask, bval, bvec, grad, bmatrix, grad_dev, joined, scratch, .. } = self;
        let others = [mask, bval, bvec, grad, bmatrix, grad_dev, scratch];
        let joined = joined.iter_mut().flat_map(JoinedSeries::paths_mut);
        std::iter::once(dwi).chain(others.into_iter().flatten()).chain(joined)
    }

    /// How to open the series.
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions {
            memory_limit: self.memory.map(ByteSize::for_samples),
            scratch_dir: self.scratch.clone(),
        }
    }

    /// The table given by name, if one was.
    ///
    /// # Errors
    /// [`LoadError::HalfPair`] or [`LoadError::TwoTables`].
    pub fn named_table(&self) -> Result<Option<GradientFiles>, LoadError> {
        let pair = match (&self.bval, &self.bvec) {
            (Some(bvals), Some(bvecs)) => {
                Some(GradientFiles::Fsl { bvals: bvals.clone(), bvecs: bvecs.clone() })
            }
            (None, None) => None,
            _ => return Err(LoadError::HalfPair),
        };
        let grad = self.grad.clone().map(GradientFiles::Mrtrix);
        let bmatrix = self.bmatrix.clone().map(GradientFiles::BMatrix);
        let mut given = [pair, grad, bmatrix].into_iter().flatten();
        let first = given.next();
        if given.next().is_some() { Err(LoadError::TwoTables) } else { Ok(first) }
    }

    /// True where a gradient table is given by name.
    pub fn names_table(&self) -> bool {
        self.bval.is_some() || self.bvec.is_some() || self.grad.is_some() || self.bmatrix.is_some()
    }

    /// The gradient table of `stored`: the one given by name, else the one in its header, else
    /// the one beside it.
    ///
    /// # Errors
    /// [`LoadError`] where there is none or it does not fit.
    pub fn read_gradients(&self, header: &ImageHeader) -> Result<GradientsRead, LoadError> {
        let options = TableOptions { n_volumes: Some(header.n_volumes()), ..self.table_options()? };
        let frame = self.bvec_frame.0;
        Ok(match self.named_table()? {
            Some(files) => files.read(frame, &header.grid().ras_from_vox, &options)?,
            None => fimbria_image::gradients::of_image(header, frame, &options)?,
        })
    }

    /// The axes in which the table is given; those of bvecs where there is none.
    pub fn table_axes(&self, header: &ImageHeader) -> BvecFrame {
        let named = self.named_table().ok().flatten();
        let table = match (named, header.dw_scheme()) {
            (None, Some(_)) => return BvecFrame::Scanner,
            (None, None) => find_beside(&self.dwi).ok(),
            (named, _) => named,
        };
        match table {
            Some(GradientFiles::Mrtrix(_)) => BvecFrame::Scanner,
            _ => self.bvec_frame.0,
        }
    }

    /// Every file that is read, for the record.
    pub fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![("dwi".to_owned(), self.dwi.clone())];
        let mut add = |role: &str, path: &Path| inputs.push((role.to_owned(), path.to_owned()));
        // Without a table in the header or by name, the one beside the series is read; where
        // there is none, reading says so.
        let table = self.named_table().ok().flatten().or_else(|| find_beside(&self.dwi).ok());
        for path in table.iter().flat_map(GradientFiles::paths) {
            add("gradients", path);
        }
        if let Some(path) = &self.mask {
            add("mask", path);
        }
        inputs.extend(self.grad_dev.iter().flat_map(|path| with_sidecar("grad_dev", path)));
        inputs
    }

    /// The voxels to work on: the mask of the subject, or a [`brain_mask`](fn@brain_mask).
    pub(crate) fn mask_for(
        &self,
        series: &dyn SignalSource,
        gradients: &GradientTable,
        workers: &Workers,
    ) -> Result<Mask, LoadError> {
        let mask = match &self.mask {
            Some(path) => workers.install(|| read_mask(path, series.grid()))?,
            None => brain_mask(series, gradients, workers),
        };
        if mask.is_empty() {
            return Err(match &self.mask {
                Some(path) => LoadError::EmptyMask(path.clone()),
                None => LoadError::NoBrain(self.dwi.clone()),
            });
        }
        Ok(mask)
    }

    /// The whole gradient table of a series on `grid` of which volumes may be missing: the one
    /// given by name, or the one beside it.
    pub(crate) fn planned_gradients(&self, grid: &Grid) -> Result<GradientsRead, LoadError> {
        let files = match self.named_table()? {
            Some(files) => files,
            None => find_beside(&self.dwi)?,
        };
        Ok(files.read(self.bvec_frame.0, &grid.ras_from_vox, &self.table_options()?)?)
    }

    /// How the gradient table is read, for the record.
    pub(crate) fn table_parameters(&self) -> Value {
        json!({
            "bvec_frame": self.bvec_frame,
            "b0_threshold": self.b0_threshold.unwrap_or(GradientTable::DEFAULT_B0_THRESHOLD),
            "bvalue_scaling": self.bvalue_scaling,
        })
    }

    fn table_options(&self) -> Result<TableOptions, LoadError> {
        let b0_threshold = self.b0_threshold.unwrap_or(GradientTable::DEFAULT_B0_THRESHOLD);
        if !b0_threshold.is_finite() || b0_threshold < 0.0 {
            return Err(LoadError::Threshold(b0_threshold));
        }
        Ok(TableOptions { n_volumes: None, b0_threshold, b_scaling: self.bvalue_scaling.0 })
    }

    /// Reads the subject, and says what was found and repaired.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn read(&self, log: &Logbook<'_>) -> Result<Subject, LoadError> {
        self.read_on(log, |series, gradients, workers| {
            let mask = self.mask_for(series, gradients, workers)?;
            if self.mask.is_none() {
                warn_of_made_mask(&mask, "the series", log);
            }
            Ok(mask)
        })
    }

    /// Reads the subject to be worked on in the voxels that `mask` gives.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn read_on(
        &self,
        log: &Logbook<'_>,
        mask: impl FnOnce(&StoredImage, &GradientTable, &Workers) -> Result<Mask, LoadError>,
    ) -> Result<Subject, LoadError> {
        let of_first = |series: &[StoredImage], gradients: &GradientTable, workers: &Workers| {
            mask(&series[0], gradients, workers)
        };
        let Opened { mut series, gradients, mask, grad_dev } =
            self.open_with(&[], log, of_first)?;
        let dwi = series.swap_remove(0);
        let carried = Carried::from_header(&dwi);
        Ok(Subject { dwi: Arc::new(dwi), gradients, mask, grad_dev, carried })
    }

    /// Opens the series and others whose volumes follow its own, to be worked on in the voxels that `mask` gives of the
    /// first and its table.
    ///
    /// # Errors
    /// [`LoadError`].
    pub(crate) fn open_with(
        &self,
        others: &[Self],
        log: &Logbook<'_>,
        mask: impl FnOnce(&[StoredImage], &GradientTable, &Workers) -> Result<Mask, LoadError>,
    ) -> Result<Opened, LoadError> {
        let workers = log.session().on.workers;
        let (mut series, mut tables) = (Vec::new(), Vec::new());
        for files in std::iter::once(self).chain(others) {
            let stored =
                workers.install(|| StoredImage::open(&files.dwi, &files.open_options()))?;
            let GradientsRead { table, repairs } = files.read_gradients(&stored)?;
            for repair in repairs {
                log.warn(Page::Troubleshooting, &files.named(others, &repair.to_string()));
            }
            series.push(stored);
            tables.push(table);
        }
        let gradients = GradientTable::joined(&tables);
        let doubtful = |path: &Path, doubt| LoadError::Doubtful { path: path.to_owned(), doubt };
        check_table(&gradients, log).map_err(|doubt| doubtful(&self.dwi, doubt))?;
        for stored in &series {
            if let Some(doubt) = Doubt::about_shapes(stored.path()) {
                return Err(doubtful(stored.path(), doubt));
            }
            warn_of_place(stored, log);
        }
        let shells: Vec<_> = gradients.shells().iter().map(ToString::to_string).collect();
        log.note(&format!(
            "shells: {}; b0 threshold {} s/mm²",
            shells.join(", "),
            gradients.b0_threshold
        ));
        let grid = *series[0].grid();
        let mask = mask(&series, &tables[0], workers)?;
        warn_of_decay(&series[0], &tables[0], &mask, log);
        let grad_dev = match &self.grad_dev {
            Some(path) => {
                Claim::checked(&ImageHeader::read(path)?, Contents::Numbers)?;
                let image = workers.install(|| read_image(path))?;
                grid.check_same(&image.grid, &path.display().to_string())?;
                Some(Arc::new(image))
            }
            None => None,
        };
        log.count("volumes", gradients.len() as u64);
        log.count("voxels", mask.len() as u64);
        Ok(Opened { series, gradients, mask, grad_dev })
    }

    /// A message about this series where it is not the only one.
    fn named(&self, others: &[Self], message: &str) -> String {
        match others {
            [] => message.to_owned(),
            _ => format!("{}: {message}", self.dwi.display()),
        }
    }
}
