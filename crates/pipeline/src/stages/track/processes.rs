//! Several processes that track together.

use fimbria_compute::comm::Comm;
use fimbria_image::sticks::StickSamples;
use serde_json::json;
use xxhash_rust::xxh3::Xxh3;

use super::{Track, TrackError};
use crate::Hashing;

impl Track {
    /// Of everything that streamlines and counts depend on, for several processes to compare; `None`
    /// for one alone.
    pub(super) fn fingerprint(
        &self,
        samples: &StickSamples,
        comm: &dyn Comm,
    ) -> Result<Option<u128>, TrackError> {
        if comm.size() == 1 {
            return Ok(None);
        }
        let StickSamples { mask, n_fibres, n_samples, sticks } = samples;
        let mut hash = Xxh3::new();
        let kinds = json!([self.in_order, self.network, self.tracks.map(|f| f.to_string())]);
        hash.update(json!([self.parameters(), kinds]).to_string().as_bytes());
        for input in Hashing::start(self.inputs()).finish()? {
            hash.update(format!("{} {}", input.role, input.xxh3_128).as_bytes());
        }
        hash.update(format!("{:?} {n_fibres} {n_samples}", mask.grid).as_bytes());
        hash.update(bytemuck::cast_slice(&mask.voxels));
        hash.update(bytemuck::cast_slice(sticks));
        Ok(Some(hash.digest128()))
    }
}
