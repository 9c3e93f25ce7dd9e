//! `fimbria probtrackx2`.

use std::collections::BTreeSet;
use std::fs;

use fimbria_image::gifti::Surface;
use fimbria_image::{Grid, Image, WriteOptions, write_image};

use crate::track::{voxels, with_samples};
use crate::util::{Folder, grid};

#[test]
fn probtrackx2_writes_the_files_of_fsl() {
    let folder = with_samples();
    let line = "probtrackx2 -x seed -s bpx/merged -m bpx/nodif_brain_mask --opd -P 10";
    folder.done(&format!("{line} --os2t --targetmasks=far --dir=log --forcedir --rseed=7"));
    assert_eq!(fs::read_to_string(folder.join("log/waytotal")).unwrap().trim(), "10");
    assert_eq!(folder.image("log/fdt_paths.nii.gz").data[grid().index([0, 2, 2])], 10.0);
    assert_eq!(folder.image("log/seeds_to_far.nii.gz").data[grid().index([3, 2, 2])], 10.0);
    assert!(folder.join("log/probtrackx.log").exists());
    // A folder that exists gets a plus.
    folder.done(&format!("{line} --dir=log"));
    assert!(folder.join("log+/waytotal").exists());
}

#[test]
fn probtrackx2_saves_paths_of_fixed_numbers() {
    let folder = with_samples();
    fs::write(folder.join("points.txt"), "3 2 2\n").unwrap();
    folder.done(
        "probtrackx2 -x points.txt --simple -s bpx/merged -m bpx/nodif_brain_mask --opd -P 1 \
         --savepaths --rng constant:0.5 --dir=log",
    );
    let text = fs::read_to_string(folder.join("log/saved_paths.txt")).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 3);
    // Radiological: x counts from the other end of 7 voxels; steps of 0.5 mm in voxels of 2 mm.
    let points: Vec<_> = text.lines().skip(1).take(2).collect();
    assert_eq!(points, ["3 2 2", "2.75 2 2"]);
    assert!(folder.join("log/fdt_paths_3_2_2.nii.gz").exists());
}

/// Samples end in any order, short ones first.
#[test]
fn saved_paths_stand_in_the_order_of_their_seeds() {
    let folder = with_samples();
    folder.done(
        "probtrackx2 -x bpx/nodif_brain_mask -s bpx/merged -m bpx/nodif_brain_mask --opd -P 3 \
         --savepaths --dir=log",
    );
    let text = fs::read_to_string(folder.join("log/saved_paths.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let heads = (0..lines.len()).filter(|&at| lines[at].starts_with('#'));
    // Three paths a sample; the first begins at its seed.
    let mut seeds: Vec<&str> = heads.step_by(3).map(|at| lines[at + 1]).collect();
    let distinct = seeds.iter().collect::<BTreeSet<_>>().len();
    assert_eq!(seeds.len(), 3 * distinct);
    seeds.dedup();
    assert_eq!(seeds.len(), distinct, "{seeds:?}");
}

#[test]
fn all_points_share_one_sequence_of_numbers() {
    let folder = with_samples();
    let paths = |points: &str, dir: &str| {
        fs::write(folder.join("points.txt"), points).unwrap();
        folder.done(&format!(
            "probtrackx2 -x points.txt --simple -s bpx/merged -m bpx/nodif_brain_mask --opd -P 1 \
             -f --savepaths --rng lcg:12345 --dir={dir}"
        ));
        let text = fs::read_to_string(folder.join(dir).join("saved_paths.txt")).unwrap();
        text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    // The same point again and again: were each to start the sequence anew, all paths were the same.
    let same = paths(&"3 2 2\n".repeat(8), "same");
    assert_eq!(same.len(), 24);
    assert!(same[3..].iter().zip(&same).any(|(a, b)| a != b), "{same:?}");
}

/// What every run shares.
const LINE: &str = "probtrackx2 -s bpx/merged -m bpx/nodif_brain_mask --opd -P 10";

fn write(folder: &Folder, name: &str, image: &Image) {
    write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
}

fn text(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn sparse_matrices_have_fsls_layout() {
    let folder = with_samples();
    // Every second voxel along x; the first ones, counted as FSL does, share their centres.
    let fine = grid();
    let mut coarse = Grid { dims: [4, 6, 5], ..fine };
    let rows = &mut coarse.ras_from_vox.0;
    for row in rows.iter_mut() {
        row[0] *= 2.0;
    }
    let mut all = Image::zeros(coarse, 1);
    all.data.fill(1.0);
    write(&folder, "coarse.nii.gz", &all);
    write(&folder, "two.nii.gz", &voxels(&[[1, 2, 2], [5, 2, 2]]));
    folder.done(&format!(
        "{LINE} -x seed --omatrix1 --omatrix2 --target2=coarse --omatrix3 --target3=two --ompl \
         --dir=log"
    ));
    assert_eq!(text(&folder, "log/fdt_matrix1.dot"), "1  1  0\n");
    // The seed passes all seven voxels along x: four coarse ones, each once.
    let dot = text(&folder, "log/fdt_matrix2.dot");
    let values: Vec<Vec<f64>> = dot
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    assert_eq!(values.len(), 5, "{dot}");
    assert!(values[..4].iter().all(|row| row[0] == 1.0 && row[2] == 10.0), "{dot}");
    assert_eq!(values[4], [1.0, 120.0, 0.0]);
    let columns: Vec<_> = values[..4].iter().map(|row| row[1] as usize).collect();
    let places = text(&folder, "log/tract_space_coords_for_fdt_matrix2");
    let lookup = folder.image("log/lookup_tractspace_fdt_matrix2.nii.gz");
    for column in columns {
        let place: Vec<usize> = places
            .lines()
            .nth(column - 1)
            .unwrap()
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        assert_eq!(place[1..], [2, 2], "{places}");
        let place = [place[0], place[1], place[2]];
        assert_eq!(lookup.data[coarse.index(place)], column as f32);
    }
    assert_eq!(text(&folder, "log/coords_for_fdt_matrix2"), "3  2  2  0  1  \n");
    // Both voxels lie on every path: radiological order puts x = 5 first.
    assert_eq!(text(&folder, "log/fdt_matrix3.dot"), "1  2  10\n2  2  0\n");
    assert_eq!(text(&folder, "log/coords_for_fdt_matrix3"), "5  2  2  0  1  \n1  2  2  0  2  \n");
    // From 1.5 voxels this side of the seed to 1.5 beyond, voxels of 2 mm, to one step of 0.5 mm.
    let lengths = text(&folder, "log/fdt_matrix3_lengths.dot");
    let length: f64 = lengths.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!((length - 6.0).abs() <= 1.0, "{lengths}");
}

#[test]
fn matrix_3_may_have_columns_of_its_own() {
    let folder = with_samples();
    write(&folder, "two.nii.gz", &voxels(&[[1, 2, 2], [5, 2, 2]]));
    folder.done(&format!(
        "{LINE} -x seed --omatrix3 --target3=two --lrtarget3=far --distthresh3=3 --dir=log"
    ));
    assert_eq!(text(&folder, "log/fdt_matrix3.dot"), "1  1  10\n2  1  10\n2  1  0\n");
    assert_eq!(text(&folder, "log/tract_space_coords_for_fdt_matrix3"), "6  2  2  0  1  \n");
    let long = "--distthresh3=500 --dir=long";
    folder.done(&format!("{LINE} -x seed --omatrix3 --target3=two {long}"));
    assert_eq!(text(&folder, "long/fdt_matrix3.dot"), "2  2  0\n");
}

/// A triangle around the middle, in the plane of the first two axes, of which one vertex counts.
pub(crate) fn write_triangle(folder: &Folder, name: &str) {
    let ras = |voxel: [f64; 3]| grid().ras_from_vox.apply(voxel).map(|x| x as f32);
    let surface = Surface {
        vertices: vec![ras([3.0, 4.0, 2.0]), ras([3.0, 2.0, 2.0]), ras([3.0, 2.0, 3.0])],
        triangles: vec![[0, 1, 2]],
        values: Some(vec![0.0, 1.0, 0.0]),
    };
    surface.write(folder.join(name)).unwrap();
}

#[test]
fn from_a_surface_one_way_only_goes_against_its_normal() {
    let folder = with_samples();
    write_triangle(&folder, "white.gii");
    let mut turned = Surface::read(folder.join("white.gii")).unwrap();
    turned.triangles = vec![[1, 0, 2]];
    turned.write(folder.join("turned.gii")).unwrap();
    let visits = |name: &str, options: &str| {
        folder.done(&format!("{LINE} -x {name}.gii {options} --dir=log --forcedir"));
        let map = folder.image("log/fdt_paths.nii.gz");
        [0, 6].map(|i| map.data[grid().index([i, 2, 2])])
    };
    let [one, other] = [visits("white", "--onewayonly"), visits("turned", "--onewayonly")];
    assert_eq!(visits("white", ""), [10.0, 10.0]);
    // Seen from smaller x the vertices run counter-clockwise: that side is outside.
    assert!(one == [0.0, 10.0] && other == [10.0, 0.0], "{one:?} {other:?}");
}

#[test]
fn paths_to_a_target_are_those_of_the_samples_that_reach_it() {
    let folder = with_samples();
    fs::write(folder.join("targets.txt"), "far\nbeside\n").unwrap();
    let rest = "--os2t --targetmasks=targets.txt --otargetpaths --ompl --opathdir --pd";
    folder.done(&format!("{LINE} -x seed {rest} --dir=log"));
    let data = |name: &str| folder.image(&format!("log/{name}.nii.gz")).data;
    // All go along the first axis: to the one, and none to the other.
    for (all, far) in [
        ("fdt_paths", "target_paths_far"),
        ("fdt_paths_lengths", "target_paths_far_lengths"),
        ("fdt_paths_localdir", "target_localdir_far"),
    ] {
        assert!(data(all) == data(far) && data(far).iter().any(|x| *x > 0.0), "{all}");
    }
    assert!(data("target_paths_beside").iter().all(|x| *x == 0.0));
}

#[test]
fn places_change_what_is_followed_as_their_images_say() {
    let folder = with_samples();
    let every: Vec<_> = (0..grid().len()).map(|index| grid().voxel(index)).collect();
    write(&folder, "all.nii.gz", &voxels(&every));
    let mut above_one = voxels(&every);
    above_one.data.fill(1.5);
    write(&folder, "steep.nii.gz", &above_one);
    let visits = |options: &str| {
        folder.done(&format!("{LINE} -x seed {options} --dir=log --forcedir"));
        folder.image("log/fdt_paths.nii.gz").data
    };
    let plain = visits("");
    // A cosine above one: nobody makes a second step, half a millimetre from the first.
    let stays: Vec<_> = visits("--loccurvthresh=steep").into_iter().filter(|n| *n > 0.0).collect();
    assert_eq!(stays, [10.0]);
    // Where nothing is drawn nobody starts.
    let skipped = visits("--no_integrity=all");
    assert_eq!(skipped.iter().filter(|n| **n > 0.0).count(), 1);
    // One fibre, the same everywhere: rules of choice have nothing to choose from.
    for options in ["--prefdir=all", "--locfibchoice=all", "--noprobinterpol"] {
        assert_eq!(visits(options), plain, "{options}");
    }
}

#[test]
fn a_surface_seeds_from_the_vertices_whose_value_is_not_zero() {
    let folder = with_samples();
    let ras = |voxel: [f64; 3]| grid().ras_from_vox.apply(voxel).map(|x| x as f32);
    let mut surface = Surface {
        vertices: vec![ras([3.0, 4.0, 2.0]), ras([3.0, 2.0, 2.0]), ras([2.0, 2.0, 2.0])],
        triangles: vec![[0, 1, 2]],
        values: Some(vec![0.0, 1.0, 0.0]),
    };
    surface.write(folder.join("white.gii")).unwrap();
    let rest = "--os2t --targetmasks=far --omatrix2 --target2=bpx/nodif_brain_mask";
    folder.done(&format!("{LINE} -x white.gii {rest} --dir=surface"));
    folder.done(&format!("{LINE} -x seed {rest} --dir=volume"));
    // The same point, but for rounding; random numbers are those of the vertex.
    let visits = |name: &str| folder.image(&format!("{name}/fdt_paths.nii.gz")).data;
    assert_eq!(visits("surface"), visits("volume"));
    let reached = Surface::read(folder.join("surface/seeds_to_far.gii")).unwrap();
    assert_eq!(reached.values, Some(vec![0.0, 10.0, 0.0]));
    assert_eq!(reached.triangles, surface.triangles);
    let coordinates = text(&folder, "surface/coords_for_fdt_matrix2");
    assert!(coordinates.trim().ends_with("0  1"), "{coordinates}");

    // Voxels as FSL counts them: x from the other end.
    surface.vertices = vec![[3.0, 4.0, 2.0], [3.0, 2.0, 2.0], [4.0, 2.0, 2.0]];
    surface.write(folder.join("vox.gii")).unwrap();
    folder.done(&format!("{LINE} -x vox.gii --meshspace=vox --dir=vox"));
    assert_eq!(visits("vox"), visits("volume"));

    // A list of both kinds: volumes come first.
    fs::write(folder.join("list.txt"), "white.gii\nseed\n").unwrap();
    folder.done(&format!("{LINE} -x list.txt --os2t --targetmasks=far --dir=both"));
    assert!(folder.join("both/seeds_0_to_far.nii.gz").exists());
    assert!(folder.join("both/seeds_1_to_far.gii").exists());
}

#[test]
fn surfaces_end_reject_keep_and_count_streamlines_where_they_are_crossed() {
    let folder = with_samples();
    // A wall between the seed and `far`, of two triangles; the fibre passes the first.
    let ras = |voxel: [f64; 3]| grid().ras_from_vox.apply(voxel).map(|x| x as f32);
    let corners = [[-1.0, -1.0], [9.0, -1.0], [9.0, 12.0], [-1.0, 12.0]];
    let wall = Surface {
        vertices: corners.map(|[y, z]| ras([4.7, y, z])).to_vec(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        values: Some(vec![0.0, 1.0, 1.0, 0.0]),
    };
    wall.write(folder.join("wall.gii")).unwrap();
    let visits = |dir: &str, voxel: [usize; 3]| {
        folder.image(&format!("{dir}/fdt_paths.nii.gz")).data[grid().index(voxel)]
    };
    folder.done(&format!("{LINE} -x seed --stop=wall.gii --dir=stop"));
    assert_eq!([visits("stop", [6, 2, 2]), visits("stop", [5, 2, 2])], [0.0, 10.0]);
    assert_eq!(visits("stop", [0, 2, 2]), 10.0);
    // FSL rejects the half alone.
    folder.done(&format!("{LINE} -x seed --avoid=wall.gii --dir=avoid"));
    assert_eq!([visits("avoid", [4, 2, 2]), visits("avoid", [2, 2, 2])], [0.0, 10.0]);
    folder.done(&format!("{LINE} -x seed --waypoints=wall.gii --dir=way"));
    assert!(visits("way", [6, 2, 2]) == 10.0 && visits("way", [0, 2, 2]) > 0.0);
    folder.done("track bpx --seeds seed.nii.gz -n 4 --exclude wall.gii -o none --tracks none");
    assert_eq!(text(&folder, "none/waytotal"), "0\n");

    let rest = "--os2t --targetmasks=wall.gii --omatrix3 --target3=wall.gii";
    folder.done(&format!("{LINE} -x seed {rest} --dir=all"));
    let reached = folder.image("all/seeds_to_wall.nii.gz");
    assert_eq!(reached.data[grid().index([3, 2, 2])], 10.0);
    assert_eq!(text(&folder, "all/fdt_matrix3.dot"), "1  2  10\n2  2  0\n");
    assert_eq!(text(&folder, "all/coords_for_fdt_matrix3").lines().count(), 2);
    folder.done(&format!("{LINE} -x seed {rest} --closestvertex --dir=closest"));
    assert_eq!(text(&folder, "closest/fdt_matrix3.dot"), "2  2  0\n");

    // As seeds, its vertices are rows and columns of matrix 1, and a region of a network.
    fs::write(folder.join("both.txt"), "seed\nwall.gii\n").unwrap();
    folder.done(&format!("{LINE} -x both.txt --omatrix1 --network --dir=both"));
    assert_eq!(text(&folder, "both/fdt_matrix1.dot"), "1  2  10\n1  3  10\n3  3  0\n");
    assert_eq!(text(&folder, "both/fdt_network_matrix"), "0  10  \n0  0  \n");

    Surface { triangles: Vec::new(), ..wall }.write(folder.join("points.gii")).unwrap();
    let error = folder.failed(&format!("{LINE} -x seed --stop=points.gii --dir=none"));
    assert!(error.contains("points.gii has no triangle"), "{error}");
    let error = folder.failed(&format!("{LINE} -x seed --fopd=wall.gii --dir=none"));
    assert!(error.contains("--fopd counts visits of voxels"), "{error}");
}

#[test]
fn visits_of_regions_alone_and_orientations_are_written() {
    let folder = with_samples();
    folder.done(&format!("{LINE} -x seed --fopd=far --opathdir --dir=log"));
    let (all, alone) =
        (folder.image("log/fdt_paths.nii.gz"), folder.image("log/fdt_paths_alt.nii.gz"));
    let far = grid().index([6, 2, 2]);
    assert_eq!(alone.data[far], all.data[far]);
    assert_eq!(alone.data.iter().sum::<f32>(), all.data[far]);
    let axes = folder.image("log/fdt_paths_localdir.nii.gz");
    assert_eq!(axes.n_volumes, 3);
    for voxel in 0..grid().len() {
        // No step has entered the seed.
        let is_on_path = all.data[voxel] > 0.0 && grid().voxel(voxel) != [3, 2, 2];
        let x = if is_on_path { 1.0 } else { 0.0 };
        assert!((axes.volume(0)[voxel] - x).abs() < 1e-6, "{:?}", grid().voxel(voxel));
    }
}

#[test]
fn a_warp_that_shifts_is_a_matrix_that_shifts() {
    let folder = with_samples();
    // Seeds lie two voxels further along FSL's x axis in the samples, and one along the others: the
    // far end of the mask is then beyond the point outside it that FSL keeps.
    let shift = [4.0, -2.0, 3.0];
    let field = |sign: f32| {
        let mut image = Image::zeros(grid(), 3);
        for (axis, mm) in shift.into_iter().enumerate() {
            image.volume_mut(axis).fill(sign * mm);
        }
        image
    };
    write(&folder, "seed2diff.nii.gz", &field(1.0));
    write(&folder, "diff2seed.nii.gz", &field(-1.0));
    fs::write(folder.join("shift.mat"), "1 0 0 4\n0 1 0 -2\n0 0 1 3\n0 0 0 1\n").unwrap();
    folder.done(&format!("{LINE} -x seed --xfm=shift.mat --dir=matrix"));
    // FSL's names say where images go: the field that leads from seeds to samples is the inverse.
    folder.done(&format!("{LINE} -x seed --xfm=diff2seed --invxfm=seed2diff --dir=warp"));
    let visits = |name: &str| folder.image(&format!("{name}/fdt_paths.nii.gz")).data;
    assert_eq!(visits("warp"), visits("matrix"));
    folder.done(&format!("{LINE} -x seed --dir=plain"));
    assert_ne!(visits("plain"), visits("warp"));

    let error = folder.failed(&format!("{LINE} -x seed --xfm=diff2seed --dir=half"));
    assert!(error.contains("a warp in --xfm needs --invxfm"), "{error}");
    let mut options = WriteOptions::default();
    options.intent.code = 2007;
    write_image(folder.join("coefficients.nii.gz"), &field(0.0), &options).unwrap();
    let error =
        folder.failed(&format!("{LINE} -x seed --xfm=coefficients --invxfm=seed2diff --dir=c"));
    assert!(error.contains("coefficients.nii.gz") && error.contains("fnirtfileutils"), "{error}");
    let error = folder.failed(&format!("{LINE} -x seed --xfm=seed --invxfm=seed2diff --dir=v"));
    assert!(error.contains("3 volumes"), "{error}");
}

#[test]
fn options_that_are_not_there_are_one_error() {
    let folder = with_samples();
    for (options, said) in [
        ("--omatrix4", "--omatrix4 of FSL's probtrackx2 is not there"),
        ("--osampfib", "--osampfib of FSL's probtrackx2 is not there"),
        ("--nosuchoption", "unexpected argument '--nosuchoption'"),
        ("--omatrix2=3", "unexpected value"),
        ("-V 3", "it must be a number 0 to 2"),
    ] {
        let ran = folder.run(&format!("{LINE} -x seed {options} --dir=log"));
        assert_eq!(ran.code, Some(2), "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{options}: {}", ran.stderr);
        assert!(!folder.join("log").exists(), "{options}");
    }
    for (options, said) in [
        ("--omatrix2", "--omatrix2 needs --target2"),
        ("--omatrix3", "--omatrix3 needs --target3"),
        ("--network", "--network needs a list"),
        ("--os2t", "--os2t needs --targetmasks"),
        ("--otargetpaths", "--otargetpaths needs --os2t"),
        ("--onewayonly", "--onewayonly needs seeds on a surface"),
        ("--prefdir=nowhere", "nowhere"),
    ] {
        let error = folder.failed(&format!("{LINE} -x seed {options} --dir=log"));
        assert!(error.contains(said), "{options}: {error}");
    }
    fs::write(folder.join("points.txt"), "3 2 2\n").unwrap();
    let error = folder.failed(&format!("{LINE} -x points.txt --simple --omatrix1 --dir=log"));
    assert!(error.contains("--simple writes a map for each point"), "{error}");
}

#[test]
fn more_is_said_where_more_is_asked_for() {
    let folder = with_samples();
    // FSL has both; -v is this program's own.
    for option in ["-V 1", "--verbose=1", "--verbose=2", "-v"] {
        let told = folder.done(&format!("{LINE} -x seed {option} --dir=log --forcedir")).stderr;
        assert!(told.contains("1 seed in 1 region; 3 samples of 210 voxels"), "{option}: {told}");
    }
    let told = folder.done(&format!("{LINE} -x seed --verbose=0 --dir=quiet")).stderr;
    assert!(!told.contains("1 seed in"), "{told}");
}
