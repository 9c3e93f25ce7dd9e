//! How fast images are read and written here, beside the libraries underneath.
//!
//! `cargo run --release -p fimbria-image --example io_speed [MEGABYTES] [FOLDER]`
//!
//! Makes an int16 series of the given size (1000 MB unless said otherwise): a third of the voxels
//! hold signal and noise, the others zeros, which gzip shrinks to about a quarter, as it does brain
//! images. All times come from one run; between machines compare the ratios.
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fimbria_image::{
    Affine, Datatype, Grid, Image, MifLayout, OpenOptions, SignalSource, StoredImage, WriteOptions,
    read_image, write_image,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let megabytes: usize = arguments.next().map_or(Ok(1000), |a| a.parse())?;
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    let path = |name: &str| folder.path().join(name);

    let image = series(megabytes);
    let stored_bytes = 2 * image.data.len();
    println!("{megabytes} MB of int16, {} threads\n", rayon::current_num_threads());
    println!("{:44} {:>8} {:>8} {:>8}", "writing", "s", "MB/s", "file MB");
    write_all(&image, &path)?;
    drop(image);
    println!("\n{:44} {:>8} {:>8} {:>8}", "reading", "s", "MB/s", "ratio");
    read_all(&path, stored_bytes)
}

/// Every level by our writer, and some by one thread over the same compressor.
fn write_all(image: &Image, path: &impl Fn(&str) -> PathBuf) -> Result<()> {
    let bytes = 2 * image.data.len();
    let report = |what: &str, seconds: f64, file: &Path| -> Result<()> {
        let size = std::fs::metadata(file)?.len() as f64 * 1e-6;
        println!("{what:44} {seconds:8.2} {:8.0} {size:8.0}", bytes as f64 * 1e-6 / seconds);
        Ok(())
    };
    let int16 = WriteOptions { datatype: Datatype::Int16, ..WriteOptions::default() };
    let plain = path("plain.nii");
    let (seconds, written) = timed(|| write_image(&plain, image, &int16));
    written?;
    report("uncompressed", seconds, &plain)?;
    let together = path("together.mif");
    let options = WriteOptions { mif_layout: MifLayout::VOLUMES_FIRST, ..int16.clone() };
    let (seconds, written) = timed(|| write_image(&together, image, &options));
    written?;
    report("uncompressed .mif, volumes first", seconds, &together)?;
    for gzip_level in 0..=9 {
        let file = path(&format!("level{gzip_level}.nii.gz"));
        let options = WriteOptions { gzip_level, ..int16.clone() };
        let (seconds, written) = timed(|| write_image(&file, image, &options));
        written?;
        report(&format!("level {gzip_level}, one member"), seconds, &file)?;
    }
    let raw = std::fs::read(&plain)?;
    for level in [1, 6] {
        let file = path("single.gz");
        let (seconds, written) = timed(|| -> std::io::Result<()> {
            let level = flate2::Compression::new(level);
            let mut encoder = flate2::write::GzEncoder::new(File::create(&file)?, level);
            encoder.write_all(&raw)?;
            encoder.finish().map(|_| ())
        });
        written?;
        report(&format!("level {level}, zlib-rs on one thread"), seconds, &file)?;
    }
    Ok(())
}

/// Our readers, with the time of libdeflate alone as the unit.
fn read_all(path: &impl Fn(&str) -> PathBuf, bytes: usize) -> Result<()> {
    let compressed = &path("level2.nii.gz");
    let gzip = std::fs::read(compressed)?;
    let inflate = || -> usize {
        let mut out = vec![0; bytes + 352];
        libdeflater::Decompressor::new().gzip_decompress(&gzip, &mut out).unwrap_or(0)
    };
    let unit = best(inflate);
    let report = |what: &str, seconds: f64| {
        let rate = bytes as f64 * 1e-6 / seconds;
        println!("{what:44} {seconds:8.2} {rate:8.0} {:8.2}", seconds / unit);
    };
    report("libdeflate alone, fresh buffer", unit);
    report("read_image .nii.gz to f32", best(|| read_image(compressed).map(|i| i.data.len())));
    let options = OpenOptions::default();
    report("StoredImage::open .nii.gz", best(|| StoredImage::open(compressed, &options).is_ok()));
    let scratch = OpenOptions { memory_limit: Some(0), ..OpenOptions::default() };
    report("the same to scratch", best(|| StoredImage::open(compressed, &scratch).is_ok()));
    for name in ["plain.nii", "together.mif"] {
        let file = path(name);
        report(&format!("read_image {name} to f32"), best(|| read_image(&file).is_ok()));
        let stored = StoredImage::open(&file, &options)?;
        for lanes in [16, 64, 256] {
            let what = format!("gather {name}, tiles of {lanes}, one thread");
            report(&what, best(|| gather_all(&stored, lanes)));
        }
    }
    Ok(())
}

/// Runs through all voxels in tiles and uses every sample.
fn gather_all(stored: &StoredImage, lanes: usize) -> f32 {
    let voxels: Vec<u32> = (0..stored.grid().len() as u32).collect();
    let mut tile = vec![0.0; stored.n_volumes() * lanes];
    let mut last = 0.0;
    for voxels in voxels.chunks(lanes) {
        stored.gather(voxels, lanes, &mut tile);
        last += tile[voxels.len() - 1];
    }
    last
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// Seconds of the best of three runs.
fn best<T>(mut work: impl FnMut() -> T) -> f64 {
    let once = || timed(|| std::hint::black_box(work())).0;
    std::iter::repeat_with(once).take(3).fold(f64::INFINITY, f64::min)
}

/// A ball of decaying signal with noise in a field of zeros.
fn series(megabytes: usize) -> Image {
    let dims = [120, 120, 100];
    let grid = Grid { dims, ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let n_volumes = (megabytes * 500_000).div_ceil(grid.len());
    let mut image = Image::zeros(grid, n_volumes);
    let mut state = 1u64;
    for v in 0..n_volumes {
        for (index, value) in image.volume_mut(v).iter_mut().enumerate() {
            let voxel = grid.voxel(index);
            let from_centre: f64 =
                (0..3).map(|a| (2.0 * voxel[a] as f64 / dims[a] as f64 - 1.0).powi(2)).sum();
            if from_centre < 0.75 {
                // The sum of four uniform numbers is near enough to a Gaussian one.
                let noise: u64 = (0..4)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        state >> 58
                    })
                    .sum();
                *value = (800.0 * (1.2 - from_centre) / (1.0 + v as f64 * 0.02)) as f32;
                *value += noise as f32;
            }
        }
    }
    image
}
