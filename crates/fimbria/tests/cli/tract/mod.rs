//! `fimbria tract`.

mod bundles;
mod clean;
mod cluster;
mod edit;
mod map;
mod others;
mod profile;
mod sample;

use std::fs;

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};
use fimbria_streamlines::{
    Column, Group, Header, Streamlines, Tractogram, WriteOptions as LineOptions,
};
use fimbria_testing::Noise;

use crate::util::Folder;

/// Voxels of 2 mm, oblique.
pub(crate) fn grid() -> Grid {
    let ras_from_vox =
        Affine([[-1.98, 0.2, 0.05, 40.0], [0.21, 1.97, -0.1, -38.0], [0.05, 0.1, 1.99, -39.0]]);
    Grid { dims: [40, 40, 40], ras_from_vox }
}

fn voxels(folder: &Folder, name: &str, grid: Grid, value: impl Fn([f64; 3]) -> f32) {
    let mut image = Image::zeros(grid, 1);
    for voxel in 0..grid.len() {
        image.data[voxel] = value(grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64)));
    }
    write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
}

fn is_near(p: [f64; 3], centre: [f64; 3], mm: f64) -> f32 {
    let square: f64 = (0..3).map(|a| (p[a] - centre[a]).powi(2)).sum();
    f32::from(u8::from(square < mm * mm))
}

/// Lines that bend, in steps of 1 mm, from 5 to 60 mm long, with data and groups.
pub(crate) fn wandering(n: usize) -> Tractogram {
    let mut draws = Noise(7);
    let mut lines = Streamlines::default();
    let (mut fa, mut weight) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let mut at: [f64; 3] = std::array::from_fn(|_| 50.0 * draws.uniform() - 25.0);
        let mut dir: [f64; 3] = std::array::from_fn(|_| draws.normal());
        let length = 5 + (55.0 * draws.uniform()) as usize;
        let mut points = Vec::new();
        for _ in 0..=length {
            points.push(at.map(|x| x as f32));
            (0..3).for_each(|a| dir[a] += 0.15 * draws.normal());
            let norm = dir.iter().map(|x| x * x).sum::<f64>().sqrt();
            dir = dir.map(|x| x / norm);
            (0..3).for_each(|a| at[a] += dir[a]);
        }
        fa.extend(points.iter().map(|p| p[0] * 0.01));
        weight.push(draws.uniform() as f32);
        lines.push(&points);
    }
    lines.add_per_point(Column::from_f32("fa", 1, &fa));
    lines.add_per_streamline(Column::from_f32("weight", 1, &weight));
    let mut tractogram = Tractogram::new(Header::on(grid()), lines);
    let members = |by: u32| (0..n as u32).filter(|i| i % by == 0).collect();
    tractogram.header.groups = vec![
        Group { name: "even".into(), members: members(2), data: Vec::new() },
        Group { name: "third".into(), members: members(3), data: Vec::new() },
    ];
    tractogram
}

/// a.trx and a.tck, the same lines, w.txt, their weights; a.nii, b.nii and, on a finer grid, fine.nii: balls of voxels;
/// labels.nii: 1 where x < 0, 2 beyond; lut.txt: names of both.
pub(crate) fn with_tracts(n: usize) -> Folder {
    let folder = Folder::new();
    let tractogram = wandering(n);
    tractogram.write(folder.join("a.trx"), &LineOptions::default()).unwrap();
    folder.done("convert a.trx -o a.tck -q");
    let weights = tractogram.streamlines.per_streamline()[0].values();
    let weights: String = weights.map(|weight| format!("{weight}\n")).collect();
    fs::write(folder.join("w.txt"), weights).unwrap();
    voxels(&folder, "a.nii", grid(), |p| is_near(p, [10.0, 5.0, 0.0], 20.0));
    voxels(&folder, "b.nii", grid(), |p| is_near(p, [-8.0, 0.0, 5.0], 18.0));
    let fine = Grid {
        dims: [30, 35, 40],
        ras_from_vox: Affine([[1.1, 0., 0., -12.], [0., 1.2, 0., -20.], [0., 0., 1.3, -26.]]),
    };
    voxels(&folder, "fine.nii", fine, |p| is_near(p, [0.0, 0.0, 0.0], 10.0));
    voxels(&folder, "labels.nii", grid(), |p| if p[0] < 0.0 { 1.0 } else { 2.0 });
    fs::write(folder.join("lut.txt"), "# names\n1 Left 0 0 0 0\n2 Right 0 0 0 0\n").unwrap();
    folder
}

fn read(folder: &Folder, name: &str) -> Tractogram {
    Tractogram::read(folder.join(name)).unwrap()
}

/// The numbers of the lines of `all` that `some` has, in its order.
fn numbers(all: &Tractogram, some: &Tractogram) -> Vec<usize> {
    let of = |line: &[[f32; 3]]| all.streamlines.iter().position(|other| other == line).unwrap();
    some.streamlines.iter().map(of).collect()
}
