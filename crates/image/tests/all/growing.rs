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

/// Mapped, it ended the program with SIGBUS, or was another series.
#[test]
fn a_series_that_is_cut_or_rewritten_after_it_was_opened_is_what_was_opened() {
    let (image, bytes) = series("dwi.nii");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dwi.nii");
    for other in [vec![0; bytes.len()], bytes[..100].to_vec(), Vec::new()] {
        std::fs::write(&path, &bytes).unwrap();
        let opened = StoredImage::open(&path, &OpenOptions::default()).unwrap();
        // In place, as a copy over it does.
        std::fs::write(&path, other).unwrap();
        assert_eq!(opened.to_image().unwrap(), image);
    }
}

#[test]
fn the_files_of_an_image_are_those_that_reading_it_touches() {
    use fimbria_image::image_files;
    let folder = tempfile::tempdir().unwrap();
    let join = |name: &str| folder.path().join(name);
    let (image, _) = series("dwi.nii");
    for name in ["one.nii.gz", "two.hdr", "three.mif"] {
        write_image(join(name), &image, &fimbria_image::WriteOptions::default()).unwrap();
    }
    assert_eq!(image_files(&join("one.nii.gz")), [join("one.nii.gz")]);
    let pair = [join("two.hdr"), join("two.img")];
    assert_eq!(image_files(&pair[0]), pair);
    assert_eq!(image_files(&pair[1]), pair);
    assert_eq!(image_files(&join("three.mif")), [join("three.mif")]);
    std::fs::write(join("table.txt"), "1 2 3").unwrap();
    assert_eq!(image_files(&join("table.txt")), [join("table.txt")]);
}
