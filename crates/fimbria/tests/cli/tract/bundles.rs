//! `fimbria tract bundles`.

use std::fs;

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use super::{grid, numbers, read, voxels, with_tracts};
use crate::util::Folder;

const BUNDLES: &str = "
    [ab]
    include = ['a.nii', 'b.nii']
    [long]
    min_length = 40
    exclude = ['labels.nii:1']
    [between]
    ends_in = ['labels.nii:Left', 'labels.nii:2']
    [ball]
    include = '10,5,0,12'
    ends_only = true
    [nothing]
    include = ['900,0,0,1']
";

fn table(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn each_bundle_is_what_edit_keeps_and_has_a_row() {
    let folder = with_tracts(200);
    fs::create_dir(folder.join("atlas")).unwrap();
    for name in ["a.nii", "b.nii", "labels.nii"] {
        fs::copy(folder.join(name), folder.join(&format!("atlas/{name}"))).unwrap();
    }
    fs::write(folder.join("atlas/all.toml"), BUNDLES).unwrap();
    let ran = folder.done("tract bundles a.trx --bundles atlas/all.toml --lut lut.txt -o out");
    assert!(ran.stderr.contains("no streamline is of these bundles: nothing"), "{}", ran.stderr);
    let all = read(&folder, "a.trx");
    for (name, options) in [
        ("ab", "--include a.nii --include b.nii"),
        ("long", "--min-length 40 --exclude labels.nii:1"),
        ("between", "--ends-in labels.nii:1 --ends-in labels.nii:2"),
        ("ball", "--include 10,5,0,12 --ends-only"),
        ("nothing", "--include 900,0,0,1"),
    ] {
        folder.done(&format!("tract edit a.trx {options} -o one.trx --force -q"));
        let (bundle, one) = (read(&folder, &format!("out/{name}.trx")), read(&folder, "one.trx"));
        assert_eq!(bundle.streamlines, one.streamlines, "{name}");
        assert_eq!(bundle.header.groups, one.header.groups, "{name}");
        assert!(name == "nothing" || numbers(&all, &one).len() > 3, "{name}");
    }
    let rows = table(&folder, "out/bundles.tsv");
    assert_eq!(rows[0], ["bundle", "streamlines", "weight", "mean_length_mm", "volume_mm3"]);
    let row = rows.iter().find(|row| row[0] == "ab").unwrap();
    let ab = read(&folder, "out/ab.trx");
    assert_eq!(row[1], ab.streamlines.len().to_string());
    let lengths: f64 = ab.streamlines.iter().map(fimbria_streamlines::arc_length_mm).sum();
    let mean: f64 = row[3].parse().unwrap();
    assert!((mean - lengths / ab.streamlines.len() as f64).abs() < 1e-3, "{mean}");
    let nothing = rows.iter().find(|row| row[0] == "nothing").unwrap();
    assert_eq!(nothing[1..], ["0", "0", "n/a", "0.000"]);
    // A folder of bundles has a page.
    folder.done("report out -o out.html");
    let page = fs::read_to_string(folder.join("out.html")).unwrap();
    assert!(page.contains("bundles.tsv") && page.contains("between"));
}

#[test]
fn threads_do_not_change_a_byte_and_formats_are_those_asked_for() {
    let folder = with_tracts(120);
    fs::write(folder.join("all.toml"), BUNDLES).unwrap();
    let line = "tract bundles a.tck --bundles all.toml --lut lut.txt -q --weights w.txt";
    folder.done(&format!("{line} --threads 1 -o one"));
    folder.done(&format!("{line} --threads 2 -o two"));
    let names = folder.names("one");
    assert_eq!(names.len(), 5 * 2 + 2, "{names:?}");
    for name in names.iter().filter(|name| *name != "run.json") {
        let of = |out: &str| fs::read(folder.join(&format!("{out}/{name}"))).unwrap();
        assert!(of("one") == of("two"), "{name}");
    }
    // Volumes are those of the voxels of the first region, as a .tck names none.
    let volume: f64 = table(&folder, "one/bundles.tsv")[1][4].parse().unwrap();
    let voxel = grid().ras_from_vox.determinant().abs();
    assert!(volume > 0.0 && (volume / voxel).fract().min(1.0 - (volume / voxel).fract()) < 1e-2);
    folder.done(&format!("{line} --tracks trk --reference a.nii -o three"));
    let [tck, trk] = ["one/ab.tck", "three/ab.trk"].map(|name| read(&folder, name).streamlines);
    assert_eq!(tck.offsets(), trk.offsets());
}

/// The regions of [`BUNDLES`] in a space of 1 mm that a linear map takes the data to.
fn template(folder: &Folder, there_from_here: Affine) -> Grid {
    let ras_from_vox = Affine([[1., 0., 0., -60.], [0., 1., 0., -60.], [0., 0., 1., -60.]]);
    let there = Grid { dims: [120, 120, 120], ras_from_vox };
    let back = there_from_here.inverse().unwrap();
    let here_vox = grid().ras_from_vox.inverse().unwrap();
    for name in ["a.nii", "b.nii"] {
        let image = folder.image(name);
        voxels(folder, &format!("there_{name}"), there, |p| {
            let at = here_vox.apply(back.apply(p)).map(f64::round);
            let inside = (0..3).all(|a| at[a] >= 0.0 && at[a] < 40.0);
            if inside { image.data[image.grid.index(at.map(|x| x as usize))] } else { 0.0 }
        });
    }
    there
}

#[test]
fn regions_of_a_template_are_brought_over_by_matrices_and_fields() {
    let folder = with_tracts(200);
    let there_from_here =
        Affine([[0.97, 0.1, 0.0, 3.0], [-0.1, 1.02, 0.05, -4.0], [0.0, -0.05, 0.99, 2.0]]);
    let there = template(&folder, there_from_here);
    let toml = "[ab]\ninclude = ['there_a.nii', 'there_b.nii']\n";
    fs::write(folder.join("there.toml"), toml).unwrap();
    folder.done("tract edit a.trx --include a.nii --include b.nii -o here.trx");
    let all = read(&folder, "a.trx");
    let here = numbers(&all, &read(&folder, "here.trx"));
    let rows = |m: Affine| -> String {
        let row = |r: [f64; 4]| format!("{} {} {} {}\n", r[0], r[1], r[2], r[3]);
        m.0.map(row).concat() + "0 0 0 1\n"
    };
    fs::write(folder.join("linear.txt"), rows(there_from_here)).unwrap();
    // As FLIRT counts: mm from the corner voxel, x from the right where det(affine) > 0.
    let fsl_mm_from_ras = |grid: &Grid| {
        let mut turned = Affine::IDENTITY;
        if grid.ras_from_vox.determinant() > 0.0 {
            (turned.0[0][0], turned.0[0][3]) = (-1.0, grid.dims[0] as f64 - 1.0);
        }
        let mm = Affine::from_spacing(grid.ras_from_vox.spacing());
        mm.after(&turned).after(&grid.ras_from_vox.inverse().unwrap())
    };
    let there_fsl = fsl_mm_from_ras(&there);
    let here_fsl = fsl_mm_from_ras(&grid());
    let here_from_there = there_from_here.inverse().unwrap();
    let flirt = here_fsl.after(&here_from_there).after(&there_fsl.inverse().unwrap());
    fs::write(folder.join("flirt.mat"), rows(flirt)).unwrap();
    // Fields on voxels of the data, one for MRtrix3 and one for FSL (relative, radiological order).
    let (mut field, mut warp) = (Image::zeros(grid(), 3), Image::zeros(grid(), 3));
    for voxel in 0..grid().len() {
        let p = grid().ras_from_vox.apply(grid().voxel(voxel).map(|i| i as f64));
        let q = there_from_here.apply(p);
        let (p, moved) = (here_fsl.apply(p), there_fsl.apply(q));
        for axis in 0..3 {
            field.volume_mut(axis)[voxel] = q[axis] as f32;
            warp.volume_mut(axis)[voxel] = (moved[axis] - p[axis]) as f32;
        }
    }
    write_image(folder.join("field.nii"), &field, &WriteOptions::default()).unwrap();
    write_image(folder.join("warp.nii"), &warp, &WriteOptions::default()).unwrap();
    let fsl = "--fsl-in there_a.nii --fsl-ref a.nii";
    // The same for ITK, which counts x and y the other way: displacements, and a matrix as text.
    let mut itk = field.clone();
    for voxel in 0..grid().len() {
        let p = grid().ras_from_vox.apply(grid().voxel(voxel).map(|i| i as f64));
        for (axis, sign) in [-1.0, -1.0, 1.0].into_iter().enumerate() {
            let by = field.volume(axis)[voxel] - p[axis] as f32;
            itk.volume_mut(axis)[voxel] = sign * by;
        }
    }
    let mut vectors = WriteOptions::default();
    vectors.intent.code = 1007;
    write_image(folder.join("1Warp.nii.gz"), &itk, &vectors).unwrap();
    let text = |m: Affine| {
        let signs = [-1.0, -1.0, 1.0, 1.0];
        let entry = |i: usize, j: usize| (signs[i] * signs[j] * m.0[i][j]).to_string();
        let rows = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
        let all: Vec<String> =
            rows.chain((0..3).map(|i| (i, 3))).map(|(i, j)| entry(i, j)).collect();
        format!(
            "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\nParameters: {}\n\
             FixedParameters: 0 0 0\n",
            all.join(" ")
        )
    };
    fs::write(folder.join("itk.txt"), text(there_from_here)).unwrap();
    fs::write(folder.join("back.txt"), text(here_from_there)).unwrap();
    for (out, options) in [
        ("linear", "--transform linear.txt".to_owned()),
        ("flirt", format!("--transform flirt.mat {fsl}")),
        ("field", "--transform field.nii".to_owned()),
        ("warp", format!("--transform warp.nii {fsl}")),
        ("itk", "--transform itk.txt".to_owned()),
        ("itk_inverse", "--transform [back.txt,1]".to_owned()),
        ("itk_field", "--transform 1Warp.nii.gz".to_owned()),
        // There, back, and there again.
        (
            "chain",
            "--transform 1Warp.nii.gz --transform back.txt --transform linear.txt".to_owned(),
        ),
    ] {
        folder.done(&format!("tract bundles a.trx --bundles there.toml {options} -o {out}"));
        let there = numbers(&all, &read(&folder, &format!("{out}/ab.trx")));
        // Voxels of 1 mm that stand for those of 2 mm have other edges, by up to half a millimetre.
        let missed = here.iter().filter(|i| !there.contains(i)).count();
        let false_ones = there.iter().filter(|i| !here.contains(i)).count();
        let n = here.len();
        assert!(n > 15 && missed + false_ones <= n / 5, "{out}: {missed} {false_ones} of {n}");
    }
    folder.done("tract bundles a.trx --bundles there.toml -o none");
    assert_ne!(numbers(&all, &read(&folder, "none/ab.trx")), here);
}

#[test]
fn a_file_of_bundles_that_is_none_is_one_error() {
    let folder = with_tracts(5);
    for (text, said) in [
        ("", "all.toml has no bundle"),
        ("a = 3", "all.toml has no bundle"),
        ("[a\n", "all.toml"),
        ("[a]\nincluded = 'a.nii'", "bundle a: `included` is none of include, include_any"),
        ("[a]\ninclude = [['a.nii']]", "bundle a: `include` cannot be"),
        ("[a]\nmin_length = -3", "bundle a"),
        ("[a]\nmin_length = nan", "bundle a"),
        ("[a]\nmax_length = -inf", "bundle a"),
        ("[a]\nends_in = ['a.nii', 'a.nii', 'a.nii']", "two ends"),
        ("['a/b']\ninclude = 'a.nii'", "`a/b` cannot be the name of a file"),
        ("[a]\ninclude = 'far.nii'", "far.nii"),
    ] {
        fs::write(folder.join("all.toml"), text).unwrap();
        let error = folder.failed("tract bundles a.trx --bundles all.toml -o out");
        assert!(error.contains(said), "{text}: {error}");
        assert!(!folder.join("out").exists(), "{text}");
    }
}
