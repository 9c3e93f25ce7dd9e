//! `fimbria info`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::{Backend, Progress as _, Workers};
use fimbria_image::gradients::{GradientError, GradientsRead};
use fimbria_image::{ImageHeader, counted};
use fimbria_pipeline::options::{Described as _, FileType, Takes};
use fimbria_pipeline::stages::doubts::Doubt;
use fimbria_pipeline::stages::gradients::check_table;
use fimbria_pipeline::stages::load::{LoadError, SubjectFiles};
use fimbria_pipeline::{Logbook, Page};
use fimbria_streamlines::{
    CHUNK_POINTS, ColumnKind, Format, LengthStatistics, ReadStreamlines, Streamlines,
    TractogramError, open,
};

use super::{command_line, session};
use crate::args::TableArgs;
use crate::console::Console;
use crate::failure::Failure;

/// Show what an image with its gradient table, or a tractogram, holds
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Info {
    /// Images or tractograms to look at
    #[arg(required = true)]
    #[arg(takes = Takes::any_of(&[FileType::Image, FileType::Tractogram]))]
    files: Vec<PathBuf>,

    /// Read all streamlines and show statistics of their lengths
    #[arg(long)]
    lengths: bool,

    /// Print only the gradient table, in MRtrix3 form
    #[arg(long)]
    table: bool,

    /// Check by a tensor fit whether the gradient table lies as the image does: fibres run on only
    /// where it does
    #[arg(long, conflicts_with = "table")]
    check_gradients: bool,

    /// Voxels to fit for that
    #[arg(long, visible_short_alias = 'm', value_name = "FILE", requires = "check_gradients")]
    #[arg(usually = "as `fimbria mask` makes it")]
    #[arg(takes = Takes::MASK)]
    mask: Option<PathBuf>,

    #[command(flatten)]
    gradients: TableArgs,
}

const HELP: &str = "\
Outputs:
  On standard output, per image: dimensions, voxel size, sample type, affine, and where there is a
  gradient table its shells, and what of it is doubtful. With --table the table alone. Per
  tractogram: format, counts, grid, data and groups, from the header alone; with --lengths also
  minimum, median, maximum, mean and standard deviation of the lengths. With --check-gradients how
  far fibres run on (below).

Gradient check:
  With --check-gradients a tensor is fitted, and streamlines follow its main directions with the
  table as it is and with axes swapped or flipped, 24 ways in all: they are longest where the table
  lies as the image does. `fimbria run` does the same and warns.

Units:
  Millimetres; b in s/mm².

Order and frame:
  The affine takes voxel coordinates (integer = centre) to scanner RAS millimetres, in three rows.
  The table has x y z b per line, one line per volume, directions in scanner RAS axes.

References:
  Jeurissen B, Leemans A, Sijbers J. Med Image Anal 18, 953 (2014): the check";

impl Info {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { files: paths, lengths, table: table_only, check_gradients, mask, gradients } =
            self;
        let mut shared = SubjectFiles { mask, ..SubjectFiles::default() };
        gradients.add_to(&mut shared);
        for path in paths {
            if Format::from_content(&path).is_ok() {
                console.print(&tractogram(&path, lengths, console)?)?;
                continue;
            }
            let files = SubjectFiles { dwi: path, ..shared.clone() };
            let header = ImageHeader::read(&files.dwi)?;
            let read = match files.read_gradients(&header) {
                Ok(read) => Some(read),
                Err(LoadError::Gradients(GradientError::NotFound { .. })) if !table_only => None,
                Err(LoadError::Gradients(error)) if !table_only && !files.names_table() => {
                    // A folder's `bvals` need not belong to every image in it.
                    if header.n_volumes() > 1 {
                        let warning = format!("no gradient table: {error}");
                        console.warn(&Page::Troubleshooting.behind(warning));
                    }
                    None
                }
                Err(error) => return Err(error.into()),
            };
            match read {
                Some(read) if table_only => console.print(&read.table.to_mrtrix())?,
                read => console.print(&described(&header, read.as_ref()))?,
            }
            if check_gradients {
                let found = checked(files, console)?;
                console.print(&format!("  {:<12} {found}\n", "checked"))?;
            }
        }
        Ok(())
    }
}

/// Whether the gradient table lies as the image does.
fn checked(files: SubjectFiles, console: &Console) -> Result<String, Failure> {
    let workers = Workers::new(0)?;
    let command_line = command_line();
    let log = Logbook::new(session(Backend::cpu(&workers), console, &command_line));
    check_table(files, &log).map_err(Failure::Work)
}

/// What a tractogram's header says and, if wanted, how long its streamlines are.
fn tractogram(path: &Path, lengths: bool, console: &Console) -> Result<String, Failure> {
    let mut reader = open(path)?;
    let header = reader.header().clone();
    let mut text = format!("{}\n", path.display());
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "  {what:<12} {value}");
    };
    let format = Format::from_content(path)?;
    line("format", format.to_string());
    line("streamlines", header.n_streamlines.map_or("not counted".into(), |n| n.to_string()));
    if let Some(points) = header.n_points {
        line("points", points.to_string());
    }
    line("coordinates", header.position_type.to_string());
    if let Some(grid) = header.grid {
        line("dimensions", grid.dims.map(|n| n.to_string()).join(" x "));
        for (row, what) in grid.ras_from_vox.0.iter().zip(["affine", "", ""]) {
            line(what, row.map(|value| format!("{value:>10.4}")).join(" "));
        }
    }
    let columns = |kinds: &[ColumnKind]| {
        let column = |k: &ColumnKind| format!("{} ({} x {})", k.name, k.width, k.datatype);
        kinds.iter().map(column).collect::<Vec<_>>().join(", ")
    };
    if !header.per_point.is_empty() {
        line("per point", columns(&header.per_point));
    }
    if !header.per_streamline.is_empty() {
        line("per line", columns(&header.per_streamline));
    }
    for group in &header.groups {
        line("group", format!("{} ({})", group.name, counted(group.members.len(), "streamline")));
    }
    for (key, value) in &header.keyvals {
        line(key, value.clone());
    }
    let (statistics, cut) = if lengths || !format.marks_its_end() {
        read_through(&mut *reader, console)?
    } else {
        Default::default()
    };
    if lengths {
        line("read", counted(statistics.count(), "streamline"));
        if statistics.count() > 0 {
            let [least, median, most] = statistics.min_median_max();
            line("length", format!("{least:.4} to {most:.4} mm, median {median:.4}"));
            let mean = statistics.mean();
            let deviation = match statistics.count() {
                1 => String::new(),
                _ => format!(", standard deviation {:.4}", statistics.standard_deviation()),
            };
            line("", format!("mean {mean:.4} mm{deviation}"));
        }
    }
    for doubt in reader.doubts().into_iter().chain(cut) {
        console.warn(&Page::Troubleshooting.behind(doubt));
    }
    Ok(text)
}

/// Lengths of the streamlines that can be read, and why not all can.
fn read_through(
    reader: &mut dyn ReadStreamlines,
    console: &Console,
) -> Result<(LengthStatistics, Option<String>), Failure> {
    let mut statistics = LengthStatistics::default();
    let mut chunk = Streamlines::default();
    loop {
        console.check()?;
        chunk.clear();
        match reader.next_chunk(&mut chunk, CHUNK_POINTS) {
            Ok(true) => statistics.add(&chunk),
            Ok(false) => return Ok((statistics, None)),
            Err(error @ TractogramError::Damaged { .. }) => {
                // Those before the damage are whole.
                statistics.add(&chunk);
                return Ok((statistics, Some(error.to_string())));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn described(header: &ImageHeader, read: Option<&GradientsRead>) -> String {
    let mut text = format!("{}\n", header.path().display());
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "  {what:<12} {value}");
    };
    let grid = header.grid();
    let dims = grid.dims.iter().chain(header.volume_dims());
    let dims: Vec<_> = dims.map(ToString::to_string).collect();
    line("dimensions", dims.join(" x "));
    let spacing = grid.ras_from_vox.spacing().map(|mm| format!("{mm:.4}"));
    line("voxel size", format!("{} mm", spacing.join(" x ")));
    line("samples", format!("{}, {}", header.datatype(), header.byte_order()));
    if let Some(name) = header.named_data() {
        line("data in", name.display().to_string());
    }
    let scaling = header.scaling();
    if !scaling.is_none() {
        line("scaling", format!("value = {} * stored + {}", scaling.slope, scaling.intercept));
    }
    let doubts = Doubt::about_place(header)
        .into_iter()
        .chain(read.and_then(|read| Doubt::about_table(&read.table)));
    let doubts: Vec<_> = doubts.map(|doubt| doubt.to_string()).collect();
    line("orientation", format!("{:?}", header.orientation()).to_lowercase());
    for (row, what) in grid.ras_from_vox.0.iter().zip(["affine", "", ""]) {
        line(what, row.map(|value| format!("{value:>10.4}")).join(" "));
    }
    if !header.description().is_empty() {
        line("description", header.description().trim_end().replace('\n', " | "));
    }
    if let Some(GradientsRead { table, repairs }) = read {
        for (shell, what) in
            table.shells().iter().zip(std::iter::once("shells").chain(std::iter::repeat("")))
        {
            line(what, shell.to_string());
        }
        line("b0 threshold", format!("{} s/mm²", table.b0_threshold));
        for repair in repairs {
            line("repaired", repair.to_string());
        }
    }
    for doubt in doubts {
        line("doubtful", doubt);
    }
    text
}
