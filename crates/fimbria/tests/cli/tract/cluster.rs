//! `fimbria tract cluster`.

use std::fs;

use super::{numbers, read, with_tracts};

#[test]
fn clusters_have_their_streamlines_and_large_ones_are_kept() {
    let folder = with_tracts(300);
    folder.done("tract cluster a.trx --threshold 20 --min-size 4 -o out");
    folder.done("tract cluster a.tck --threshold 20 --threads 1 -o one -q");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(text("out/clusters.txt"), text("one/clusters.txt"));
    assert_eq!(text("out/clusters.tsv"), text("one/clusters.tsv"));
    let of_line: Vec<usize> =
        text("out/clusters.txt").lines().map(|line| line.parse().unwrap()).collect();
    let sizes: Vec<usize> = text("out/clusters.tsv")
        .lines()
        .skip(1)
        .map(|line| line.split('\t').nth(1).unwrap().parse().unwrap())
        .collect();
    let counted = |number: usize| of_line.iter().filter(|of| **of == number).count();
    assert_eq!(sizes, (1..=sizes.len()).map(counted).collect::<Vec<_>>());
    let centroids = read(&folder, "out/centroids.trx");
    let column = centroids.streamlines.streamline_column("streamlines").unwrap();
    assert_eq!(column.values().map(|x| x as usize).collect::<Vec<_>>(), sizes);
    assert!(centroids.streamlines.iter().all(|centroid| centroid.len() == 12));
    let (all, kept) = (read(&folder, "a.trx"), read(&folder, "out/kept.trx"));
    let expected: Vec<usize> = (0..300).filter(|i| sizes[of_line[*i] - 1] >= 4).collect();
    assert_eq!(numbers(&all, &kept), expected);
    assert!((10..290).contains(&expected.len()), "{}", expected.len());
    assert_eq!(kept.header.groups.len(), 2);
    assert!(!folder.join("one/kept.tck").exists());
}
