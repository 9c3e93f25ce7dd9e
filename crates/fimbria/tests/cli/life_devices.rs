//! `fimbria life` on several devices, of which some have no room and some are lost in the middle: always the
//! bytes of the threads. The devices are PoCL's, behind `crates/compute/tests/stand_in/failing_opencl.c`.

use std::collections::BTreeMap;

use fimbria_testing::{Driver, output_of};

use crate::bids::contents;
use crate::util::{Folder, Ran};

const LIFE: &str = "life s/truth/tracts.trx --dwi s/dwi.nii --mask s/mask.nii --max-iterations 12";

struct Bed {
    folder: Folder,
    library_path: String,
    /// It goes with this.
    _driver: Driver,
    /// What the threads write.
    expected: BTreeMap<String, Vec<u8>>,
}

impl Bed {
    fn new() -> Option<Self> {
        let (driver, library_path) = fimbria_testing::failing_opencl()?;
        let folder = Folder::new();
        folder
            .done("phantom crossing --size 34,34,30 --voxel 8 --shells 2000:30 --format nii -o s");
        folder.done(&format!("{LIFE} --device cpu -o cpu"));
        let expected = written(&folder, "cpu");
        assert!(expected.len() > 3, "{:?}", expected.keys());
        Some(Self { folder, library_path, _driver: driver, expected })
    }

    /// `life` on the first `devices` of four, of which some are lost (`FAILING_OPENCL_LOST`); what it writes
    /// is what the threads write.
    fn run(&self, devices: &str, options: &str, lost: &str) -> Ran {
        let line = format!("{LIFE} --device opencl:{devices} {options} --force -o there");
        let mut command = self.folder.command(&line);
        command
            .env("LD_LIBRARY_PATH", &self.library_path)
            .env("POCL_DEVICES", "pthread pthread pthread pthread")
            .env("FAILING_OPENCL_LOST", lost);
        let ran = Ran::of(&output_of(&mut command));
        assert_eq!(ran.code, Some(0), "`{line}`, {lost}: {}", ran.stderr);
        let found = written(&self.folder, "there");
        assert_eq!(found.keys().collect::<Vec<_>>(), self.expected.keys().collect::<Vec<_>>());
        for (name, bytes) in &self.expected {
            assert!(found[name] == *bytes, "`{line}`, {lost}: {name} differs");
        }
        ran
    }

    /// Entries of every device, and of the threads.
    fn shares(&self) -> (Vec<u64>, u64) {
        let record = self.folder.json("there/run.json");
        let counts = record["stages"].as_array().unwrap().iter().find_map(|stage| {
            stage["counts"].as_object().filter(|counts| counts.contains_key("entries_on_cpu"))
        });
        let all = counts.unwrap().iter().filter(|(name, _)| name.starts_with("entries_on_"));
        let (cpu, devices): (Vec<_>, Vec<_>) = all.partition(|(name, _)| *name == "entries_on_cpu");
        let numbers = |of: Vec<(&String, &serde_json::Value)>| -> Vec<u64> {
            of.into_iter().map(|(_, entries)| entries.as_u64().unwrap()).collect()
        };
        (numbers(devices), numbers(cpu)[0])
    }

    /// How many more bytes for each entry were foreseen than for threads alone.
    fn foreseen_beyond_threads(&self) -> f64 {
        let of = |name: &str| {
            let counts = &self.folder.json(&format!("{name}/run.json"))["stages"][1]["counts"];
            ["bytes_foreseen", "entries"].map(|count| counts[count].as_u64().unwrap() as f64)
        };
        let ([there, entries], [cpu, _]) = (of("there"), of("cpu"));
        (there - cpu) / entries
    }
}

/// What is in a folder, but for the record.
fn written(folder: &Folder, name: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = contents(&folder.join(name));
    all.retain(|name, _| !name.ends_with("run.json"));
    all
}

fn warnings(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.contains("part goes to")).collect()
}

#[test]
fn devices_share_the_voxels_and_what_one_loses_goes_elsewhere() {
    let Some(bed) = Bed::new() else { return };
    for devices in ["0", "0,1", "0,1,2,3"] {
        let ran = bed.run(devices, "", "");
        assert_eq!(warnings(&ran), Vec::<&str>::new());
        let (shares, cpu) = bed.shares();
        let even = shares.iter().sum::<u64>() / shares.len() as u64;
        assert_eq!((shares.len(), cpu), (devices.split(',').count(), 0));
        // To two blocks.
        assert!(shares.iter().all(|share| share.abs_diff(even) <= 2 << 13), "{shares:?}");
        // 20 for each entry of a share while it is dealt, where threads would copy 0.7 of 12 for all. Of that of one
        // device what judging takes afterwards hides a part; entries are foreseen from every eighth streamline.
        let most = (20.0 / shares.len() as f64 - 0.7 * 12.0).max(0.0);
        let foreseen = bed.foreseen_beyond_threads();
        let least = if shares.len() == 1 { 0.4 * most } else { 0.0 };
        assert!((least..=1.1 * most).contains(&foreseen), "{foreseen}, not {least} to {most}");
    }
    // No room anywhere.
    let ran = bed.run("0,1", "--device-memory 1e-7", "");
    let said = warnings(&ran);
    assert_eq!(said.len(), 2, "{}", ran.stderr);
    assert!(said.iter().all(|line| line.contains(": out of memory (")), "{said:?}");
    assert!(said.iter().all(|line| line.contains("its part goes to the threads")), "{said:?}");
    assert_eq!(bed.shares().0, [0, 0]);
    // Nothing is put together for a device that has no room, but for a few bytes.
    assert!(bed.foreseen_beyond_threads() < 0.01);
    // One lost in the middle, both, and one of four at its first launch.
    let ran = bed.run("0,1", "", "1:60");
    let said = warnings(&ran);
    assert!(said.len() == 1 && said[0].contains(": lost ("), "{}", ran.stderr);
    assert!(!said[0].contains("the threads"), "{said:?}");
    assert_eq!(bed.shares().0[1], 0);
    let ran = bed.run("0,1", "", "1:60,0:90");
    let said = warnings(&ran);
    assert!(said.len() == 2 && said[1].contains("its part goes to the threads"), "{said:?}");
    let ran = bed.run("0,1,2,3", "", "2:1");
    assert_eq!(warnings(&ran).len(), 1, "{}", ran.stderr);
    assert_eq!(bed.shares().0.iter().filter(|share| **share == 0).count(), 1);
}
