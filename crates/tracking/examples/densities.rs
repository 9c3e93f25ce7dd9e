//! Streamlines through densities from Rust, timed: what `fimbria track --select` does, with every number of the
//! propagation open.
//!
//! ```sh
//! cargo run --release -p fimbria-tracking --example densities -- FOD MASK SEEDS OUT.tck [5TT=IMAGE] [rule=transport] \
//!     [select=4000] [step=] [angle=] [cutoff=] [probe=] [places=3] [power=1] [seed=1] [crop] [backtrack]
//! ```
//!
//! FOD has harmonics in MRtrix's basis of order 4 to 12. Lengths are voxel edges, the angle is degrees.

#![allow(clippy::print_stdout, reason = "its numbers are what it is for")]

use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

use fimbria_compute::{Backend, Interrupted, Silent, Workers};
use fimbria_image::{BvecFrame, Mask, read_image};
use fimbria_streamlines::{Header, Streamlines, Tractogram, WriteOptions};
use fimbria_tensors::functions::Functions;
use fimbria_tensors::sh::ShBasis;
use fimbria_tracking::{
    Anatomy, Attempts, Densities, DensityPropagation, DensityRule, DensityTracking, Lines, Rules,
    Space, Tissues, seeds_of_region, track_densities,
};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [fod, mask, seeds, out, options @ ..] = &words[..] else {
        return Err("FOD MASK SEEDS OUT.tck [NAME=VALUE ...]".into());
    };
    let options: HashMap<&str, &str> =
        options.iter().map(|word| word.split_once('=').unwrap_or((word, "yes"))).collect();
    let number = |name: &str, default: f32| -> Result<f32, Box<dyn Error>> {
        Ok(options.get(name).map(|text| text.parse()).transpose()?.unwrap_or(default))
    };
    let workers = Workers::new(1)?;
    let coefficients = read_image(fod)?;
    let mask = Mask::from_image(&read_image(mask)?);
    let order = match coefficients.n_volumes {
        15 => 4,
        28 => 6,
        45 => 8,
        66 => 10,
        91 => 12,
        n => return Err(format!("{n} volumes are no harmonics of order 4 to 12").into()),
    };
    let basis = Some(ShBasis::Mrtrix);
    let frame = BvecFrame::Scanner;
    let functions = Functions { coefficients: &coefficients, order, basis, frame, mask: &mask };
    let densities = Densities::new(&mask, order, frame, &workers, functions.entries()?)?;
    let grid = *densities.grid();
    let edge = grid.ras_from_vox.spacing().into_iter().fold(f64::INFINITY, f64::min) as f32;
    let (power, places) = (number("power", 1.0)?, number("places", 3.0)? as usize);
    let (rule, step, angle) = match *options.get("rule").unwrap_or(&"arcs") {
        "transport" => {
            let probe_mm = edge * number("probe", 0.5)?;
            (DensityRule::Transport { power, probe_mm, places }, 0.1, 6.0)
        }
        "maximum" => (DensityRule::Maximum, 0.2, 45.0),
        _ => (DensityRule::Arcs { power, places }, 0.5, 45.0),
    };
    let tissues = options
        .get("5TT")
        .map(|path| Ok::<_, Box<dyn Error>>(Tissues::new(&read_image(path)?, &grid)?));
    let tissues = tissues.transpose()?;
    let usual = if tissues.is_some() || rule == DensityRule::Maximum { 0.1 } else { 0.15 };
    let propagation = DensityPropagation {
        rule,
        step_mm: edge * number("step", step)?,
        max_angle: number("angle", angle)?.to_radians(),
        cutoff: number("cutoff", usual)?,
        max_length_mm: 250.0,
    };
    let is_set = |name: &str| options.contains_key(name);
    let (backtrack, crop) = (is_set("backtrack"), is_set("crop"));
    let anatomy =
        tissues.as_ref().map(|tissues| Anatomy { tissues, backtrack, crop, from_boundary: false });
    let space = Space::same(grid);
    let seeds = seeds_of_region(&space, &space.region(&read_image(seeds)?, "seeds")?, 0);
    let select = number("select", 4000.0)? as u64;
    let rules = Rules { least_length_mm: 10.0, ..Rules::default() };
    let tracking = DensityTracking {
        densities: &densities,
        space: &space,
        propagation: &propagation,
        rules: &rules,
        anatomy,
        seeds: &seeds,
        chances: None,
        attempts: Attempts::UntilKept { select, at_most: 1000 * select },
        jitter_mm: None,
        one_way: false,
        rng_seed: number("seed", 1.0)? as u64,
    };
    let mut header = Header::on(grid);
    header.per_streamline = Lines::columns();
    let mut lines = Streamlines::for_header(&header);
    let start = Instant::now();
    let made = track_densities(
        &tracking,
        Backend::cpu(&workers),
        &Silent,
        || Lines::new(&space),
        |block| {
            lines.append(&block);
            Ok::<_, Interrupted>(())
        },
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let points = lines.positions().len();
    println!("{seconds:.3} s, {} kept of {}, {points} points", lines.len(), made.attempts);
    Tractogram::new(header, lines).write(out, &WriteOptions::default())?;
    Ok(())
}
