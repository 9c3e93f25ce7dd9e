//! Pages of finished folders.

use std::fs;

use fimbria_image::{Image, WriteOptions, write_image};

use crate::info::with_rings;
use crate::util::{FIT, Folder};

fn page(folder: &Folder, of: &str) -> String {
    folder.done(&format!("report {of} -o {of}.html"));
    fs::read_to_string(folder.join(&format!("{of}.html"))).unwrap()
}

/// Every figure that has a heading.
fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "no `{part}` on the page");
    }
}

#[test]
fn tracks_life_and_connectomes_have_a_page() {
    let folder = with_rings();
    folder.done("fit dti turned.nii -m mask.nii -o dti");
    let seeds: Image = folder.image("dti/FA.nii.gz");
    let fibres = seeds.data.iter().map(|fa| f32::from(u8::from(*fa > 0.3))).collect();
    let seeds = Image { data: fibres, ..seeds };
    write_image(folder.join("seeds.nii"), &seeds, &WriteOptions::default()).unwrap();
    let labels = Image {
        data: (0..seeds.grid.len())
            .map(|v| if seeds.grid.voxel(v)[0] < 12 { 1.0 } else { 2.0 })
            .collect(),
        ..seeds
    };
    write_image(folder.join("labels.nii"), &labels, &WriteOptions::default()).unwrap();
    folder.done("track dti/V1.nii.gz --seeds seeds.nii -n 1 -o tracks");
    has(
        &page(&folder, "tracks"),
        &[
            "Streamlines over visits",
            ">Lengths<",
            "Why they ended",
            "Explore in 3-D",
            "class=\"scene-part\"",
            "data-kind=\"regions\" data-name=\"Seeds: seeds\"",
            "class=\"rating\"",
        ],
    );
    folder.done("connectome tracks/tracks.trx labels.nii -o network");
    has(
        &page(&folder, "network"),
        &[
            "Matrix: weights.csv",
            "Matrix: lengths.csv",
            "data-kind=\"regions\" data-name=\"Labels: labels\"",
            "data-name=\"Streamlines given",
        ],
    );
    folder.done("life tracks/tracks.trx --dwi turned.nii -m mask.nii --tolerance 0.01 -o life");
    has(
        &page(&folder, "life"),
        &[
            "Weights: weights.txt",
            "Errors without and with streamlines",
            "Errors before and after",
            ">rmse<",
            ">rmse_s0_without<",
            "Streamlines: pruned.trx",
            "data-colours=\"weight\"",
        ],
    );
    folder.done("fit hot turned.nii --order 4 -m mask.nii -o hot");
    folder.done("peaks hot/hot.nii.gz --mask mask.nii -o peaks");
    has(
        &page(&folder, "peaks"),
        &[
            "data-kind=\"lines\" data-name=\"Fibre directions",
            "Fibre directions over the largest value",
            "Fibre directions per voxel",
        ],
    );
    has(&page(&folder, "hot"), &["Maxima of hot over the largest", "data-name=\"Maxima of hot"]);
    folder.done("sticks turned.nii -m mask.nii --burn-in 10 --jumps 20 --sample-every 2 -o st");
    has(
        &page(&folder, "st"),
        &[
            "Mean directions of the samples over",
            "Uncertainty of the first direction",
            ">status<",
            "Not drawn in slices: merged_",
        ],
    );
}

#[test]
fn a_run_shows_connectome_lengths_ends_and_every_fit() {
    let folder = with_rings();
    let labels = folder.image("mask.nii");
    let halves = |v: usize| if labels.grid.voxel(v)[0] < 12 { 1.0 } else { 2.0 };
    let inside = (0..labels.grid.len()).map(|v| if labels.data[v] > 0.0 { halves(v) } else { 0.0 });
    let labels = Image { data: inside.collect(), ..labels };
    write_image(folder.join("labels.nii"), &labels, &WriteOptions::default()).unwrap();
    folder.done(
        "run turned.nii -m mask.nii --set run.fits=[\"peaks\",\"track\",\"life\",\"mono\"] \
         --set fod.order=4 --set connectome.labels=labels.nii --set life.tolerance=0.01 -o out",
    );
    folder.done("report out -o again.html");
    let figures = [
        "<h2>Connectome</h2>",
        ">weights.csv<",
        ">Lengths<",
        "Why they ended",
        "Errors before and after",
        "Error over S0, without streamlines",
        "data-kind=\"regions\" data-name=\"Mask\"",
        "data-kind=\"regions\" data-name=\"Labels of the connectome\"",
        "data-kind=\"map\" data-name=\"Diffusivity\" data-unit=\"mm²/s\"",
        "class=\"verdict-limit\"",
    ];
    for page in ["out/report/report.html", "again.html"] {
        let html = fs::read_to_string(folder.join(page)).unwrap();
        has(&html, &figures);
        // Pairs are known while it runs alone.
        let coloured = html.contains("data-colours=\"weight,pair of labels\"");
        assert_eq!(coloured, page != "again.html", "{page}");
        assert!(html.len() < 25_000_000, "{page}: {}", html.len());
    }
}

#[test]
fn susceptibility_has_map_field_residual_and_convergence_on_its_page() {
    let folder = Folder::new();
    folder.done("phantom gre --size 20,20,20 --voxel 7 -o p");
    folder.done("field p/phase.nii.gz --mask p/mask.nii.gz -o field");
    let html = page(&folder, "field");
    has(&html, &["local_field", "Explore in 3-D", "The total field less the local field"]);
    folder.done("qsm field/local_field.nii.gz --mask field/mask.nii.gz -o map");
    has(
        &page(&folder, "map"),
        &[
            ">chi<",
            ">residual<",
            ">field given<",
            "<h2>Convergence</h2>",
            ">Edges of the map<",
            "ppm",
        ],
    );
    // Guided, it is seen beside the map without guidance, and what guidance adds.
    let guide = "--v1 p/truth/fibre.nii.gz";
    folder
        .done(&format!("qsm field/local_field.nii.gz --mask field/mask.nii.gz {guide} -o guided"));
    has(&page(&folder, "guided"), &[">chi<", ">chi_tv<", ">guided less unguided<"]);
}

#[test]
fn maps_of_fits_have_their_words_and_those_by_direction_are_drawn() {
    let folder = Folder::new();
    folder.done("phantom protocol --size 12,12,4 --voxel 5,5,4 --snr 100 -o p");
    folder.done("fit dki1d p/dwi.nii.gz --mask p/mask.nii.gz --eta fixed:0 -o d --device cpu");
    let html = page(&folder, "d");
    has(
        &html,
        &["MK: Mean kurtosis by direction", "mm²/s", "The mean of the kurtosis of each direction"],
    );
    assert!(html.contains("D, mean of ") && html.contains("K, mean of "), "by direction");
    // What became of voxels comes first.
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place(">status<") < place(">residual<"));
}

#[test]
fn fits_that_are_no_tensors_and_comparisons_have_a_page() {
    let folder = Folder::with_subject();
    folder.done(&format!("{} -o mono", FIT.replace("fit dti", "fit mono")));
    has(&page(&folder, "mono"), &[">D: Diffusivity<", ">residual<", "mm²/s"]);
    folder.done(&format!("{FIT} -o dti"));
    let s0 = "dti/S0.nii.gz dti/S0.nii.gz";
    let ran = folder.done(&format!("compare {s0} -o compared -- {s0}"));
    assert!(ran.stdout.contains("cannot be told: 3 ways"), "{}", ran.stdout);
    has(&page(&folder, "compared"), &["verdict", "cannot be told"]);
}

#[test]
fn names_and_titles_are_no_markup() {
    const EVIL: &str = "<img src=x onerror=alert(1)>";
    let folder = with_rings();
    let name = format!("{EVIL}.nii");
    let options = WriteOptions { description: EVIL.to_owned(), ..WriteOptions::default() };
    write_image(folder.join(&name), &folder.image("turned.nii"), &options).unwrap();
    for (from, to) in [("turned.bval", ".bval"), ("turned.bvec", ".bvec")] {
        fs::copy(folder.join(from), folder.join(&format!("{EVIL}{to}"))).unwrap();
    }
    let toml = format!(
        "[input]\ndwi = \"{name}\"\nmask = \"mask.nii\"\n[run]\nfits = [\"dti\"]\n[report]\ntitle = \"{EVIL}</script>\"\n\
         [expr]\nmodel = \"S0*exp(-b*D)\"\nparam = [\"S0=1000,0,-\", \"D=1,0,4\"]\n"
    );
    fs::write(folder.join("run.toml"), toml).unwrap();
    folder.done("run --config run.toml -o out");
    for page in ["out/report/report.html", "again.html"] {
        if page == "again.html" {
            folder.done("report out -o again.html");
        }
        let html = fs::read_to_string(folder.join(page)).unwrap();
        assert!(!html.contains("<img"), "{page}");
        // A finished folder does not know the title, nor need it name the series.
        let names_it = html.contains("&lt;img src=x onerror=alert(1)&gt;");
        assert!(names_it || page == "again.html", "{page}");
        // Its own scripts end where they end.
        assert_eq!(html.matches("<script").count(), html.matches("</script>").count(), "{page}");
    }
}
