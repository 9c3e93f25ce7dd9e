//! `fimbria tract sample`.

use std::fs;

use super::{read, with_tracts};
use crate::util::Folder;

fn words(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn values_are_data_of_a_trx_and_columns_of_a_table() {
    let folder = with_tracts(60);
    let line = "tract sample a.trx --map a.nii fine.nii";
    let warned = folder.done(&format!("{line} -o values.trx")).stderr;
    assert!(warned.contains("without a value of a map"), "{warned}");
    folder.done(&format!("{line} --threads 1 -o values.tsv -q"));
    let (made, all) = (read(&folder, "values.trx"), read(&folder, "a.trx"));
    assert_eq!(made.streamlines.positions(), all.streamlines.positions());
    assert_eq!(made.header.groups, all.header.groups);
    let rows = words(&folder, "values.tsv");
    assert_eq!(rows[0], ["a", "fine"]);
    for (column, name) in ["a", "fine"].into_iter().enumerate() {
        let data = made.streamlines.streamline_column(name).unwrap();
        for (value, row) in data.values().zip(&rows[1..]) {
            match &row[column][..] {
                "n/a" => assert!(value.is_nan()),
                number => assert_eq!(number.parse::<f32>().unwrap(), value as f32),
            }
        }
    }
    let number = |row: &Vec<String>| row[1].parse::<f32>().is_ok_and(|value| value > 0.0);
    assert!(rows.iter().any(|row| row[1] == "n/a") && rows.iter().any(number));
}

#[test]
fn ends_are_two_numbers_and_points_have_one_each() {
    let folder = with_tracts(20);
    folder.done("tract sample a.trx --map a.nii --along ends --look-up nearest -o ends.trx -q");
    folder.done("tract sample a.trx --map a.nii --along points --look-up nearest -o points.trx -q");
    folder.done("tract sample a.trx --map a.nii --along points --look-up nearest -o points.txt -q");
    let (ends, points) = (read(&folder, "ends.trx"), read(&folder, "points.trx"));
    let ends: Vec<f64> = ends.streamlines.streamline_column("a").unwrap().values().collect();
    let column = points.streamlines.per_point().iter().find(|c| c.kind.name == "a").unwrap();
    let values: Vec<f64> = column.values().collect();
    let rows = words(&folder, "points.txt");
    for (i, pair) in points.streamlines.offsets().windows(2).enumerate() {
        let of_line = &values[pair[0] as usize..pair[1] as usize];
        // What is no number is equal to nothing.
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&ends[2 * i..2 * i + 2]), bits(&[of_line[0], of_line[of_line.len() - 1]]));
        let text: Vec<f64> = rows[i].iter().map(|word| word.parse().unwrap()).collect();
        assert_eq!(bits(&text), bits(of_line));
    }
    assert!(values.contains(&0.0) && values.contains(&1.0));
}

#[test]
fn what_has_no_place_for_values_is_refused() {
    let folder = with_tracts(3);
    for (line, why) in [
        ("a.trx --map a.nii -o x.tck", "TCK has no place for values"),
        ("a.trx --map a.nii --along points -o x.tsv", "no place for values of points"),
        ("a.trx --map a.nii b.nii --along points -o x.txt", "values of points of several maps"),
        ("a.trx --map a.nii a.nii -o x.txt", "two maps are named a"),
    ] {
        let error = folder.failed(&format!("tract sample {line}"));
        assert!(error.contains(why), "{error}");
    }
    fs::copy(folder.join("a.nii"), folder.join("weight.nii")).unwrap();
    let error = folder.failed("tract sample a.trx --map weight.nii -o x.trx");
    assert!(error.contains("the tractogram has data named weight already"), "{error}");
}
