//! What the reader can look around in: maps and streamlines inside the page.
//!
//! They are compressed into the page, and shown by NiiVue (vendor/niivue), which is in the page as well and
//! starts when the reader asks for it. Nothing is fetched from anywhere.

mod nifti;
mod sticks;
mod trx;

use std::io::Write as _;

use fimbria_image::{Image, Mask};
use flate2::{Compression, write::GzEncoder};

use crate::colour;
use crate::figure::FigureError;
use crate::window::range_of;

pub use trx::SceneLines;

/// NiiVue, built by vendor/niivue/build, gzip.
pub(crate) const NIIVUE: &[u8] = include_bytes!("../../vendor/niivue/niivue.js.gz");

/// A part of a scene, as it is in the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) window: [f64; 2],
    /// What colours streamlines, besides their direction.
    pub(crate) colours: Vec<String>,
    /// gzip
    pub(crate) bytes: Vec<u8>,
}

/// Maps and streamlines to look around in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    pub(crate) parts: Vec<Part>,
}

impl Part {
    /// What it takes in a page, which has three bytes as four letters.
    fn letters(&self) -> usize {
        let words: usize = self.colours.iter().map(|name| 6 * name.len() + 1).sum();
        4 * self.bytes.len().div_ceil(3) + 12 * self.name.len() + 6 * self.unit.len() + words + 300
    }
}

impl Scene {
    /// True where there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts that fit in so many bytes, the first first, and the names of the others.
    pub(crate) fn within(&self, mut bytes: usize) -> (Vec<&Part>, Vec<&str>) {
        let (mut shown, mut left_out) = (Vec::new(), Vec::new());
        for part in &self.parts {
            match bytes.checked_sub(part.letters()) {
                Some(rest) => {
                    bytes = rest;
                    shown.push(part);
                }
                None => left_out.push(part.name.as_str()),
            }
        }
        (shown, left_out)
    }

    /// A scalar map over a window, in 255 steps; outside the mask there is nothing.
    ///
    /// # Errors
    /// [`FigureError`] where the map lies on another grid than the mask.
    pub fn map(
        &mut self,
        name: &str,
        unit: &str,
        map: &Image,
        mask: &Mask,
        window: crate::Window,
    ) -> Result<(), FigureError> {
        mask.grid.check_same(&map.grid, name)?;
        let values = map.volume(0);
        let [low, high] = range_of(window, mask.voxels.iter().map(|voxel| values[*voxel as usize]));
        let step = ((high - low) / 254.0).max(f64::MIN_POSITIVE);
        let mut samples = vec![0_u8; map.grid.len()];
        for &voxel in &mask.voxels {
            let value = f64::from(values[voxel as usize]);
            if value.is_finite() {
                samples[voxel as usize] =
                    1 + ((value - low) / step).round().clamp(0.0, 254.0) as u8;
            }
        }
        let file = nifti::file(&map.grid, &samples, nifti::Samples::Scaled { step, first: low });
        self.add("map", name, unit, [low, high], Vec::new(), &file);
        Ok(())
    }

    /// Directions in colour, as bright as `brightness` (FA).
    ///
    /// # Errors
    /// [`FigureError`] where the images lie on another grid than the mask.
    pub fn directions(
        &mut self,
        name: &str,
        v1: &Image,
        brightness: &Image,
        mask: &Mask,
    ) -> Result<(), FigureError> {
        mask.grid.check_same(&v1.grid, name)?;
        mask.grid.check_same(&brightness.grid, name)?;
        let n = v1.grid.len();
        let mut samples = vec![0_u8; 3 * n];
        for &voxel in &mask.voxels {
            let voxel = voxel as usize;
            let dir = [0, 1, 2].map(|axis| v1.data[axis * n + voxel]);
            let rgb = colour::direction(dir, brightness.data[voxel]);
            samples[3 * voxel..3 * voxel + 3].copy_from_slice(&rgb);
        }
        let file = nifti::file(&v1.grid, &samples, nifti::Samples::Colours);
        self.add("colours", name, "", [0.0, 255.0], Vec::new(), &file);
        Ok(())
    }

    /// Regions to lay over the maps: whole numbers, 0 where there is none; each in a colour of its own, up to
    /// 255 of them, then again. Their grid need not be that of the maps.
    pub fn regions(&mut self, name: &str, labels: &Image) {
        let values = labels.volume(0);
        let mut known: Vec<i64> = values.iter().map(|value| value.round() as i64).collect();
        known.sort_unstable();
        known.dedup();
        known.retain(|label| *label > 0);
        if known.is_empty() {
            return;
        }
        let place = |value: &f32| known.binary_search(&(value.round() as i64));
        let rank = |value: &f32| place(value).map_or(0, |place| 1 + (place % 255) as u8);
        let samples: Vec<u8> = values.iter().map(rank).collect();
        // Sample 1 is 1.
        let scaled = nifti::Samples::Scaled { step: 1.0, first: 1.0 };
        let file = nifti::file(&labels.grid, &samples, scaled);
        let most = known.len().min(255) as f64;
        self.add("regions", name, "", [0.0, most], Vec::new(), &file);
    }

    /// Streamlines, scanner mm; of many so many at even steps, each with points 2 mm apart or more.
    pub fn lines(&mut self, name: &str, lines: &SceneLines<'_>, most: usize) {
        let (file, shown) = trx::file(lines, most);
        let all = lines.lines.len();
        let name = if shown < all { format!("{name} ({shown} of {all})") } else { name.to_owned() };
        let colours = lines.values.iter().map(|(name, _)| (*name).to_owned()).collect();
        self.add("lines", &name, "", [0.0, 0.0], colours, &file);
    }

    /// Directions as sticks in the voxels of the mask, of many so many at even steps: three volumes for each,
    /// scanner RAS components, as long as they are large, NaN or zero where there is none.
    ///
    /// # Errors
    /// [`FigureError`] where the directions lie on another grid than the mask.
    pub fn sticks(
        &mut self,
        name: &str,
        peaks_ras: &Image,
        mask: &Mask,
        most: usize,
    ) -> Result<(), FigureError> {
        mask.grid.check_same(&peaks_ras.grid, name)?;
        let sticks = sticks::sticks(peaks_ras, mask);
        if !sticks.is_empty() {
            let lines = sticks.iter().map(|stick| &stick[..]).collect();
            self.lines(name, &SceneLines { grid: mask.grid, lines, values: Vec::new() }, most);
        }
        Ok(())
    }

    fn add(
        &mut self,
        kind: &'static str,
        name: &str,
        unit: &str,
        window: [f64; 2],
        colours: Vec<String>,
        file: &[u8],
    ) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        let bytes = encoder.write_all(file).and_then(|()| encoder.finish());
        let bytes = bytes.expect("memory takes any bytes");
        let (name, unit) = (name.to_owned(), unit.to_owned());
        self.parts.push(Part { kind, name, unit, window, colours, bytes });
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;
    use crate::Window;

    #[test]
    fn what_exceeds_the_page_is_left_out_and_named() {
        let grid = Grid { dims: [128, 128, 128], ras_from_vox: Affine::IDENTITY };
        let mask = Mask { grid, voxels: (0..grid.len() as u32).collect() };
        let mut map = Image::zeros(grid, 1);
        // What no compression makes smaller.
        let mut state = 1_u32;
        for value in &mut map.data {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            *value = (state % 255) as f32;
        }
        let mut scene = Scene::default();
        for name in ["1", "2", "3", "4", "5", "6", "7", "8"] {
            scene.map(name, "", &map, &mask, Window::Fixed([0.0, 254.0])).unwrap();
        }
        let (shown, left_out) = scene.within(18 << 20);
        assert_eq!((shown.len(), left_out), (6, vec!["7", "8"]));
        // What is small goes in where something large does not.
        scene.map("small", "", &map, &Mask { grid, voxels: vec![7] }, Window::Robust).unwrap();
        assert_eq!(scene.within(18 << 20).0.last().unwrap().name, "small");
    }

    #[test]
    fn regions_are_numbered_in_the_order_of_their_labels() {
        let grid = Grid { dims: [2, 2, 2], ras_from_vox: Affine::IDENTITY };
        let mut labels = Image::zeros(grid, 1);
        labels.data[..4].copy_from_slice(&[2001.0, 3.0, -1.0, 3.0]);
        let mut scene = Scene::default();
        scene.regions("lobes", &labels);
        scene.regions("nothing", &Image::zeros(grid, 1));
        let [lobes] = &scene.parts[..] else { panic!("{}", scene.parts.len()) };
        assert_eq!((lobes.kind, lobes.window), ("regions", [0.0, 2.0]));
        let mut file = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&lobes.bytes[..]), &mut file)
            .unwrap();
        assert_eq!(file[352..], [2, 1, 0, 1, 0, 0, 0, 0]);
    }
}
