//! The acquisition as the deconvolution sees it: which volumes, on which shells.

use fimbria_image::GradientTable;
use fimbria_image::gradients::Shell;

use super::{FodError, FodOptions, Response, Tissues};
use fimbria_tensors::sh::sh_count;

/// The shells that enter, ascending in b; the first is the unweighted one where `three` tissues
/// are told apart.
#[derive(Clone, Debug)]
pub(crate) struct Shelled {
    pub(crate) shells: Vec<Shell>,
    pub(crate) three: bool,
    /// Whether one of them is weighted.
    pub(crate) single: bool,
}

impl Shelled {
    pub(crate) fn new(gradients: &GradientTable, tissues: Tissues) -> Result<Self, FodError> {
        let all = gradients.shells();
        let is_b0 = |shell: &&Shell| gradients.is_b0(shell.volumes[0]);
        let weighted: Vec<Shell> = all.iter().filter(|shell| !is_b0(shell)).cloned().collect();
        if weighted.is_empty() {
            return Err(FodError::NoShell { b0_threshold: gradients.b0_threshold });
        }
        let (has_unweighted, single) = (weighted.len() < all.len(), weighted.len() == 1);
        match tissues {
            Tissues::Three if !has_unweighted => Err(FodError::Unweighted),
            Tissues::Three | Tissues::Auto if has_unweighted => {
                Ok(Self { shells: all, three: true, single })
            }
            _ => Ok(Self { shells: weighted, three: false, single }),
        }
    }

    /// The shells as `options` ask for them: a response that is given for one weighted shell alone, as
    /// MRtrix3's csd takes it, means fibres alone.
    pub(crate) fn for_options(
        gradients: &GradientTable,
        options: &FodOptions,
    ) -> Result<Self, FodError> {
        let shelled = Self::new(gradients, options.tissues)?;
        let has_all = |white: &Response| {
            white.rows_of(&shelled.shells).is_ok_and(|rows| rows.iter().all(Option::is_some))
        };
        match (&options.white, options.tissues) {
            (Some(white), Tissues::Auto)
                if shelled.single
                    && !has_all(white)
                    && options.grey.is_none()
                    && options.fluid.is_none() =>
            {
                Self::new(gradients, Tissues::White)
            }
            _ => Ok(shelled),
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
