//! The acquisition as the deconvolution sees it: which volumes, on which shells.

use fimbria_image::GradientTable;
use fimbria_image::gradients::Shell;

use super::{FodError, Tissues};
use fimbria_tensors::sh::sh_count;

/// The shells that enter, ascending in b; the first is the unweighted one where `three` tissues
/// are told apart.
#[derive(Clone, Debug)]
pub(crate) struct Shelled {
    pub(crate) shells: Vec<Shell>,
    pub(crate) three: bool,
}

impl Shelled {
    pub(crate) fn new(gradients: &GradientTable, tissues: Tissues) -> Result<Self, FodError> {
        let all = gradients.shells();
        let is_b0 = |shell: &&Shell| gradients.is_b0(shell.volumes[0]);
        let unweighted = all.iter().filter(is_b0).map(|shell| shell.volumes.len()).sum();
        let weighted: Vec<Shell> = all.iter().filter(|shell| !is_b0(shell)).cloned().collect();
        if weighted.is_empty() {
            return Err(FodError::NoShell { b0_threshold: gradients.b0_threshold });
        }
        let can_be_three = unweighted > 0 && weighted.len() >= 2;
        match tissues {
            Tissues::Three if !can_be_three => {
                let shells = weighted.iter().map(|shell| shell.b_s_per_mm2.round()).collect();
                Err(FodError::Shells { unweighted, shells })
            }
            Tissues::Three | Tissues::Auto if can_be_three => Ok(Self { shells: all, three: true }),
            _ => Ok(Self { shells: weighted, three: false }),
        }
    }

    /// The volumes that enter, shell by shell.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = usize> {
        self.shells.iter().flat_map(|shell| shell.volumes.iter().copied())
    }

    /// Refuses an order of which the constraint would have to supply more than half.
    pub(crate) fn check(&self, gradients: &GradientTable, order: usize) -> Result<(), FodError> {
        let half = (order / 2).next_multiple_of(2);
        let (needed, determined) = (sh_count(half), sh_count(order));
        let found = gradients.distinct_directions(self.volumes());
        if found < needed {
            return Err(FodError::Directions { order, needed, found, determined });
        }
        Ok(())
    }
}
