//! Benchmarks at toy size: that they run, and that what they print is whole.

use serde_json::Value;

use crate::util::Folder;

/// A figure is there, and has something of this name in it.
fn is_drawn(folder: &Folder, file: &str, name: &str) {
    let svg = std::fs::read_to_string(folder.join(file)).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains(name), "{svg}");
}

#[test]
fn a_paper_is_asked_for_by_its_number() {
    let ran = Folder::new().run("bench paper 005");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("000, 001, 002, 003, 004"), "{}", ran.stderr);
}

#[test]
fn sshopm_prints_the_papers_tables() {
    let line = "bench sshopm --order 4 --tensors 32 --starts 4 --iterations 2 --max-iterations 20 \
                --figure --figures drawn --threads 1 --device cpu";
    let folder = Folder::new();
    let shown = folder.done(line).stdout;
    is_drawn(&folder, "drawn/gflops-by-tensors-order-4.svg", "1 thread");
    assert!(shown.contains("nominal flops of an iteration 233, with a shift 239"), "{shown}");
    // Kind of product, how often it stands in Table III on one thread.
    for (products, rows) in [("general", 2), ("tables", 2), ("plain", 2), ("shared", 3)] {
        let found: Vec<&str> = shown.lines().filter(|line| line.starts_with(products)).collect();
        assert_eq!(found.len(), rows, "{products}: {shown}");
        for row in found {
            // products, "1 thread", ms, ratio, GFLOPS, executed, of peak, iterations, at rest
            assert_eq!(row.contains(" - "), products != "shared", "{row}");
        }
    }
    let fixed: Vec<&str> = shown.lines().filter(|line| line.starts_with("shared")).collect();
    assert!(fixed[0].contains(" 2.00 "), "{}", fixed[0]);
    let sizes = shown.lines().skip_while(|line| !line.starts_with("Figure 5")).skip(2);
    let sizes = sizes.filter_map(|line| line.split_whitespace().next());
    let sizes: Vec<&str> = sizes.take_while(|word| word.parse::<u32>().is_ok()).collect();
    assert_eq!(sizes, ["1", "2", "4", "8", "16", "32"], "{shown}");
}

#[test]
fn sshopm_is_timed_at_order_8_too() {
    let line = "bench sshopm --order 8 --tensors 32 --starts 4 --iterations 2 --max-iterations 20 \
                --threads 1 --device cpu";
    let shown = Folder::new().done(line).stdout;
    let rows = |products: &str| shown.lines().filter(|line| line.starts_with(products)).count();
    // Two tables without a shift and one with, which shared products alone are for.
    assert_eq!((rows("general"), rows("tables"), rows("plain"), rows("shared")), (2, 2, 0, 3));
    assert!(shown.contains("Order 8, dimension 3: 32 tensors"), "{shown}");
}

#[test]
fn sshopm_refuses_what_its_tables_are_not_for() {
    let folder = Folder::new();
    for line in [
        "bench sshopm --order 5",
        "bench sshopm --tensors 0",
        "bench sshopm --tolerance 1e-9",
        "bench sshopm --tolerance nan",
    ] {
        assert_eq!(folder.run(line).code, Some(2), "`{line}`");
    }
}

#[test]
fn fit_prints_the_papers_table() {
    let line =
        "bench fit --fits 3000 --voxels 1000 --scipy 30 --threads 1 --device cpu --figures drawn";
    let folder = Folder::new();
    let shown = folder.done(line).stdout;
    is_drawn(&folder, "drawn/fits-kurtosis--8-samples.svg", "paper, GPU");
    let rows = |name: &str| shown.lines().filter(|line| line.starts_with(name)).count();
    let scipy = usize::from(shown.contains("scipy least_squares"));
    assert_eq!(rows("kurtosis, 8 samples"), 2 + scipy, "{shown}");
    assert_eq!(rows("stretched, 11"), 2 + scipy, "{shown}");
    if scipy > 0 {
        is_drawn(&folder, "drawn/differences-of-K.svg", "K here less K by scipy");
        is_drawn(&folder, "drawn/differences-of-gamma.svg", "γ here less γ by scipy");
        // K is near 1 and γ near 0.9: single precision finds where double precision does.
        for (symbol, most) in [("K", 1e-3), ("γ", 1e-4)] {
            let after = shown.split(&format!("({symbol} differs by ")).nth(1).unwrap();
            let median: f64 = after.split(')').next().unwrap().parse().unwrap();
            assert!(median < most, "{symbol}: {shown}");
        }
    }
    for name in ["dti", "dki, unconstrained", "dki, constrained", "stremi, 7 of 305"] {
        assert_eq!(rows(name), 1, "{name}: {shown}");
    }
}

#[test]
fn life_prints_products_beside_the_plain_loop_and_both_solvers() {
    let line = "bench life --streamlines 300 --directions 12 --voxels 1500 --iterations 5 \
                --threads 2 --device cpu";
    let shown = Folder::new().done(line).stdout;
    // Products by the plain loop, then with full and short columns on one thread and on two.
    for (row, times) in [("apply", 5), ("adjoint", 5), ("gradient", 4), ("sbb", 2), ("conj", 2)] {
        let found = shown.lines().filter(|line| line.starts_with(row)).count();
        assert_eq!(found, times, "{row}: {shown}");
    }
}

#[test]
fn track_prints_the_papers_tables() {
    let line =
        "bench track --particles 400,800 --plain 400 --threads 2 --device cpu --figures drawn";
    let folder = Folder::new();
    let shown = folder.done(line).stdout;
    for method in ["basic", "Euler", "Euler--loops"] {
        is_drawn(&folder, &format!("drawn/seconds-by-particles-{method}.svg"), "2 threads");
    }
    is_drawn(&folder, "drawn/paths-by-two-trackers.svg", "paths by two trackers");
    is_drawn(&folder, "drawn/random-numbers.svg", "100000 expected");
    is_drawn(&folder, "drawn/random-numbers-off.svg", "1 in 22 outside");
    for (file, figure) in
        [("visits-no-random-numbers", "without"), ("visits-random-numbers", "with")]
    {
        let heading = format!("Visits of 800 particles {figure} random numbers");
        is_drawn(&folder, &format!("drawn/{file}.svg"), &heading);
    }
    // Each method by the plain tracker, then twice on one thread and on two; and both beside the plain tracker.
    for method in ["basic", "Euler ", "Euler, loops"] {
        let found = shown.lines().filter(|line| line.starts_with(method)).count();
        assert_eq!(found, 5 + 2, "{method}: {shown}");
    }
    for stage in ["steps", "counting of visits", "streamlines, data", "TRX file", "all"] {
        assert_eq!(shown.lines().filter(|line| line.starts_with(stage)).count(), 1, "{shown}");
    }
    // One and two threads, and five sizes of blocks.
    let dealt = shown.lines().skip_while(|line| !line.contains("samples at a time")).skip(1);
    assert_eq!(dealt.filter(|line| !line.ends_with(".svg")).count(), 7, "{shown}");
    is_drawn(&folder, "drawn/seconds-by-samples-at-a-time.svg", "800 particles, 2 threads");
    is_drawn(&folder, "drawn/seconds-by-threads.svg", "basic, 800 particles");
}

#[test]
fn sticks_prints_every_setting_beside_the_plain_loop_and_where_time_goes() {
    let line = "bench sticks --voxels 32 --plain 1 --jumps 4 --threads 2 --device cpu";
    let shown = Folder::new().done(line).stdout;
    for setting in ["model 1, 2", "model 1, 3", "model 2, 3 f", "model 2, 3, R"] {
        // Plain, one thread, two threads, and the shares.
        let rows: Vec<_> = shown.lines().filter(|line| line.starts_with(setting)).collect();
        assert_eq!(rows.len(), 4, "{setting}: {shown}");
        assert!(rows[0].contains("plain loop") && rows[0].contains("1.00"), "{}", rows[0]);
    }
}

#[test]
fn qsm_prints_products_beside_the_plain_loop_at_a_level_that_is_asked_for() {
    let line = "bench qsm --sides 8 --paper-side 12 --no-solvers --threads 2 --device cpu";
    let shown = Folder::new().done(&format!("{line} --simd scalar")).stdout;
    let rows = |part: &str| shown.lines().filter(|line| line.contains(part)).count();
    // Dense and fast, on one thread and on two, of the volume and of the paper's problem.
    assert_eq!((rows("1 thread, Scalar"), rows("2 threads, Scalar")), (4, 4), "{shown}");
    // The plain loop stands beside both.
    assert_eq!((rows("1 % of the rows"), rows("Westmere")), (2, 1), "{shown}");
    let fast = Folder::new().done(&format!("{line} --fast-only")).stdout;
    assert!(!fast.contains("dense") && !fast.contains("of the rows"), "{fast}");
    let ran = Folder::new().run(&format!("{line} --simd mmx"));
    assert!(ran.code == Some(2) && ran.stderr.contains("this processor has scalar"));
}

/// Rows as a program reads them, of a device alone, with where its time went.
#[test]
fn devices_alone_say_where_their_time_goes() {
    let folder = Folder::new();
    let ran = folder.run("bench fft --size 16 --devices-only --device cpu");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    if fimbria_testing::opencl_device().is_none() {
        return;
    }
    for (bench, rows) in [
        ("fft --size 16", 1),
        ("sparse --rows 1000 --columns 1000", 3),
        ("dti --voxels 3000 --volumes 20 --method wls", 1),
        ("life --streamlines 300 --directions 12 --voxels 1500 --short", 3),
        ("qsm --sides 8 --fast-only --no-paper", 1),
    ] {
        let line = format!("bench {bench} --devices-only --json --threads 2 --device opencl:0");
        let shown = folder.done(&line).stdout;
        let found: Vec<Value> =
            shown.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert_eq!(found.len(), rows, "`{bench}`: {shown}");
        for row in &found {
            let on = row["on"].as_str().unwrap();
            // PoCL's device is called pthread.
            assert!(!on.contains(" thread") && !on.contains("plain"), "`{bench}`: {row}");
            assert!(row["ratio"].is_null(), "`{bench}`: {row}");
            for part in ["compile", "prepare", "upload", "kernel", "download", "store"] {
                let spent = row[format!("{part} ms")].as_f64();
                assert!(spent.is_some_and(|ms| ms >= 0.0), "`{bench}`, {part}: {row}");
            }
            assert!(row["kernel ms"].as_f64() > Some(0.0), "`{bench}`: {row}");
        }
    }
}
