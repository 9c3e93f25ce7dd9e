//! Tractograms, as streams.

use std::fs;
use std::path::{Path, PathBuf};

use fimbria_compute::{Backend, Progress as _};
use fimbria_image::{Datatype, ImageHeader};
use fimbria_pipeline::{Hashing, Logbook, OutputFolder};
use fimbria_streamlines::{Counts, Format, WriteOptions, copy, create, open};
use serde_json::json;

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{command_line, session};
use crate::console::Console;
use crate::failure::Failure;

/// A tractogram to convert.
pub(super) struct Job {
    pub(super) input: PathBuf,
    pub(super) datatype: Option<Datatype>,
    pub(super) reference: Option<PathBuf>,
    pub(super) trx_folder: bool,
    pub(super) output: OutputArgs,
    pub(super) threads: ThreadArgs,
}

impl Job {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { input, datatype, reference, trx_folder, output, threads } = self;
        let format = if trx_folder { Format::TrxFolder } else { Format::of_name(output.path())? };
        let name = output.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut out = match format {
            Format::TrxFolder => output.folder_of_any_name(&["header.json".to_owned()], console)?,
            _ => output.file(std::slice::from_ref(&name), console)?,
        };
        let workers = threads.start()?;
        let command_line = command_line();
        let log = Logbook::new(session(Backend::cpu(&workers), console, &command_line));

        let mut inputs = vec![("tractogram".to_owned(), input.clone())];
        inputs.extend(reference.iter().map(|path| ("reference".to_owned(), path.clone())));
        let hashing = Hashing::start(inputs);
        let grid = match &reference {
            Some(path) => Some(*ImageHeader::read(path)?.grid()),
            None => None,
        };
        let options = WriteOptions { position_type: datatype, grid };
        let counts = log.stage("convert", || {
            let mut reader = open(&input)?;
            for loss in format.losses(reader.header()) {
                log.warn(&format!("{format} has no place for {loss}: left out"));
            }
            if reader.header().position_type == Datatype::Float64 {
                log.warn("coordinates pass through float32: digits of float64 beyond it are lost");
            }
            if format == Format::Tck && datatype == Some(Datatype::Float64) {
                log.warn("a TCK of Float64 is MRtrix3's alone: nibabel and DIPY do not read it");
            }
            let to = match format {
                Format::TrxFolder => out.scratch("tractogram"),
                _ => out.stage(&name)?,
            };
            let writer = create(&to, format, reader.header(), &options)?;
            let copied = copy(&mut *reader, writer, &log).map_err(Failure::from);
            let counts = if format == Format::TrxFolder {
                let adopted = copied.and_then(|counts| adopt(&mut out, &to, "").map(|()| counts));
                fs::remove_dir_all(&to)?;
                adopted?
            } else {
                copied?
            };
            log.count("streamlines", counts.streamlines);
            log.count("points", counts.points);
            Ok::<Counts, Failure>(counts)
        })?;
        let parameters = json!({ "format": format.to_string(), "streamlines": counts.streamlines });
        out.commit(log.record("convert", hashing.finish()?, parameters))?;
        Ok(())
    }
}

/// Moves the files of a finished TRX folder to where they are staged.
fn adopt(out: &mut OutputFolder, folder: &Path, prefix: &str) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            adopt(out, &entry.path(), &format!("{name}/"))?;
        } else {
            fs::rename(entry.path(), out.stage(&name)?)?;
        }
    }
    Ok(())
}
