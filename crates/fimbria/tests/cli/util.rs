//! A folder to work in, a small subject with known tensors, and the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};
use serde_json::Value;

/// A temporary folder that commands run in.
pub(crate) struct Folder(tempfile::TempDir);

/// What a command printed, and how it ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A file of numpy, version 1: `kind` as numpy writes it (`<f8`), values in rows.
pub(crate) fn npy(kind: &str, [rows, columns]: [usize; 2], data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder that holds the [`subject`].
    pub(crate) fn with_subject() -> Self {
        let folder = Self::new();
        subject().write(folder.path());
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The program with the words of `line`, in this folder.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fimbria"));
        command.args(line.split_whitespace()).current_dir(self.path()).env("NO_COLOR", "1");
        command
    }

    /// Starts the program with the words of `line`, and waits until it has left `file`.
    pub(crate) fn started(&self, line: &str, file: &str, within: Duration) -> Child {
        let mut command = self.command(line);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !self.join(file).exists() {
            assert!(begun.elapsed() < within, "no {file} came");
            std::thread::sleep(Duration::from_millis(2));
        }
        child
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(&self.command(line).output().unwrap())
    }

    /// Runs a command that must succeed.
    pub(crate) fn done(&self, line: &str) -> Ran {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(0), "`fimbria {line}`: {}", ran.stderr);
        ran
    }

    /// Runs a command that must fail with exit code 1 and one error, and returns what it said.
    pub(crate) fn failed(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(1), "`fimbria {line}`: {}", ran.stderr);
        assert_eq!(
            ran.stderr.lines().filter(|line| line.starts_with("error: ")).count(),
            1,
            "not one error: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        ran.stderr
    }

    /// The names of all there is, hidden files included, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.join(folder)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.join(name)).unwrap()).unwrap()
    }

    pub(crate) fn image(&self, name: &str) -> Image {
        fimbria_image::read_image(self.join(name)).unwrap()
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// A noiseless series: in every voxel the same tensor with eigenvalues 1.7, 0.4 and 0.2e-3 mm²/s,
/// the largest along [`AXIS`], on an oblique grid with det(affine) > 0.
pub(crate) struct Subject {
    pub(crate) dwi: Image,
    pub(crate) mask: Image,
    pub(crate) bvals: String,
    /// In scanner axes, one direction per line (`--bvec-frame scanner`).
    pub(crate) bvecs: String,
}

/// Direction of the largest eigenvalue, scanner axes.
pub(crate) const AXIS: [f64; 3] = [0.48, 0.6, 0.64];

pub(crate) fn grid() -> Grid {
    // A rotation by 30° about z, voxels of 2 x 2 x 3 mm.
    let (c, s) = (0.75f64.sqrt(), 0.5);
    let rows = [[2.0 * c, -2.0 * s, 0.0, -9.0], [2.0 * s, 2.0 * c, 0.0, 4.0], [0.0, 0.0, 3.0, 7.0]];
    Grid { dims: [7, 6, 5], ras_from_vox: Affine(rows) }
}

/// Cortex, white matter and cortex along x, as five tissues.
pub(crate) fn five_tissues(grid: Grid) -> Image {
    let mut image = Image::zeros(grid, 5);
    let [nx, ..] = grid.dims;
    for voxel in 0..grid.len() {
        let is_white = (nx / 4..3 * nx / 4).contains(&grid.voxel(voxel)[0]);
        image.volume_mut(if is_white { 2 } else { 0 })[voxel] = 1.0;
    }
    image
}

/// [`AXIS`] and two directions orthogonal to it and to each other.
fn axes() -> [[f64; 3]; 3] {
    let [x, y, z] = AXIS;
    let flat = x.hypot(y);
    [AXIS, [-y / flat, x / flat, 0.0], [-x * z / flat, -y * z / flat, flat]]
}

pub(crate) fn subject() -> Subject {
    const N_DIRECTIONS: usize = 20;
    let mut table: Vec<(f64, [f64; 3])> = vec![(0.0, [0.0; 3]); 2];
    for i in 0..N_DIRECTIONS {
        // Points of a spiral over the half-sphere.
        let z = (i as f64 + 0.5) / N_DIRECTIONS as f64;
        let (r, phi) = ((1.0 - z * z).sqrt(), 2.4 * i as f64);
        table.push((1000.0, [r * phi.cos(), r * phi.sin(), z]));
    }
    let grid = grid();
    let mut dwi = Image::zeros(grid, table.len());
    let mut mask = Image::zeros(grid, 1);
    for voxel in 0..grid.len() {
        let inside = grid.voxel(voxel)[0] > 0;
        mask.data[voxel] = f32::from(u8::from(inside));
        let s0 = if inside { 1000.0 + voxel as f64 } else { 10.0 };
        for (volume, (b, g)) in table.iter().enumerate() {
            let d: f64 = axes()
                .iter()
                .zip([1.7e-3, 0.4e-3, 0.2e-3])
                .map(|(v, l)| l * (0..3).map(|i| v[i] * g[i]).sum::<f64>().powi(2))
                .sum();
            let signal = if inside { s0 * (-b * d).exp() } else { s0 };
            dwi.volume_mut(volume)[voxel] = signal as f32;
        }
    }
    let bvals = table.iter().map(|(b, _)| format!("{b} ")).collect();
    let bvecs = table.iter().map(|(_, [x, y, z])| format!("{x} {y} {z}\n")).collect();
    Subject { dwi, mask, bvals, bvecs }
}

impl Subject {
    /// Writes dwi.nii, mask.nii, dwi.bval and dwi.bvec.
    pub(crate) fn write(&self, folder: &Path) {
        let options = WriteOptions::default();
        write_image(folder.join("dwi.nii"), &self.dwi, &options).unwrap();
        write_image(folder.join("mask.nii"), &self.mask, &options).unwrap();
        fs::write(folder.join("dwi.bval"), &self.bvals).unwrap();
        fs::write(folder.join("dwi.bvec"), &self.bvecs).unwrap();
    }
}

/// `fit dti` of the subject with everything named.
pub(crate) const FIT: &str = "fit dti dwi.nii --mask mask.nii --bvec-frame scanner";
