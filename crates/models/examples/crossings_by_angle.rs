//! Two crossing fibres by their angle: how often `fit fod` finds both at each order, with how many false maxima,
//! beside MRtrix3's `dwi2fod` where it is installed: the tables of docs/densities.md.
//!
//! `cargo run --release -p fimbria-models --example crossings_by_angle -- [shells=3000:60] [snr=30] [orders=8,10,12]
//! [tissues=three|white] [grey=0] [voxels=300]`
//!
//! Signals are those of cylinder-symmetric tensors with equal shares and Rician noise, grey matter a share of the
//! voxel. A maximum counts above 0.15, and for a fibre where it lies within half of the angle or 20° of it.
#![allow(clippy::print_stdout, missing_docs)]

use std::collections::HashMap;
use std::error::Error;
use std::f64::consts::PI;
use std::fs;
use std::path::Path;
use std::process::Command;

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{
    Affine, GradientTable, Grid, Image, Mask, WriteOptions, read_image, write_image,
};
use fimbria_models::fod::{self, FodOptions, Response, Tissues};
use fimbria_tensors::peaks::{PeakOptions, find_peaks_sh};
use fimbria_tensors::sh::{ShBasis, evaluate, lmax_of_count, sh_count};
use fimbria_testing::{Noise, acquisition};

type Vec3 = [f64; 3];

const S0: f64 = 600.0;
/// mm²/s along and across fibres.
const FIBRE: [f64; 2] = [1.7e-3, 0.3e-3];
const GREY: [f64; 2] = [800.0, 0.8e-3];
const FLUID: [f64; 2] = [1200.0, 3.0e-3];
/// Height of the lowest maximum that counts, for each coefficient of the density: 0.15 at order 8, an eighth of a fibre.
const LEAST: f64 = 0.15 / 45.0;
/// Degrees; of 0 there is one fibre, and none where the last one stands.
const ANGLES: [f64; 15] =
    [30., 35., 40., 45., 50., 55., 60., 65., 70., 75., 80., 85., 90., 0., f64::INFINITY];

fn dot(a: Vec3, b: Vec3) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn fibre_signal(b: f64, cos: f64) -> f64 {
    S0 * (-b * (FIBRE[1] + (FIBRE[0] - FIBRE[1]) * cos * cos)).exp()
}

/// The fibres of a voxel that stands in one of many positions.
fn fibres(degrees: f64, position: usize) -> Vec<Vec3> {
    let mut noise = Noise(position as u64 + 1);
    let z = 2.0 * noise.uniform() - 1.0;
    let ((sin, cos), r) = ((2.0 * PI * noise.uniform()).sin_cos(), (1.0 - z * z).sqrt());
    let u = [r * cos, r * sin, z];
    let (meridian, parallel) = ([-z * cos, -z * sin, r], [-sin, cos, 0.0]);
    let (s, c) = (2.0 * PI * noise.uniform()).sin_cos();
    let (sin, cos) = degrees.to_radians().sin_cos();
    let v = |k: usize| cos * u[k] + sin * (c * meridian[k] + s * parallel[k]);
    match degrees {
        f64::INFINITY => Vec::new(),
        0.0 => vec![u],
        _ => vec![u, [v(0), v(1), v(2)]],
    }
}

/// A row of voxels for each angle.
fn series(table: &GradientTable, n: usize, snr: f64, grey: f64) -> Image {
    let grid = Grid { dims: [n, ANGLES.len(), 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, table.len());
    let mut noise = Noise(7);
    for (row, &degrees) in ANGLES.iter().enumerate() {
        for position in 0..n {
            let axes = fibres(degrees, position);
            let grey = if axes.is_empty() { 1.0 } else { grey };
            for (volume, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
                let share = (1.0 - grey) / axes.len().max(1) as f64;
                let of_fibres: f64 = axes.iter().map(|&a| share * fibre_signal(b, dot(a, g))).sum();
                let clean = of_fibres + grey * GREY[0] * (-b * GREY[1]).exp();
                image.volume_mut(volume)[grid.index([position, row, 0])] =
                    noise.rician(clean, S0 / snr) as f32;
            }
        }
    }
    image
}

/// Responses up to degree `lmax` on these shells: of fibres by quadrature, of grey matter, of fluid.
fn responses(b: &[f64], lmax: usize) -> [Response; 3] {
    const N: usize = 4000;
    let zonal = |b: f64| {
        let mut row = vec![0.0; lmax / 2 + 1];
        for i in 0..N {
            let cos = (i as f64 + 0.5) / N as f64;
            let values = evaluate(ShBasis::Mrtrix, lmax, [(1.0 - cos * cos).sqrt(), 0.0, cos]);
            for (l, r) in row.iter_mut().enumerate() {
                *r += 4.0 * PI / N as f64
                    * values[sh_count(2 * l) - 2 * l - 1]
                    * fibre_signal(b, cos);
            }
        }
        row
    };
    let response = |zonal: &dyn Fn(f64) -> Vec<f64>| Response {
        b_s_per_mm2: Some(b.to_vec()),
        zonal: b.iter().map(|&b| zonal(b)).collect(),
    };
    let isotropic =
        |[s0, d]: [f64; 2]| response(&|b| vec![(4.0 * PI).sqrt() * s0 * (-b * d).exp()]);
    [response(&zonal), isotropic(GREY), isotropic(FLUID)]
}

/// Of each angle the share of voxels with both fibres found; then of all crossings the mean error of what is found
/// and false maxima a voxel; then false ones of single fibres and of grey matter.
fn row(densities: &Image, on: &Backend<'_>) -> Result<String, Box<dyn Error>> {
    let grid = densities.grid;
    let order = lmax_of_count(densities.n_volumes).ok_or("no densities")?;
    let least = LEAST * densities.n_volumes as f64;
    let options = PeakOptions { n_peaks: 6, absolute_threshold: least, ..PeakOptions::default() };
    let mask = Mask::full(grid);
    let peaks =
        find_peaks_sh(densities, &mask, order, ShBasis::Mrtrix, &options, on, &Silent)?.peaks;
    let mut text = String::new();
    let (mut crossing_false, mut errors, mut found_fibres) = (0, 0.0, 0);
    for (at, &degrees) in ANGLES.iter().enumerate() {
        let (mut both, mut false_ones) = (0, 0);
        for position in 0..grid.dims[0] {
            let voxel = grid.index([position, at, 0]);
            let peak = |k: usize| [0, 1, 2].map(|i| f64::from(peaks.volume(3 * k + i)[voxel]));
            let mut left: Vec<Vec3> = (0..6).map(peak).filter(|p| p[0].is_finite()).collect();
            let within = if degrees > 0.0 { 20.0_f64.min(0.5 * degrees) } else { 20.0 };
            let axes = fibres(degrees, position);
            let mut found = 0;
            for &axis in &axes {
                let angle = |p: &Vec3| {
                    (dot(*p, axis).abs() / dot(*p, *p).sqrt()).min(1.0).acos().to_degrees()
                };
                let nearest =
                    (0..left.len()).min_by(|&i, &j| angle(&left[i]).total_cmp(&angle(&left[j])));
                if let Some(k) = nearest.filter(|&k| angle(&left[k]) < within) {
                    errors += if axes.len() == 2 { angle(&left[k]) } else { 0.0 };
                    found += 1;
                    left.remove(k);
                }
            }
            both += usize::from(found == axes.len());
            found_fibres += if axes.len() == 2 { found } else { 0 };
            false_ones += left.len();
        }
        let n = grid.dims[0] as f64;
        if degrees > 0.0 && degrees.is_finite() {
            text += &format!(" {:.0} |", 100.0 * both as f64 / n);
            crossing_false += false_ones;
        } else {
            if degrees == 0.0 {
                text += &format!(
                    " {:.1} | {:.2} |",
                    errors / found_fibres.max(1) as f64,
                    crossing_false as f64 / n / 13.0
                );
            }
            text += &format!(" {:.2} |", false_ones as f64 / n);
        }
    }
    Ok(text)
}

/// Of this process and of those it waited for.
fn cpu_seconds() -> f64 {
    let times = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = times.split(' ').skip(13).take(4).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() * 1e-2
}

/// What `dwi2fod` makes of the series, with the same responses, and its seconds.
fn dwi2fod(
    series: &Image,
    table: &GradientTable,
    responses: &[Response],
) -> Result<(Image, f64), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    write_image(path("dwi.nii"), series, &WriteOptions::default())?;
    fs::write(path("grad.b"), table.to_mrtrix())?;
    let mut command = Command::new("dwi2fod");
    command.args(["-quiet", "-nthreads", "1", "-grad", "grad.b"]).current_dir(folder.path());
    command.arg(if responses.len() == 1 { "csd" } else { "msmt_csd" }).arg("dwi.nii");
    for (k, response) in responses.iter().enumerate() {
        fs::write(path(&format!("{k}.txt")), response.to_string())?;
        command.arg(format!("{k}.txt")).arg(format!("{k}.nii"));
    }
    let before = cpu_seconds();
    let done = command.status()?.success();
    let seconds = cpu_seconds() - before;
    if !done {
        return Err("dwi2fod failed".into());
    }
    Ok((read_image(Path::new(&path("0.nii")))?, seconds))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options: HashMap<&str, &str> = words.iter().filter_map(|w| w.split_once('=')).collect();
    let text = |name, default| options.get(name).copied().unwrap_or(default);
    let shells: Vec<(f64, usize)> = text("shells", "3000:60")
        .split(',')
        .filter_map(|shell| shell.split_once(':'))
        .map(|(b, n)| Ok((b.parse()?, n.parse()?)))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let (snr, grey) = (text("snr", "30").parse()?, text("grey", "0").parse()?);
    let n: usize = text("voxels", "300").parse()?;
    let white_alone = text("tissues", "three") == "white";
    let table = acquisition(6, &shells);
    let series = series(&table, n, snr, grey);
    let workers = Workers::new(1)?;
    let on = Backend::cpu(&workers);
    let weighted = shells.iter().map(|shell| shell.0);
    let b: Vec<f64> = Some(0.0).filter(|_| !white_alone).into_iter().chain(weighted).collect();
    let micro = |seconds: f64| 1e6 * seconds / series.grid.len() as f64;

    print!("| {shells:?}, SNR {snr}, grey {grey} |");
    ANGLES[..13].iter().for_each(|angle| print!(" {angle}° |"));
    println!(" error | false | of one | of none | µs |\n|{}", "---|".repeat(19));
    for order in text("orders", "8,10,12").split(',') {
        let order = order.parse()?;
        let [white, grey, fluid] = responses(&b, order);
        let (tissues, grey, fluid) = if white_alone {
            (Tissues::White, None, None)
        } else {
            (Tissues::Three, Some(grey), Some(fluid))
        };
        let options =
            FodOptions { order, tissues, white: Some(white), grey, fluid, ..Default::default() };
        let mask = Mask::full(series.grid);
        let before = cpu_seconds();
        let done = fod::fit(&series, &mask, &table, &options, &on, &Silent)?.fitted;
        let seconds = cpu_seconds() - before;
        let densities = done.map("fod").ok_or("no densities")?;
        println!("| order {order} |{} {:.0} |", row(densities, &on)?, micro(seconds));
    }
    let all = responses(&b, 8);
    let of_csd = if white_alone { &all[..1] } else { &all[..] };
    if Command::new("dwi2fod").arg("-version").output().is_ok() && (shells.len() > 1 || white_alone)
    {
        let (densities, seconds) = dwi2fod(&series, &table, of_csd)?;
        println!("| dwi2fod |{} {:.0} |", row(&densities, &on)?, micro(seconds));
    }
    Ok(())
}
