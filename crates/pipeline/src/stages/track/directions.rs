//! The stage that reads or draws samples of directions.

use std::path::PathBuf;

use fimbria_image::Grid;
use fimbria_image::sticks::StickSamples;
use fimbria_tracking::{Densities, Field};
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

use super::source::{Found, densities_of};
use super::{Source, SourceError, Through};
use crate::stages::load_orientations::OrientationField;
use crate::{Input, Logbook, Product, Products, Stage, StageError};

/// Reads or draws samples of directions for [`Track`](super::Track).
pub struct LoadDirections {
    /// What they come from.
    pub source: Source,
    /// Voxels to use; `None` for those there are.
    pub mask: Option<PathBuf>,
    /// Seed of those that are drawn.
    pub rng_seed: u64,
}

/// What is tracked through.
pub struct Directions {
    pub(super) medium: Medium,
    /// Of all of it, for several processes to compare; `None` for one alone.
    pub(super) hash: Option<u128>,
}

impl Directions {
    /// Samples in memory.
    pub fn of_samples(samples: StickSamples, log: &Logbook<'_>) -> Self {
        log.count("voxels", samples.mask.len() as u64);
        let medium = Medium::Samples(Field::new(samples, log.session().on.workers));
        Self { medium, hash: None }
    }

    /// Functions on the sphere in memory.
    ///
    /// # Errors
    /// [`SourceError`] where they are none.
    pub fn of_field(field: &OrientationField, log: &Logbook<'_>) -> Result<Self, SourceError> {
        let medium = Medium::Densities(densities_of(field, &field.mask, log)?);
        Ok(Self { medium, hash: None })
    }

    /// Where they lie.
    pub(super) fn grid(&self) -> &Grid {
        match &self.medium {
            Medium::Samples(field) => field.grid(),
            Medium::Densities(densities) => densities.grid(),
        }
    }

    /// Which of the two they are.
    pub fn through(&self) -> Through {
        match self.medium {
            Medium::Samples(_) => Through::Samples,
            Medium::Densities(_) => Through::Densities,
        }
    }
}

/// What there is in each voxel.
pub(super) enum Medium {
    Samples(Field),
    Densities(Densities),
}

fn hash_of(samples: &StickSamples) -> u128 {
    let StickSamples { mask, n_fibres, n_samples, sticks } = samples;
    let mut hash = Xxh3::new();
    hash.update(format!("{:?} {n_fibres} {n_samples}", mask.grid).as_bytes());
    hash.update(bytemuck::cast_slice(&mask.voxels));
    hash.update(bytemuck::cast_slice(sticks));
    hash.digest128()
}

impl Stage for LoadDirections {
    fn name(&self) -> &'static str {
        "load"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Directions>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let mask = self.mask.iter().map(|path| ("mask".to_owned(), path.clone()));
        self.source.inputs().into_iter().chain(mask).collect()
    }

    fn parameters(&self) -> Value {
        let mask = if self.mask.is_some() { "given" } else { "of the directions" };
        json!({
            "directions": self.source.parameters(), "mask": mask, "rng_seed": self.rng_seed,
        })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let on = log.session().on;
        let is_compared = on.comm.size() > 1;
        let (medium, hash) = match self.source.read(self.mask.as_deref(), self.rng_seed, log)? {
            Found::Samples(samples) => {
                log.count("voxels", samples.mask.len() as u64);
                let hash = is_compared.then(|| hash_of(&samples));
                (Medium::Samples(Field::new(samples, on.workers)), hash)
            }
            Found::Densities(densities) => {
                let hash = is_compared.then(|| {
                    let mut hash = Xxh3::new();
                    densities.digest(|bytes| hash.update(bytes));
                    hash.digest128()
                });
                (Medium::Densities(densities), hash)
            }
        };
        products.put(Directions { medium, hash });
        Ok(())
    }
}
