//! What an evaluation hands on, and sets of streamlines with names.

use std::path::Path;

use fimbria_life::evidence::{CrossValidation, Lesion};
use fimbria_life::{Encoding, Signal, Weights};
use fimbria_streamlines::Header;

use super::LifeInputError;

/// Some streamlines under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSet {
    /// The name.
    pub name: String,
    /// Its streamlines, from 0.
    pub members: Vec<u32>,
}

/// A connectome with its weights and what they say.
pub struct Evaluation {
    /// Where streamlines run.
    pub encoding: Encoding,
    /// What was measured there.
    pub signal: Signal,
    /// The weights.
    pub weights: Weights,
    /// The demeaned signal that they give, voxel by voxel of the encoding.
    pub predicted: Vec<f32>,
    /// Root mean squared error of each voxel, units of the signal.
    pub rmse: Vec<f32>,
    /// Against a second measurement.
    pub cross: Option<CrossValidation>,
    /// What each set is worth.
    pub lesions: Vec<(String, Lesion)>,
}

/// The whole tractogram, its groups, and the sets of a file.
pub(super) fn named_sets(
    header: &Header,
    file: Option<&Path>,
    streamlines: usize,
) -> Result<Vec<NamedSet>, LifeInputError> {
    let all = NamedSet { name: "all".to_owned(), members: (0..streamlines as u32).collect() };
    let mut sets = vec![all];
    for group in &header.groups {
        let members = group.members.iter().copied().filter(|f| (*f as usize) < streamlines);
        sets.push(NamedSet { name: group.name.clone(), members: members.collect() });
    }
    let Some(path) = file else { return Ok(sets) };
    let read = |source| LifeInputError::Read { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(read)?;
    for (line, words) in text.lines().enumerate() {
        let mut words = words.split_whitespace();
        let Some(name) = words.next().filter(|name| !name.starts_with('#')) else { continue };
        let member = |word: &str| match word.parse::<u32>() {
            Ok(f) if (f as usize) < streamlines => Ok(f),
            _ => Err(LifeInputError::Member {
                path: path.to_owned(),
                line: line + 1,
                text: word.to_owned(),
                streamlines,
            }),
        };
        let members = words.map(member).collect::<Result<_, _>>()?;
        sets.push(NamedSet { name: name.to_owned(), members });
    }
    Ok(sets)
}

/// Weights, one a line.
pub(super) fn read_weights(path: &Path) -> Result<Vec<f32>, LifeInputError> {
    let read = |source| LifeInputError::Read { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(read)?;
    let mut weights = Vec::new();
    for (line, text) in text.lines().enumerate() {
        for word in text.split('#').next().unwrap_or("").split_whitespace() {
            weights.push(word.parse().map_err(|_| LifeInputError::Weight {
                path: path.to_owned(),
                line: line + 1,
                text: word.to_owned(),
            })?);
        }
    }
    Ok(weights)
}

/// The table of lesions.
pub(super) fn table(lesions: &[(String, Lesion)]) -> String {
    let mut text = String::from(
        "set\tstreamlines\tkept\tweight\tvoxels\tneighbours\trmse\trmse_lesioned\tstrength\t\
         earth_mover\tkullback_leibler\tjeffreys\n",
    );
    for (name, lesion) in lesions {
        let Lesion {
            streamlines,
            kept,
            weight,
            voxels,
            neighbours,
            rmse,
            rmse_lesioned,
            comparison,
        } = lesion;
        let numbers = [
            *weight,
            *rmse,
            *rmse_lesioned,
            comparison.strength,
            comparison.earth_mover,
            comparison.kullback_leibler,
            comparison.jeffreys,
        ];
        let [weight, rmse, lesioned, strength, mover, kl, jeffreys] =
            numbers.map(|n| format!("{n:.6e}"));
        text.push_str(&format!(
            "{name}\t{streamlines}\t{kept}\t{weight}\t{voxels}\t{neighbours}\t{rmse}\t{lesioned}\t\
             {strength}\t{mover}\t{kl}\t{jeffreys}\n"
        ));
    }
    text
}
