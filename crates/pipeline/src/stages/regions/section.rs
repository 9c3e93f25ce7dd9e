//! What a page shows of maps over regions.

use std::collections::{BTreeMap, HashMap};

use fimbria_image::counted;
use fimbria_report::{Section, Table};

use super::RegionTable;

/// The means, a row for each region that has some.
pub(super) fn section(table: &RegionTable) -> Section {
    /// Columns that a page has room for; rows that are seen before the rest is opened, and rows in all.
    const COLUMNS: usize = 6;
    const SEEN: usize = 50;
    const MOST: usize = 400;
    let cells: Vec<Vec<&str>> =
        table.0.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let mut maps: Vec<&str> = Vec::new();
    let mut regions: BTreeMap<u64, (&str, HashMap<&str, String>)> = BTreeMap::new();
    for cells in &cells {
        let [index, name, map, _, _, _, mean, sd, ..] = cells[..] else { continue };
        if !maps.contains(&map) {
            maps.push(map);
        }
        let (_, means) =
            regions.entry(index.parse().unwrap_or(0)).or_insert((name, HashMap::new()));
        means.insert(map, mean_and_sd(mean, sd));
    }
    let shown = first_of_each_stage(&maps, COLUMNS);
    let row = |(index, (name, means)): (&u64, &(&str, HashMap<&str, String>))| {
        let index = index.to_string();
        let title = if *name == index { index } else { format!("{index} {name}") };
        let of_map = |map: &&str| means.get(map).cloned().unwrap_or_default();
        std::iter::once(title).chain(shown.iter().map(of_map)).collect::<Vec<String>>()
    };
    let has_mean = |row: &Vec<String>| row[1..].iter().any(|cell| !cell.is_empty());
    let mut rows: Vec<_> = regions.iter().map(row).filter(has_mean).take(MOST).collect();
    let rest = rows.split_off(SEEN.min(rows.len()));
    let all = format!(
        "{} and {}; medians, percentiles, volumes and what is not shown here are in regions/regions.tsv.",
        counted(regions.len(), "region"),
        counted(maps.len(), "map")
    );
    let columns: Vec<String> = std::iter::once("region").chain(shown).map(str::to_owned).collect();
    let caption = "Mean ± standard deviation over the voxels of each region that have a value.";
    let table = |rows| Table { caption: caption.to_owned(), columns: columns.clone(), rows };
    let section = Section::new("Regions").text(all).table(table(rows));
    if rest.is_empty() { section } else { section.fold().table(table(rest)) }
}

/// At most so many maps, in their order: the first of each stage, then the second of each, and on.
fn first_of_each_stage<'a>(maps: &[&'a str], most: usize) -> Vec<&'a str> {
    let stage =
        |map: &str| map.split_once('/').map_or(String::new(), |(stage, _)| stage.to_owned());
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    for (i, map) in maps.iter().enumerate() {
        let count = counts.entry(stage(map)).or_default();
        ranked.push((*count, i));
        *count += 1;
    }
    ranked.sort_unstable();
    let mut chosen: Vec<usize> = ranked.into_iter().take(most).map(|(_, i)| i).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|i| maps[i]).collect()
}

/// With three digits; empty where there is no mean.
fn mean_and_sd(mean: &str, sd: &str) -> String {
    let number = |text: &str| {
        let x = text.parse::<f64>().ok()?;
        let is_small = x != 0.0 && !(1e-2..1e4).contains(&x.abs());
        Some(if is_small { format!("{x:.2e}") } else { format!("{x:.3}") })
    };
    match (number(mean), number(sd)) {
        (Some(mean), Some(sd)) => format!("{mean} ± {sd}"),
        (Some(mean), None) => mean,
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map of susceptibility after eleven of a tensor, and R2* before it, are among the columns.
    #[test]
    fn columns_are_of_every_stage_and_rows_have_means() {
        let tensor = ["FA", "MD", "AD", "RD", "L1", "L2"].map(|map| format!("dti/{map}"));
        let others = ["field/r2star", "field/local_field", "qsm/chi", "qsm/chi_tv"];
        let maps: Vec<&str> = tensor.iter().map(String::as_str).chain(others).collect();
        let shown = first_of_each_stage(&maps, 6);
        let expected =
            ["dti/FA", "dti/MD", "field/r2star", "field/local_field", "qsm/chi", "qsm/chi_tv"];
        assert_eq!(shown, expected);
        let mut text = "index\tname\tmap\tvoxels\tvolume_ml\tn\tmean\tsd\tmedian\n".to_owned();
        for region in 0..70 {
            for map in &maps {
                let mean = if region == 3 { "n/a".to_owned() } else { format!("{region}.25") };
                text += &format!("{region}\tR{region}\t{map}\t5\t1.0\t5\t{mean}\t0.5\t0.1\n");
            }
        }
        let page = fimbria_report::Page::new("x").section(section(&RegionTable(text))).to_html();
        assert!(page.contains("qsm/chi_tv") && !page.contains("dti/L1"));
        assert!(page.contains("4 R4") && page.contains("69 R69") && !page.contains("3 R3<"));
        assert_eq!(page.matches("<table").count(), 2);
    }
}
