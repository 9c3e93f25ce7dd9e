//! Writing samples, their means and their dyads.

use rayon::prelude::*;

use super::maps::{FibreMeans, angles};
use crate::sticks::StickSamples;
use crate::{BvecFrame, Datatype, Grid, Image, Intent, WriteOptions};

/// Mean fraction from which a further fibre counts as there, and its name in file names.
const THRESHOLD: (f64, &str) = (0.05, "0.05");

/// NIfTI's code for a vector shown as a colour, by which FSLeyes knows what to draw as lines.
const RGB_VECTOR: i32 = 2003;

/// Where the samples themselves go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// To three images per fibre, as FSL has them.
    Images,
    /// Elsewhere: a [`half_file`](super::half_file).
    Elsewhere,
}

/// The names, without extension, of the images that [`write_bedpostx`] makes.
pub fn bedpostx_files(n_fibres: usize, merged: Merged) -> Vec<String> {
    let mut names: Vec<String> = vec!["nodif_brain_mask".into(), "mean_fsumsamples".into()];
    for i in 1..=n_fibres {
        for what in ["th", "ph", "f"] {
            if merged == Merged::Images {
                names.push(format!("merged_{what}{i}samples"));
            }
            names.push(format!("mean_{what}{i}samples"));
        }
        names.push(format!("dyads{i}"));
        names.push(format!("dyads{i}_dispersion"));
        if i > 1 {
            names.push(format!("dyads{i}_thr{}", THRESHOLD.1));
            names.push(format!("dyads{i}_thr{}_modf{i}", THRESHOLD.1));
        }
    }
    names
}

/// Makes the images of a bedpostX folder one after the other and hands each to `write`, with its
/// name without extension and its type; one of them is held at a time. Runs on the threads of the
/// current rayon pool.
///
/// # Errors
/// Those of `write`.
pub fn write_bedpostx<E>(
    field: &StickSamples,
    merged: Merged,
    mut write: impl FnMut(&str, &Image, &WriteOptions) -> Result<(), E>,
) -> Result<(), E> {
    let maker = Maker { field, grid: field.mask.grid };
    let float = |description: &str| WriteOptions {
        description: description.to_owned(),
        ..WriteOptions::default()
    };
    let byte =
        WriteOptions { datatype: Datatype::UInt8, ..float("mask: 1 where there are samples") };
    let intent = Intent { code: RGB_VECTOR, ..Intent::default() };
    let vector = WriteOptions {
        intent,
        ..float("unit vector x y z in the axes of FSL's bvecs, sign arbitrary")
    };
    let angles_of_samples = float("angles of the samples, radians, FSL's axes");
    let fractions = float("fractions of the samples");
    write("nodif_brain_mask", &maker.map(|_| 1.0), &byte)?;

    let fsl_from_ras = BvecFrame::Fsl.frame_from_ras(&maker.grid.ras_from_vox);
    let n_voxels = field.mask.len();
    let mut sum = vec![0.0; n_voxels];
    let mut first = Vec::new();
    for fibre in 0..field.n_fibres {
        let i = fibre + 1;
        let means: Vec<FibreMeans> = (0..n_voxels)
            .into_par_iter()
            .map(|slot| FibreMeans::from_samples(field, slot, fibre, &fsl_from_ras))
            .collect();
        if merged == Merged::Images {
            let stick = |slot: usize, sample: usize| field.sample(slot, sample)[fibre];
            let angle = |slot: usize, sample: usize| {
                angles(stick(slot, sample), &fsl_from_ras, means[slot].dyad)
            };
            let theta = maker.series(field.n_samples, |slot, k| angle(slot, k)[0] as f32);
            write(&format!("merged_th{i}samples"), &theta, &angles_of_samples)?;
            drop(theta);
            let phi = maker.series(field.n_samples, |slot, k| angle(slot, k)[1] as f32);
            write(&format!("merged_ph{i}samples"), &phi, &angles_of_samples)?;
            drop(phi);
            let fraction = maker.series(field.n_samples, |slot, k| stick(slot, k).fraction());
            write(&format!("merged_f{i}samples"), &fraction, &fractions)?;
            drop(fraction);
        }

        write(
            &format!("mean_th{i}samples"),
            &maker.map(|slot| means[slot].theta),
            &angles_of_samples,
        )?;
        write(
            &format!("mean_ph{i}samples"),
            &maker.map(|slot| means[slot].phi),
            &angles_of_samples,
        )?;
        write(&format!("mean_f{i}samples"), &maker.map(|slot| means[slot].fraction), &fractions)?;
        let dispersion = maker.map(|slot| means[slot].dispersion);
        write(
            &format!("dyads{i}_dispersion"),
            &dispersion,
            &float("1 - largest eigenvalue of the mean of v v'"),
        )?;
        write(&format!("dyads{i}"), &maker.vectors(|slot| means[slot].dyad), &vector)?;
        if fibre > 0 {
            let scaled = |slot: usize, scale: f64| {
                let there = means[slot].fraction >= THRESHOLD.0;
                means[slot].dyad.map(|c| if there { c * scale } else { 0.0 })
            };
            let name = format!("dyads{i}_thr{}", THRESHOLD.1);
            write(&name, &maker.vectors(|slot| scaled(slot, 1.0)), &vector)?;
            let share = |slot: usize| match first[slot] {
                f1 if f1 > 0.0 => means[slot].fraction / f1,
                _ => 0.0,
            };
            let modulated = maker.vectors(|slot| scaled(slot, share(slot)));
            write(&format!("{name}_modf{i}"), &modulated, &vector)?;
        } else {
            first = means.iter().map(|m| m.fraction).collect();
        }
        sum.iter_mut().zip(&means).for_each(|(sum, m)| *sum += m.fraction);
    }
    write("mean_fsumsamples", &maker.map(|slot| sum[slot]), &fractions)
}

/// Makes images of what is known by slot.
struct Maker<'a> {
    field: &'a StickSamples,
    grid: Grid,
}

impl Maker<'_> {
    fn map(&self, value: impl Fn(usize) -> f64 + Sync) -> Image {
        self.series(1, |slot, _| value(slot) as f32)
    }

    fn vectors(&self, value: impl Fn(usize) -> [f64; 3] + Sync) -> Image {
        self.series(3, |slot, k| value(slot)[k] as f32)
    }

    fn series(&self, n_volumes: usize, value: impl Fn(usize, usize) -> f32 + Sync) -> Image {
        let mut image = Image::zeros(self.grid, n_volumes);
        let volumes = image.data.par_chunks_mut(self.grid.len()).enumerate();
        volumes.for_each(|(volume, data)| {
            for (slot, &voxel) in self.field.mask.voxels.iter().enumerate() {
                data[voxel as usize] = value(slot, volume);
            }
        });
        image
    }
}
