//! `fimbria demo` and `fimbria report`.

use std::fs;

use crate::util::Folder;

#[test]
fn the_demo_prints_how_close_it_came_and_writes_a_page() {
    let folder = Folder::new();
    let ran = folder.done("demo -q --voxel 8");
    let row = |name: &str| -> Vec<f64> {
        let line = ran.stdout.lines().find(|line| line.starts_with(name)).expect(name);
        let words = line[name.len()..].split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    // Twice what voxels of 8 mm and SNR 30 leave, which is far below any mistake of frame or unit: then
    // directions are 45° off and more, and MD by its whole.
    let [voxels, angle] = row("V1, one fibre")[..2] else { panic!("{}", ran.stdout) };
    assert!(voxels > 50.0 && angle < 8.0, "{}", ran.stdout);
    assert!(
        row("FA, white matter")[1] < 0.08 && row("MD, white matter")[1] < 20.0,
        "{}",
        ran.stdout
    );
    assert!(row("MK, white matter")[1] < 0.5, "{}", ran.stdout);
    assert!(row("peaks, 1 fibre")[1] < 8.0 && row("sticks, 1 fibre")[1] < 8.0, "{}", ran.stdout);
    let [lines, astray] = row("streamlines, astray")[..2] else { panic!("{}", ran.stdout) };
    assert!(lines > 500.0 && astray < 40.0, "{}", ran.stdout);
    // Nuclei are 60 to 150 ppb above their surroundings.
    assert!(row("susceptibility, nuclei")[1] < 60.0, "{}", ran.stdout);
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
