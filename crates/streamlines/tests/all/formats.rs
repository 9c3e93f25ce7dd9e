//! Every format keeps what it can hold, streams, and takes files apart with care.

use std::fs;
use std::path::Path;

use fimbria_compute::Silent;
use fimbria_image::{Affine, Datatype, Grid};
use fimbria_streamlines::{
    Column, ColumnKind, Format, Group, Header, Streamlines, Tractogram, TractogramError,
    WriteOptions, copy, create, open,
};
use proptest::prelude::*;

const OBLIQUE: Affine =
    Affine([[-1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]]);
const GRID: Grid = Grid { dims: [40, 50, 30], ras_from_vox: OBLIQUE };

/// Three streamlines, one of them empty, with data of several types and a group.
pub(crate) fn phantom() -> Tractogram {
    let positions = vec![[0.5, -3.25, 7.0], [1.5, -3.0, 7.125], [2.0, 0.0, 8.0], [-4.0, 5.0, 6.0]];
    let mut lines = Streamlines::from_parts(vec![0, 3, 3, 4], positions);
    lines.add_per_point(Column::from_f32("fa", 1, &[0.25, 0.5, 0.75, 1.0]));
    lines.add_per_point(Column::from_f32("rgb", 3, &(0..12).map(|i| i as f32).collect::<Vec<_>>()));
    lines.add_per_streamline(Column::from_f32("weight", 1, &[1.5, 2.5, 3.5]));
    let mut header = Header::on(GRID);
    header.groups = vec![Group {
        name: "left".into(),
        members: vec![0, 2],
        data: vec![Column::from_f32("mean_fa", 1, &[0.5])],
    }];
    Tractogram::new(header, lines)
}

fn written(tractogram: &Tractogram, path: &Path) -> Tractogram {
    tractogram.write(path, &WriteOptions::default()).unwrap();
    Tractogram::read(path).unwrap()
}

fn named(name: &str) -> Format {
    Format::from_name(name.as_ref()).unwrap()
}

#[test]
fn trx_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let original = phantom();
    assert_eq!(written(&original, &folder.path().join("a.trx")), original);
}

#[test]
fn a_trx_folder_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let original = phantom();
    let options = WriteOptions::default();
    let mut writer = create(&path, Format::TRX_FOLDER, &original.header, &options).unwrap();
    writer.write(&original.streamlines).unwrap();
    writer.finish().unwrap();
    assert_eq!(Tractogram::read(&path).unwrap(), original);
    let files = fs::read_dir(&path).unwrap().count();
    assert_eq!(files, 7, "header, positions, offsets, dpv, dps, groups, dpg and nothing else");
}

#[test]
fn trx_keeps_types_it_does_not_need_to_understand() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Streamlines::from_parts(vec![0, 1, 2], vec![[1.0; 3], [2.0; 3]]);
    lines.add_per_streamline(Column::from_u32("seed", &[7, u32::MAX]));
    lines.add_per_streamline(Column::from_u8("why", &[3, 250]));
    let original = Tractogram::new(Header::on(GRID), lines);
    assert_eq!(written(&original, &folder.path().join("a.trx")), original);
}

#[test]
fn trk_keeps_data_and_holds_points_to_rounding() {
    let folder = tempfile::tempdir().unwrap();
    let original = phantom();
    let read = written(&original, &folder.path().join("a.trk"));
    assert_eq!(read.streamlines.offsets(), original.streamlines.offsets());
    assert_eq!(read.streamlines.per_point(), original.streamlines.per_point());
    assert_eq!(read.streamlines.per_streamline(), original.streamlines.per_streamline());
    assert_eq!(read.header.grid.unwrap().dims, GRID.dims);
    for (a, b) in read.streamlines.positions().iter().zip(original.streamlines.positions()) {
        for axis in 0..3 {
            // Stored coordinates reach 120 mm: half an ulp is 4e-6, and the affine is f32 too.
            assert!((a[axis] - b[axis]).abs() < 3e-5, "{a:?} {b:?}");
        }
    }
}

#[test]
fn tck_keeps_points_and_remarks() {
    let folder = tempfile::tempdir().unwrap();
    let mut original = phantom();
    original.header.keyvals = vec![("step_size".into(), "0.5".into())];
    let read = written(&original, &folder.path().join("a.tck"));
    assert_eq!(read.streamlines.positions(), original.streamlines.positions());
    assert_eq!(read.streamlines.offsets(), original.streamlines.offsets());
    assert_eq!(read.header.keyvals, original.header.keyvals);
    assert_eq!(read.header.n_streamlines, Some(3));
    let losses = named("a.tck").losses(&original.header);
    assert_eq!(losses.len(), 3, "{losses:?}");
}

#[test]
fn a_point_that_is_none_is_not_written_to_tck() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Streamlines::default();
    lines.push(&[[1.0, f32::NAN, 0.0]]);
    let refused = Tractogram::new(Header::default(), lines)
        .write(folder.path().join("a.tck"), &WriteOptions::default());
    assert!(matches!(refused, Err(TractogramError::Unwritable { .. })));
}

#[test]
fn half_precision_is_kept_when_half_precision_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        WriteOptions { position_type: Some(Datatype::Float16), ..WriteOptions::default() };
    let (first, second) = (folder.path().join("a.trx"), folder.path().join("b.trx"));
    phantom().write(&first, &options).unwrap();
    let read = Tractogram::read(&first).unwrap();
    assert_eq!(read.header.position_type, Datatype::Float16);
    assert_eq!(written(&read, &second), read);
}

#[test]
fn double_precision_is_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        WriteOptions { position_type: Some(Datatype::Float64), ..WriteOptions::default() };
    for name in ["a.tck", "a.trx"] {
        let path = folder.path().join(name);
        phantom().write(&path, &options).unwrap();
        let read = Tractogram::read(&path).unwrap();
        assert_eq!(read.header.position_type, Datatype::Float64);
        assert_eq!(read.streamlines.positions(), phantom().streamlines.positions());
    }
    let refused = phantom().write(folder.path().join("a.trk"), &options);
    assert!(matches!(refused, Err(TractogramError::Unwritable { .. })));
}

#[test]
fn double_precision_becomes_a_tck_that_every_reader_knows() {
    let folder = tempfile::tempdir().unwrap();
    let wide = WriteOptions { position_type: Some(Datatype::Float64), ..WriteOptions::default() };
    let path = folder.path().join("a.trx");
    phantom().write(&path, &wide).unwrap();
    let read = Tractogram::read(&path).unwrap();
    assert_eq!(read.header.position_type, Datatype::Float64);
    let tck = written(&read, &folder.path().join("b.tck"));
    assert_eq!(tck.header.position_type, Datatype::Float32);
}

/// What a reader doubts of a file that it can read to its end.
pub(crate) fn doubts(path: &Path) -> Vec<String> {
    let mut reader = open(path).unwrap();
    let mut chunk = Streamlines::default();
    while reader.next_chunk(&mut chunk, 1).unwrap() {}
    reader.doubts()
}

#[test]
fn a_tck_cut_between_streamlines_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tck");
    phantom().write(&path, &WriteOptions::default()).unwrap();
    assert_eq!(doubts(&path), [""; 0]);
    let bytes = fs::read(&path).unwrap();
    // Without the last streamline (a point and its end) and the end of the file.
    fs::write(&path, &bytes[..bytes.len() - 36]).unwrap();
    let reader = open(&path).unwrap();
    assert!(reader.doubts()[0].contains("cut short"), "seen before it is read");
    let error = Tractogram::read(&path).unwrap_err().to_string();
    assert!(error.contains("streamline 2") && error.contains("counts 3"), "{error}");
}

#[test]
fn a_tck_whose_writer_was_stopped_is_read_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tck");
    phantom().write(&path, &WriteOptions::default()).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 12);
    let digits = bytes.windows(7).position(|w| w == b"count: ").unwrap() + 7;
    bytes[digits..digits + 20].fill(b'0');
    fs::write(&path, &bytes).unwrap();
    assert_eq!(Tractogram::read(&path).unwrap().streamlines.len(), 3);
    let said = doubts(&path);
    assert!(said[0].contains("cut short"), "{said:?}");
    assert!(said[1].contains("counts 0 streamlines, and 3 are there"), "{said:?}");
}

#[test]
fn tck_data_that_begin_past_the_end_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tck");
    fs::write(&path, "mrtrix tracks\ndatatype: Float32LE\ncount: 2\nfile: . 9999\nEND\n").unwrap();
    let error = open(&path).err().unwrap().to_string();
    assert!(error.contains("byte 9999") && error.contains("cut short"), "{error}");
}

#[test]
fn what_follows_the_streamlines_that_a_trk_counts_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trk");
    phantom().write(&path, &WriteOptions::default()).unwrap();
    assert_eq!(doubts(&path), [""; 0]);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([0; 40]);
    fs::write(&path, &bytes).unwrap();
    assert!(doubts(&path)[0].contains("40 bytes follow the 3 streamlines"));
}

#[cfg(unix)]
#[test]
fn a_pipe_inside_a_trx_folder_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let original = phantom();
    let options = WriteOptions::default();
    create(&path, Format::TRX_FOLDER, &original.header, &options).unwrap().finish().unwrap();
    let pipe = path.join("dps");
    fs::create_dir_all(&pipe).unwrap();
    let made = std::process::Command::new("mkfifo").arg(pipe.join("w.float32")).status();
    assert!(made.unwrap().success());
    let error = open(&path).err().unwrap().to_string();
    assert!(error.contains("w.float32") && error.contains("regular file"), "{error}");
}

#[test]
fn big_endian_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (little, big) = (folder.path().join("l.trk"), folder.path().join("b.trk"));
    let original = written(&phantom(), &little);
    let mut bytes = fs::read(&little).unwrap();
    // Every field of more than a byte, by its size.
    let swap =
        |bytes: &mut [u8], size: usize| bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    swap(&mut bytes[6..12], 2);
    swap(&mut bytes[12..36], 4);
    swap(&mut bytes[36..38], 2);
    swap(&mut bytes[238..240], 2);
    swap(&mut bytes[440..504], 4);
    swap(&mut bytes[956..980], 4);
    swap(&mut bytes[988..], 4);
    fs::write(&big, bytes).unwrap();
    assert_eq!(Tractogram::read(&big).unwrap(), original);

    let mut tck = b"mrtrix tracks\ndatatype: Float32BE\ncount: 1\nfile: . 64\nEND\n".to_vec();
    tck.resize(64, 0);
    for x in [1.0, 2.0, 3.0, f32::NAN, f32::NAN, f32::NAN] {
        tck.extend_from_slice(&x.to_be_bytes());
    }
    let path = folder.path().join("b.tck");
    fs::write(&path, tck).unwrap();
    let read = Tractogram::read(&path).unwrap();
    assert_eq!(read.streamlines.positions(), [[1.0, 2.0, 3.0]]);
}

#[test]
fn chunks_of_any_size_give_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.trx");
    phantom().write(&source, &WriteOptions::default()).unwrap();
    for (format, name) in
        [(Format::DEFAULT, "c.trx"), (named("a.trk"), "c.trk"), (named("a.tck"), "c.tck")]
    {
        let (one, many) = (folder.path().join("one"), folder.path().join(name));
        let mut reader = open(&source).unwrap();
        let header = reader.header().clone();
        let writer = create(&one, format, &header, &WriteOptions::default()).unwrap();
        let counts = copy(&mut *reader, writer, &Silent).unwrap();
        assert_eq!((counts.streamlines, counts.points), (3, 4));
        let mut reader = open(&source).unwrap();
        let mut writer = create(&many, format, &header, &WriteOptions::default()).unwrap();
        let mut chunk = Streamlines::default();
        while reader.next_chunk(&mut chunk, 1).unwrap() {
            assert!(chunk.len() <= 2);
            writer.write(&chunk).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(Tractogram::read(&one).unwrap(), Tractogram::read(&many).unwrap());
    }
}

#[test]
fn an_empty_tractogram_is_one_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let empty = Tractogram::new(Header::on(GRID), Streamlines::default());
    for name in ["e.tck", "e.trk", "e.trx"] {
        assert!(written(&empty, &folder.path().join(name)).streamlines.is_empty(), "{name}");
    }
}

#[test]
fn a_grid_is_asked_for_where_the_format_needs_one() {
    let folder = tempfile::tempdir().unwrap();
    let without = Tractogram::new(Header::default(), Streamlines::default());
    for name in ["e.trk", "e.trx"] {
        let refused = without.write(folder.path().join(name), &WriteOptions::default());
        assert!(matches!(refused, Err(TractogramError::NoGrid(_))), "{name}");
    }
    let options = WriteOptions { grid: Some(GRID), ..WriteOptions::default() };
    without.write(folder.path().join("e.trk"), &options).unwrap();
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut header = Header::on(GRID);
    header.per_streamline = vec![ColumnKind::new("../escape", Datatype::Float32)];
    let made =
        create(folder.path().join("a.trx"), Format::DEFAULT, &header, &WriteOptions::default());
    assert!(matches!(made, Err(TractogramError::Unwritable { .. })));
}

#[test]
fn counts_that_lie_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trk");
    phantom().write(&path, &WriteOptions::default()).unwrap();
    let good = fs::read(&path).unwrap();
    let with = |at: usize, value: i32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        Tractogram::read(&path)
    };
    // More streamlines than there are; a streamline of two thousand million points; of -1.
    assert!(matches!(with(988, 4), Err(TractogramError::Damaged { streamline: 3, .. })));
    assert!(matches!(with(1000, i32::MAX), Err(TractogramError::Damaged { streamline: 0, .. })));
    assert!(matches!(with(1000, -1), Err(TractogramError::Damaged { streamline: 0, .. })));
    // Not counted at all is fine.
    assert_eq!(with(988, 0).unwrap().streamlines.len(), 3);
}

#[test]
fn what_is_no_tractogram_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tck");
    fs::write(&path, "not a tractogram").unwrap();
    assert!(matches!(open(&path), Err(TractogramError::Unrecognised(_))));
    assert!(matches!(open(folder.path()), Err(TractogramError::Unrecognised(_))));
    assert!(matches!(open(folder.path().join("none")), Err(TractogramError::Io { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A byte changed or a file cut short: an error or a tractogram, never a panic.
    #[test]
    fn damaged_files_never_panic(
        which in 0usize..3, at in 0.0f64..1.0, value: u8, cut in proptest::option::of(0.0f64..1.0),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(["a.tck", "a.trk", "a.trx"][which]);
        phantom().write(&path, &WriteOptions::default()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = (at * bytes.len() as f64) as usize;
        bytes[at] = value;
        if let Some(cut) = cut {
            bytes.truncate((cut * bytes.len() as f64) as usize);
        }
        fs::write(&path, bytes).unwrap();
        if let Ok(read) = Tractogram::read(&path) {
            prop_assert_eq!(read.streamlines.iter().map(<[_]>::len).sum::<usize>(),
                read.streamlines.n_points());
        }
    }
}
