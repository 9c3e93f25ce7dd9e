//! How many streamlines run along each fixel.

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::fixels::Fixels;
use fimbria_life::sift2::FixelLengths;
use fimbria_life::{CountBy, Tracer};

use crate::options::{Described as _, Takes, within};
use crate::stages::given_lines::{for_each_chunk, open_lines};
use crate::{Logbook, StageError};

/// Streamlines that are followed before it is asked whether to go on.
const BLOCK: usize = 512;

/// Which streamlines are counted, and how near they must run.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct StreamlineOptions {
    /// Count these streamlines along the fixels: .tck, .trk, .trx or a TRX folder
    #[arg(long, value_name = "FILE", help_heading = "Input", usually = "none are counted")]
    #[arg(takes = Takes::TRACTOGRAM)]
    pub tractogram: Option<PathBuf>,

    /// A streamline runs along the nearest fixel of a voxel, where it is not farther from it than this
    #[arg(long, value_name = "DEG", number = within(0.0, 90.0, "degrees"), default_value_t = 45.0)]
    #[arg(requires = "tractogram")]
    pub angle: f64,
}

impl StreamlineOptions {
    /// The number of streamlines of each fixel, each once; `None` where none are given.
    pub(super) fn count(
        &self,
        fixels: &Fixels,
        log: &Logbook<'_>,
    ) -> Result<Option<Vec<f32>>, StageError> {
        let Some(path) = &self.tractogram else { return Ok(None) };
        let workers = log.session().on.workers;
        let tracer = Tracer::new(fixels.grid, CountBy::Length, false)
            .ok_or("the orientation of the fixels cannot be inverted")?;
        let least_cos = self.angle.to_radians().cos();
        let fixel_at = |voxel: u32, dir: [f64; 3]| fixels.along(voxel, dir, least_cos);
        let mut counted = vec![0_u32; fixels.len()];
        let mut streamlines = 0;
        let mut lines = open_lines(None, path)?;
        for_each_chunk(&mut *lines, "following streamlines", log, |_, chunk| {
            for first in (0..chunk.len()).step_by(BLOCK) {
                log.check()?;
                let offsets = &chunk.offsets()[first..=chunk.len().min(first + BLOCK)];
                let mut passed = FixelLengths::new(fixels.len());
                passed.add(offsets, chunk.positions(), &tracer, &fixel_at, workers);
                streamlines += passed.streamlines();
                for streamline in 0..passed.streamlines() {
                    let lengths = passed.lengths_of(streamline).iter();
                    let mut own: Vec<u32> = lengths.map(|(fixel, _)| *fixel).collect();
                    own.sort_unstable();
                    own.dedup();
                    own.iter().for_each(|fixel| counted[*fixel as usize] += 1);
                }
            }
            Ok(())
        })?;
        log.count("streamlines", streamlines as u64);
        Ok(Some(counted.into_iter().map(|n| n as f32).collect()))
    }
}
