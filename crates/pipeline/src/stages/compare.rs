//! The stage that tests two sets of maps against each other.

use std::path::PathBuf;

use crate::options::{Described as _, Takes, any};
use clap::Args;
use fimbria_image::{Image, MapKind, Window, WriteOptions, counted, read_image, write_image};
use serde_json::{Value, json};

use crate::{
    FileKind, Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError, Written,
};

/// What `fimbria compare` writes.
pub const COMPARE_WRITES: &[Written] = &[
    Written::image(
        "z",
        MapKind::Scalar,
        0,
        "",
        "difference of the means over its standard error, B - A; 0 below the \
         threshold",
    )
    .within(Window::Symmetric),
    Written::file(
        "run.json",
        FileKind::Json,
        "voxels tested, mean and largest |z|, Q = mean of z squared, the sums of both, p: in which share of \
         all ways to split the runs into two sets Q is as large, and what follows",
    ),
];

/// Tests two sets of maps of repeated runs against each other, voxel by voxel; its results are noted.
#[derive(Clone, Debug, Args)]
pub struct CompareMaps {
    /// Maps of repeated runs, two or more with different seeds
    #[arg(value_name = "A", required = true, num_args = 2..)]
    #[arg(takes = Takes::IMAGE)]
    pub first: Vec<PathBuf>,

    /// The other set, after --: two or more as well
    #[arg(value_name = "B", required = true, num_args = 2.., last = true)]
    #[arg(takes = Takes::IMAGE)]
    pub second: Vec<PathBuf>,

    /// Mean value from which voxels take part
    #[arg(long, value_name = "VALUE", default_value_t = 20.0, allow_negative_numbers = true)]
    #[arg(number = any::<f64>(""))]
    pub threshold: f64,
}

/// A map with more volumes or fewer.
#[derive(Debug, thiserror::Error)]
#[error("{} has {found} volumes, the first map {expected}", path.display())]
pub struct OtherVolumes {
    path: PathBuf,
    found: usize,
    expected: usize,
}

/// z in every voxel.
struct Compared(Image);

impl Stage for CompareMaps {
    fn name(&self) -> &'static str {
        "compare"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Compared>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let of = |set: &'static str| move |path: &PathBuf| (set.to_owned(), path.clone());
        self.first.iter().map(of("A")).chain(self.second.iter().map(of("B"))).collect()
    }

    fn parameters(&self) -> Value {
        json!({ "threshold": self.threshold })
    }

    fn outputs(&self) -> Vec<String> {
        vec!["z.nii.gz".to_owned()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let workers = log.session().on.workers;
        let read = |paths: &[PathBuf]| -> Result<Vec<Image>, StageError> {
            let images = paths.iter().map(|path| workers.install(|| read_image(path)));
            Ok(images.collect::<Result<Vec<_>, _>>()?)
        };
        let mut paths: Vec<_> = self.first.iter().chain(&self.second).collect();
        paths.sort_unstable();
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            let path = twice[0].display();
            log.warn(
                Page::Troubleshooting,
                &format!("{path} is given twice: runs are to differ by their random numbers"),
            );
        }
        let (a, b) = (read(&self.first)?, read(&self.second)?);
        let expected = a[0].n_volumes;
        for (path, image) in self.first.iter().chain(&self.second).zip(a.iter().chain(&b)) {
            a[0].grid.check_same(&image.grid, &path.display().to_string())?;
            if image.n_volumes != expected {
                let (path, found) = (path.clone(), image.n_volumes);
                return Err(OtherVolumes { path, found, expected }.into());
            }
        }
        let (all_a, all_b): (Vec<&Image>, Vec<&Image>) = (a.iter().collect(), b.iter().collect());
        let (set_a, set_b) = (Set::from_images(&all_a), Set::from_images(&all_b));
        let tested = Tested::new(&set_a, &set_b, self.threshold);
        log.result("voxels", tested.voxels);
        log.result("Q", tested.q);
        log.result("mean_abs_z", tested.mean_abs);
        log.result("max_abs_z", tested.max_abs);
        let known = |v: &usize| set_a.mean[*v].is_finite() && set_b.mean[*v].is_finite();
        let known: Vec<_> = (0..set_a.mean.len()).filter(known).collect();
        if known.len() < set_a.mean.len() {
            let unknown = set_a.mean.len() - known.len();
            log.warn(
                Page::Troubleshooting,
                &format!("{} not finite in a map: left out", counted(unknown, "value")),
            );
        }
        let sum = |set: &Set| known.iter().map(|v| set.mean[*v]).sum::<f64>();
        log.result("sum_A", sum(&set_a));
        log.result("sum_B", sum(&set_b));
        let judged = Judged::new(&[all_a, all_b].concat(), a.len(), tested.q, self.threshold);
        log.result("p", judged.p);
        log.result("splits", judged.splits);
        log.result("verdict", judged.says());
        let z = tested.z.iter().map(|z| *z as f32).collect();
        products.put(Compared(Image { data: z, ..a[0].clone() }));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Compared(z) = products.get::<Compared>()?;
        let path = out.stage("z.nii.gz")?;
        let workers = log.session().on.workers;
        workers.install(|| write_image(&path, z, &WriteOptions::default()))?;
        Ok(())
    }
}

/// Means and variances of a set of maps.
struct Set {
    n: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl Set {
    fn from_images(images: &[&Image]) -> Self {
        let n = images.len() as f64;
        let voxels = images[0].data.len();
        let values = |voxel: usize| images.iter().map(move |image| f64::from(image.data[voxel]));
        let mean: Vec<_> = (0..voxels).map(|v| values(v).sum::<f64>() / n).collect();
        let square = |v: usize| values(v).map(|x| (x - mean[v]).powi(2)).sum::<f64>();
        let variance = (0..voxels).map(|v| square(v) / (n - 1.0)).collect();
        Self { n, mean, variance }
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

/// How often sets mixed of both differ as much.
struct Judged {
    p: f64,
    splits: usize,
}

impl Judged {
    /// Ways to split the runs that are tried at most.
    const MOST: usize = 200;

    /// The share of all ways to make two sets of `n_first` and the other runs in which Q is at least `q`.
    /// Voxels are not independent of each other, and from few runs a variance is not known: what chance
    /// makes of Q, only the runs themselves say.
    fn new(runs: &[&Image], n_first: usize, q: f64, threshold: f64) -> Self {
        let mut splits = choices(runs.len(), n_first);
        // Of sets of one size each split is there twice, once the other way round.
        if 2 * n_first == runs.len() {
            splits.retain(|first| first[0] == 0);
        }
        let stride = splits.len().div_ceil(Self::MOST);
        let splits: Vec<_> = splits.into_iter().step_by(stride).collect();
        let is_as_large = |first: &&Vec<usize>| {
            let part = |is_first: bool| {
                let part = (0..runs.len()).filter(|run| first.contains(run) == is_first);
                Set::from_images(&part.map(|run| runs[run]).collect::<Vec<_>>())
            };
            Tested::new(&part(true), &part(false), threshold).q >= q * (1.0 - 1e-12)
        };
        let n = splits.iter().filter(is_as_large).count();
        Self { p: n as f64 / splits.len() as f64, splits: splits.len() }
    }

    /// What follows, in a sentence.
    fn says(&self) -> String {
        let Self { p, splits } = self;
        if *splits < 20 {
            format!(
                "cannot be told: {splits} ways to split so few runs give p of {:.2} at best; four runs \
                 of each set and more tell",
                1.0 / *splits as f64
            )
        } else if *p <= 0.05 {
            format!("the sets differ: p = {p:.3} among {splits} ways to split the runs")
        } else {
            format!(
                "the sets differ no more than their runs do: p = {p:.2} among {splits} ways to split them"
            )
        }
    }
}

/// All ways to choose `k` of `n`, ascending.
fn choices(n: usize, k: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..k {
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<usize>| {
                let next = chosen.last().map_or(0, |last| last + 1);
                (next..n).map(move |one| [&chosen[..], &[one]].concat())
            })
            .collect();
    }
    all
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
        Set::from_images(&[&image(0), &image(1)])
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
    fn sets_of_different_runs_differ_and_those_of_the_same_do_not() {
        let grid = fimbria_image::Grid {
            dims: [500, 1, 1],
            ras_from_vox: fimbria_image::Affine::IDENTITY,
        };
        let mut noise = fimbria_testing::Noise(3);
        let mut run = |mean: f64| {
            let data = (0..500).map(|_| noise.rician(mean, 3.0) as f32).collect();
            Image { grid, n_volumes: 1, data }
        };
        let same: Vec<Image> = (0..8).map(|_| run(100.0)).collect();
        let other: Vec<Image> = (0..4).map(|_| run(104.0)).collect();
        let judged = |runs: Vec<&Image>| {
            let (a, b) = (Set::from_images(&runs[..4]), Set::from_images(&runs[4..]));
            Judged::new(&runs, 4, Tested::new(&a, &b, 20.0).q, 20.0)
        };
        let differ = judged(same[..4].iter().chain(&other).collect());
        // The split as given is the only one, of 8 choose 4 over 2.
        assert_eq!((differ.splits, differ.p), (35, 1.0 / 35.0));
        assert!(differ.says().contains("the sets differ:"), "{}", differ.says());
        let alike = judged(same.iter().collect());
        assert!(alike.says().contains("no more than their runs do"), "{}", alike.says());
        let few = Judged { p: 1.0 / 3.0, splits: 3 };
        assert!(few.says().contains("four runs of each"), "{}", few.says());
    }

    #[test]
    fn voxels_below_the_threshold_take_no_part() {
        let tested = Tested::new(&set(&[[1.0, 2.0]]), &set(&[[5.0, 9.0]]), 20.0);
        assert_eq!((tested.voxels, tested.z[0], tested.q), (0, 0.0, 0.0));
    }
}
