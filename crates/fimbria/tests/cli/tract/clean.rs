//! `fimbria tract clean`.

use std::fs;

use fimbria_streamlines::{
    Column, Group, Header, Streamlines, Tractogram, WriteOptions as LineOptions,
};
use fimbria_testing::Noise;

use super::{grid, read};
use crate::util::Folder;

/// 200 lines along x whose places vary by a millimetre, as no line strays by more than three, and planted ones: 60, which
/// leaves the others halfway, and 130, which goes on beyond their ends.
fn with_outliers() -> Folder {
    let folder = Folder::new();
    let mut draws = Noise(3);
    let mut lines = Streamlines::default();
    let mut number = Vec::new();
    let mut within = || loop {
        let x = draws.normal();
        if x.abs() < 1.5 {
            break x as f32;
        }
    };
    for i in 0..202u32 {
        let off = [within(), within(), within()];
        let mut line: Vec<[f32; 3]> =
            (0..=80).map(|k| [k as f32 * 0.5 + off[0], off[1], off[2]]).collect();
        match i {
            60 => line[20..60].iter_mut().for_each(|point| point[2] += 15.0),
            130 => line.extend((0..40).map(|k| [39.5 - k as f32, off[1], off[2] + 0.01])),
            _ if i % 2 == 0 => line.reverse(),
            _ => {}
        }
        lines.push(&line);
        number.push(i);
    }
    lines.add_per_streamline(Column::from_u32("number", &number));
    let mut tractogram = Tractogram::new(Header::on(grid()), lines);
    tractogram.header.groups =
        vec![Group { name: "late".into(), members: (100..202).collect(), data: Vec::new() }];
    tractogram.write(folder.join("bundle.trx"), &LineOptions::default()).unwrap();
    folder
}

#[test]
fn planted_outliers_are_taken_out_and_nothing_else() {
    let folder = with_outliers();
    folder.done("tract clean bundle.trx -o clean.trx");
    let clean = read(&folder, "clean.trx");
    let numbers: Vec<f64> = clean.streamlines.per_streamline()[0].values().collect();
    let expected: Vec<f64> = (0..202).filter(|i| ![60, 130].contains(i)).map(f64::from).collect();
    assert_eq!(numbers, expected);
    assert_eq!(clean.header.groups[0].members, (99..200).collect::<Vec<u32>>());
    let counts = &folder.json("clean.trx.run.json")["stages"][0]["counts"];
    assert_eq!((&counts["read"], &counts["streamlines"]), (&202.into(), &200.into()));
    let taken =
        counts["too far from the core"].as_u64().unwrap() + counts["too long"].as_u64().unwrap();
    assert_eq!(taken, 2, "{counts}");
    // Nothing more is taken out of what is clean.
    folder.done("tract clean clean.trx -o again.trx");
    assert_eq!(read(&folder, "again.trx").streamlines, clean.streamlines);
    assert_eq!(folder.json("again.trx.run.json")["stages"][0]["counts"]["rounds"], 0);
}

#[test]
fn limits_and_threads_and_weights() {
    let folder = with_outliers();
    folder.done("tract clean bundle.trx --distance 1000 --length 4 -o long.trx");
    assert_eq!(read(&folder, "long.trx").streamlines.len(), 200 + 1 - long_of_60(&folder));
    for threads in [1, 2] {
        folder.done(&format!("tract clean bundle.trx --threads {threads} -o t{threads}.tck -q"));
    }
    let of = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(of("t1.tck") == of("t2.tck"));
    fs::write(folder.join("w.txt"), "2\n".repeat(202)).unwrap();
    folder.done("tract clean bundle.trx --weights w.txt -o w.tck -q");
    assert!(of("w.tck") == of("t1.tck"), "equal weights change nothing");
    assert_eq!(fs::read_to_string(folder.join("w.tck.weights.txt")).unwrap().lines().count(), 200);
}

/// Line 60 leaps by 15 mm twice, so that it is long too.
fn long_of_60(folder: &Folder) -> usize {
    let numbers = read(folder, "long.trx").streamlines.per_streamline()[0].clone();
    usize::from(!numbers.values().any(|number| number == 60.0))
}

#[test]
fn a_small_bundle_loses_nothing_and_an_empty_one_is_an_error() {
    let folder = with_outliers();
    folder.done("tract edit bundle.trx --number 20 -o few.trx");
    folder.done("tract clean few.trx -o clean.trx --length 100");
    assert_eq!(read(&folder, "clean.trx").streamlines.len(), 20);
    Tractogram::default().write(folder.join("none.tck"), &LineOptions::default()).unwrap();
    let error = folder.failed("tract clean none.tck -o out.tck");
    assert!(error.contains("there is nothing to measure"), "{error}");
    assert!(!folder.join("out.tck").exists());
}
