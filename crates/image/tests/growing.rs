//! Files that are read while they are written.

use fimbria_image::{Affine, Grid, Image, OpenOptions, SignalSource, StoredImage, write_image};

const GRID: Grid = Grid { dims: [4, 3, 2], ras_from_vox: Affine::IDENTITY };
const VOLUMES: usize = 5;

/// A series of five volumes and the bytes of its file.
fn series(name: &str) -> (Image, Vec<u8>) {
    let mut image = Image::zeros(GRID, VOLUMES);
    for (i, value) in image.data.iter_mut().enumerate() {
        *value = i as f32;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write_image(&path, &image, &fimbria_image::WriteOptions::default()).unwrap();
    (image, std::fs::read(path).unwrap())
}

fn so_far(bytes: &[u8]) -> Option<StoredImage> {
    StoredImage::so_far(bytes.to_vec(), "growing", &OpenOptions::default()).unwrap()
}

#[test]
fn the_volumes_that_are_whole_are_there() {
    for name in ["dwi.nii", "dwi.mif"] {
        let (image, bytes) = series(name);
        let of_volume = 4 * GRID.len();
        let data = bytes.len() - VOLUMES * of_volume;
        assert!(so_far(&bytes[..data]).is_none(), "{name}");
        assert!(so_far(&bytes[..data + of_volume - 1]).is_none(), "{name}");
        for n in 1..=VOLUMES {
            let found = so_far(&bytes[..data + n * of_volume]).unwrap();
            assert_eq!(found.n_volumes(), n, "{name}");
            let mut samples = vec![0.0; n];
            found.gather(&[7], 1, &mut samples);
            let expected: Vec<f32> = (0..n).map(|v| image.volume(v)[7]).collect();
            assert_eq!(samples, expected, "{name}");
        }
    }
}

#[test]
fn a_compressed_file_is_taken_whole_or_not_at_all() {
    let (_, bytes) = series("dwi.nii.gz");
    assert_eq!(so_far(&bytes).unwrap().n_volumes(), VOLUMES);
    let half = bytes[..bytes.len() / 2].to_vec();
    assert!(StoredImage::so_far(half, "growing", &OpenOptions::default()).is_err());
}
