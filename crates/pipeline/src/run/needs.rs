//! How much memory a run takes, before it begins.

use std::path::Path;

use fimbria_image::ImageHeader;
use fimbria_life::sift2::Sift2;

use super::{Asked, ConfigError, RunConfig};
use crate::ByteSize;
use crate::stages::fits::{DTI, FOD};
use crate::stages::in_run::options_of;
use crate::stages::load::LoadError;
use crate::stages::methods::with_needs;
use crate::stages::peaks::PeaksParameters;
use crate::stages::track::TrackInRun;

/// What a run takes beside what grows with its series: the program itself, threads, pictures.
const BESIDE: u64 = 96 << 20;

/// Streamlines of a brain are shorter than this on the mean, mm.
const MEAN_LENGTH_MM: f32 = 100.0;

/// A point of a streamline takes 12 bytes; where there is no room for the next streamline, all are copied
/// to where there is room for twice as many.
const POINT: u64 = 3 * 12;

/// Bytes of the length of a streamline in a voxel.
const LENGTH: u64 = 8;

/// Bytes of a compressed file that are held beside what they become; larger files are mapped.
const COMPRESSED: u64 = 256 << 20;

impl RunConfig {
    /// What the run takes, by what the header of its series says; `None` where that cannot be told before
    /// it begins: corrections, sampled sticks, LiFE and susceptibility take what voxels, streamlines and scans ask for.
    ///
    /// # Errors
    /// [`ConfigError`] where the series has no header or no gradient table.
    pub fn memory_needed(mut self) -> Result<Option<ByteSize>, ConfigError> {
        if self.corrects() {
            return Ok(None);
        }
        let header = ImageHeader::read(&self.input.dwi).map_err(LoadError::from)?;
        let gradients = self.input.read_gradients(&header)?.table;
        self.fill_in(Path::new(""))?;
        let Asked { mut methods, fits, labelled, .. } = self.asked(&gradients)?;
        with_needs(&mut methods);
        let asks = |method: &str| methods.contains(&method);
        if asks("sticks") || asks("life") || self.tables.contains_key("gre") {
            return Ok(None);
        }
        let voxels = header.grid().len() as u64;
        let samples = voxels * (header.n_volumes() * header.datatype().bits()) as u64 / 8;
        let file = std::fs::metadata(&self.input.dwi).map_or(0, |file| file.len());
        let mut made = vec![DTI];
        let mut volumes = 0;
        if asks("peaks") {
            made.push(FOD);
            let peaks: PeaksParameters = options_of(&self.tables, "peaks")?;
            // A direction and its value each, how many there are, and what became of the voxel.
            volumes += 4 * peaks.number + 2;
        }
        if asks("normalise") {
            // The gain, and which voxels it is of.
            volumes += 2;
        }
        made.extend(fits.into_iter().filter(|fit| fit.name() != DTI.name()));
        let of_fit = |fit| {
            let maps = self.fit(fit, "")?.maps();
            Ok(maps.iter().map(|map| map.n_volumes).sum::<usize>())
        };
        let mut made = made.into_iter().map(of_fit).collect::<Result<Vec<_>, ConfigError>>()?;
        for member in labelled {
            let maps = member.stage(&self.tables, self.maps, "")?.maps();
            made.push(maps.iter().map(|map| map.n_volumes).sum());
        }
        // The densities once more for their peaks, and the largest maps once more as they are written.
        volumes += made.iter().sum::<usize>() + 2 * made.iter().max().unwrap_or(&0);
        let maps = 4 * voxels * volumes as u64;
        let lines = match asks("track") {
            true => {
                let TrackInRun { parameters, anatomy } = options_of(&self.tables, "track")?;
                // Five tissues on a grid of their own, as they are read and as they are looked up.
                // What [align] is to make is not there yet.
                let tissues =
                    anatomy.act.filter(|path| path.exists()).map(ImageHeader::read).transpose();
                let tissues = tissues.map_err(LoadError::from)?;
                let tissues = tissues.map_or(0, |header| 2 * 5 * 4 * header.grid().len() as u64);
                let points = MEAN_LENGTH_MM / parameters.step_through_densities(header.grid());
                let lines = parameters.most_streamlines(voxels);
                let weights = match asks("sift2") {
                    true => {
                        let edges = header.grid().ras_from_vox.spacing().map(|mm| mm as f32);
                        // A straight line passes as many voxels as its steps along all axes are edges.
                        let passed: f32 = edges.iter().map(|mm| MEAN_LENGTH_MM / mm * 0.6).sum();
                        lines * passed.ceil() as u64 * LENGTH + Sift2::bytes(lines, 3 * voxels)
                    }
                    false => 0,
                };
                tissues + lines * points.ceil() as u64 * POINT + weights
            }
            false => 0,
        };
        Ok(Some(ByteSize(BESIDE + samples + file.min(COMPRESSED) + maps + lines)))
    }
}
