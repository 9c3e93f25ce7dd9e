//! FSL's files.

use std::fmt::Write as _;

use fimbria_image::gifti::Surface;
use fimbria_image::{Image, MapKind, WriteOptions, principal_axis, write_image};
use fimbria_tracking::{Sample, Tally, Visits};
use fimbria_workflow::OutputFolder;

use super::Probtrackx2Error;
use super::job::Job;
use crate::{FileKind, Written};

/// What `fimbria probtrackx2` writes.
pub const PROBTRACKX2_WRITES: &[Written] = &[
    Written::scalar(
        "fdt_paths*",
        "",
        "visits of each voxel, one per sample at most, under the name of --out; of each point with --simple, \
         fdt_paths_X_Y_Z; sums of distances with --pd",
    )
    .only("with --opd"),
    Written::scalar("fdt_paths*_lengths", "mm", "mean distance from the seed").only("with --ompl"),
    Written::scalar(
        "fdt_paths*_alt*",
        "",
        "visits in the regions of --fopd, 0 elsewhere; of several _alt_0, _alt_1 and \
         so on",
    )
    .only("with --fopd"),
    Written::image(
        "fdt_paths*_localdir",
        MapKind::Vector,
        3,
        "",
        "mean orientation of the steps that first enter a voxel",
    )
    .only("with --opathdir"),
    Written::file(
        "waytotal",
        FileKind::Table,
        "samples kept; with --network a row for each seed region",
    ),
    Written::scalar("seeds_*to_*", "", "samples of each seed that reach the target")
        .only("with --os2t"),
    Written::file("seeds_*to_*.gii", FileKind::Surface, "the same of a surface")
        .only("with --os2t"),
    Written::scalar(
        "target_paths_*",
        "",
        "visits of each voxel by the samples that reach the target, counted as fdt_paths",
    )
    .only("with --otargetpaths"),
    Written::scalar("target_paths_*_lengths", "mm", "their mean distance from the seed")
        .only("with --otargetpaths and --ompl"),
    Written::image(
        "target_localdir_*",
        MapKind::Vector,
        3,
        "",
        "mean orientation of the steps by which they first enter a voxel",
    )
    .only("with --otargetpaths and --opathdir"),
    Written::file("matrix_seeds_to_all_targets", FileKind::Table, "the same as text")
        .only("with --s2tastext"),
    Written::file(
        "fdt_network_matrix",
        FileKind::Table,
        "samples from region (row) to region (column)",
    )
    .only("with --network"),
    Written::file("fdt_network_matrix_lengths", FileKind::Table, "their mean lengths, mm")
        .only("with --network and --ompl"),
    Written::file(
        "fdt_matrix1.dot",
        FileKind::Table,
        "samples from seed (row) to seed (column): row column value, 1-based",
    )
    .only("with --omatrix1"),
    Written::file(
        "coords_for_fdt_matrix1",
        FileKind::Table,
        "x y z region number of each seed, stored voxel coordinates",
    )
    .only("with --omatrix1"),
    Written::file(
        "fdt_matrix2.dot",
        FileKind::Table,
        "samples from seed (row) to voxel of --target2 (column)",
    )
    .only("with --omatrix2"),
    Written::file("coords_for_fdt_matrix2", FileKind::Table, "where rows are")
        .only("with --omatrix2"),
    Written::file("tract_space_coords_for_fdt_matrix2", FileKind::Table, "where columns are")
        .only("with --omatrix2"),
    Written::scalar("lookup_tractspace_fdt_matrix2", "", "the column of each voxel")
        .only("with --omatrix2"),
    Written::file(
        "fdt_matrix3.dot",
        FileKind::Table,
        "samples through two voxels of --target3, row before column, or through one \
         of it and one of --lrtarget3",
    )
    .only("with --omatrix3"),
    Written::file("coords_for_fdt_matrix3", FileKind::Table, "where rows are")
        .only("with --omatrix3"),
    Written::file(
        "tract_space_coords_for_fdt_matrix3",
        FileKind::Table,
        "where columns are, where they have voxels of their own",
    )
    .only("with --omatrix3"),
    Written::file("fdt_matrix*_lengths.dot", FileKind::Table, "mean lengths of the entries, mm")
        .only("with --ompl"),
    Written::file("saved_paths.txt", FileKind::Text, "paths").only("with --savepaths"),
    Written::file("probtrackx.log", FileKind::Text, "what was done, why halves ended"),
    Written::file("run.json", FileKind::Json, "the same for programs"),
];

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
        let visits = &tally.visits;
        let count = |voxel| self.counted(visits, voxel);
        self.write_counts(visits, name, out)?;
        for (number, region) in self.alternatives.iter().enumerate() {
            let name = match self.alternatives.len() {
                1 => format!("{name}_alt"),
                _ => format!("{name}_alt_{number}"),
            };
            let inside = |voxel| if region.holds(Some(voxel as u32)) { count(voxel) } else { 0.0 };
            self.write_map(&name, &self.space.image(inside), out)?;
        }
        if self.options.opathdir {
            self.write_orientations(visits, &format!("{name}_localdir"), out)?;
        }
        Ok(())
    }

    /// Of each target the visits of the samples that reach it.
    pub(super) fn write_target_paths(
        &self,
        tally: &Tally<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let Some(targets) = &tally.targets else { return Ok(()) };
        for (visits, region) in tally.target_paths.iter().zip(targets.regions()) {
            self.write_counts(visits, &format!("target_paths_{}", region.name), out)?;
            if self.options.opathdir {
                let name = format!("target_localdir_{}", region.name);
                self.write_orientations(visits, &name, out)?;
            }
        }
        Ok(())
    }

    /// Sum of the distances at which samples first visit a voxel, mm.
    fn distances(&self, visits: &Visits, voxel: usize) -> f32 {
        let step_mm = f64::from(self.options.propagation.step_mm);
        (visits.steps(voxel) as f64 * step_mm) as f32
    }

    /// What a map of visits holds.
    fn counted(&self, visits: &Visits, voxel: usize) -> f32 {
        if self.options.pd { self.distances(visits, voxel) } else { visits.count(voxel) as f32 }
    }

    fn write_counts(
        &self,
        visits: &Visits,
        name: &str,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let count = |voxel| self.counted(visits, voxel);
        self.write_map(name, &self.space.image(count), out)?;
        if self.options.ompl {
            let mean = |voxel| match visits.count(voxel) {
                0 => 0.0,
                n => self.distances(visits, voxel) / n as f32,
            };
            self.write_map(&format!("{name}_lengths"), &self.space.image(mean), out)?;
        }
        Ok(())
    }

    fn write_orientations(
        &self,
        visits: &Visits,
        name: &str,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let axis = |voxel| principal_axis(&visits.orientation(voxel)).map(|x| x as f32);
        self.write_map(name, &self.space.vector_image(axis), out)
    }

    fn write_map(
        &self,
        name: &str,
        image: &Image,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let path = out.stage(&format!("{name}.nii.gz"))?;
        let shown = Some([0.0, image.data.iter().copied().fold(0.0, f32::max)]);
        let description = match image.n_volumes {
            3 => format!("unit vector x y z, {name}"),
            _ => format!("streamlines, {name}"),
        };
        let options =
            WriteOptions { space_codes: self.codes, shown, description, ..WriteOptions::default() };
        self.workers.install(|| write_image(&path, image, &options))?;
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
        let seeds = &self.seed_set.seeds;
        let n_regions = self.seed_set.n_regions();
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
                if self.options.os2t {
                    self.write_of_seeds(&name, number, &|seed| value(target, seed), out)?;
                }
                if self.options.os2t && self.options.ompl {
                    let mean = |seed: usize| match targets.counts(target)[seed] {
                        0 => 0.0,
                        n => (targets.steps(target)[seed] as f64 * step_mm / f64::from(n)) as f32,
                    };
                    self.write_of_seeds(&format!("{name}_lengths"), number, &mean, out)?;
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

    /// A number for each seed of a region, on its voxels or its surface.
    fn write_of_seeds(
        &self,
        name: &str,
        region: usize,
        value: &dyn Fn(usize) -> f32,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let seeds = self.seed_set.seeds.iter().enumerate();
        let seeds = seeds.filter(|(_, seed)| seed.region as usize == region);
        let fill = |len: usize| {
            let mut values = vec![0.0; len];
            for (index, seed) in seeds {
                values[seed.key as usize] = value(index);
            }
            values
        };
        match region.checked_sub(self.seed_set.regions.len()) {
            None => {
                let values = fill(self.space.grid().len());
                self.write_map(name, &self.space.image(|voxel| values[voxel]), out)
            }
            Some(number) => {
                let (_, surface) = &self.seed_set.surfaces[number];
                let values = Some(fill(surface.vertices.len()));
                let path = out.stage(&format!("{name}.gii"))?;
                Ok(Surface { values, ..surface.clone() }.write(path)?)
            }
        }
    }

    /// Samples from region to region; with `--ompl` mean lengths too, as newer FSL writes them.
    pub(super) fn write_network(
        &self,
        tally: &Tally<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let Some(network) = &tally.network else { return Ok(()) };
        let matrix = |value: &dyn Fn(usize, usize) -> f64| {
            let mut text = String::new();
            for from in 0..network.len() {
                for to in 0..network.len() {
                    let _ = write!(text, "{}  ", value(from, to));
                }
                text.push('\n');
            }
            text
        };
        let counts = matrix(&|from, to| network.count(from, to) as f64);
        out.write("fdt_network_matrix", counts.as_bytes())?;
        if self.options.ompl {
            let step_mm = f64::from(self.options.propagation.step_mm);
            let lengths = matrix(&|from, to| {
                let mm = network.steps(from, to) as f64 * step_mm;
                mm / (network.count(from, to) as f64).max(1.0)
            });
            out.write("fdt_network_matrix_lengths", lengths.as_bytes())?;
        }
        Ok(())
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
