//! Damaged, cut, mismatched and impossible files: one error that says what is wrong, no image.

use std::path::{Path, PathBuf};

use fimbria_image::{
    Affine, Datatype, Grid, HeaderError, Image, ImageError, ImageHeader, OpenOptions, StoredImage,
    WriteOptions, read_image, write_image,
};
use proptest::prelude::*;

fn image() -> Image {
    let grid = Grid { dims: [5, 4, 3], ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let data = (0..120).map(|i| (i * 37 % 101) as f32).collect();
    Image { grid, n_volumes: 2, data }
}

/// The bytes of a small image in some format.
fn file(name: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let options = WriteOptions { datatype: Datatype::Int16, ..WriteOptions::default() };
    write_image(&path, &image(), &options).unwrap();
    std::fs::read(path).unwrap()
}

fn open(bytes: &[u8]) -> Result<StoredImage, ImageError> {
    StoredImage::from_bytes(bytes.to_vec(), "file", &OpenOptions::default())
}

/// The error of opening; a `StoredImage` cannot be shown.
fn error(bytes: &[u8]) -> ImageError {
    match open(bytes) {
        Ok(_) => panic!("was opened"),
        Err(e) => e,
    }
}

fn header_error(bytes: &[u8]) -> HeaderError {
    match error(bytes) {
        ImageError::Header { source, .. } => source,
        other => panic!("{other}"),
    }
}

/// A NIfTI-1 file of 2 x 3 x 4 bytes, field by field as nifti1.h lists them.
fn nifti_1() -> Vec<u8> {
    let mut header = vec![0; 352 + 24];
    put(&mut header, 0, &348i32.to_le_bytes());
    for (i, dim) in [3i16, 2, 3, 4, 1, 1, 1, 1].into_iter().enumerate() {
        put(&mut header, 40 + 2 * i, &dim.to_le_bytes());
    }
    put(&mut header, 70, &2i16.to_le_bytes()); // unsigned 8-bit
    put(&mut header, 72, &8i16.to_le_bytes());
    for (i, size) in [1f32, 2.0, 3.0, 4.0].into_iter().enumerate() {
        put(&mut header, 76 + 4 * i, &size.to_le_bytes());
    }
    put(&mut header, 108, &352f32.to_le_bytes());
    put(&mut header, 344, b"n+1\0");
    for (i, sample) in header[352..].iter_mut().enumerate() {
        *sample = i as u8;
    }
    header
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = nifti_1();
    put(&mut file, at, bytes);
    file
}

#[test]
fn a_header_made_by_hand_is_understood() {
    let stored = open(&nifti_1()).unwrap();
    assert_eq!(stored.grid().dims, [2, 3, 4]);
    assert_eq!(stored.datatype(), Datatype::UInt8);
    let image = stored.to_image().unwrap();
    assert_eq!(image.data, (0..24).map(|i| i as f32).collect::<Vec<_>>());
}

#[test]
fn a_slope_of_zero_means_no_scaling_and_another_is_applied() {
    let mut file = changed(116, &5f32.to_le_bytes());
    assert_eq!(open(&file).unwrap().to_image().unwrap().data[3], 3.0);
    put(&mut file, 112, &f32::NAN.to_le_bytes());
    assert_eq!(open(&file).unwrap().to_image().unwrap().data[3], 3.0);
    put(&mut file, 112, &2f32.to_le_bytes());
    assert_eq!(open(&file).unwrap().to_image().unwrap().data[3], 11.0);
    put(&mut file, 116, &f32::INFINITY.to_le_bytes());
    assert!(matches!(header_error(&file), HeaderError::Scaling { slope: 2.0, .. }));
}

#[test]
fn extensions_are_stepped_over() {
    let mut file = nifti_1();
    let samples = file.split_off(352);
    put(&mut file, 348, &[1, 0, 0, 0]);
    put(&mut file, 108, &400f32.to_le_bytes());
    file.extend([48, 0, 0, 0, 6, 0, 0, 0].into_iter().chain([b'x'; 40]));
    file.extend(samples);
    assert_eq!(open(&file).unwrap().to_image().unwrap().data[7], 7.0);
}

#[test]
fn types_that_are_no_single_real_number_are_named() {
    for (code, expected) in [(32i16, "complex64"), (128, "RGB24"), (1536, "float128"), (77, "unk")]
    {
        let error = header_error(&changed(70, &code.to_le_bytes()));
        assert!(matches!(error, HeaderError::NiftiDatatype { .. }));
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn headers_that_cannot_be_are_refused() {
    type Check = fn(&HeaderError) -> bool;
    let dims: Check = |e| matches!(e, HeaderError::Dimensions { .. });
    let offset: Check = |e| matches!(e, HeaderError::Offset { .. });
    let cases: [(&str, Vec<u8>, Check); 9] = [
        ("rank 0", changed(40, &0i16.to_le_bytes()), dims),
        ("rank 8", changed(40, &8i16.to_le_bytes()), dims),
        ("no voxels", changed(44, &0i16.to_le_bytes()), dims),
        ("negative", changed(44, &(-3i16).to_le_bytes()), dims),
        ("in header", changed(108, &100f32.to_le_bytes()), offset),
        ("fraction", changed(108, &352.5f32.to_le_bytes()), offset),
        ("nan", changed(108, &f32::NAN.to_le_bytes()), offset),
        ("analyze", changed(344, &[0; 4]), |e| matches!(e, HeaderError::Magic { .. })),
        ("sform", changed(254, &[1, 0]), |e| matches!(e, HeaderError::Orientation { .. })),
    ];
    for (name, file, expected) in cases {
        let error = header_error(&file);
        assert!(expected(&error), "{name}: {error}");
    }
}

#[test]
fn what_is_no_image_is_said_to_be_none() {
    for bytes in [&b""[..], b"x", b"P6 3 3 255\n", &[0; 400]] {
        assert!(matches!(header_error(bytes), HeaderError::UnknownFormat { .. }));
    }
}

#[test]
fn a_header_that_asks_for_the_moon_allocates_nothing() {
    let mut huge = nifti_1();
    for axis in 1..=3 {
        put(&mut huge, 40 + 2 * axis, &1500i16.to_le_bytes());
    }
    put(&mut huge, 70, &64i16.to_le_bytes());
    let wanted = 352 + 8 * 1500u64.pow(3);
    assert!(matches!(error(&huge), ImageError::Truncated { needed, .. } if needed == wanted));
    let gzip = compressed(&huge);
    assert!(matches!(error(&gzip), ImageError::Implausible { needed, .. } if needed == wanted));
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn cut_files_are_refused_wherever_they_are_cut() {
    for name in ["a.nii", "a.nii.gz", "a.mif", "a.mif.gz"] {
        let whole = file(name);
        assert!(open(&whole).is_ok(), "{name}");
        for length in 0..whole.len() {
            assert!(open(&whole[..length]).is_err(), "{name} cut at {length}");
        }
    }
}

#[test]
fn compressed_files_with_a_changed_byte_give_the_samples_or_an_error() {
    let expected = image();
    for name in ["a.nii.gz", "a.mif.gz"] {
        let whole = file(name);
        let mut errors = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            match open(&bytes) {
                // The time and system of a gzip header and the bits that fill up its bytes carry
                // no checksum and no meaning.
                Ok(stored) => assert_eq!(stored.to_image().unwrap(), expected, "{name} at {at}"),
                Err(_) => errors += 1,
            }
        }
        assert!(10 * errors > 9 * whole.len(), "{name}: {errors} of {}", whole.len());
    }
}

#[test]
fn names_that_lead_nowhere_are_errors_with_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.nii");
    let given: [(&Path, &str); 2] = [(&missing, "missing.nii"), (folder.path(), "regular file")];
    for (path, said) in given {
        let error = read_image(path).unwrap_err();
        assert!(matches!(error, ImageError::Io { .. }));
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_pair_needs_both_files_and_either_may_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let options = WriteOptions { datatype: Datatype::Int16, ..WriteOptions::default() };
    for (header, data) in [("a.hdr", "a.img"), ("b.hdr.gz", "b.img.gz")] {
        write_image(path(header), &image(), &options).unwrap();
        assert_eq!(read_image(path(header)).unwrap(), image());
        assert_eq!(read_image(path(data)).unwrap(), image());
        let samples = std::fs::read(path(data)).unwrap();
        std::fs::write(path(data), &samples[..samples.len() / 2]).unwrap();
        let cut = read_image(path(header)).unwrap_err();
        assert!(matches!(cut, ImageError::Truncated { .. }), "{cut}");
        std::fs::remove_file(path(data)).unwrap();
        let alone = read_image(path(header)).unwrap_err();
        assert!(matches!(alone, ImageError::NoPartner { .. }), "{alone}");
        std::fs::write(path(data), &samples).unwrap();
        std::fs::remove_file(path(header)).unwrap();
        let alone = read_image(path(data)).unwrap_err();
        assert!(matches!(alone, ImageError::NoPartner { .. }), "{alone}");
    }
}

/// Opens and, where that works, decodes.
fn use_all(bytes: Vec<u8>) {
    if let Ok(stored) = StoredImage::from_bytes(bytes, "file", &OpenOptions::default()) {
        stored.to_image().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_nifti_header_makes_the_reader_panic(
        changes in prop::collection::vec((0usize..376, any::<u8>()), 0..12),
        big in any::<bool>(),
        gzip in any::<bool>(),
    ) {
        let mut file = nifti_1();
        if big {
            put(&mut file, 0, &348i32.to_be_bytes());
        }
        for (at, byte) in changes {
            file[at] = byte;
        }
        use_all(if gzip { compressed(&file) } else { file });
    }

    #[test]
    fn no_mif_header_makes_the_reader_panic(
        lines in prop::collection::vec("(dim|vox|layout|datatype|transform|scaling|file|dw_scheme|x): \
            (-?[0-9]{1,3}[,. ]?){0,5}(Bit|UInt8|Float16LE|Int64BE)?", 0..12),
        swap in 0usize..12,
    ) {
        let good = ["dim: 2,3,2", "vox: 1,1,1", "layout: -0,+2,-1", "datatype: Bit",
            "transform: 1,0,0,0", "transform: 0,1,0,0", "transform: 0,0,1,0", "file: . 300"];
        let mut text = vec!["mrtrix image".to_owned()];
        text.extend(good.iter().enumerate().filter(|(i, _)| *i != swap).map(|(_, l)| (*l).into()));
        text.extend(lines);
        text.push("END\n".into());
        let mut file = text.join("\n").into_bytes();
        file.resize(file.len().max(300) + 64, 0xa5);
        use_all(file);
    }

    #[test]
    fn mif_samples_lie_where_the_layout_says(
        dims in prop::array::uniform4(1usize..5),
        keys in prop::array::uniform4(any::<u32>()),
        backwards in prop::array::uniform4(any::<bool>()),
        gzip in any::<bool>(),
    ) {
        // Ranks by sorting random keys: a random permutation.
        let rank = |axis: usize| (0..4).filter(|o| (keys[*o], *o) < (keys[axis], axis)).count();
        let n: usize = dims.iter().product();
        let signs = backwards.map(|b| if b { '-' } else { '+' });
        let layout: Vec<_> = (0..4).map(|a| format!("{}{}", signs[a], rank(a))).collect();
        let mut file = format!(
            "mrtrix image\ndim: {},{},{},{}\nvox: 1,1,1,nan\nlayout: {}\ndatatype: UInt16LE\n\
             file: . 256\nEND\n",
            dims[0], dims[1], dims[2], dims[3], layout.join(",")
        )
        .into_bytes();
        file.resize(256, 0);
        file.extend((0..n as u16).flat_map(u16::to_le_bytes));
        let image = open(&if gzip { compressed(&file) } else { file }).unwrap().to_image().unwrap();

        for index in 0..n {
            let mut rest = index;
            let mut position = 0;
            for axis in 0..4 {
                let i = rest % dims[axis];
                rest /= dims[axis];
                let i = if backwards[axis] { dims[axis] - 1 - i } else { i };
                let stride: usize =
                    (0..4).filter(|a| rank(*a) < rank(axis)).map(|a| dims[a]).product();
                position += i * stride;
            }
            prop_assert_eq!(image.data[index], position as f32);
        }
    }
}

#[test]
fn a_header_is_read_where_compressed_samples_are_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    let grid = Grid { dims: [30, 20, 10], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, 2);
    for (i, value) in image.data.iter_mut().enumerate() {
        *value = ((i * 2654435761) % 1009) as f32;
    }
    write_image(&path, &image, &WriteOptions::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let header = ImageHeader::read(&path).unwrap();
    assert_eq!((header.grid().dims, header.n_volumes()), ([30, 20, 10], 2));
    assert!(StoredImage::open(&path, &OpenOptions::default()).is_err());
}

#[test]
fn a_mih_that_names_data_outside_its_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub").join("a.mih");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(folder.path().join("secret"), [7; 8]).unwrap();
    std::fs::create_dir(folder.path().join("sub/down")).unwrap();
    std::fs::write(folder.path().join("sub/down/a.dat"), [7; 8]).unwrap();
    let read = |data: &str| {
        let header = "mrtrix image\ndim: 2,2,2\nvox: 1,1,1\nlayout: +0,+1,+2\ndatatype: UInt8\n";
        std::fs::write(&path, format!("{header}file: {data} 0\nEND\n")).unwrap();
        read_image(&path)
    };
    let absolute = folder.path().join("secret");
    for outside in ["../secret", "down/../../secret", absolute.to_str().unwrap()] {
        let error = read(outside).unwrap_err();
        assert!(matches!(error, ImageError::DataElsewhere { .. }), "{error}");
    }
    for inside in ["down/a.dat", "./down/a.dat"] {
        assert_eq!(read(inside).unwrap().data, [7.0; 8]);
    }
}
