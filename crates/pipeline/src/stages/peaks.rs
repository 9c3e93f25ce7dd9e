//! The stage that finds fibre directions.

mod method;
pub(in crate::stages) mod section;

use std::path::Path;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_compute::queue::Shares;
use fimbria_image::frames::turn_vectors;
use fimbria_image::{BvecFrame, Image, MapKind, MapSpec, Mask, Status, counted};
use fimbria_tensors::peaks::low_rank::{Fibre, find_low_rank};
use fimbria_tensors::peaks::{
    PeakCounts, PeakOptions, PeakStatus, Peaks, PeaksError, find_peaks, find_peaks_sh,
};
use serde::Serialize;
use serde_json::{Value, json};

pub(in crate::stages) use self::method::METHOD;
use super::load_orientations::OrientationField;
use crate::options::{
    Described as _, OptionError, any, choice, from_values, refuse_unused, within,
};
use crate::{
    Carried, Choice, Logbook, MapContext, MapStyle, Named, OutputFolder, Page, Product, Products,
    RunRecord, Stage, StageError, Taken, Written,
};

static PEAKS: MapSpec = MapSpec::of_kind(
    "peaks",
    MapKind::Peaks,
    0,
    "",
    "fibre directions, x y z of each, scanner RAS axes, length = value, NaN = none",
);
static VALUES: MapSpec = MapSpec::of_kind(
    "values",
    MapKind::Scalar,
    0,
    "",
    "values in the fibre directions, largest first, NaN = none",
);
static COUNT: MapSpec =
    MapSpec::of_kind("count", MapKind::Code, 1, "", "number of fibre directions");
static STATUS: MapSpec = MapSpec::of_kind(
    "status",
    MapKind::Code,
    1,
    "",
    "0 outside mask, 1 found, 2 none above thresholds, 3 uncertain, 4 not finite, 5 flat",
)
.within(Status::WINDOW);

/// What `fimbria peaks` writes.
pub const PEAKS_WRITES: &[Written] = &[
    Written::map(&PEAKS),
    Written::map(&VALUES),
    Written::map(&COUNT),
    Written::map(&STATUS),
    Written::RECORD,
];

/// What counts as a fibre direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeakMethod {
    /// A maximum.
    #[default]
    Maxima,
    /// A rank-one term.
    LowRank,
}

impl Choice for PeakMethod {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Maxima, "maxima", "maxima of the function, each certified"),
        (Self::LowRank, "low-rank", "terms of the nearest sum of powers: narrower crossings"),
    ];
}

impl Choice for Fibre {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Delta, "delta", "a delta function, as far as harmonics go: dwi2fod, fit fod"),
        (Self::RankOne, "rank-one", "the power (v·x)^m, a rank-one tensor"),
    ];
}

/// The options of a search.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct PeaksParameters {
    /// What counts as a fibre direction
    #[arg(long, value_name = "METHOD", default_value = "maxima")]
    #[arg(value_parser = choice::<PeakMethod>())]
    pub method: Named<PeakMethod>,

    /// What a single fibre looks like in the input
    #[arg(long, value_name = "FIBRE", value_parser = choice::<Fibre>())]
    #[arg(used_by("method", &[PeakMethod::LowRank]))]
    #[arg(usually = "delta in harmonics, rank-one in unique entries")]
    pub fibre: Option<Named<Fibre>>,

    /// Directions of a voxel at most
    #[arg(short, long, visible_alias = "num", value_name = "N", number = within(1_usize, 32, ""))]
    #[arg(default_value_t = PeakOptions::default().n_peaks)]
    pub number: usize,

    /// Least value of a direction, as a share of the voxel's largest
    #[arg(long, value_name = "SHARE", number = within(0.0, 1.0, ""))]
    #[arg(default_value_t = PeakOptions::default().relative_threshold)]
    pub threshold: f64,

    /// Value that a direction must exceed, in units of the input
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    #[arg(default_value_t = PeakOptions::default().absolute_threshold)]
    #[arg(number = any::<f64>(""))]
    pub absolute_threshold: f64,

    /// Of two directions nearer than this only the larger is kept
    #[arg(long, value_name = "DEG", number = within(0.0, 90.0, "degrees"))]
    #[arg(default_value_t = PeakOptions::default().min_separation_deg)]
    pub separation: f64,

    /// Directions of the half sphere from which the search sets out
    #[arg(long, value_name = "N", number = within(16_usize, 4096, ""))]
    #[arg(default_value_t = PeakOptions::default().starts)]
    pub starts: usize,
}

/// The largest peak of a density is that of fibres where it is above this. Of a response estimated
/// from the same data a voxel of a single fibre has a peak of about 1; at a signal-to-noise ratio of
/// 30 noise makes peaks of up to this in 99 of 100 voxels of grey matter.
pub(crate) const LEAST_DENSITY: f32 = 0.15;

/// The voxels whose largest peak is that of fibres.
pub(crate) fn with_fibres(found: &Peaks) -> Mask {
    let is_fibre = |value: f32| if value > LEAST_DENSITY { 1.0 } else { 0.0 };
    let data = found.values.volume(0).iter().map(|value| is_fibre(*value)).collect();
    Mask::from_image(&Image { grid: found.values.grid, n_volumes: 1, data })
}

impl PeaksParameters {
    /// Whether every option that is given is used.
    ///
    /// # Errors
    /// [`OptionError::Unused`].
    pub fn check(&self) -> Result<(), OptionError> {
        refuse_unused(self, "method", self.method.0.name())
    }

    fn options(&self) -> PeakOptions {
        PeakOptions {
            n_peaks: self.number,
            relative_threshold: self.threshold,
            absolute_threshold: self.absolute_threshold,
            min_separation_deg: self.separation,
            starts: self.starts,
            ..PeakOptions::default()
        }
    }

    /// The directions of a field, in its axes.
    pub(super) fn find(
        &self,
        field: &OrientationField,
        log: &Logbook<'_>,
    ) -> Result<Peaks, PeaksError> {
        let OrientationField { coefficients, order, basis, mask, .. } = field;
        let (signals, order, options) = (&**coefficients, *order, self.options());
        let on = &log.session().on;
        match (self.method.0, *basis) {
            (PeakMethod::Maxima, None) => find_peaks(signals, mask, order, &options, on, log),
            (PeakMethod::Maxima, Some(basis)) => {
                find_peaks_sh(signals, mask, order, basis, &options, on, log)
            }
            (PeakMethod::LowRank, basis) => {
                let usual = if basis.is_some() { Fibre::Delta } else { Fibre::RankOne };
                let fibre = self.fibre.map_or(usual, |fibre| fibre.0);
                find_low_rank(signals, mask, order, basis, fibre, &options, on, log)
            }
        }
    }

    /// The maps in the order of [`Peaks`].
    pub(crate) fn maps(&self) -> [MapSpec; 4] {
        [
            MapSpec { n_volumes: 3 * self.number, ..PEAKS.clone() },
            MapSpec { n_volumes: self.number, ..VALUES.clone() },
            COUNT.clone(),
            STATUS.clone(),
        ]
    }
}

/// Finds the directions of the [`OrientationField`] and hands on the [`Peaks`].
pub struct FindPeaks {
    /// What to look for.
    pub parameters: PeaksParameters,
    /// How to write the maps.
    pub style: MapStyle,
    /// Entities for names of BIDS.
    pub entities: String,
}

impl FindPeaks {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of("peaks")?;
        let part = |name: &str| parameters.get(name).cloned();
        Some(Self {
            parameters: from_values(part("peaks")?.as_object()?).ok()?,
            style: serde_json::from_value(part("maps")?).ok()?,
            entities: serde_json::from_value(part("entities")?).ok()?,
        })
    }

    fn context(&self, carried: Carried, log: &Logbook<'_>) -> MapContext {
        let carried = carried.with(log.session().header_entries());
        MapContext { carried, ..self.plain_context() }
    }

    /// All that names of files depend on.
    fn plain_context(&self) -> MapContext {
        MapContext {
            stage: "peaks",
            model: "peaks",
            label: "",
            model_entry: json!({
                "Description": "Fibre directions",
                "Parameters": self.parameters,
            }),
            entities: self.entities.clone(),
            carried: Carried::default(),
        }
    }
}

impl Stage for FindPeaks {
    fn name(&self) -> &'static str {
        "peaks"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<OrientationField>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Peaks>()]
    }

    fn parameters(&self) -> Value {
        json!({ "peaks": self.parameters, "maps": self.style, "entities": self.entities })
    }

    fn outputs(&self) -> Vec<String> {
        let (context, maps) = (self.plain_context(), self.parameters.maps());
        maps.iter().flat_map(|map| self.style.file_names(map, &context)).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let field = products.get::<OrientationField>()?;
        let mut found = self.parameters.find(field, log)?;
        if field.frame != BvecFrame::Scanner {
            let turn = field.frame.ras_from_frame(&found.peaks.grid.ras_from_vox);
            log.session().on.workers.install(|| turn_vectors(&mut found.peaks, &turn));
        }
        report_counts(&found, log);
        products.put(found);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let field = products.find::<OrientationField>();
        let carried = field.map(|field| field.carried.clone()).unwrap_or_default();
        let context = self.context(carried, log);
        let Peaks { peaks, values, count, status, .. } = products.get::<Peaks>()?;
        for (map, image) in self.parameters.maps().iter().zip([peaks, values, count, status]) {
            log.check()?;
            self.style.write(map, image, &context, out, log.session().on.workers)?;
        }
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let (context, workers) = (self.plain_context(), log.session().on.workers);
        let read = |map: &MapSpec| self.style.read(map, &context, folder, workers);
        let [peaks, values, count, status] = &self.parameters.maps();
        let (count, status) = (read(count)?, read(status)?);
        let counts = counts_of(&count, &status);
        let shares = Shares { devices: Vec::new(), cpu: 0 };
        let (peaks, values) = (read(peaks)?, read(values)?);
        products.put(Peaks { peaks, values, count, status, counts, shares, seconds: 0.0 });
        Ok(())
    }
}

/// What maps say of the voxels' fates.
fn counts_of(count: &Image, status: &Image) -> PeakCounts {
    let mut counts = PeakCounts::default();
    for (&peaks, &status) in count.data.iter().zip(&status.data) {
        if let Some(voxels) = counts.by_status.get_mut(status as usize)
            && status != PeakStatus::Outside.code()
        {
            *voxels += 1;
            counts.peaks += peaks as u64;
        }
    }
    counts
}

/// Notes what became of the voxels and how fast, and warns where something did.
fn report_counts(found: &Peaks, log: &Logbook<'_>) {
    let Peaks { counts, seconds, shares, .. } = found;
    log.count("peaks", counts.peaks);
    for (status, name, trouble) in [
        (PeakStatus::Found, "found", ""),
        (PeakStatus::Below, "below_thresholds", ""),
        (PeakStatus::Flat, "flat", ""),
        (PeakStatus::Uncertain, "uncertain", "further directions may be there"),
        (PeakStatus::BadForm, "not_finite", "a coefficient is no finite number"),
    ] {
        let voxels = counts.count(status);
        log.count(name, voxels);
        if voxels > 0 && !trouble.is_empty() {
            log.warn(
                Page::Densities,
                &format!("{}: {trouble} (see the status map)", counted(voxels, "voxel")),
            );
        }
    }
    let voxels: u64 = counts.by_status.iter().sum();
    log.count("voxels_per_second", (voxels as f64 / seconds.max(1e-9)) as u64);
    log.count_shares(shares);
}
