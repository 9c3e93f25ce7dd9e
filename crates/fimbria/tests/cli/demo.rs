//! `fimbria demo` and `fimbria report`.

use std::fs;

use crate::util::Folder;

#[test]
fn the_demo_prints_how_close_it_came_and_writes_a_page() {
    let folder = Folder::new();
    let ran = folder.done("demo -q --voxel 7");
    let row = |name: &str| -> Vec<f64> {
        let line = ran.stdout.lines().find(|line| line.starts_with(name)).expect(name);
        let words = line[name.len()..].split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    // At SNR 30 and 96 volumes noise alone leaves about 0.7°, 0.006 and 1.2 %; twice that is far
    // below any mistake.
    let [voxels, angle] = row("V1, fibres")[..2] else { panic!("{}", ran.stdout) };
    assert!(voxels > 1000.0 && angle < 1.5, "{}", ran.stdout);
    assert!(row("FA, fibres")[1] < 0.012 && row("MD, fibres")[1] < 2.5, "{}", ran.stdout);
    // Sticks split in two where one fibre has a width; their means stay near it.
    assert!(row("sticks, 1 fibre")[1] < 2.0, "{}", ran.stdout);
    // In these voxels a step is a quarter of 7 mm, and bundles are four voxels wide.
    let [lines, astray] = row("streamlines, astray")[..2] else { panic!("{}", ran.stdout) };
    assert!(lines > 1000.0 && astray < 10.0, "{}", ran.stdout);
    assert!(ran.stdout.contains("fimbria-demo/report/report.html"), "{}", ran.stdout);

    let page = fs::read_to_string(folder.join("fimbria-demo/report/report.html")).unwrap();
    for part in [
        "Fractional anisotropy",
        "How close to the truth",
        "Principal direction",
        "Streamlines over FA",
        "Weights of streamlines",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    let source = page.split("src=\"").nth(1).map(|s| &s[..4]);
    assert!(source.is_none_or(|start| start == "data"), "the page needs another file");

    folder.done("report fimbria-demo -o again.html --title again");
    let again = fs::read_to_string(folder.join("again.html")).unwrap();
    assert!(again.contains("<title>again") && again.contains("How close to the truth"));
    assert!(again.contains("Ball and sticks") && again.contains("Tract density"));
    assert!(again.contains("Streamlines with weight"));
    assert!(folder.join("again.html.run.json").exists());
}

#[test]
fn a_page_of_an_unfinished_folder_is_refused() {
    let folder = Folder::with_subject();
    fs::create_dir(folder.join("half")).unwrap();
    let error = folder.failed("report half -o page.html");
    assert!(error.contains("half holds no finished run"), "{error}");
    assert!(!folder.join("page.html").exists());
}

#[test]
fn a_page_of_something_without_one_is_refused() {
    let folder = Folder::new();
    folder.done("phantom crossing --size 8,8,8 --voxel 18 --shells 1000:6 -o p");
    let error = folder.failed("report p -o page.html");
    assert!(error.contains("`phantom`"), "{error}");
}

#[test]
fn a_page_is_drawn_from_maps_in_the_layout_of_fsl() {
    use crate::util::FIT;
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o fsl --layout fsl"));
    folder.done(&format!("{FIT} -o plain"));
    folder.done("report fsl -o fsl.html --title t");
    folder.done("report plain -o plain.html --title t");
    // The pictures, up to where the record of the run follows.
    let pictures = |name: &str| -> String {
        let page = fs::read_to_string(folder.join(name)).unwrap();
        page.split("Quality of the fit").take(2).collect()
    };
    assert!(pictures("fsl.html") == pictures("plain.html"), "the frame was not undone");
}
