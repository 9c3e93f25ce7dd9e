//! The evaluation among all methods, and in words for a paper.

use fimbria_life::Method as Solver;
use serde_json::json;

use super::{LIFE_WRITES, LifeInRun, LifeParameters};
use super::{Weighed, section};
use crate::Taken;
use crate::stages::in_run::{InRun, RunContext, Stages, When};
use crate::stages::method::{Method, OptionTable, PageSection};
use crate::stages::shown::Methods;
use crate::stages::track::tractogram_of;
use crate::{Derivatives, Source, Written};

pub(in crate::stages) const METHOD: Method = Method {
    in_run: Some(InRun {
        when: When::Usual,
        needs: &["track"],
        writes: Some(Written::folder(
            "life/",
            "what each of them explains, as `fimbria life` writes it",
        )),
        stages,
    }),
    table: Some(OptionTable::of::<LifeParameters>()),
    writes: LIFE_WRITES,
    restored: |record| Some(Box::new(LifeInRun::of_record(record)?)),
    text: |records| Some(text(&records.iter().find_map(LifeInRun::of_record)?.parameters)),
    section: Some(PageSection {
        takes: || vec![Taken::where_made::<Weighed>()],
        draw: |shown| match (shown.products.find::<Weighed>(), shown.fa) {
            (Some(weighed), Some(fa)) => Ok(Some(section::weights(weighed, fa, shown.mask)?)),
            _ => Ok(None),
        },
    }),
    derivatives: Some(Derivatives {
        sources: &[Source::Series, Source::Mask, Source::Tissues],
        place: |file, names| match file.stem() {
            "pruned" => names.beside_series("desc-pruned_tractogram", file.extension()),
            _ => names.map("life", file),
        },
        describe: |file| {
            let text = "the streamlines of positive weight: those that explain the signal";
            (file.stem() == "pruned").then(|| json!({ "Description": text }))
        },
        ..Derivatives::FROM_SERIES
    }),
    ..Method::named("life")
};

fn stages(run: &RunContext<'_>) -> Stages {
    Ok(vec![Box::new(LifeInRun {
        parameters: run.options("life")?,
        style: run.style,
        entities: run.entities.to_owned(),
        tractogram: tractogram_of(run)?,
        memory: run.memory,
    })])
}

/// What was done, in words for a paper.
fn text(life: &LifeParameters) -> Methods {
    let LifeParameters { axial, radial, tolerance, l1, .. } = life;
    let group = life.group.unwrap_or_default();
    let penalised = if *l1 > 0.0 || group > 0.0 { " and penalties on w" } else { "" };
    let solver = match life.solver.0 {
        _ if group > 0.0 => "Proximal steps of Barzilai and Borwein's length",
        Solver::Conjugate => "Conjugate gradients on faces of w ≥ 0",
        Solver::Sbb => "The subspace Barzilai-Borwein method",
    };
    Methods {
        text: format!(
            "Every streamline got the weight w ≥ 0 that together with all others minimises ½‖y - \
             Mw‖²{penalised} (linear fascicle evaluation): y is the demeaned signal, and a column of M the \
             demeaned signal of tissue with diffusivities {axial} and {radial} mm²/s along the \
             streamline. {solver} ended at a projected gradient of {tolerance:.0e} of that without \
             weights."
        ),
        references: vec![
            "Pestilli F et al. Nat Methods 11, 1058 (2014)",
            "Caiafa CF, Pestilli F. Sci Rep 7, 11491 (2017)",
        ],
    }
}
