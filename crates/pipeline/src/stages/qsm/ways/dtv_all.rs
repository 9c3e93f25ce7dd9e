//! Total variation of what diffusion does not explain, wherever it is.

use super::dtv::Guided;
use super::prelude::*;
use super::variation::{BILGIC, MILOVIC, Trust};

pub(super) const FACTS: Facts = Facts {
    name: "dtv-all",
    sentence: "guided by diffusion everywhere, also where the field sees nothing: paints lesions that only \
                   diffusion sees",
    details: "minimises ½‖w (x * d + a B - b)‖² + λ Σ|∇(x - Σ c Φ)|: total variation, but for edges \
                  that diffusion explains. Φ are the images FA, MD and S0 and their squares, B the field of tensors \
                  along V1 whose anisotropy is FA. The coefficients c and a are fitted with the map.",
    references: &[BILGIC, MILOVIC],
    nrmse_percent: 26.3,
    columns: VARIATION,
    can: Abilities { guidance: true, unguided: true, ..Abilities::PLAIN },
};

pub(super) const DTV_ALL: Guided = Guided {
    trust: Trust::Everywhere,
    in_words: " of what diffusion does not explain: fractional anisotropy, mean diffusivity \
               and S0 with their squares, and tensors along the tensor's first eigenvector whose \
               anisotropy is proportional to fractional anisotropy, with coefficients fitted to \
               the field",
};
