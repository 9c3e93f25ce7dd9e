//! Samples against those of FSL's xfibres, by the acceptance rules of the reference data.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::bedpostx::{Merged, write_bedpostx};
use fimbria_image::{Image, read_image};
use fimbria_sticks::{Diffusivity, SticksOptions, sample};
use fimbria_testing::{Series, angle, refdata};

/// Root mean square and mean of a - b over the voxels.
fn difference(a: &Image, b: &Image, voxels: &[u32]) -> (f64, f64) {
    let n = voxels.len() as f64;
    let (mut square, mut sum) = (0.0, 0.0);
    for &v in voxels {
        let d = f64::from(a.data[v as usize]) - f64::from(b.data[v as usize]);
        (square, sum) = (square + d * d, sum + d);
    }
    ((square / n).sqrt(), sum / n)
}

fn compare(case: &str, input: &str, mask: &str) {
    let Some(root) = refdata("fsl") else { return };
    let folder = root.join("inputs").join(input);
    let series = Series::read(&folder.join("data.nii.gz"), &folder.join(mask));
    let options =
        SticksOptions { diffusivity: Diffusivity::Single, seed: 1, ..SticksOptions::default() };
    let workers = Workers::new(0).unwrap();
    let on = Backend::cpu(&workers);
    let sampled =
        sample(&series.dwi, &series.mask, &series.gradients, None, &options, None, &on, &Silent)
            .unwrap();
    let mut ours: Vec<(String, Image)> = Vec::new();
    write_bedpostx(&sampled.sticks, Merged::Images, |name, image, _| {
        ours.push((name.to_owned(), image.clone()));
        Ok::<(), ()>(())
    })
    .unwrap();
    ours.extend(sampled.maps.into_iter().map(|map| (map.spec.name.into_owned(), map.image)));
    let ours = |name: &str| &ours.iter().find(|(n, _)| n == name).unwrap().1;
    let theirs: Vec<_> = ["seed101", "seed202", "seed303"]
        .into_iter()
        .map(|seed| root.join("cases").join(case).join(seed))
        .collect();
    let voxels = &series.mask.voxels;

    // Rule 1: no further from FSL's runs than 1.3 times (f3: 1.5 times) as far as they are from
    // each other. Rule 2: no bias beyond four standard errors.
    for (name, limit) in [
        ("mean_f1samples", 1.3),
        ("mean_f2samples", 1.5),
        ("mean_f3samples", 1.5),
        ("mean_fsumsamples", 1.3),
        ("mean_dsamples", 1.3),
        ("mean_S0samples", 1.3),
    ] {
        let runs: Vec<Image> = theirs
            .iter()
            .map(|run| read_image(run.join(format!("{name}.nii.gz"))).unwrap())
            .collect();
        let pairs = [(0, 1), (0, 2), (1, 2)];
        let between: Vec<_> =
            pairs.iter().map(|&(i, j)| difference(&runs[i], &runs[j], voxels)).collect();
        let rms = between.iter().map(|b| b.0).sum::<f64>() / 3.0;
        let bias = between.iter().map(|b| b.1.abs()).fold(0.0, f64::max);
        let found: Vec<_> = runs.iter().map(|run| difference(ours(name), run, voxels)).collect();
        let found_rms = found.iter().map(|f| f.0).sum::<f64>() / 3.0;
        let found_bias = (found.iter().map(|f| f.1).sum::<f64>() / 3.0).abs();
        assert!(found_rms <= limit * rms, "{name}: {found_rms} between runs {rms}");
        let allowed = (4.0 * found_rms / (voxels.len() as f64).sqrt()).max(3.0 * bias);
        assert!(found_bias <= allowed, "{name}: bias {found_bias}, {allowed} allowed");
    }

    // Rule 4: median angles of the first fibre, and of the second where it is there.
    let of = |image: &Image, voxel: u32| -> Vec<f64> {
        (0..3).map(|k| f64::from(image.volume(k)[voxel as usize])).collect()
    };
    for (fibre, limit) in [(1, 1.25), (2, 1.35)] {
        let name = format!("dyads{fibre}");
        let runs: Vec<Image> = theirs
            .iter()
            .map(|run| read_image(run.join(format!("{name}.nii.gz"))).unwrap())
            .collect();
        let f = read_image(theirs[0].join(format!("mean_f{fibre}samples.nii.gz"))).unwrap();
        let there: Vec<u32> =
            voxels.iter().copied().filter(|v| f.data[*v as usize] >= 0.2).collect();
        let median = |a: &Image, b: &Image| {
            let mut angles: Vec<f64> = there.iter().map(|&v| angle(&of(a, v), &of(b, v))).collect();
            angles.sort_by(f64::total_cmp);
            angles[angles.len() / 2]
        };
        let between =
            (median(&runs[0], &runs[1]) + median(&runs[0], &runs[2]) + median(&runs[1], &runs[2]))
                / 3.0;
        // The FSL frame's x is turned for both alike: dyads are compared as they are written.
        let found = runs.iter().map(|run| median(ours(&name), run)).sum::<f64>() / 3.0;
        assert!(found <= limit * between, "{name}: {found} degrees, between runs {between}");
    }
}

#[test]
fn a_real_slab_is_sampled_as_by_xfibres() {
    compare("xfibres_real_model1", "dwi_real", "slab_mask.nii.gz");
}

#[test]
fn crossings_are_sampled_as_by_xfibres() {
    compare("xfibres_phantom_1shell", "dwi_phantom_1shell", "nodif_brain_mask.nii.gz");
}
