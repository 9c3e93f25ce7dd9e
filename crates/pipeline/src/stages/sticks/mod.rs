//! The stage that samples ball and sticks, and writes the samples as a bedpostX folder.

mod kept;
mod method;
mod parameters;
pub(in crate::stages) mod section;

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::bedpostx::{
    Merged, bedpostx_files, half_file, read_bedpostx, write_bedpostx, write_half,
};
use fimbria_image::sticks::StickSamples;
use fimbria_image::{
    BvecFrame, Datatype, Image, MapKind, Mask, OpenOptions, Status, Window, WriteOptions, counted,
    write_image,
};
use fimbria_models::FittedMap;
use fimbria_models::brain_mask::mean_unweighted;
use fimbria_sticks::{Keeper, Sampled, sample, sample_along};
use fimbria_tensors::peaks::Peaks;
use fimbria_workflow::ensure_same_work;
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

use self::kept::Kept;
pub(in crate::stages) use self::method::METHOD;
pub use self::parameters::{SticksInRun, SticksParameters, Within};
use super::fits::dti;
use super::fits::fit_maps::Maps;
use super::load::Subject;
use super::peaks;
use crate::options::from_values;
use crate::{
    FileKind, Logbook, Named, OutputFolder, Page, Product, Products, RunRecord, Stage, StageError,
    Taken, Written,
};

/// What `fimbria sticks` writes.
pub const STICKS_WRITES: &[Written] = &[
    Written::image(
        "merged_th*samples",
        MapKind::Scalar,
        0,
        "rad",
        "polar angle, a volume per sample; fibres are in the order of their mean \
         fractions",
    ),
    Written::image("merged_ph*samples", MapKind::Scalar, 0, "rad", "azimuth"),
    Written::image("merged_f*samples", MapKind::Scalar, 0, "", "fraction"),
    Written::file(
        "merged_samples.f16",
        FileKind::Binary,
        "fimbria track and fimbria probtrackx2 read it. Little endian: 'fimstick', \
         u32 1, fibres, samples, 0, u64 voxels, 3 u64 size of the grid, 12 f64 \
         scanner mm from voxel, u32 index of each voxel (x fastest), then \
         [voxel][sample][fibre] f16 u v f: direction in scanner axes on the \
         octahedron |x|+|y|+|z| = 1 unfolded to a square (u = x, v = y where z >= 0, \
         else (1-|y|) sign x, (1-|x|) sign y), NaN = none; fraction",
    )
    .only("with --half in their place"),
    Written::scalar("mean_th*samples", "rad", "mean of the samples, near the dyad"),
    Written::scalar("mean_ph*samples", "rad", "the same of the azimuth"),
    Written::scalar("mean_f*samples", "", "mean of the samples; mean_fsumsamples: of all fibres"),
    Written::image(
        "dyads*",
        MapKind::Vector,
        3,
        "",
        "unit principal direction x y z of the samples, sign arbitrary; \
         dyads2_thr0.05 and so on: where the mean of f is at least 0.05",
    ),
    Written::scalar(
        "dyads*_dispersion",
        "",
        "1 - largest eigenvalue of the mean of v vᵀ: 0 sure, 2/3 any direction",
    ),
    Written::image(
        "dyads*_thr0.05_modf*",
        MapKind::Vector,
        3,
        "",
        "the same as dyads2_thr0.05 times mean f2 / mean f1",
    ),
    Written::scalar("mean_dsamples", "mm^2/s", "mean of d"),
    Written::scalar("std_dsamples", "mm^2/s", "standard deviation of d"),
    Written::scalar("mean_d_stdsamples", "mm^2/s", "mean spread of diffusivities")
        .only("of model 2 and 3"),
    Written::scalar("mean_Rsamples", "", "mean ratio of diffusivity across to along")
        .only("of model 3"),
    Written::scalar("mean_f0samples", "", "mean fraction without attenuation").only("with --f0"),
    Written::scalar("mean_tausamples", "", "mean 1/variance of the noise").only("of rician noise"),
    Written::scalar("mean_S0samples", "arbitrary", "signal without weighting, sampled"),
    Written::scalar("nodif_brain", "arbitrary", "the same, measured"),
    Written::code("nodif_brain_mask", "the mask").within(Window::Fixed([0.0, 1.0])),
    Written::scalar(
        "acceptance",
        "",
        "share of the proposals after burn-in that were taken, 0.2 to 0.5 where \
         chains mix",
    ),
    Written::scalar(
        "effective_samples",
        "",
        "how many independent samples the kept ones are worth: the least of S0, d and \
         f1",
    ),
    Written::code("status", "0 outside the mask, 1 sampled, 4 bad signal").within(Status::WINDOW),
    Written::file("bvals", FileKind::Table, "b of every volume"),
    Written::file("bvecs", FileKind::Table, "its direction"),
    Written::file("xfms/eye.mat", FileKind::Table, "the identity, where FSL looks for a transform"),
    Written::file("commands.txt", FileKind::Text, "the command, as bedpostX leaves it"),
    Written::RECORD,
];

/// The maps of a sampling beside its [`StickSamples`].
pub struct SticksMaps(pub Vec<FittedMap>);

/// Samples the [`Subject`] and hands on its [`StickSamples`] and [`SticksMaps`]. Of several processes
/// each samples a part; the first one alone keeps chunks and has something to hand on.
pub struct Sticks {
    /// How to sample.
    pub parameters: SticksParameters,
    /// Which voxels.
    pub within: Within,
    /// Extension of images ("nii.gz").
    pub extension: &'static str,
    /// Folder for finished chunks.
    pub keep: Option<PathBuf>,
    /// What becomes of chunks that an interrupted run has left there.
    pub resume: Resume,
}

/// What becomes of finished work that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// It is removed.
    No,
    /// It is taken up; that of another sampling is an error.
    Yes,
    /// It is taken up; that of another sampling is removed.
    WhereSame,
}

impl Sticks {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of("sticks")?.get("sticks")?.as_object()?;
        let SticksInRun { sampling, within } = from_values(parameters).ok()?;
        let (extension, keep, resume) = ("nii.gz", None, Resume::No);
        Some(Self { parameters: sampling, within: within.0, extension, keep, resume })
    }
}

/// Text files of a bedpostX folder.
const TEXTS: [&str; 4] = ["bvals", "bvecs", "commands.txt", "xfms/eye.mat"];

impl Stage for Sticks {
    fn name(&self) -> &'static str {
        "sticks"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::always::<Subject>(),
            Taken::where_made::<Peaks>(),
            Taken::where_made::<Maps<dti::Parameters>>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<StickSamples>(), Product::of::<SticksMaps>()]
    }

    fn parameters(&self) -> Value {
        let (sampling, within) = (self.parameters.clone(), Named(self.within));
        json!({ "sticks": SticksInRun { sampling, within }, "format": self.extension })
    }

    fn outputs(&self) -> Vec<String> {
        let images = bedpostx_files(self.parameters.fibres, self.merged());
        let maps = self.parameters.maps().into_iter().map(str::to_owned);
        let images = images.into_iter().chain(maps).chain(["nodif_brain".to_owned()]);
        let images = images.map(|name| format!("{name}.{}", self.extension));
        let half = self.parameters.half.then(|| self.half());
        images.chain(TEXTS.map(str::to_owned)).chain(half).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = products.get::<Subject>()?;
        let session = log.session();
        let mask = match self.within {
            Within::Mask => subject.mask.clone(),
            Within::Fibres => with_fibres(products, &subject.mask)?,
        };
        log.count("voxels", mask.len() as u64);
        let (gradients, grad_dev) = (&subject.gradients, subject.grad_dev.as_deref());
        let options = self.parameters.options()?;
        let fingerprint = self.fingerprint(subject, &mask);
        if session.on.comm.size() > 1 {
            ensure_same_work(session.on.comm, fingerprint, 0)?;
        }
        if session.on.comm.rank() > 0 {
            sample_along(&*subject.dwi, &mask, gradients, grad_dev, &options, &session.on, log)?;
            return Ok(());
        }
        let keeper = match &self.keep {
            Some(folder) => Some(Kept::open(folder, fingerprint, self.resume)?),
            None => None,
        };
        let _held = keeper.as_ref().map(|_| session.unfinished.hold());
        let sampled = sample(
            &*subject.dwi,
            &mask,
            gradients,
            grad_dev,
            &options,
            keeper.as_ref().map(|keeper| keeper as &dyn Keeper),
            &session.on,
            log,
        )?;
        if sampled.counts.count(Status::Fitted) == 0 {
            // There is nothing to go on from.
            keeper.iter().for_each(Kept::clear);
            return Err(format!(
                "none of the {} has a usable signal",
                counted(mask.len(), "voxel")
            )
            .into());
        }
        report_counts(&sampled, log);
        products.put(sampled.sticks);
        products.put(SticksMaps(sampled.maps));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let (sticks, maps) = (products.get::<StickSamples>()?, products.get::<SticksMaps>()?);
        let workers = log.session().on.workers;
        let subject = products.find::<Subject>();
        let space_codes = subject.and_then(|subject| subject.carried.space_codes);
        let mut write = |name: &str, image: &Image, options: &WriteOptions| {
            log.check()?;
            let path = out.stage(&format!("{name}.{}", self.extension))?;
            let options = WriteOptions { space_codes, ..options.clone() };
            workers.install(|| write_image(&path, image, &options))?;
            Ok::<(), StageError>(())
        };
        workers.install(|| write_bedpostx(sticks, self.merged(), &mut write))?;
        for FittedMap { spec, image } in &maps.0 {
            let datatype = match spec.kind {
                MapKind::Code => Datatype::UInt8,
                _ => Datatype::Float32,
            };
            let description = spec.description.clone().into_owned();
            let options = WriteOptions { datatype, description, ..WriteOptions::default() };
            write(&spec.name, image, &options)?;
        }
        if let Some(subject) = subject {
            let mean = mean_unweighted(&*subject.dwi, &subject.gradients, workers);
            let mut brain = Image::zeros(mean.grid, 1);
            for &voxel in &subject.mask.voxels {
                brain.data[voxel as usize] = mean.data[voxel as usize];
            }
            let description = "mean unweighted signal within the mask, input units".to_owned();
            write("nodif_brain", &brain, &WriteOptions { description, ..WriteOptions::default() })?;
            let affine = &mean.grid.ras_from_vox;
            let table = subject.gradients.to_fsl(BvecFrame::Fsl, affine);
            out.write("bvals", table.bvals.as_bytes())?;
            out.write("bvecs", table.bvecs.as_bytes())?;
        }
        if self.parameters.half {
            let mut file = BufWriter::new(std::fs::File::create(out.stage(&self.half())?)?);
            workers.install(|| write_half(sticks, &mut file))?;
            file.flush()?;
        }
        let command = format!("{}\n", log.session().command_line.join(" "));
        out.write("commands.txt", command.as_bytes())?;
        out.write("xfms/eye.mat", b"1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n")?;
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let workers = log.session().on.workers;
        let samples = workers.install(|| read_bedpostx(folder, None, &OpenOptions::default()))?;
        products.put::<StickSamples>(samples);
        Ok(())
    }
}

impl Sticks {
    fn merged(&self) -> Merged {
        if self.parameters.half { Merged::Elsewhere } else { Merged::Images }
    }

    /// Name of the file of half precision.
    fn half(&self) -> String {
        half_file(Path::new("merged")).display().to_string()
    }

    /// Of all that samples depend on, for several processes to compare, and finished chunks.
    fn fingerprint(&self, subject: &Subject, mask: &Mask) -> u128 {
        let mut hash = Xxh3::new();
        hash.update(env!("CARGO_PKG_VERSION").as_bytes());
        hash.update(&fimbria_sticks::REVISION.to_le_bytes());
        hash.update(json!(self.parameters).to_string().as_bytes());
        // Fewer than the subject's where only fibres are sampled.
        hash.update(bytemuck::cast_slice(&mask.voxels));
        subject.hash(&mut hash);
        hash.digest128()
    }
}

/// The voxels of `mask` that have a fibre direction, as earlier stages found it.
fn with_fibres(products: &Products, mask: &Mask) -> Result<Mask, StageError> {
    /// Above what noise makes of isotropic tissue, below what three crossing fibres leave.
    const LEAST_FA: f32 = 0.15;
    let is_fibre: Box<dyn Fn(usize) -> bool> = if let Some(found) = products.find::<Peaks>() {
        let voxels = peaks::with_fibres(found).voxels;
        Box::new(move |voxel| voxels.binary_search(&(voxel as u32)).is_ok())
    } else if let Some(fa) = products.find::<Maps<dti::Parameters>>().and_then(|fit| fit.map("FA"))
    {
        Box::new(|voxel| fa.data[voxel] >= LEAST_FA)
    } else {
        return Err("sampling within fibres takes an earlier stage that finds them".into());
    };
    let voxels: Vec<_> = mask.voxels.iter().copied().filter(|&v| is_fibre(v as usize)).collect();
    if voxels.is_empty() {
        return Err("no voxel has a fibre direction: set sticks.within to mask".into());
    }
    Ok(Mask { grid: mask.grid, voxels })
}

/// Notes what became of the voxels, how the chains mixed and how fast it went.
fn report_counts(sampled: &Sampled, log: &Logbook<'_>) {
    let voxels = sampled.counts.count(Status::Fitted);
    let bad = sampled.counts.count(Status::BadSignal);
    log.count("sampled", voxels);
    log.count("bad_signal", bad);
    if bad > 0 {
        log.warn(
            Page::Sticks,
            &format!(
                "{}: no usable signal, and no directions (see the status map)",
                counted(bad, "voxel")
            ),
        );
    }
    log.count("voxels_per_second", (voxels as f64 / sampled.seconds.max(1e-9)) as u64);
    let effective = sampled.maps.iter().find(|map| map.spec.name == "effective_samples");
    if let Some(map) = effective {
        let inside = sampled.sticks.mask.voxels.iter().map(|&v| map.image.data[v as usize]);
        let few = inside.filter(|&n| n > 0.0 && n < 0.2 * sampled.sticks.n_samples as f32).count();
        log.count("few_effective_samples", few as u64);
    }
    log.count_shares(&sampled.shares);
}
