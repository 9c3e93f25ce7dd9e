//! `fimbria bench io`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Workers;
use fimbria_compute::philox::Philox;
use fimbria_image::{
    Affine, Datatype, Grid, Image, MifLayout, OpenOptions, SignalSource, StoredImage, WriteOptions,
    read_image, write_image,
};
use fimbria_pipeline::options::{Described as _, Takes, within};
use rayon::prelude::*;

use super::clock::{Time, best};
use super::table::{Table, counted, digits, digits_or_dash, number, words};
use crate::{Benchmark, Console, Failure, Machine};

/// Time reading and writing of images, beside libdeflate and one thread
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchIo {
    /// Size of the series, uncompressed, in millions of bytes
    #[arg(long, value_name = "N", default_value_t = 256)]
    #[arg(number = within(8_u32, 1_000_000, ""))]
    megabytes: u32,

    /// Compression levels to write at, separated by commas
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_value = "1,2,4,6,9")]
    #[arg(number = within(0_u32, 9, ""))]
    levels: Vec<u32>,

    /// Folder to write to, on the disk to measure
    #[arg(usually = "the system's for temporary files")]
    #[arg(long, value_name = "FOLDER")]
    #[arg(takes = Takes::FOLDER)]
    scratch: Option<PathBuf>,
}

const HELP: &str = "\
Outputs, on standard output:
  A row per way of writing, then of reading, an int16 series:
    s          wall time
    CPU s      processor time of all threads
    MB/s       uncompressed int16 bytes over the wall time
    file MB    size of the file written
    ratio      written: times faster than the same bytes by one thread; read: wall time over that
               of libdeflate inflating the same file alone, from memory into a fresh buffer
  Files were written just before, so that they are read from the system's cache: this is the time
  of the program, not of the disk.

Data:
  A ball of decaying signal with noise in a field of zeros, a third of the voxels; gzip shrinks it
  to about a quarter, as it does series of brains.";

impl Benchmark for BenchIo {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self { megabytes, mut levels, scratch } = self;
        if !levels.contains(&WriteOptions::DEFAULT_GZIP_LEVEL) {
            // The file that is read back.
            levels.push(WriteOptions::DEFAULT_GZIP_LEVEL);
        }
        let Machine { workers: all, .. } = machine;
        let folder = tempfile::tempdir_in(scratch.unwrap_or_else(std::env::temp_dir))?;
        let image = series(megabytes as usize, &all);
        let bench = Bench {
            folder: folder.path(),
            bytes: 2 * image.data.len(),
            one: Workers::new(1)?,
            all,
            console,
        };
        console.print(&format!(
            "{} MB of int16, {} volumes, {}\n",
            bench.bytes / 1_000_000,
            image.n_volumes,
            counted(bench.all.threads()),
        ))?;
        bench.write(&image, &levels)?;
        drop(image);
        bench.read()
    }
}

struct Bench<'a> {
    folder: &'a Path,
    /// Of the series as int16.
    bytes: usize,
    one: Workers,
    all: Workers,
    console: &'a dyn Console,
}

const PLAIN: &str = "plain.nii";
const TOGETHER: &str = "together.mif";

/// The file of a compression level.
fn compressed(level: u32) -> String {
    format!("level{level}.nii.gz")
}

impl Bench<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn megabytes_per_second(&self, time: Time) -> String {
        digits(1e-6 * self.bytes as f64 / time.wall)
    }

    fn write(&self, image: &Image, levels: &[u32]) -> Result<(), Failure> {
        let table = Table::begin(
            self.console,
            [
                words("writing", 44),
                number("s", 7),
                number("CPU s", 7),
                number("MB/s", 6),
                number("file MB", 7),
                number("ratio", 6),
            ],
        )?;
        let int16 = WriteOptions { datatype: Datatype::Int16, ..WriteOptions::default() };
        let mut ways = vec![
            (".nii".to_owned(), PLAIN.to_owned(), int16.clone()),
            (
                ".mif, volumes together".to_owned(),
                TOGETHER.to_owned(),
                WriteOptions { mif_layout: MifLayout::VOLUMES_FIRST, ..int16.clone() },
            ),
        ];
        for &gzip_level in levels {
            let options = WriteOptions { gzip_level, ..int16.clone() };
            ways.push((format!(".nii.gz level {gzip_level}"), compressed(gzip_level), options));
        }
        for (what, name, options) in ways {
            let path = self.path(&name);
            let timed = |workers: &Workers| {
                best(self.console, || workers.install(|| write_image(&path, image, &options)))
            };
            let mut times = vec![timed(&self.one)?];
            if self.all.threads() > 1 {
                times.push(timed(&self.all)?);
            }
            let size = fs::metadata(&path)?.len() as f64 * 1e-6;
            for (&time, threads) in times.iter().zip([1, self.all.threads()]) {
                table.row([
                    format!("{what}, {}", counted(threads)),
                    digits(time.wall),
                    digits_or_dash(time.processor),
                    self.megabytes_per_second(time),
                    digits(size),
                    digits(times[0].wall / time.wall),
                ])?;
            }
        }
        Ok(())
    }

    fn read(&self) -> Result<(), Failure> {
        let table = Table::begin(
            self.console,
            [
                words("reading", 44),
                number("s", 7),
                number("CPU s", 7),
                number("MB/s", 6),
                number("ratio", 6),
            ],
        )?;
        let zipped = self.path(&compressed(WriteOptions::DEFAULT_GZIP_LEVEL));
        let gzip = fs::read(&zipped)?;
        let unit = best(self.console, || {
            let mut out = vec![0; self.bytes + HEADER_BYTES];
            libdeflater::Decompressor::new().gzip_decompress(&gzip, &mut out).map(drop)
        })?;
        drop(gzip);
        let row = |what: &str, time: Time| {
            table.row([
                what.to_owned(),
                digits(time.wall),
                digits_or_dash(time.processor),
                self.megabytes_per_second(time),
                digits(time.wall / unit.wall),
            ])
        };
        row("libdeflate alone", unit)?;
        for workers in [&self.one, &self.all] {
            let on = counted(workers.threads());
            let read =
                |path: &Path| best(self.console, || workers.install(|| read_image(path).map(drop)));
            row(&format!("all of .nii.gz to f32, {on}"), read(&zipped)?)?;
            for name in [PLAIN, TOGETHER] {
                let path = self.path(name);
                row(&format!("all of {name} to f32, {on}"), read(&path)?)?;
            }
            if self.all.threads() == 1 {
                break;
            }
        }
        let in_memory = OpenOptions::default();
        let to_scratch =
            OpenOptions { memory_limit: Some(0), scratch_dir: Some(self.folder.to_owned()) };
        for (what, options) in [("memory", &in_memory), ("a scratch file", &to_scratch)] {
            let open = || StoredImage::open(&zipped, options).map(drop);
            row(&format!(".nii.gz to {what}, as stored"), best(self.console, open)?)?;
        }
        for name in [PLAIN, TOGETHER] {
            let stored = StoredImage::open(self.path(name), &in_memory)?;
            let gather = || {
                gather_all(&stored);
                Ok::<_, Failure>(())
            };
            let what = format!("{name} in tiles of {TILE} voxels, 1 thread");
            row(&what, best(self.console, gather)?)?;
        }
        Ok(())
    }
}

/// Bytes of a NIfTI-1 header and what follows it before the samples.
const HEADER_BYTES: usize = 352;

/// Voxels of a tile, as many as a fit gathers at a time.
const TILE: usize = 256;

/// Goes through all voxels in tiles.
fn gather_all(stored: &StoredImage) {
    let voxels: Vec<u32> = (0..stored.grid().len() as u32).collect();
    let mut tile = vec![0.0; stored.n_volumes() * TILE];
    for voxels in voxels.chunks(TILE) {
        stored.gather(voxels, TILE, &mut tile);
        std::hint::black_box(&tile);
    }
}

/// A ball of decaying signal with noise in a field of zeros, as large as `megabytes` of int16.
fn series(megabytes: usize, workers: &Workers) -> Image {
    let dims = [120, 120, 100];
    let grid = Grid { dims, ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let n_volumes = (megabytes * 500_000).div_ceil(grid.len());
    let mut image = Image::zeros(grid, n_volumes);
    let random = Philox::new(1);
    let fill = |(v, volume): (usize, &mut [f32])| {
        for (index, value) in volume.iter_mut().enumerate() {
            let voxel = grid.voxel(index);
            let from_centre: f32 =
                (0..3).map(|a| (2.0 * voxel[a] as f32 / dims[a] as f32 - 1.0).powi(2)).sum();
            if from_centre < 0.75 {
                // The sum of four uniform numbers is near enough to a normal one.
                let noise: u32 = random.at(index as u64, v as u32).iter().map(|w| w >> 26).sum();
                *value = 800.0 * (1.2 - from_centre) / (1.0 + 0.02 * v as f32) + noise as f32;
            }
        }
    };
    workers.install(|| image.data.par_chunks_mut(grid.len()).enumerate().for_each(fill));
    image
}
