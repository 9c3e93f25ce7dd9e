//! The stage that tracks from regions and hands all on: for callers that write no files.

use fimbria_image::Image;
use fimbria_streamlines::{Header, Streamlines, Tractogram};
use fimbria_tracking::Lines;
use serde_json::{Value, json};

use super::directions::Directions;
use super::follow::follow;
use super::regions::Regions;
use super::resolved::Setting;
use super::{AnatomyOptions, Through, TrackParameters};
use crate::options::{Place, Resolve as _, Resolved};
use crate::{Logbook, Product, Products, Stage, StageError, Taken};

/// Tracks through [`Directions`], as [`Track`](super::Track) does.
pub struct TrackInMemory {
    /// From where, and by which ways.
    pub regions: Regions,
    /// Where streamlines may end.
    pub anatomy: AnatomyOptions,
    /// The image that those options name; `None` where it is in its file.
    pub tissues: Option<Image>,
    /// How.
    pub parameters: TrackParameters,
    /// What the directions are.
    pub through: Through,
}

/// What there is from regions.
pub struct TracksFound {
    /// The streamlines.
    pub lines: Tractogram,
    /// How many of them pass each voxel, on the grid of the seeds.
    pub visits: Image,
    /// How many are kept of each region of seeds.
    pub kept: Vec<u64>,
    /// Of each target, how many of each seed reach it: a map where seeds are voxels.
    pub reached: Vec<Option<Image>>,
    /// The same where they are points or vertices, a row for each.
    pub reached_by_points: Vec<Vec<Vec<u32>>>,
    /// Streamlines from region (row) to region (column).
    pub network: Option<Vec<Vec<u64>>>,
}

impl TrackInMemory {
    /// The options that streamlines are made with.
    fn resolved(&self) -> Resolved<TrackParameters> {
        let (through, ended_by) = (self.through, self.anatomy.ended_by());
        self.parameters.resolve(&Setting { through, place: Place::Command, ended_by })
    }
}

impl Stage for TrackInMemory {
    fn name(&self) -> &'static str {
        "track"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Directions>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<TracksFound>()]
    }

    fn parameters(&self) -> Value {
        let options = self.resolved();
        let anatomy = self.anatomy.act.as_ref().map(|_| self.anatomy.resolve(&self.parameters));
        json!({ "through": self.through.name(), "anatomy": anatomy, "track": options })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let directions = products.get::<Directions>()?;
        let options = self.resolved();
        let least = options.min_length.unwrap_or(0.0);
        let workers = log.session().on.workers;
        let grid = directions.grid();
        let mut places = workers.install(|| self.regions.places(grid, least))?;
        let tissues = workers.install(|| match &self.tissues {
            Some(image) => self.anatomy.of_image(image.clone(), grid, log),
            None => self.anatomy.read(grid, log),
        })?;
        places.constrain(self.anatomy.resolve(&self.parameters), tissues)?;
        let mut header = Header::on(*directions.grid());
        header.per_streamline = Lines::columns();
        let mut lines = Streamlines::for_header(&header);
        let tally = follow(directions, &places, &options, true, log, |block| {
            lines.append(&block);
            Ok(())
        })?;
        let (seed_set, space) = (&places.seed_set, &places.seed_set.space);
        let targets = tally
            .targets
            .iter()
            .flat_map(|targets| (0..targets.regions().len()).map(|target| targets.counts(target)));
        let (reached, reached_by_points) = targets
            .map(|counts| (seed_set.map_of(counts), seed_set.rows_of(counts).collect()))
            .unzip();
        let network = tally.network.as_ref().map(|network| {
            let row = |from| (0..network.len()).map(|to| network.count(from, to)).collect();
            (0..network.len()).map(row).collect()
        });
        let found = TracksFound {
            lines: Tractogram::new(header, lines),
            visits: space.image(|voxel| tally.visits.count(voxel) as f32),
            kept: tally.kept.clone(),
            reached,
            reached_by_points,
            network,
        };
        products.put(found);
        Ok(())
    }
}
