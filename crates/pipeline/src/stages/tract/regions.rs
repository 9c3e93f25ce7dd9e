//! Reading regions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fimbria_image::{Grid, Image, read_image};
use fimbria_streamlines::edit::{Bring, Regions};

use super::TractError;
use super::labels::LabelNames;
use super::region_text::{RegionText, StartText};
use crate::stages::contents::{check_labels, check_region};
use crate::stages::doubts::warn_of_place_of;
use crate::{Logbook, StageError};

/// Reads regions, each once.
pub(super) struct RegionReader<'a> {
    regions: Regions,
    known: HashMap<String, usize>,
    /// Images of labels, which are usually asked for several.
    labelled: HashMap<PathBuf, Image>,
    names: Option<LabelNames>,
    /// Of the first image.
    grid: Option<Grid>,
    log: &'a Logbook<'a>,
}

impl<'a> RegionReader<'a> {
    /// `lut` is the table of names.
    pub(super) fn new(
        bring: Option<Bring>,
        lut: Option<&Path>,
        log: &'a Logbook<'a>,
    ) -> Result<Self, StageError> {
        Ok(Self {
            regions: Regions::in_space(bring),
            known: HashMap::new(),
            labelled: HashMap::new(),
            names: lut.map(LabelNames::read).transpose()?,
            grid: None,
            log,
        })
    }

    /// The number of a region.
    pub(super) fn number(&mut self, region: &RegionText) -> Result<usize, StageError> {
        let text = region.to_string();
        if let Some(known) = self.known.get(&text) {
            return Ok(*known);
        }
        let number = match region {
            RegionText::Ball { centre, radius_mm } => self.regions.add_ball(*centre, *radius_mm),
            RegionText::Image { path, labels } if labels.is_empty() => {
                let image = self.read(path)?;
                check_region(path, &image)?;
                self.regions.add_voxels(&text, &image.grid, |voxel| image.data[voxel] > 0.0)?
            }
            RegionText::Image { path, labels } => {
                let wanted = self.labels(labels)?;
                if !self.labelled.contains_key(path) {
                    check_labels(path)?;
                    let image = self.read(path)?;
                    self.labelled.insert(path.clone(), image);
                }
                let image = &self.labelled[path];
                self.regions
                    .add_voxels(&text, &image.grid, |voxel| is_one_of(image, voxel, &wanted))?
            }
        };
        self.known.insert(text, number);
        Ok(number)
    }

    fn labels(&self, words: &[String]) -> Result<Vec<f32>, StageError> {
        let mut wanted = Vec::new();
        for word in words {
            let labels = LabelNames::labels(self.names.as_ref(), word)?;
            wanted.extend(labels.into_iter().map(|label| label as f32));
        }
        Ok(wanted)
    }

    fn read(&mut self, path: &Path) -> Result<Image, StageError> {
        let image = self.log.session().on.workers.install(|| read_image(path))?;
        warn_of_place_of(path, self.log);
        self.grid.get_or_insert(image.grid);
        Ok(image)
    }

    /// Where bundles begin.
    pub(super) fn middle(&mut self, start: &StartText) -> Result<[f64; 3], StageError> {
        let region = match start {
            StartText::Point(point) => return Ok(*point),
            StartText::Region(RegionText::Ball { centre, .. }) => return Ok(*centre),
            StartText::Region(region @ RegionText::Image { .. }) => region,
        };
        let RegionText::Image { path, labels } = region else {
            unreachable!("the other is a ball")
        };
        let wanted = self.labels(labels)?;
        let image = self.read(path)?;
        check_region(path, &image)?;
        let (mut sum, mut n) = ([0.0; 3], 0.0);
        for voxel in 0..image.grid.len() {
            let is_inside = match wanted.is_empty() {
                true => image.data[voxel] > 0.0,
                false => is_one_of(&image, voxel, &wanted),
            };
            if is_inside {
                let place =
                    image.grid.ras_from_vox.apply(image.grid.voxel(voxel).map(|i| i as f64));
                (0..3).for_each(|axis| sum[axis] += place[axis]);
                n += 1.0;
            }
        }
        if n == 0.0 {
            return Err(TractError::NoStart(region.to_string()).into());
        }
        Ok(sum.map(|x| x / n))
    }

    /// All that were read, and the grid of the first image.
    pub(super) fn done(self) -> (Regions, Option<Grid>) {
        (self.regions, self.grid)
    }
}

fn is_one_of(image: &Image, voxel: usize, labels: &[f32]) -> bool {
    labels.contains(&image.data[voxel])
}
