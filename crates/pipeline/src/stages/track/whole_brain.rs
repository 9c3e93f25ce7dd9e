//! The stage that tracks through every voxel with a direction.

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_image::sticks::StickSamples;
use fimbria_image::{BvecFrame, Image, WriteOptions, read_image, write_image};
use fimbria_streamlines::{Format, Header, Streamlines, Tractogram, WriteOptions as LineOptions};
use fimbria_tensors::peaks::Peaks;
use fimbria_tensors::samples::{Scatter, from_peaks};
use fimbria_tracking::{Field, Lines, Rules, Space, Tally, Tracking, seeds_of_region};
use serde_json::{Value, json};

use super::counted::{Counted, counted};
use super::{TrackParameters, tracks_name};
use crate::options::from_values;
use crate::stages::load::Subject;
use crate::stages::peaks::with_fibres;
use crate::{Logbook, OutputFolder, Product, Products, RunRecord, Stage, StageError, Taken};

/// Streamlines through the whole brain.
pub struct Tracked {
    /// How many streamlines pass each voxel.
    pub visits: Image,
    /// The streamlines.
    pub lines: Tractogram,
}

/// Tracks through the [`StickSamples`], or where there are none through the [`Peaks`], from every
/// voxel that has some; hands on what was [`Tracked`].
pub struct WholeBrain {
    /// How.
    pub parameters: TrackParameters,
}

impl WholeBrain {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of("track")?.as_object()?;
        Some(Self { parameters: from_values(parameters).ok()? })
    }

    /// The name of the file of streamlines.
    pub(crate) fn tracks(&self) -> String {
        tracks_name(self.parameters.tracks.0.0.unwrap_or(Format::DEFAULT))
    }

    fn tracked(&self, samples: StickSamples, log: &Logbook<'_>) -> Result<Tracked, StageError> {
        let (grid, on) = (samples.mask.grid, log.session().on);
        let edges_mm = grid.ras_from_vox.spacing();
        let shortest_edge = edges_mm.into_iter().fold(f64::INFINITY, f64::min) as f32;
        let longest_edge = edges_mm.into_iter().fold(0.0, f64::max) as f32;
        let TrackParameters { samples: n_samples, step, min_length, jitter, rng_seed, .. } =
            self.parameters;
        let propagation = self.parameters.propagation(step.unwrap_or(0.25 * shortest_edge));
        let mut inside = Image::zeros(grid, 1);
        samples.mask.voxels.iter().for_each(|&voxel| inside.data[voxel as usize] = 1.0);
        let field = Field::new(samples, on.workers);
        let space = Space::same(grid);
        let seeds = seeds_of_region(&space, &space.region(&inside, "the voxels tracked")?, 0);
        let rules = Rules { least_length_mm: min_length, ..Rules::default() };
        let tracking = Tracking {
            field: &field,
            space: &space,
            propagation: &propagation,
            rules: &rules,
            seeds: &seeds,
            n_samples,
            jitter_mm: jitter.unwrap_or(0.5 * longest_edge),
            rng_seed,
        };
        let new =
            || Counted { tally: Tally::new(&space, 1, false), lines: Some(Lines::new(&space)) };
        let mut header = Header::on(grid);
        header.per_streamline = Lines::columns();
        let mut lines = Streamlines::for_header(&header);
        let tally = counted(&tracking, log, new, |block| {
            lines.append(&block);
            Ok(())
        })?;
        if lines.is_empty() {
            log.warn("no streamline is as long as track.min_length");
        }
        let visits = space.image(|voxel| tally.visits.count(voxel) as f32);
        Ok(Tracked { visits, lines: Tractogram::new(header, lines) })
    }
}

impl Stage for WholeBrain {
    fn name(&self) -> &'static str {
        "track"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::where_made::<StickSamples>(),
            Taken::where_made::<Peaks>(),
            Taken::where_made::<Subject>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Tracked>()]
    }

    fn parameters(&self) -> Value {
        json!(self.parameters)
    }

    fn outputs(&self) -> Vec<String> {
        vec!["visits.nii.gz".to_owned(), self.tracks()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let samples = if let Some(samples) = products.find::<StickSamples>() {
            samples.clone()
        } else if let Some(found) = products.find::<Peaks>() {
            let (peaks, mask) = (&found.peaks, with_fibres(found));
            let workers = log.session().on.workers;
            from_peaks(peaks, BvecFrame::Scanner, Some(mask), Scatter::NONE, workers)?
                .ok_or("no voxel has a direction to track along")?
        } else {
            return Err("tracking takes sticks or peaks: neither is among run.fits".into());
        };
        let tracked = self.tracked(samples, log)?;
        products.put(tracked);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Tracked { visits, lines } = products.get::<Tracked>()?;
        let path = out.stage("visits.nii.gz")?;
        let subject = products.find::<Subject>();
        let space_codes = subject.and_then(|subject| subject.carried.space_codes);
        let description = "streamlines through each voxel".to_owned();
        let options = WriteOptions { space_codes, description, ..WriteOptions::default() };
        log.session().on.workers.install(|| write_image(&path, visits, &options))?;
        lines.write(out.stage(&self.tracks())?, &LineOptions::default())?;
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let visits = folder.join("visits.nii.gz");
        let visits = log.session().on.workers.install(|| read_image(&visits))?;
        let lines = Tractogram::read(folder.join(self.tracks()))?;
        products.put(Tracked { visits, lines });
        Ok(())
    }
}
