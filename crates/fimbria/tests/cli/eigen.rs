//! `fimbria eigen`.

use std::fs;

use serde_json::{Value, json};

use crate::util::{Folder, npy};

/// Kofidis and Regalia 2002, example 1.
const T1: [f64; 15] = [
    0.2883, -0.0031, 0.1973, -0.2485, -0.2939, 0.3847, 0.2972, 0.1862, 0.0919, -0.3619, 0.1241,
    -0.3420, 0.2127, 0.2727, -0.3054,
];

fn with_file(tensors: &Value) -> Folder {
    let folder = Folder::new();
    fs::write(folder.join("in.json"), tensors.to_string()).unwrap();
    folder
}

fn of_order_4(tensors: &Value) -> Value {
    json!({ "order": 4, "dimension": 3, "tensors": tensors })
}

#[test]
fn the_pairs_of_a_published_tensor_are_all_there() {
    let folder = with_file(&of_order_4(&json!([T1, T1])));
    folder.done("eigen in.json -o out.json");
    let out = folder.json("out.json");
    let tensors = out["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), 2);
    for tensor in tensors {
        let pairs = tensor["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), 11);
        assert!(tensor.get("incomplete").is_none());
        let count = |kind: &str| pairs.iter().filter(|pair| pair["kind"] == kind).count();
        assert_eq!((count("maximum"), count("saddle"), count("minimum")), (3, 5, 3));
        // Published to ten digits.
        assert!((pairs[0]["lambda"].as_f64().unwrap() - 0.8893220107).abs() < 1e-9);
        assert_eq!(pairs[0]["x"].as_array().unwrap().len(), 3);
        assert!(pairs.iter().all(|pair| pair["residual"].as_f64().unwrap() < 1e-12));
    }
    let record = folder.json("out.json.run.json");
    assert_eq!(record["task"], "eigen");
    assert_eq!(record["stages"][0]["counts"]["pairs"], 22);
}

#[test]
fn generalised_pairs_take_a_second_list_in_either_form() {
    // With B = E, whose form is |x|^4, generalised pairs are the usual ones.
    let third = 1.0 / 3.0;
    let e = [1.0, 0.0, 0.0, third, 0.0, third, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, third, 0.0, 1.0];
    let beside = json!({ "order": 4, "dimension": 3, "tensors": [T1, T1], "b": [e, null] });
    let within = of_order_4(&json!([{ "a": T1, "b": e }]));
    for input in [beside, within] {
        let folder = with_file(&input);
        folder.done("eigen in.json -o out.json");
        let out = folder.json("out.json");
        for tensor in out["tensors"].as_array().unwrap() {
            let pairs = tensor["pairs"].as_array().unwrap();
            assert_eq!(pairs.len(), 11);
            assert!((pairs[0]["lambda"].as_f64().unwrap() - 0.8893220107).abs() < 1e-9);
        }
    }
}

#[test]
fn the_power_method_without_shift_reports_starts_that_do_not_converge() {
    let folder = with_file(&of_order_4(&json!([T1])));
    folder.done("eigen in.json -o out.json --shift 0 --starts 40");
    let out = folder.json("out.json");
    assert_eq!(out, json!({ "tensors": [{ "pairs": [], "converged": 0, "not_converged": 40 }] }));
    folder.done("eigen in.json -o out.json --force --shift -4");
    let out = folder.json("out.json");
    let pairs = out["tensors"][0]["pairs"].as_array().unwrap();
    assert!(pairs.len() == 3 && pairs.iter().all(|pair| pair["kind"] == "minimum"));
    assert_eq!(folder.json("out.json.run.json")["parameters"]["eigen"]["shift"], "-4");
}

#[test]
fn options_of_the_search_change_it() {
    let folder = with_file(&of_order_4(&json!([T1])));
    let text = |options: &str| {
        folder.done(&format!("eigen in.json -o out.json --force {options}"));
        fs::read(folder.join("out.json")).unwrap()
    };
    let usual = text("");
    assert!(text("--threads 1") == usual);
    // Two starts cannot reach eleven pairs, and which they reach depends on the seed.
    let few = text("--starts 2");
    assert!(folder.json("out.json")["tensors"][0]["pairs"].as_array().unwrap().len() <= 2);
    assert!((1..20).any(|seed| text(&format!("--starts 2 --rng-seed {seed}")) != few));
    // Below what double precision attains, nothing is good enough.
    text("--tolerance 1e-30");
    let pairs = folder.json("out.json")["tensors"][0]["pairs"].as_array().unwrap().len();
    assert!(pairs < 11, "{pairs}");
}

#[test]
fn pairs_that_cannot_be_all_are_said_to_be_incomplete() {
    let folder = with_file(&of_order_4(&json!([T1])));
    let mut seen = [false; 2];
    for seed in 0..12 {
        let line = format!("eigen in.json -o out.json --force --starts 3 --rng-seed {seed}");
        let ran = folder.done(&line);
        let tensor = &folder.json("out.json")["tensors"][0];
        let sign = |pair: &Value| if pair["kind"] == "saddle" { -1 } else { 1 };
        let sum: i32 = tensor["pairs"].as_array().unwrap().iter().map(sign).sum();
        // Maxima and minima of a form on the projective plane outnumber its saddles by one.
        let incomplete = tensor.get("incomplete").is_some();
        assert_eq!(incomplete, sum != 1, "{tensor}");
        assert_eq!(ran.stderr.contains("try more --starts"), incomplete, "{}", ran.stderr);
        seen[usize::from(incomplete)] = true;
    }
    assert!(seen[1], "three starts never found a set that is too small");
}

#[test]
fn bad_input_gets_one_error_that_says_what_is_wrong() {
    let fifteen = [1.0; 15];
    let zero = [0.0; 15];
    let cases = [
        (of_order_4(&json!([[1.0, 2.0]])), "tensors[0]: 2 entries of A"),
        (of_order_4(&json!([fifteen, { "a": fifteen, "b": [1.0] }])), "tensors[1]: 1 entries of B"),
        (of_order_4(&json!([{ "a": fifteen, "b": zero }])), "B is not positive definite"),
        (of_order_4(&json!([{ "a": fifteen, "c": zero }])), "unknown field `c`"),
        (of_order_4(&json!([["one"]])), "expected f64"),
        (of_order_4(&json!(7)), "expected a sequence"),
        (of_order_4(&json!([7])), "a list of unique entries"),
        (json!({ "order": 4, "dimension": 3 }), "missing field `tensors`"),
        (json!({ "order": 4, "dimension": 3, "tensors": [], "shape": 1 }), "unknown field `shape`"),
        (json!({ "order": 0, "dimension": 3, "tensors": [[1.0]] }), "order 0"),
        (json!({ "order": 1, "dimension": 3, "tensors": [[1.0, 2.0, 3.0]] }), "order 1"),
        (json!({ "order": 4, "dimension": 0, "tensors": [[]] }), "dimension 0"),
        (json!({ "order": -4, "dimension": 3, "tensors": [] }), "-4"),
        (json!({ "order": 1_000_000_000_000u64, "dimension": 3, "tensors": [] }), "at most 64"),
        (json!({ "order": 4, "dimension": 1_000_000_000u64, "tensors": [] }), "unique entries"),
        (json!({ "order": 2, "dimension": 5000, "tensors": [] }), "up to dimension 128"),
        (
            json!({ "order": 3, "dimension": 2, "tensors": [{ "a": [1, 2, 3, 4], "b": [1, 0, 0, 1] }] }),
            "even order",
        ),
        (
            json!({ "order": 4, "dimension": 3, "tensors": [fifteen], "b": [] }),
            "0 lists of entries for 1 tensors",
        ),
        (
            json!({ "order": 4, "dimension": 3, "tensors": [{ "a": fifteen, "b": zero }], "b": [zero] }),
            "of its own",
        ),
    ];
    for (input, expected) in cases {
        let folder = with_file(&input);
        let said = folder.failed("eigen in.json -o out.json");
        assert!(said.contains(expected), "{input}: {said}");
        assert_eq!(folder.names("."), ["in.json"]);
    }
    // What JSON itself refuses.
    for (text, expected) in [
        ("{\"order\": 4, \"dimension\": 3, \"tensors\": [[NaN]]}", "line 1"),
        ("{\"order\": 4, \"dimension\": 3, \"tensors\": [[1e999]]}", "out of range"),
        ("{\"order\": 4, \"dimension\": 3, \"tensors\": [[1.0]]", "EOF"),
        ("", "EOF"),
        ("[[1, 2], 3]", "line 1"),
    ] {
        let folder = Folder::new();
        fs::write(folder.join("in.json"), text).unwrap();
        let said = folder.failed("eigen in.json -o out.json");
        assert!(said.contains(expected), "{text}: {said}");
    }
    assert!(Folder::new().failed("eigen none.json -o out.json").contains("none.json"));
}

/// An array of numpy with a row for each tensor.
fn array(tensors: &[&[f64]]) -> Vec<u8> {
    let data: Vec<u8> = tensors.concat().iter().flat_map(|x| x.to_le_bytes()).collect();
    npy("<f8", [tensors.len(), tensors[0].len()], &data)
}

#[test]
fn an_array_of_numpy_gives_the_pairs_of_the_same_list() {
    let folder = with_file(&of_order_4(&json!([T1, T1])));
    fs::write(folder.join("in.npy"), array(&[&T1, &T1])).unwrap();
    folder.done("eigen in.json -o list.json");
    folder.done("eigen in.npy -o array.json");
    let text = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(text("list.json") == text("array.json"));
    // 15 entries are order 2 in dimension 5, too.
    folder.done("eigen in.npy --dimension 5 -o matrix.json");
    let pairs = folder.json("matrix.json")["tensors"][0]["pairs"].as_array().unwrap().len();
    assert_eq!(pairs, 5);
    let error = folder.failed("eigen in.npy --dimension 4 -o none.json");
    assert!(error.contains("15 entries: no symmetric tensor"), "{error}");
    let error = folder.failed("eigen in.npy --mask in.npy -o none.json");
    assert!(error.contains("--mask goes with an image"), "{error}");
}

#[test]
fn kinds_choose_what_is_listed_and_single_precision_finds_the_same_extremes() {
    let folder = with_file(&of_order_4(&json!([T1])));
    let pairs = |options: &str| -> Vec<Value> {
        folder.done(&format!("eigen in.json -o out.json --force {options}"));
        folder.json("out.json")["tensors"][0]["pairs"].as_array().unwrap().clone()
    };
    let of_kind = |all: &[Value], kind: &str| -> Vec<f64> {
        all.iter().filter(|p| p["kind"] == kind).map(|p| p["lambda"].as_f64().unwrap()).collect()
    };
    let all = pairs("");
    for (name, kind, n) in
        [("maxima", "maximum", 3), ("saddles", "saddle", 5), ("minima", "minimum", 3)]
    {
        let some = pairs(&format!("--kinds {name}"));
        assert_eq!((some.len(), of_kind(&some, kind).len()), (n, n));
        assert_eq!(of_kind(&some, kind), of_kind(&all, kind));
    }
    let single = pairs("--precision single");
    assert_eq!(single.len(), 6);
    for kind in ["maximum", "minimum"] {
        let (found, expected) = (of_kind(&single, kind), of_kind(&all, kind));
        assert_eq!(found.len(), expected.len());
        // Polished in double precision.
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-13));
    }
    let tensor = &folder.json("out.json")["tensors"][0];
    assert_eq!(
        tensor["converged"].as_u64().unwrap() + tensor["not_converged"].as_u64().unwrap(),
        256
    );
    for (options, said) in [
        ("--precision single --kinds saddles", "does not lead to saddles"),
        ("--precision single --shift 1", "cannot be used with"),
        ("--kinds ridges", "ridges"),
        ("--shift maxima --kinds minima,saddles", "leads to maxima alone"),
        ("--shift minima --kinds maxima", "leads to minima alone"),
    ] {
        let ran = folder.run(&format!("eigen in.json -o none.json {options}"));
        assert!(ran.code != Some(0) && ran.stderr.contains(said), "{options}: {}", ran.stderr);
    }
}

/// Images of every order, on whose voxels a sum of powers has its maxima at the terms.
#[test]
fn images_of_any_order_are_searched_voxel_by_voxel() {
    use fimbria_image::{Image, WriteOptions, write_image};
    use fimbria_tensors::layout::Layout;
    let folder = Folder::new();
    for order in [2, 3, 4, 5, 6, 8] {
        let layout = Layout::new(order, 3).unwrap();
        let mut image = Image::zeros(crate::util::grid(), layout.len());
        let inside = [5, 77];
        for (volume, class) in layout.index_classes().enumerate() {
            // Along x with weight 3, along y with weight 2.
            let all = |axis: usize| f32::from(u8::from(class.iter().all(|&i| i == axis)));
            for voxel in inside {
                image.volume_mut(volume)[voxel] = 3.0 * all(0) + 2.0 * all(1);
            }
        }
        write_image(folder.join("in.nii"), &image, &WriteOptions::default()).unwrap();
        for precision in ["single", "double"] {
            let options = format!("--kinds maxima --precision {precision}");
            folder.done(&format!("eigen in.nii -o out.json --force {options}"));
            let out = folder.json("out.json");
            let tensors = out["tensors"].as_array().unwrap();
            assert_eq!(tensors.len(), 2, "order {order}");
            for (tensor, voxel) in tensors.iter().zip(inside) {
                assert_eq!(tensor["voxel"], json!(image.grid.voxel(voxel)));
                let lambda = |pair: &Value| pair["lambda"].as_f64().unwrap();
                let found: Vec<f64> =
                    tensor["pairs"].as_array().unwrap().iter().map(lambda).collect();
                // A matrix has one maximum; the second is a saddle there.
                let expected: &[f64] = if order == 2 { &[3.0] } else { &[3.0, 2.0] };
                assert_eq!(found.len(), expected.len(), "order {order}, {precision}: {found:?}");
                assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
            }
        }
    }
    let image = Image::zeros(crate::util::grid(), 7);
    write_image(folder.join("odd.nii"), &image, &WriteOptions::default()).unwrap();
    assert!(folder.failed("eigen odd.nii -o none.json").contains("7 entries"));
}

#[test]
fn bad_options_are_refused() {
    let folder = with_file(&of_order_4(&json!([T1])));
    for line in [
        "--tolerance 0",
        "--tolerance NaN",
        "--starts 0",
        "--shift much",
        "--shift inf",
        "--rng-seed -1",
    ] {
        assert_eq!(
            folder.run(&format!("eigen in.json -o out.json {line}")).code,
            Some(2),
            "{line}"
        );
    }
}
