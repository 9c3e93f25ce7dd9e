//! `fimbria compare`

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Backend;
use fimbria_image::{Image, WriteOptions, read_image, write_image};
use fimbria_pipeline::{Hashing, Logbook};
use serde_json::json;

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{command_line, report, session};
use crate::console::Console;
use crate::failure::Failure;

/// Test two sets of maps against each other, voxel by voxel
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Compare {
    /// Maps of repeated runs, two or more with different seeds
    #[arg(value_name = "A", required = true, num_args = 2..)]
    first: Vec<PathBuf>,

    /// The other set, after --: two or more as well
    #[arg(value_name = "B", required = true, num_args = 2.., last = true)]
    second: Vec<PathBuf>,

    /// Mean value from which voxels take part
    #[arg(long, value_name = "VALUE", default_value_t = 20.0)]
    threshold: f64,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
    fimbria compare cpu_1.nii.gz cpu_2.nii.gz -o OUT -- gpu_1.nii.gz gpu_2.nii.gz

Outputs:
  z              difference of the means over its standard error, B - A; 0 below the threshold
                 (float32)
  run.json       voxels tested, mean and largest |z|, Q = mean of z squared, difference of the sums

Units:
  None: z is a number of standard errors. Where both sets come from the same distribution Q is near 1;
  the variance of a voxel is the mean of its own, pooled over both sets, and of the variance that its
  mean lets expect (counts vary as their mean, times a factor taken from the median over voxels).

Order and frame:
  All maps lie on one grid, that of the first.";

/// Means and variances of a set of maps.
struct Set {
    n: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl Set {
    fn of(images: &[Image]) -> Self {
        let n = images.len() as f64;
        let voxels = images[0].data.len();
        let values = |voxel: usize| images.iter().map(move |image| f64::from(image.data[voxel]));
        let mean: Vec<_> = (0..voxels).map(|v| values(v).sum::<f64>() / n).collect();
        let square = |v: usize| values(v).map(|x| (x - mean[v]).powi(2)).sum::<f64>();
        let variance = (0..voxels).map(|v| square(v) / (n - 1.0)).collect();
        Self { n, mean, variance }
    }
}

impl Compare {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { first, second, threshold, output, threads } = self;
        let mut out = output.folder(&["z.nii.gz".to_owned()], console)?;
        let workers = threads.start()?;
        let command_line = command_line();
        let log = Logbook::new(session(Backend::cpu(&workers), console, &command_line));
        let named = |set: &'static str, paths: &[PathBuf]| {
            paths.iter().map(|path| (set.to_owned(), path.clone())).collect::<Vec<_>>()
        };
        let hashing = Hashing::start([named("A", &first), named("B", &second)].concat());
        let read = |paths: &[PathBuf]| -> Result<Vec<Image>, Failure> {
            let images = paths.iter().map(|path| workers.install(|| read_image(path)));
            Ok(images.collect::<Result<Vec<_>, _>>()?)
        };
        let (a, b) = (read(&first)?, read(&second)?);
        for (path, image) in first.iter().chain(&second).zip(a.iter().chain(&b)) {
            a[0].grid.check_same(&image.grid, &path.display().to_string())?;
            if image.n_volumes != a[0].n_volumes {
                return Err(Failure::usage(format!(
                    "{} has {} volumes, the first map {}",
                    path.display(),
                    image.n_volumes,
                    a[0].n_volumes
                )));
            }
        }
        let (set_a, set_b) = (Set::of(&a), Set::of(&b));
        let tested = Tested::new(&set_a, &set_b, threshold);
        let z = Image { data: tested.z.iter().map(|z| *z as f32).collect(), ..a[0].clone() };
        let path = out.stage("z.nii.gz")?;
        workers.install(|| write_image(&path, &z, &WriteOptions::default()))?;
        let (sum_a, sum_b) = (set_a.mean.iter().sum::<f64>(), set_b.mean.iter().sum::<f64>());
        let result = json!({
            "threshold": threshold, "voxels": tested.voxels, "Q": tested.q,
            "mean_abs_z": tested.mean_abs, "max_abs_z": tested.max_abs,
            "sum_A": sum_a, "sum_B": sum_b,
        });
        console.print(&format!(
            "voxels {}  Q {:.3}  mean |z| {:.3}  largest |z| {:.2}  sum {:+.4} %\n",
            tested.voxels,
            tested.q,
            tested.mean_abs,
            tested.max_abs,
            100.0 * (sum_b / sum_a - 1.0)
        ))?;
        let record = out.commit(log.record("compare", hashing.finish()?, result))?;
        report(&record, output.path(), console);
        Ok(())
    }
}

/// The test in every voxel, and together.
struct Tested {
    z: Vec<f64>,
    voxels: usize,
    q: f64,
    mean_abs: f64,
    max_abs: f64,
}

impl Tested {
    fn new(a: &Set, b: &Set, threshold: f64) -> Self {
        let pooled_mean = |v: usize| (a.n * a.mean[v] + b.n * b.mean[v]) / (a.n + b.n);
        let pooled = |v: usize| {
            ((a.n - 1.0) * a.variance[v] + (b.n - 1.0) * b.variance[v]) / (a.n + b.n - 2.0)
        };
        let taken: Vec<_> = (0..a.mean.len()).filter(|v| pooled_mean(*v) >= threshold).collect();
        let mut ratios: Vec<_> = taken.iter().map(|v| pooled(*v) / pooled_mean(*v)).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let factor = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
        let mut tested = Self {
            z: vec![0.0; a.mean.len()],
            voxels: taken.len(),
            q: 0.0,
            mean_abs: 0.0,
            max_abs: 0.0,
        };
        for v in taken {
            let variance = 0.5 * pooled(v) + 0.5 * factor * pooled_mean(v);
            let error = (variance * (1.0 / a.n + 1.0 / b.n)).sqrt();
            let z = if error > 0.0 { (b.mean[v] - a.mean[v]) / error } else { 0.0 };
            tested.z[v] = z;
            tested.q += z * z;
            tested.mean_abs += z.abs();
            tested.max_abs = tested.max_abs.max(z.abs());
        }
        let n = tested.voxels.max(1) as f64;
        (tested.q, tested.mean_abs) = (tested.q / n, tested.mean_abs / n);
        tested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: &[[f64; 2]]) -> Set {
        let grid = fimbria_image::Grid {
            dims: [values.len(), 1, 1],
            ras_from_vox: fimbria_image::Affine::IDENTITY,
        };
        let image = |run: usize| Image {
            grid,
            n_volumes: 1,
            data: values.iter().map(|v| v[run] as f32).collect(),
        };
        Set::of(&[image(0), image(1)])
    }

    #[test]
    fn the_test_is_that_of_the_formula() {
        // One voxel: means 100 and 112, variances 8 and 32, pooled 20.
        let tested = Tested::new(&set(&[[98.0, 102.0]]), &set(&[[108.0, 116.0]]), 20.0);
        // The factor is the voxel's own ratio, so that the expected variance is its pooled one.
        let z = 12.0 / 20.0f64.sqrt();
        assert!((tested.z[0] - z).abs() < 1e-12, "{}", tested.z[0]);
        assert!((tested.q - z * z).abs() < 1e-12);
        assert_eq!(tested.voxels, 1);
    }

    #[test]
    fn voxels_below_the_threshold_take_no_part() {
        let tested = Tested::new(&set(&[[1.0, 2.0]]), &set(&[[5.0, 9.0]]), 20.0);
        assert_eq!((tested.voxels, tested.z[0], tested.q), (0, 0.0, 0.0));
    }
}
