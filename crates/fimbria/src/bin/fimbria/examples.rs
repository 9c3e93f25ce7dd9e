//! Command lines to begin with, shown at the end of each command's help.

use clap::Command;
use fimbria_pipeline::stages::fits::fit_named;

/// The examples of every command, by its words; those of fits stand with them.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "fimbria demo",
            "fimbria info dwi.nii.gz",
            "fimbria fit dti dwi.nii.gz --mask mask.nii.gz -o dti",
            "fimbria run dwi.nii.gz --mask mask.nii.gz -o sub-01",
        ],
    ),
    (
        "demo",
        &["fimbria demo", "fimbria demo --voxel 2.5 -o demo", "fimbria demo -o demo --resume"],
    ),
    (
        "run",
        &[
            "fimbria run dwi.nii.gz -o sub-01",
            "fimbria run dwi.mif --mask mask.mif -o sub-01 --resume",
            "fimbria run --config study.toml --set dti.method=nlls -o sub-01",
            "fimbria run dwi.nii.gz --set 'run.fits=[\"peaks\",\"track\"]' -o sub-01",
        ],
    ),
    (
        "bids",
        &[
            "fimbria bids qsiprep fimbria participant",
            "fimbria bids qsiprep fimbria participant --participant-label 01 02 --preset connectome",
            "fimbria bids qsiprep fimbria participant --config study.toml --nprocs 8 --mem 16G",
            "fimbria bids qsiprep fimbria group",
        ],
    ),
    (
        "fit",
        &[
            "fimbria fit dti dwi.nii.gz -o dti",
            "fimbria fit dki dwi.nii.gz --mask mask.nii.gz -o dki",
            "fimbria fit fod dwi.nii.gz --mask mask.nii.gz -o fod",
            "fimbria fit dti,dki,noddi,mapmri dwi.nii.gz -o maps",
        ],
    ),
    (
        "maps",
        &[
            "fimbria maps dwi.nii.gz --models dti,dki,noddi --set noddi.tissue=grey -o maps",
            "fimbria maps dwi.nii.gz --mask mask.nii.gz --preset hbcd --set mapmri.big_delta=36 -o maps",
            "fimbria maps dwi.nii.gz --preset abcd --layout bids -o maps --resume",
        ],
    ),
    (
        "eigen",
        &[
            "fimbria eigen tensors.json -o pairs.json",
            "fimbria eigen tensors.json --tolerance 1e-12 -o pairs.json",
            "fimbria eigen tensors.json --shift maxima --starts 256 -o maxima.json",
            "fimbria eigen fod/hot.nii.gz --precision single --kinds maxima -o maxima.json",
        ],
    ),
    (
        "peaks",
        &[
            "fimbria peaks fod/fod.nii.gz -o peaks",
            "fimbria peaks fod/hot.nii.gz --number 2 --threshold 0.3 -o peaks",
            "fimbria peaks sh.nii.gz --sh-basis dipy --mask mask.nii.gz -o peaks",
        ],
    ),
    (
        "sticks",
        &[
            "fimbria sticks dwi.nii.gz --mask mask.nii.gz -o data.bedpostX",
            "fimbria sticks dwi.nii.gz --mask mask.nii.gz --nf 2 --bi 500 -o data.bedpostX",
            "fimbria sticks dwi.nii.gz --mask mask.nii.gz -o data.bedpostX --resume",
        ],
    ),
    (
        "field",
        &[
            "fimbria field phase.nii.gz --magnitude mag.nii.gz --te 4,12,20 --b0 3 -o field",
            "fimbria field e1.nii.gz e2.nii.gz --te 4,12 --b0 7 --mask mask.nii.gz -o field",
            "fimbria field phase.nii.gz --te 20 --b0 3 --mask mask.nii.gz --background pdf -o field",
            "fimbria field real.nii.gz --imaginary imag.nii.gz --te 4,12,20 --b0 3 -o field",
        ],
    ),
    (
        "qsm",
        &[
            "fimbria qsm field/local_field.nii.gz --weights field/weights.nii.gz --dti dti --resample -o qsm",
            "fimbria qsm field/local_field.nii.gz --mask field/mask.nii.gz --method tkd -o qsm",
            "fimbria qsm field/local_field.nii.gz --method medi --magnitude mag.nii.gz -o medi",
            "fimbria qsm field/local_field.nii.gz --method ndi -o ndi",
            "fimbria qsm local.nii.gz --v1 V1.nii.gz --fa FA.nii.gz --method tensor --iterations 20 -o qsm",
        ],
    ),
    (
        "life",
        &[
            "fimbria life tracks.tck --dwi dwi.nii.gz -o life",
            "fimbria life tracks.trx --dwi dwi.nii.gz --mask mask.nii.gz --l1 0.01 -o life",
            "fimbria life tracks.tck --dwi dwi.nii.gz --labels labels.nii.gz -o life",
        ],
    ),
    (
        "life query",
        &[
            "fimbria life query tracks.tck --dwi dwi.nii.gz --ball 10,-20,30,5",
            "fimbria life query tracks.tck --dwi dwi.nii.gz --mask roi.nii.gz",
            "fimbria life query tracks.trx --dwi dwi.nii.gz --direction 1,0,0 --within 20",
        ],
    ),
    (
        "phantom",
        &[
            "fimbria phantom head -o subject",
            "fimbria phantom crossing -o subject",
            "fimbria phantom gre -o scan",
            "fimbria phantom tensors --order 6 -o sheet",
        ],
    ),
    (
        "phantom crossing",
        &[
            "fimbria phantom crossing -o subject",
            "fimbria phantom crossing --shells 1000:30,2000:60,3000:90 --snr 20 -o subject",
            "fimbria phantom crossing --size 48,58,45 --voxel 3 --format mif -o subject",
        ],
    ),
    (
        "phantom gre",
        &[
            "fimbria phantom gre -o scan",
            "fimbria phantom gre --te 5 10 15 --b0 7 -o scan",
            "fimbria phantom gre --air 0 --snr inf -o scan",
        ],
    ),
    (
        "phantom head",
        &[
            "fimbria phantom head -o subject",
            "fimbria phantom head --subject 2 --voxel 2 --snr inf -o subject",
            "fimbria phantom head --voxel 1.25 --shells 1000:90,2000:90,3000:90 --b0s 18 -o hcp",
        ],
    ),
    (
        "phantom tensors",
        &[
            "fimbria phantom tensors -o sheet",
            "fimbria phantom tensors --order 6 --noise 0.05 -o sheet",
            "fimbria phantom tensors --order 8 --rng-seed 2 -o sheet",
        ],
    ),
    (
        "phantom protocol",
        &[
            "fimbria phantom protocol -o brain",
            "fimbria phantom protocol --snr inf -o brain",
            "fimbria phantom protocol --law stretched -o brain",
        ],
    ),
    (
        "track",
        &[
            "fimbria track data.bedpostX --seeds roi.nii.gz -o tracks",
            "fimbria track peaks/peaks.nii.gz --seeds mask.nii.gz -n 1 --tracks tck -o tracks",
            "fimbria track fod/fod.nii.gz --seeds a.nii.gz --include b.nii.gz --exclude c.nii.gz -o ab",
            "fimbria track data.bedpostX --seeds a.nii.gz --seeds b.nii.gz --network -o pairs",
        ],
    ),
    (
        "probtrackx2",
        &[
            "fimbria probtrackx2 -s data.bedpostX/merged -m mask.nii.gz -x roi.nii.gz --opd --dir=out",
            "fimbria probtrackx2 -s merged -m mask.nii.gz -x roi.nii.gz -l --pd --opd -P 1000 --dir=out",
            "fimbria probtrackx2 -s merged -m mask.nii.gz -x list.txt --network --dir=out --forcedir",
        ],
    ),
    (
        "report",
        &[
            "fimbria report dti -o dti.html",
            "fimbria report sub-01 --title 'subject 1' -o sub-01.html",
            "fimbria report fimbria-demo -o page.html --force",
        ],
    ),
    (
        "connectome",
        &[
            "fimbria connectome tracks.tck labels.nii.gz -o connectome",
            "fimbria connectome tracks.tck labels.nii.gz --weights life/weights.txt -o connectome",
            "fimbria connectome tracks.trx labels.nii.gz --radius 2 -o connectome",
            "fimbria connectome tracks.trx labels.nii.gz --assignments --of-edge max -o connectome",
            "fimbria connectome tracks.tck aparc.nii.gz --map FA=dti/FA.nii.gz --lut FreeSurferColorLUT.txt --npy -o connectome",
        ],
    ),
    (
        "tract",
        &[
            "fimbria tract edit tracks.tck --include roi.nii.gz --min-length 30 -o roi.tck",
            "fimbria tract bundles tracks.trx --bundles bundles.toml -o bundles",
            "fimbria tract profile bundles/CST_left.trx --map dti/FA.nii.gz -o CST_left",
            "fimbria tract sample tracks.trx --map dti/FA.nii.gz -o with_FA.trx",
            "fimbria tract map tracks.trx --of directions -o colours.nii.gz",
        ],
    ),
    (
        "tract edit",
        &[
            "fimbria tract edit tracks.tck --include a.nii.gz --include b.nii.gz --exclude c.nii.gz -o ab.tck",
            "fimbria tract edit a.trx b.trx --number 10000 --rng-seed 1 -o some.trx",
            "fimbria tract edit tracks.trx --ends-in aparc.nii.gz:1024 --max-length 200 -o motor.trx",
            "fimbria tract edit tracks.tck --compress 0.1 -o small.tck",
            "fimbria tract edit tracks.trx --assignments connectome/assignments.txt --connects 1024,2024 -o edge.trx",
        ],
    ),
    (
        "tract bundles",
        &[
            "fimbria tract bundles tracks.tck --bundles bundles.toml -o bundles",
            "fimbria tract bundles tracks.trx --bundles mni.toml --transform mni2dwi.txt -o bundles",
            "fimbria tract bundles tracks.trx --bundles mni.toml --transform mni2dwi_warp.nii.gz \
             --fsl-in mni.nii.gz --fsl-ref dwi.nii.gz -o bundles",
            "fimbria tract bundles tracks.trx --bundles mni.toml --transform 1InverseWarp.nii.gz \
             --transform 0GenericAffine.mat -o bundles",
        ],
    ),
    (
        "tract cluster",
        &[
            "fimbria tract cluster bundles/CST_left.trx -o clusters",
            "fimbria tract cluster cst.tck --threshold 5 --min-size 10 -o clusters",
            "fimbria tract cluster tracks.trx --threshold 20 --tracks tck -o clusters",
        ],
    ),
    (
        "tract sample",
        &[
            "fimbria tract sample tracks.trx --map dti/FA.nii.gz dti/MD.nii.gz -o with_maps.trx",
            "fimbria tract sample tracks.tck --map FA.nii.gz --along median -o median_FA.txt",
            "fimbria tract sample tracks.tck --map dseg.nii.gz --along ends --look-up nearest -o ends.tsv",
            "fimbria tract sample tracks.tck --map FA.nii.gz --along points -o with_FA.trx",
        ],
    ),
    (
        "tract clean",
        &[
            "fimbria tract clean bundles/CST_left.trx -o CST_left.trx",
            "fimbria tract clean cst.tck --distance 4 --length 3 -o clean.tck",
            "fimbria tract clean cst.trx --weights weights.txt -o clean.trx",
        ],
    ),
    (
        "tract profile",
        &[
            "fimbria tract profile CST_left.trx --map dti/FA.nii.gz dti/MD.nii.gz -o CST_left",
            "fimbria tract profile cst.tck --map FA.nii.gz --weights weights.txt --start 0,-20,-40 -o cst",
            "fimbria tract profile cst.trx --map FA.nii.gz --points 50 -o fifty",
        ],
    ),
    (
        "tract map",
        &[
            "fimbria tract map tracks.trx -o density.nii.gz",
            "fimbria tract map tracks.tck --template T1w.nii.gz --of directions -o colours.nii.gz",
            "fimbria tract map tracks.trx --voxel 0.5 --weights sift2/weights.txt -o fine.nii.gz",
            "fimbria tract map cst.trk --of map --map dti/FA.nii.gz --along min -o least_FA.nii.gz",
        ],
    ),
    (
        "sift2",
        &[
            "fimbria sift2 tracks.tck fod/fod.nii.gz -o sift2",
            "fimbria sift2 tracks.tck wmfod_norm.mif --act 5tt.mif -o sift2",
            "fimbria sift2 tracks.trx fod/fod.nii.gz --variation 0.5 --mask mask.nii.gz -o sift2",
        ],
    ),
    (
        "compare",
        &[
            "fimbria compare -o test a1.nii.gz a2.nii.gz -- b1.nii.gz b2.nii.gz",
            "fimbria compare -o test a1.mif a2.mif a3.mif -- b1.mif b2.mif b3.mif",
            "fimbria compare --threshold 50 -o test a1.nii.gz a2.nii.gz -- b1.nii.gz b2.nii.gz",
        ],
    ),
    (
        "convert",
        &[
            "fimbria convert dwi.nii.gz -fslgrad dwi.bvec dwi.bval -o dwi.mif",
            "fimbria convert dwi.mif -o dwi.nii.gz",
            "fimbria convert dti_tensor.nii.gz --tensors fsl:mrtrix -o dt.mif",
            "fimbria convert tracks.tck --reference dwi.nii.gz -o tracks.trk",
        ],
    ),
    (
        "mask",
        &[
            "fimbria mask dwi.nii.gz -o mask",
            "fimbria mask magnitude.nii.gz -o mask",
            "fimbria mask mag_e1.nii.gz mag_e2.nii.gz -o mask",
        ],
    ),
    (
        "regions",
        &[
            "fimbria regions aparc+aseg.nii.gz --map dti/FA.nii.gz dti/MD.nii.gz --lut FreeSurferColorLUT.txt -o regions",
            "fimbria regions sub-01_dseg.nii.gz --map qsm/chi.nii.gz -o regions",
            "fimbria regions mask.nii.gz --map dti/FA.nii.gz dki/MK.nii.gz -o brain",
        ],
    ),
    (
        "align",
        &[
            "fimbria align T1w.nii.gz dwi.nii.gz --labels aparc+aseg.nii.gz -o aligned",
            "fimbria align T1w.nii.gz dwi.nii.gz --labels 5tt.nii.gz --keep-grid -o aligned",
            "fimbria align dwi.nii.gz T1w.nii.gz --mask brain.nii.gz -o b0_on_T1w",
            "fimbria align T1w.nii.gz dwi.nii.gz --transform flirt.mat --fsl --labels aparc.nii.gz -o aligned",
        ],
    ),
    (
        "fixel",
        &[
            "fimbria fixel normalise/fod_normalised.nii.gz --mask mask.nii.gz -o fixels",
            "fimbria fixel wmfod.mif --mask mask.mif --direction peak -o fixels",
            "fimbria fixel wmfod.mif --mask mask.mif --tractogram tracks.tck -o fixels",
            "fimbria fixel fixels --tractogram tracks.tck --angle 30 -o counted",
            "fimbria fixel fod/fod.nii.gz --mask mask.nii.gz --format odx -o exchange",
        ],
    ),
    (
        "response",
        &[
            "fimbria response sub-01/fod/response.txt sub-02/fod/response.txt -o response.txt",
            "fimbria response sub-*/fod/response_gm.txt -o response_gm.txt",
            "fimbria response wm_01.txt wm_02.txt --legacy -o wm.txt",
        ],
    ),
    (
        "normalise",
        &[
            "fimbria normalise fod --mask mask.nii.gz -o normalised",
            "fimbria normalise wmfod.mif gm.mif csf.mif --mask mask.mif -o normalised",
            "fimbria normalise fod --mask mask.nii.gz --order 0 -o normalised",
        ],
    ),
    (
        "correct",
        &[
            "fimbria correct dwi.nii.gz -o corrected",
            "fimbria correct dwi.nii.gz --phase-encoding j --mask mask.nii.gz -o corrected",
            "fimbria correct dwi.nii.gz --eddy cubic --keep-dropped -o corrected",
            "fimbria correct dir-AP_dwi.nii.gz dir-PA_dwi.nii.gz --field fieldmap.nii.gz -o corrected",
        ],
    ),
    (
        "info",
        &[
            "fimbria info dwi.nii.gz",
            "fimbria info dwi.mif --table",
            "fimbria info tracks.tck --lengths",
        ],
    ),
    ("devices", &["fimbria devices", "fimbria devices --check", "fimbria devices --measure"]),
    (
        "bench",
        &["fimbria bench dti", "fimbria bench io --megabytes 64", "fimbria bench fft --size 64"],
    ),
    (
        "bench dti",
        &[
            "fimbria bench dti",
            "fimbria bench dti --voxels 100000 --method ols,wls",
            "fimbria bench dti --maps fa,md --threads 1",
        ],
    ),
    (
        "bench fit",
        &[
            "fimbria bench fit",
            "fimbria bench fit --fits 36000 --scipy 0",
            "fimbria bench fit --device cpu",
        ],
    ),
    (
        "bench io",
        &[
            "fimbria bench io",
            "fimbria bench io --megabytes 64 --levels 1,2",
            "fimbria bench io --threads 2",
        ],
    ),
    (
        "bench fft",
        &["fimbria bench fft", "fimbria bench fft --size 64,128", "fimbria bench fft --device cpu"],
    ),
    (
        "bench life",
        &[
            "fimbria bench life",
            "fimbria bench life --streamlines 5000 --short",
            "fimbria bench life --plan",
        ],
    ),
    (
        "bench paper",
        &[
            "fimbria bench paper 003",
            "fimbria bench paper 000 --figures figures",
            "fimbria bench paper 002 --device cpu --figures figures",
        ],
    ),
    (
        "bench sparse",
        &[
            "fimbria bench sparse",
            "fimbria bench sparse --rows 100000 --columns 10000",
            "fimbria bench sparse --device cpu",
        ],
    ),
    (
        "bench sshopm",
        &[
            "fimbria bench sshopm",
            "fimbria bench sshopm --order 4 --tensors 256",
            "fimbria bench sshopm --figure",
        ],
    ),
    (
        "bench qsm",
        &[
            "fimbria bench qsm",
            "fimbria bench qsm --sides 32 48 --no-paper",
            "fimbria bench qsm --fast-only --no-solvers",
        ],
    ),
    (
        "bench track",
        &[
            "fimbria bench track",
            "fimbria bench track --particles 1000,10000",
            "fimbria bench track data.bedpostX --seeds roi.nii.gz",
        ],
    ),
    (
        "bench sticks",
        &[
            "fimbria bench sticks",
            "fimbria bench sticks --voxels 256 --jumps 10",
            "fimbria bench sticks --plain 2",
        ],
    ),
    (
        "describe",
        &[
            "fimbria describe fit dti",
            "fimbria describe --format json -o descriptions",
            "fimbria describe qsm --format man -o man",
        ],
    ),
    (
        "completions",
        &["fimbria completions bash", "fimbria completions zsh", "fimbria completions fish"],
    ),
];

/// `command`, whose words are `path`, and all below it, with their examples in the long help.
pub(crate) fn added_to(mut command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(&name, |command| added_to(command, &path));
    }
    let of_fit = path.strip_prefix("fit ").and_then(fit_named).map(|fit| fit.text().examples);
    let of_command = || Some(EXAMPLES.iter().find(|(words, _)| *words == path)?.1);
    let Some(lines) = of_fit.or_else(of_command) else { return command };
    let mut help = match command.get_after_long_help() {
        Some(help) => format!("{help}\n\n"),
        None => String::new(),
    };
    help += "Examples:";
    for line in lines {
        help += &format!("\n  {line}");
    }
    command.after_long_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    /// The words of a line as a shell takes them.
    fn words(line: &str) -> Vec<std::ffi::OsString> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.into_iter().filter(|word| !word.is_empty()).map(Into::into).collect()
    }

    fn check(command: &Command, path: &str) {
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        let lines: Vec<_> = examples.lines().map(str::trim).collect();
        assert!((3..=5).contains(&lines.len()), "`{path}` has {} examples", lines.len());
        for line in lines {
            let of_command = format!("fimbria {path}");
            assert!(line.starts_with(of_command.trim()), "`{line}` is no example of `{path}`");
            if let Err(failure) = Cli::of_words(words(line)) {
                panic!("`{line}`: {failure:?}");
            }
        }
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            check(below, format!("{path} {}", below.get_name()).trim());
        }
    }

    #[test]
    fn every_help_has_examples_that_the_program_takes() {
        check(&Cli::described(), "");
    }
}
