//! `fimbria fit expr`: a model given on the command line.

use crate::util::Folder;

const FIT: &str = "fit expr dwi.nii --mask mask.nii --bvec-frame scanner -o out";

#[test]
fn an_expression_of_the_tensor_along_its_axis_gives_maps_by_name() {
    let folder = Folder::with_subject();
    folder.done(&format!(
        "{FIT} --model S0*exp(-b*(xx*gx^2+yy*gy^2+zz*gz^2+2*xy*gx*gy+2*xz*gx*gz+2*yz*gy*gz)) \
         --param S0=500,0,1e6 --param xx=1 --param yy=1 --param zz=1 --param xy=0 --param xz=0 \
         --param yz=0"
    ));
    let at = |name: &str| {
        let image = folder.image(&format!("out/{name}.nii.gz"));
        f64::from(image.data[image.grid.index([3, 3, 2])])
    };
    // The trace of eigenvalues 1.7, 0.4 and 0.2 µm²/ms, with the rounding of f32 samples.
    assert!((at("xx") + at("yy") + at("zz") - 2.3).abs() < 1e-3);
    assert_eq!(at("status"), 1.0);
    assert!(at("iterations") > 1.0 && at("residual") < 0.1);
    let record = folder.join("out/run.json");
    assert!(std::fs::read_to_string(record).unwrap().contains("S0*exp(-b*"));
}

#[test]
fn mistakes_are_named_with_their_column() {
    let folder = Folder::with_subject();
    let ran = folder.run(&format!("{FIT} --model S0*exp(-b*d) --param S0=1 --param D=1"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("unknown name 'd'"), "{}", ran.stderr);
    assert!(!folder.join("out").exists());
    for line in [
        format!("{FIT} --model S0"),
        format!("{FIT} --model S0 --param S0"),
        format!("{FIT} --model S0 --param S0=one"),
        format!("{FIT} --model S0 --param S0=1,2"),
        format!("{FIT} --model S0 --param S0=1 --likelihood rician --sigma=-1"),
        format!("{FIT} --model S0 --param S0=1 --bmax nan"),
        format!("{FIT} --model S0 --param S0=1 --background mask.nii"),
        format!("{FIT} --model S0 --param S0=1 --sigma 3"),
        format!("{FIT} --model S0 --param S0=1 --about D=what"),
        format!("{FIT} --model S0*k --param S0=1 --constant k=a --constant k=b"),
    ] {
        let ran = folder.run(&line);
        assert_eq!(ran.code, Some(2), "`{line}`: {}", ran.stderr);
    }
}

#[test]
fn a_fit_leaves_a_file_that_fits_another_series() {
    let folder = Folder::with_subject();
    std::fs::write(folder.join("te.txt"), "1 ".repeat(folder.image("dwi.nii").n_volumes)).unwrap();
    let model = "--model S0*exp(-b*D)*TE --param S0=500,0,1e6 --param D=1,0,5 --starts 2 \
                 --about D=diffusivity[um^2/ms]";
    let series = "dwi.nii --mask mask.nii --bvec-frame scanner --per-volume TE=te.txt";
    folder.done(&format!("fit expr {series} {model} --layout bids -o out"));
    folder.done(&format!("fit out/model.toml {series} --layout bids -o again"));
    let [first, second] = ["out", "again"].map(|out| {
        ["model.toml", "model-expression_param-d_dwimap.json"]
            .map(|file| std::fs::read_to_string(folder.join(&format!("{out}/{file}"))).unwrap())
    });
    assert_eq!(first, second);
    assert!(first[0].contains("# needs --per-volume TE=FILE"), "{}", first[0]);
    assert!(first[1].contains("um^2/ms"), "{}", first[1]);
    let said = folder.failed("fit out/model.toml dwi.nii --mask mask.nii -o x");
    assert!(said.contains("unknown name 'TE'"), "{said}");
}

#[test]
fn a_model_in_a_file_is_described_and_run_as_one_of_the_program() {
    let folder = Folder::with_subject();
    let text = "[expr]\nmodel = \"S0*exp(-b*D)\"\nparam = [\"S0=900,0,-\", \"D=1,0,5\"]\n\
                about = [\"D=diffusivity [um^2/ms]\"]\n";
    std::fs::write(folder.join("adc.toml"), text).unwrap();
    let described = folder.done("describe fit adc.toml --format json").stdout;
    let described: serde_json::Value = serde_json::from_str(&described).unwrap();
    assert_eq!(described["name"], "fit adc.toml");
    let named = |list: &str, key: &str, name: &str| {
        let list = described[list].as_array().unwrap();
        list.iter().find(|entry| entry[key] == name).unwrap().clone()
    };
    let map = named("outputs", "file", "D");
    assert_eq!((&map["unit"], &map["holds"]), (&"um^2/ms".into(), &"diffusivity".into()));
    let model = named("options", "name", "model");
    assert_eq!((&model["required"], &model["default"]), (&false.into(), &"S0*exp(-b*D)".into()));
    let run = "[input]\ndwi = \"dwi.nii\"\nmask = \"mask.nii\"\nbvec_frame = \"scanner\"\n\
               [run]\nfits = [\"adc.toml\"]\n[maps]\nformat = \"nii\"\n";
    std::fs::write(folder.join("run.toml"), run).unwrap();
    let series = "dwi.nii --mask mask.nii --bvec-frame scanner";
    folder.done("run --config run.toml --device cpu -o run");
    folder.done(&format!("fit adc.toml {series} --device cpu --format nii -o alone"));
    let [run, alone] = ["run/expr", "alone"].map(|at| folder.image(&format!("{at}/D.nii")).data);
    assert!(run == alone);
}

#[test]
fn outliers_do_not_pull_a_robust_expression() {
    let folder = Folder::new();
    folder.done("phantom protocol --size 10,10,3 --voxel 6,6,4 --snr inf --format nii -o p");
    let mut series = folder.image("p/dwi.nii");
    let n = series.grid.len();
    for volume in [40, 100, 160] {
        series.volume_mut(volume).iter_mut().for_each(|s| *s *= 3.0);
    }
    fimbria_image::write_image(
        folder.join("off.nii"),
        &series,
        &fimbria_image::WriteOptions::default(),
    )
    .unwrap();
    let median_residual = |robust: &str| {
        folder.done(&format!(
            "fit expr off.nii --mask p/mask.nii --bval p/dwi.bval --bvec p/dwi.bvec --device cpu \
             --model S0*exp(-b*D+b*b*A) --param S0=1000,0,1e6 --param D=0.2,0,3 --param A=0,-1,1 \
             --force -o out {robust}"
        ));
        let residual = folder.image("out/residual.nii.gz");
        let mut inside: Vec<f32> =
            residual.data[..n].iter().copied().filter(|r| *r > 0.0).collect();
        inside.sort_by(f32::total_cmp);
        inside[inside.len() / 2]
    };
    // Weights leave only the spread over directions, of which the formula knows nothing.
    assert!(median_residual("--robust tukey") < 0.5 * median_residual(""));
}
