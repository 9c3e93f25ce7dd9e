//! What was done.

use fimbria_report::{Section, Table};

use crate::{ByteSize, RunRecord};

pub(in crate::stages::report) fn record(records: &[RunRecord]) -> Section {
    let stages = records.iter().flat_map(|record| &record.stages);
    let rows = stages.map(|stage| {
        let counts = stage.counts.iter().filter(|(_, number)| **number > 0);
        let counts: Vec<_> = counts.map(|(what, number)| format!("{number} {what}")).collect();
        vec![
            stage.name.clone(),
            format!("{:.2} s{}", stage.seconds, if stage.resumed { ", earlier" } else { "" }),
            counts.join(", ").replace('_', " "),
        ]
    });
    let inputs = records.iter().flat_map(|record| &record.inputs).map(|input| {
        let name = input.path.file_name().unwrap_or_default().to_string_lossy();
        [input.role.clone(), format!("{name}, {}", ByteSize(input.bytes))]
    });
    let machine = records.iter().map(|record| &record.machine).next();
    let machine = machine.map(|machine| {
        let devices =
            if machine.devices.is_empty() { "CPU".to_owned() } else { machine.devices.join(", ") };
        ["ran on".to_owned(), format!("{devices}, {} threads, {}", machine.threads, machine.simd)]
    });
    let text: Vec<_> = records.iter().map(RunRecord::to_json).collect();
    Section::new("What was done")
        .fold()
        .facts(inputs.chain(machine).collect())
        .table(Table {
            caption: String::new(),
            columns: ["stage", "time", "counts"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        })
        .record("Complete records of all stages", text.join("\n"))
}
