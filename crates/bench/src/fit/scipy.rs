//! The same fits by scipy, one after the other, and how far both are apart: the paper's Figure 2.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::Mask;
use fimbria_models::curve::CurveOptions;
use fimbria_models::dki1d::{self, B_MAX_S_PER_MM2, Dki1dOptions, Eta};
use fimbria_models::stremi1d;
use fimbria_phantoms::Subject;
use fimbria_report::plot::{Axes, Axis, Sample, histogram};

use super::work::ETA;
use crate::clock::Time;
use crate::figures::save;
use crate::{Console, Failure};

/// A model that scipy fits, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// [`dki1d`], up to its largest b.
    Kurtosis,
    /// [`stremi1d`], all b.
    Stretched,
}

impl Model {
    /// What both find, by its symbol and by the name of its map.
    fn quantity(self) -> (&'static str, &'static str) {
        match self {
            Self::Kurtosis => ("K", "K"),
            Self::Stretched => ("γ", "gamma"),
        }
    }

    fn b_max(self) -> f64 {
        match self {
            Self::Kurtosis => B_MAX_S_PER_MM2,
            Self::Stretched => f64::INFINITY,
        }
    }

    /// The map of [`quantity`](Self::quantity) in some voxels, a volume for each direction.
    fn fitted(self, subject: &Subject, mask: &Mask) -> Result<Vec<Vec<f32>>, Failure> {
        let Subject { dwi, gradients, .. } = subject;
        let workers = Workers::new(1)?;
        let on = Backend::cpu(&workers);
        let fitted = match self {
            Self::Kurtosis => {
                let options = Dki1dOptions { eta: Eta::Fixed(ETA), ..Dki1dOptions::default() };
                dki1d::fit(dwi, mask, gradients, &options, &on, &Silent)?
            }
            Self::Stretched => {
                stremi1d::fit(dwi, mask, gradients, &CurveOptions::default(), &on, &Silent)?
            }
        };
        let map = fitted.map(self.quantity().1);
        Ok(map
            .into_iter()
            .flat_map(|map| (0..map.n_volumes).map(|v| map.volume(v).to_vec()))
            .collect())
    }
}

/// Samples of fits, and what was found in them here.
pub(super) struct Samples {
    pub(super) n: usize,
    model: Model,
    /// A line of b (ms/µm²), then a line of samples for each fit.
    text: String,
    ours: Vec<f64>,
}

impl Samples {
    /// The first `n` fits of a subject, direction by direction of voxel by voxel.
    pub(super) fn from_subject(subject: &Subject, model: Model, n: usize) -> Result<Self, Failure> {
        let Subject { dwi, gradients, mask, .. } = subject;
        let directions = fimbria_phantoms::DIRECTIONS;
        let unweighted = gradients.b_s_per_mm2.iter().filter(|b| **b == 0.0).count();
        let shells: Vec<usize> = (unweighted..gradients.len())
            .step_by(directions)
            .filter(|&v| gradients.b_s_per_mm2[v] <= model.b_max())
            .collect();
        let mut text = String::from("0");
        for &v in &shells {
            let _ = write!(text, " {}", gradients.b_s_per_mm2[v] / 1000.0);
        }
        text.push('\n');
        let voxels = &mask.voxels[..n.div_ceil(directions).min(mask.len())];
        let n = n.min(voxels.len() * directions);
        for fit in 0..n {
            let (voxel, direction) = (voxels[fit / directions] as usize, fit % directions);
            let at = |volume: usize| f64::from(dwi.volume(volume)[voxel]);
            let s0 = (0..unweighted).map(at).sum::<f64>() / unweighted as f64;
            text.push('1');
            for &v in &shells {
                let _ = write!(text, " {}", at(v + direction) / s0);
            }
            text.push('\n');
        }
        let fitted = model.fitted(subject, &Mask { grid: mask.grid, voxels: voxels.to_vec() })?;
        let at = |fit: usize| fitted[fit % directions][voxels[fit / directions] as usize];
        Ok(Self { n, model, text, ours: (0..n).map(|fit| f64::from(at(fit))).collect() })
    }
}

/// What scipy did.
pub(super) struct Found {
    wall: f64,
    processor: f64,
    model: Model,
    /// What was found here less what scipy found.
    apart: Vec<f64>,
}

/// Reads lines of samples, fits each, prints wall and processor seconds, then K or γ of each. The
/// sample without weighting is the mean of five.
const SCRIPT: &str = "
import sys, time
import numpy as np
from scipy.optimize import least_squares
model, eta = sys.argv[1], float(sys.argv[2])
rows = [np.array(line.split(), float) for line in sys.stdin]
b, w = rows[0], np.r_[5 ** 0.5, np.ones(len(rows[0]) - 1)]
curve, start, quantity = {
    'K': (lambda p: np.hypot(p[0] * np.exp((p[2] * b - p[1]) * b), eta), [1.0, 1.0, 0.1],
          lambda p: 6 * p[2] / p[1] ** 2),
    'gamma': (lambda p: p[0] * np.exp(-p[1] * b ** p[2]), [1.0, 1.0, 0.8], lambda p: p[2]),
}[model]
out = []
wall, cpu = time.perf_counter(), time.process_time()
for y in rows[1:]:
    out.append(least_squares(lambda p: w * (curve(p) - y), start, method='lm').x)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(wall, cpu)
for p in out:
    print(quantity(p))
";

/// Fits them; `None` where there is no python3 with scipy.
pub(super) fn fit(samples: &Samples) -> Result<Option<Found>, Failure> {
    let mut command = Command::new("python3");
    // One thread: linear algebra this small gains nothing from more.
    command.env("OPENBLAS_NUM_THREADS", "1").args(["-W", "ignore", "-c", SCRIPT]);
    let (_, name) = samples.model.quantity();
    command
        .args([name, &ETA.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return Ok(None) };
    if let Some(mut stdin) = child.stdin.take() {
        // A python without scipy ends before it reads.
        let _ = stdin.write_all(samples.text.as_bytes());
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    Ok(numbers.next().zip(numbers.next()).map(|(wall, processor)| {
        let apart = samples.ours.iter().zip(numbers).map(|(ours, theirs)| ours - theirs).collect();
        Found { wall, processor, model: samples.model, apart }
    }))
}

impl Found {
    pub(super) fn time(&self) -> Time {
        Time { wall: self.wall, processor: Some(self.processor), spent: None }
    }

    /// What differs, and by how much in half of the fits.
    pub(super) fn difference(&self) -> String {
        let mut apart: Vec<f64> = self.apart.iter().map(|d| d.abs()).collect();
        apart.sort_by(f64::total_cmp);
        let median = apart.get(apart.len() / 2).copied().unwrap_or(f64::NAN);
        format!("{} differs by {median:.1e}", self.model.quantity().0)
    }

    /// The paper's Figure 2: how often which difference is found.
    pub(super) fn draw(&self, folder: &Path, console: &dyn Console) -> Result<(), Failure> {
        let mut apart = self.apart.clone();
        apart.retain(|difference| difference.is_finite());
        apart.sort_by(f64::total_cmp);
        // A few fits that end elsewhere would make one bin of all others.
        let beyond = apart.len() / 100;
        let ends = apart.get(beyond).zip(apart.iter().rev().nth(beyond));
        let (low, high) = ends.map_or((0.0, 1.0), |(low, high)| (*low, *high));
        let (symbol, name) = self.model.quantity();
        let heading = format!("{symbol} here less {symbol} by scipy, fit by fit");
        let difference = format!("difference of {symbol}");
        let axes = Axes {
            heading: &heading,
            x: Axis::new(&difference, "").over(low, high),
            y: Axis::new("fits", "%"),
            guides: Vec::new(),
        };
        let figure = histogram(&[Sample { name: "fits", values: &apart }], 40, &axes);
        save(&figure, &format!("differences-of-{name}.svg"), folder, console)
    }
}
