//! What an evaluation hands on, and sets of streamlines with names.

use std::path::{Path, PathBuf};

use fimbria_image::Grid;
use fimbria_life::Weights;
use fimbria_life::evidence::{CrossValidation, Lesion};
use fimbria_streamlines::Header;
use fimbria_streamlines::connectome::Nodes;

use super::{LifeInputError, Prediction};

/// Some streamlines under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSet {
    /// The name.
    pub name: String,
    /// Its streamlines, from 0.
    pub members: Vec<u32>,
}

/// A set of a file, and where it stands there.
#[derive(Clone, Debug)]
pub(super) struct NumberedSet {
    path: PathBuf,
    /// From 1.
    line: usize,
    set: NamedSet,
}

/// A connectome with its weights and what they say. Of several processes the first has what is said of
/// voxels.
pub struct Evaluation {
    /// The lattice of the series.
    pub grid: Grid,
    /// The voxels that streamlines pass, linear indices, ascending.
    pub voxels: Vec<u32>,
    /// Their unweighted signal; 0 where it is unusable.
    pub s0: Vec<f32>,
    /// The weights.
    pub weights: Weights,
    /// The series that they give; `None` in processes that write nothing.
    pub prediction: Option<Prediction>,
    /// Root mean squared error of each voxel, units of the signal.
    pub rmse: Vec<f32>,
    /// The same without streamlines: their weights at zero, those of compartments as they are.
    pub rmse_without: Vec<f32>,
    /// What streamlines are of each voxel: their weights by their parts there. Where there are hindered
    /// compartments.
    pub restricted: Option<Vec<f32>>,
    /// How many of the compartments are isotropic: the first.
    pub n_isotropic: usize,
    /// Against a second measurement.
    pub cross: Option<CrossValidation>,
    /// Nodes of matrices.
    pub nodes: Option<Nodes>,
    /// What each set is worth.
    pub lesions: Vec<(String, Lesion)>,
}

/// The name of the set of all streamlines.
const ALL: &str = "all";

/// The whole tractogram, its groups, and the sets `of_file`.
pub(super) fn named_sets(
    header: &Header,
    of_file: Vec<NumberedSet>,
    streamlines: usize,
) -> Result<Vec<NamedSet>, LifeInputError> {
    let all = NamedSet { name: ALL.to_owned(), members: (0..streamlines as u32).collect() };
    let mut sets = vec![all];
    for group in &header.groups {
        let members = group.members.iter().copied().filter(|f| (*f as usize) < streamlines);
        sets.push(NamedSet { name: group.name.clone(), members: members.collect() });
    }
    for NumberedSet { path, line, set } in of_file {
        let beyond = set.members.iter().find(|f| **f as usize >= streamlines);
        if let Some(f) = beyond {
            return Err(LifeInputError::Member { path, line, text: f.to_string(), streamlines });
        }
        if sets.iter().any(|other| other.name == set.name) {
            return Err(LifeInputError::SameName { path, line, name: set.name });
        }
        sets.push(set);
    }
    Ok(sets)
}

/// The sets of a file: lines of a name and numbers of streamlines from 0, each streamline once.
pub(super) fn read_sets(path: &Path) -> Result<Vec<NumberedSet>, LifeInputError> {
    let read = |source| LifeInputError::Read { path: path.to_owned(), source };
    let text = fimbria_image::read_regular_text(path).map_err(read)?;
    let mut sets = Vec::new();
    for (line, words) in (1..).zip(text.lines()) {
        let mut words = words.split_whitespace();
        let Some(name) = words.next().filter(|name| !name.starts_with('#')) else { continue };
        let at = || (path.to_owned(), line);
        let member = |word: &str| {
            let (path, line) = at();
            let text = word.to_owned();
            word.parse().map_err(|_| LifeInputError::NoMember { path, line, text })
        };
        let mut members = words.map(member).collect::<Result<Vec<u32>, _>>()?;
        let (path, line) = at();
        if members.is_empty() {
            return Err(LifeInputError::NoMembers { path, line, text: name.to_owned() });
        }
        members.sort_unstable();
        members.dedup();
        let set = NamedSet { name: name.to_owned(), members };
        sets.push(NumberedSet { path, line, set });
    }
    if sets.is_empty() { Err(LifeInputError::NoSets { path: path.to_owned() }) } else { Ok(sets) }
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
