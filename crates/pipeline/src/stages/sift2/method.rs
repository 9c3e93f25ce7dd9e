//! The weights of streamlines among all methods, and in words for a paper.

use super::{SIFT2_WRITES, Sift2InRun, Sift2Parameters};
use crate::stages::method::{Method, OptionTable};
use crate::stages::shown::Methods;

pub(in crate::stages) const METHOD: Method = Method {
    table: Some(OptionTable::of::<Sift2Parameters>()),
    writes: SIFT2_WRITES,
    restored: |record| Some(Box::new(Sift2InRun::of_record(record)?)),
    text: |records| Some(text(records.iter().find_map(Sift2InRun::of_record)?.parameters())),
    ..Method::named("sift2")
};

/// What was done, in words for a paper.
fn text(parameters: &Sift2Parameters) -> Methods {
    let Sift2Parameters { variation, tikhonov, least_filled, .. } = parameters;
    Methods {
        text: format!(
            "Streamlines were weighed by the model of SIFT2, so that along every lobe of the fibre \
             orientation densities they are as dense as the fibres (λ of variation {variation}, of Tikhonov \
             {tikhonov}; lobes filled to less than {least_filled} at equal weights were left out)."
        ),
        references: vec![
            "Smith RE et al. NeuroImage 119, 338 (2015)",
            "Smith RE et al. NeuroImage 67, 298 (2013)",
        ],
    }
}
