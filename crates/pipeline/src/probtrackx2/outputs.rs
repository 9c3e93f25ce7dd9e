//! FSL's files.

use std::fmt::Write as _;

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_tracking::{Sample, Tally, is_reversed};

use super::{Job, Probtrackx2Error};
use crate::output::OutputFolder;

impl Job<'_> {
    /// Visits, or with `--pd` their distances; with `--ompl` mean lengths.
    pub(super) fn write_visits(
        &self,
        tally: &Tally<'_>,
        name: &str,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        if !self.options.opd {
            return Ok(());
        }
        let (visits, step_mm) = (&tally.visits, self.options.propagation.step_mm);
        let length = |voxel| (visits.steps(voxel) as f64 * f64::from(step_mm)) as f32;
        let pd = self.options.pd;
        let count = |voxel| if pd { length(voxel) } else { visits.count(voxel) as f32 };
        self.write_map(name, &self.space.image(count), out)?;
        if self.options.ompl {
            let mean = |voxel| match visits.count(voxel) {
                0 => 0.0,
                n => length(voxel) / n as f32,
            };
            self.write_map(&format!("{name}_lengths"), &self.space.image(mean), out)?;
        }
        Ok(())
    }

    fn write_map(
        &self,
        name: &str,
        image: &Image,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let path = out.stage(&format!("{name}.nii.gz"))?;
        let options = WriteOptions { space_codes: self.codes, ..WriteOptions::default() };
        write_image(&path, image, &options)?;
        Ok(())
    }

    /// Samples kept, a row for each seed region of a network.
    pub(super) fn write_waytotal(
        &self,
        tally: &Tally<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let text = if self.options.network {
            tally.kept.iter().map(|kept| format!("{kept}  \n")).collect()
        } else {
            format!("{}\n", tally.kept.iter().sum::<u64>())
        };
        Ok(out.write("waytotal", text.as_bytes())?)
    }

    /// For every target the seeds that reach it.
    pub(super) fn write_targets(
        &self,
        tally: &Tally<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let Some(targets) = &tally.targets else { return Ok(()) };
        let step_mm = f64::from(self.options.propagation.step_mm);
        let seeds = &self.starts.seeds;
        let n_regions = self.starts.regions.len();
        let value = |target: usize, seed: usize| {
            if self.options.pd {
                (targets.steps(target)[seed] as f64 * step_mm) as f32
            } else {
                targets.counts(target)[seed] as f32
            }
        };
        for (target, region) in targets.regions().iter().enumerate() {
            for number in 0..n_regions {
                let name = match n_regions {
                    1 => format!("seeds_to_{}", region.name),
                    _ => format!("seeds_{number}_to_{}", region.name),
                };
                let map = |value: &dyn Fn(usize) -> f32| {
                    let mut map = vec![0.0; self.space.grid().len()];
                    for (index, seed) in seeds.iter().enumerate() {
                        if seed.region as usize == number {
                            map[seed.key as usize] = value(index);
                        }
                    }
                    self.space.image(|voxel| map[voxel])
                };
                if self.options.os2t {
                    self.write_map(&name, &map(&|seed| value(target, seed)), out)?;
                }
                if self.options.os2t && self.options.ompl {
                    let mean = |seed: usize| match targets.counts(target)[seed] {
                        0 => 0.0,
                        n => (targets.steps(target)[seed] as f64 * step_mm / f64::from(n)) as f32,
                    };
                    self.write_map(&format!("{name}_lengths"), &map(&mean), out)?;
                }
            }
        }
        if self.options.s2t_as_text {
            let mut text = String::new();
            for seed in 0..seeds.len() {
                for target in 0..targets.regions().len() {
                    let _ = write!(text, "{}  ", value(target, seed));
                }
                text.push('\n');
            }
            out.write("matrix_seeds_to_all_targets", text.as_bytes())?;
        }
        Ok(())
    }

    /// Samples from region to region.
    pub(super) fn write_network(
        &self,
        tally: &Tally<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let Some(network) = &tally.network else { return Ok(()) };
        let mut text = String::new();
        for from in 0..network.len() {
            for to in 0..network.len() {
                let _ = write!(text, "{}  ", network.count(from, to));
            }
            text.push('\n');
        }
        Ok(out.write("fdt_network_matrix", text.as_bytes())?)
    }

    /// Samples from seed to seed, and where the seeds are.
    pub(super) fn write_matrix1(
        &self,
        tally: &Tally<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let Some(matrix) = &tally.matrix1 else { return Ok(()) };
        let step_mm = f64::from(self.options.propagation.step_mm);
        let mut text = String::new();
        for (row, column, count, steps) in matrix.entries() {
            let value = if self.options.pd { steps as f64 * step_mm } else { count as f64 };
            let _ = writeln!(text, "{}  {}  {value}", row + 1, column + 1);
        }
        let n = self.starts.seeds.len();
        let _ = writeln!(text, "{n}  {n}  0");
        out.write("fdt_matrix1.dot", text.as_bytes())?;
        let mut coordinates = String::new();
        let (grid, mut within) = (self.space.grid(), 0);
        for (index, seed) in self.starts.seeds.iter().enumerate() {
            let before = index.checked_sub(1).map(|i| self.starts.seeds[i].region);
            within = if before == Some(seed.region) { within + 1 } else { 1 };
            let [mut i, j, k] = grid.voxel(seed.key as usize);
            if is_reversed(grid) {
                i = grid.dims[0] - 1 - i;
            }
            let _ = writeln!(coordinates, "{i}  {j}  {k}  {}  {within}  ", seed.region);
        }
        Ok(out.write("coords_for_fdt_matrix1", coordinates.as_bytes())?)
    }
}

/// Appends a sample to the text of paths, as FSL 6.0.0 writes it: the first half, then twice both.
pub(super) fn save_path(sample: &Sample<'_>, text: &mut String) {
    let (all, first) = (sample.all_points, &sample.all_points[..sample.n_made_first]);
    for points in [first, all, all] {
        let _ = writeln!(text, "# {}", points.len());
        for [x, y, z] in points {
            let _ = writeln!(text, "{} {} {}", six_digits(*x), six_digits(*y), six_digits(*z));
        }
    }
}

/// As C++ prints a number by default.
fn six_digits(x: f32) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let exponent = f64::from(x).abs().log10().floor() as i32;
    let decimals = (5 - exponent).clamp(0, 12) as usize;
    let text = format!("{x:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn numbers_have_six_digits_and_no_trailing_zeros() {
        assert_eq!(six_digits(24.087_234), "24.0872");
        assert_eq!(six_digits(24.0), "24");
        assert_eq!(six_digits(-0.012_345_678), "-0.0123457");
        assert_eq!(six_digits(123.456_78), "123.457");
        assert_eq!(six_digits(0.0), "0");
    }
}
