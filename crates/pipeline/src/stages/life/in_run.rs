//! The evaluation of what a run has tracked itself.

use std::path::{Path, PathBuf};

use fimbria_image::Image;
use fimbria_streamlines::{CHUNK_POINTS, Streamlines, open};
use serde_json::Value;

use super::other_inputs::start_weights;
use super::{Evaluation, HinderedOptions, Life, LifeFiles, LifeParameters, write};
use crate::options::from_values;
use crate::stages::given_lines::GivenLines;
use crate::stages::load::Subject;
use crate::stages::track::Tracked;
use crate::{
    ByteSize, Logbook, MapStyle, OutputFolder, Product, Products, RunRecord, Stage, StageError,
    Taken,
};

/// [`Life`] on the streamlines that the stage before it wrote.
pub struct LifeInRun {
    /// How.
    pub parameters: LifeParameters,
    /// How images are written.
    pub style: MapStyle,
    /// Entities for names of BIDS.
    pub entities: String,
    /// Where the streamlines are going to be.
    pub tractogram: PathBuf,
    /// Memory that may be held.
    pub memory: Option<ByteSize>,
}

/// What a page shows of an evaluation.
pub struct Weighed {
    /// Of every streamline.
    pub weights: Vec<f32>,
    /// Root mean squared error over the unweighted signal.
    pub rmse_s0: Image,
    /// The same without streamlines; earlier versions did not write it.
    pub rmse_s0_without: Option<Image>,
    /// Streamlines of positive weight, of many the first.
    pub kept: Streamlines,
}

/// Points of streamlines that are kept for a page.
const POINTS_SHOWN: usize = 2_000_000;

impl LifeInRun {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of("life")?;
        let part = |name: &str| parameters.get(name).cloned();
        Some(Self {
            parameters: from_values(part("life")?.as_object()?).ok()?,
            style: serde_json::from_value(part("maps")?).ok()?,
            entities: serde_json::from_value(part("entities")?).ok()?,
            tractogram: PathBuf::new(),
            memory: None,
        })
    }

    fn life(&self) -> Life {
        Life {
            files: LifeFiles { tractogram: self.tractogram.clone(), ..LifeFiles::default() },
            second: None,
            parameters: self.parameters.clone(),
            hindered: HinderedOptions::default(),
            style: self.style,
            entities: self.entities.clone(),
            checkpoint: None,
            memory: self.memory,
        }
    }
}

impl Stage for LifeInRun {
    fn name(&self) -> &'static str {
        "life"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::always::<Subject>(),
            Taken::always::<Tracked>(),
            Taken::where_made::<GivenLines>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Evaluation>(), Product::of::<Weighed>()]
    }

    fn parameters(&self) -> Value {
        self.life().parameters()
    }

    fn outputs(&self) -> Vec<String> {
        self.life().outputs()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.life().compute(products, log)?;
        let evaluation = products.get::<Evaluation>()?;
        let Evaluation { grid, voxels, s0, rmse, rmse_without, weights, .. } = evaluation;
        let over_s0 = |errors: &[f32]| {
            let mut image = Image::zeros(*grid, 1);
            for ((&voxel, error), s0) in voxels.iter().zip(errors).zip(s0) {
                image.data[voxel as usize] = if *s0 > 0.0 { error / s0 } else { f32::NAN };
            }
            image
        };
        let (rmse_s0, rmse_s0_without) = (over_s0(rmse), Some(over_s0(rmse_without)));
        let weights = weights.streamlines.clone();
        let kept = kept(&self.tractogram, Some(&weights))?;
        products.put(Weighed { weights, rmse_s0, rmse_s0_without, kept });
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.life().write(products, out, log)
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let weights = start_weights(&folder.join("weights.txt"))?;
        let workers = log.session().on.workers;
        let (rmse_s0, rmse_s0_without) = write::read_errors(&self.life(), folder, workers)?;
        let pruned = ["pruned.trx", "pruned.tck", "pruned.trk"].map(|name| folder.join(name));
        let pruned = pruned.iter().find(|path| path.exists());
        let kept = kept(pruned.ok_or("the folder has no pruned streamlines")?, None)?;
        products.put(Weighed { weights, rmse_s0, rmse_s0_without, kept });
        Ok(())
    }
}

/// Streamlines of positive weight (all without weights), as many as a page shows.
fn kept(path: &Path, weights: Option<&[f32]>) -> Result<Streamlines, StageError> {
    let mut reader = open(path)?;
    let (mut kept, mut chunk) = (Streamlines::default(), Streamlines::default());
    let mut first = 0;
    while kept.n_points() < POINTS_SHOWN && reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
        for f in 0..chunk.len() {
            if weights.is_none_or(|weights| weights[first + f] > 0.0) {
                kept.push(chunk.points(f));
            }
        }
        first += chunk.len();
    }
    Ok(kept)
}
