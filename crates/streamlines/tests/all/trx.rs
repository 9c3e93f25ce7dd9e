//! What a TRX may hold, and what contradicts itself.

use std::fs;
use std::path::Path;

use fimbria_image::Datatype;
use fimbria_streamlines::{
    Column, ColumnKind, Format, Tractogram, TractogramError, WriteOptions, create,
};

use crate::formats::{doubts, phantom};

/// A TRX folder of the phantom.
fn write_folder(root: &Path, tractogram: &Tractogram) {
    let options = WriteOptions::default();
    let mut writer = create(root, Format::TRX_FOLDER, &tractogram.header, &options).unwrap();
    writer.write(&tractogram.streamlines).unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_trx_whose_arrays_contradict_its_header_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("t");
    let original = phantom();
    let make = || {
        let _ = fs::remove_dir_all(&root);
        write_folder(&root, &original);
    };
    let header_with = |from: &str, to: &str| {
        make();
        let text = fs::read_to_string(root.join("header.json")).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(root.join("header.json"), text.replace(from, to)).unwrap();
        Tractogram::read(&root)
    };
    let huge = header_with("\"NB_VERTICES\": 4", "\"NB_VERTICES\": 9000000000000000000");
    assert!(matches!(huge, Err(TractogramError::Header { .. })), "{huge:?}");
    let more = header_with("\"NB_STREAMLINES\": 3", "\"NB_STREAMLINES\": 5");
    assert!(matches!(more, Err(TractogramError::Header { .. })), "{more:?}");
    make();
    let offsets: Vec<u8> = [0u64, 3, 2, 4].iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(root.join("offsets.uint64"), offsets).unwrap();
    let descending = Tractogram::read(&root);
    assert!(matches!(descending, Err(TractogramError::Damaged { streamline: 1, .. })));
    for (file, bytes) in [
        ("groups/left.uint32", &3u32.to_le_bytes()[..]),
        ("groups/part.uint32", &[0, 0, 0, 0, 1]),
        ("groups/half.float32", &0.5f32.to_le_bytes()),
        ("dpg/left/mean.float32", &[0; 7]),
        ("dpg/left/empty.float32", &[]),
        ("dpg/left/colour.3.uint8", &[0; 6]),
    ] {
        make();
        fs::write(root.join(file), bytes).unwrap();
        match Tractogram::read(&root) {
            Err(TractogramError::Header { reason, .. }) => {
                assert!(reason.contains(file), "{reason}")
            }
            other => panic!("{file}: {other:?}"),
        }
    }
}

#[test]
fn entries_that_are_no_part_of_a_trx_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("t");
    let original = phantom();
    write_folder(&root, &original);
    assert_eq!(doubts(&root), [""; 0]);
    let entries = [
        "dpg/nobody/mean.float32",
        "dps/fa.txt",
        "positions.3.float64",
        "references/t1.uint8",
        "dpg/left/more/deep.uint8",
        "notes",
    ];
    for entry in entries.iter().chain(&[".DS_Store", "dps/._fa.float32"]) {
        fs::create_dir_all(root.join(entry).parent().unwrap()).unwrap();
        fs::write(root.join(entry), [0; 4]).unwrap();
    }
    assert_eq!(Tractogram::read(&root).unwrap(), original);
    let [doubt] = &doubts(&root)[..] else { panic!("one sentence") };
    assert!(doubt.contains("no part of a TRX") && doubt.ends_with("and 1 more"), "{doubt}");
    let named = entries.iter().filter(|entry| doubt.contains(**entry)).count();
    assert_eq!(named, 5, "{doubt}");
}

#[test]
fn data_of_a_group_are_one_row_whatever_its_name_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("t");
    let mut original = phantom();
    write_folder(&root, &original);
    let group = original.header.groups[0].name.clone();
    fs::create_dir_all(root.join(format!("dpg/{group}"))).unwrap();
    fs::write(root.join(format!("dpg/{group}/zz.uint8")), [7, 8, 9]).unwrap();
    let kind = ColumnKind { width: 3, ..ColumnKind::new("zz", Datatype::UInt8) };
    original.header.groups[0].data.push(Column::from_bytes(kind, vec![7, 8, 9]));
    assert_eq!(Tractogram::read(&root).unwrap(), original);
}

#[test]
fn offsets_without_their_last_end_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("t");
    let original = phantom();
    write_folder(&root, &original);
    fs::remove_file(root.join("offsets.uint64")).unwrap();
    let offsets: Vec<u8> = [0u32, 3, 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(root.join("offsets.uint32"), offsets).unwrap();
    assert_eq!(Tractogram::read(&root).unwrap(), original);
}
