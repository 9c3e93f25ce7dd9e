//! The same fits of kurtosis by scipy, one after the other.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::Mask;
use fimbria_models::dki1d::{self, B_MAX_S_PER_MM2, Dki1dOptions, Eta};
use fimbria_phantoms::Subject;

use super::work::ETA;
use crate::Failure;
use crate::clock::Time;

/// Samples of fits, and what was found in them here.
pub(super) struct Samples {
    pub(super) n: usize,
    /// A line of b (ms/µm²), then a line of samples for each fit.
    text: String,
    pub(super) kurtosis: Vec<f64>,
}

impl Samples {
    /// The first `n` fits of a subject, direction by direction of voxel by voxel.
    pub(super) fn from_subject(subject: &Subject, n: usize) -> Self {
        let Subject { dwi, gradients, mask, .. } = subject;
        let directions = fimbria_phantoms::DIRECTIONS;
        let unweighted = gradients.b_s_per_mm2.iter().filter(|b| **b == 0.0).count();
        let shells: Vec<usize> = (unweighted..gradients.len())
            .step_by(directions)
            .filter(|&v| gradients.b_s_per_mm2[v] <= B_MAX_S_PER_MM2)
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
        let found = Workers::new(1).ok().and_then(|workers| {
            let options = Dki1dOptions { eta: Eta::Fixed(ETA), ..Dki1dOptions::default() };
            let mask = Mask { grid: mask.grid, voxels: voxels.to_vec() };
            dki1d::fit(dwi, &mask, gradients, &options, &Backend::cpu(&workers), &Silent).ok()
        });
        let k = found.as_ref().and_then(|fit| fit.map("K"));
        let kurtosis = k.map_or(Vec::new(), |k| {
            let at = |i: usize| k.volume(i % directions)[voxels[i / directions] as usize];
            (0..n).map(|i| f64::from(at(i))).collect()
        });
        Self { n, text, kurtosis }
    }
}

/// What scipy did.
pub(super) struct Found {
    wall: f64,
    processor: f64,
    kurtosis: Vec<f64>,
}

/// Reads lines of samples, fits each, prints wall and processor seconds, then K of each. The
/// sample without weighting is the mean of five.
const SCRIPT: &str = "
import sys, time
import numpy as np
from scipy.optimize import least_squares
eta = float(sys.argv[1])
rows = [np.array(line.split(), float) for line in sys.stdin]
b, w = rows[0], np.r_[5 ** 0.5, np.ones(len(rows[0]) - 1)]
out = []
wall, cpu = time.perf_counter(), time.process_time()
for y in rows[1:]:
    f = lambda p: w * (np.hypot(p[0] * np.exp((p[2] * b - p[1]) * b), eta) - y)
    out.append(least_squares(f, [1.0, 1.0, 0.1], method='lm').x)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(wall, cpu)
for p in out:
    print(6 * p[2] / p[1] ** 2)
";

/// Fits them; `None` where there is no python3 with scipy.
pub(super) fn fit(samples: &Samples) -> Result<Option<Found>, Failure> {
    let mut command = Command::new("python3");
    // One thread: linear algebra this small gains nothing from more.
    command.env("OPENBLAS_NUM_THREADS", "1").args(["-W", "ignore", "-c", SCRIPT]);
    command.arg(ETA.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return Ok(None) };
    if let Some(mut stdin) = child.stdin.take() {
        // A python without scipy ends before it reads.
        let _ = stdin.write_all(samples.text.as_bytes());
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    Ok(numbers.next().zip(numbers.next()).map(|(wall, processor)| {
        let kurtosis = numbers.collect();
        Found { wall, processor, kurtosis }
    }))
}

impl Found {
    pub(super) fn time(&self) -> Time {
        Time { wall: self.wall, processor: Some(self.processor) }
    }

    /// The median difference of K.
    pub(super) fn difference(&self, kurtosis: &[f64]) -> f64 {
        let pairs = self.kurtosis.iter().zip(kurtosis);
        let mut apart: Vec<f64> = pairs.map(|(a, b)| (a - b).abs()).collect();
        apart.sort_by(f64::total_cmp);
        apart.get(apart.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
