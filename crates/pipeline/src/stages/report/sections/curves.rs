//! Maps of the fits of curves: each direction by itself, perfusion, one exponential, a formula.

use fimbria_image::Mask;
use fimbria_report::{FigureError, Section, Window};

use super::{Methods, Shown, scalars};
use crate::stages::dki1d::{Dki1d, Dki1dParameters};
use crate::stages::expr::{Expr, ExprParameters};
use crate::stages::fit_maps::Maps;
use crate::stages::ivim::{Ivim, IvimParameters};
use crate::stages::mono::{Mono, MonoParameters};
use crate::stages::stremi1d::{Stremi1d, Stremi1dParameters};
use crate::{Products, RunRecord};

/// A section for each such fit among the products.
pub(in crate::stages::report) fn sections(
    products: &Products,
    expr: Option<&ExprParameters>,
    mask: &Mask,
) -> Result<Vec<Section>, FigureError> {
    let mut all = Vec::new();
    if let Some(fit) = products.find::<Maps<Dki1dParameters>>() {
        let caption = "The mean of the kurtosis of each direction, fitted without the others.";
        let shown = [("MK", "Mean kurtosis by direction", caption, Window::Fixed([0.0, 2.0]))];
        all.push(scalars("Kurtosis by direction", fit, mask, &shown)?);
    }
    if let Some(fit) = products.find::<Maps<Stremi1dParameters>>() {
        let caption = "The mean over directions; 1 where diffusion is Gaussian.";
        let shown = [("Mgamma", "Mean exponent by direction", caption, Window::Fixed([0.4, 1.0]))];
        all.push(scalars("Stretched exponentials by direction", fit, mask, &shown)?);
    }
    if let Some(fit) = products.find::<Maps<IvimParameters>>() {
        let shown = [
            ("f", "Perfusion fraction", "Of the signal without weighting.", Window::FromZero),
            ("D", "Tissue diffusivity", "In mm²/s, without perfusion.", Window::FromZero),
        ];
        all.push(scalars("Intravoxel incoherent motion", fit, mask, &shown)?);
    }
    if let Some(fit) = products.find::<Maps<MonoParameters>>() {
        let shown =
            [("D", "Diffusivity", "In mm²/s, of all directions together.", Window::FromZero)];
        all.push(scalars("One exponential", fit, mask, &shown)?);
    }
    if let (Some(fit), Some(expr)) = (products.find::<Maps<ExprParameters>>(), expr) {
        let free = expr.parameters.iter().filter(|parameter| !parameter.fixed);
        let shown: Vec<Shown<'_>> =
            free.map(|p| (p.name.as_str(), p.name.as_str(), "", Window::Robust)).collect();
        all.push(scalars(&expr.formula, fit, mask, &shown)?);
    }
    Ok(all)
}

/// What was done, in words for a paper.
pub(in crate::stages::report) fn methods(records: &[RunRecord]) -> Vec<Methods> {
    let palombo = "Palombo M et al. GPU-parallelized model fitting for realtime non-Gaussian \
                   diffusion NMR parametric imaging (2014)";
    let mut all = Vec::new();
    let mut add = |text: String, reference| {
        all.push(Methods { text, references: vec![reference] });
    };
    if let Some(fit) = records.iter().find_map(Dki1d::of_record) {
        let below =
            fit.parameters.curve.bmax.map_or(String::new(), |b| format!(" up to {b} s/mm²"));
        add(
            format!(
                "S0 √(exp(-bD + b²D²K/6)² + η²) was fitted to the volumes{below} of each gradient \
                 direction by Levenberg and Marquardt's method, η: {}.",
                fit.parameters.eta
            ),
            palombo,
        );
    }
    if records.iter().any(|record| Stremi1d::of_record(record).is_some()) {
        let text = "S0 exp(-A b^γ) was fitted along each gradient direction by Levenberg and \
                    Marquardt's method.";
        add(text.to_owned(), palombo);
    }
    if records.iter().any(|record| Ivim::of_record(record).is_some()) {
        let text = "S0 (f exp(-bD*) + (1 - f) exp(-bD)) was fitted to all volumes by Levenberg and \
                    Marquardt's method.";
        add(text.to_owned(), "Le Bihan D et al. Radiology 168, 497 (1988)");
    }
    let levenberg = "Moré JJ. Lecture Notes in Mathematics 630, 105 (1978)";
    if records.iter().any(|record| Mono::of_record(record).is_some()) {
        let text = "S0 exp(-bD) was fitted to all volumes by Levenberg and Marquardt's method.";
        add(text.to_owned(), levenberg);
    }
    if let Some(fit) = records.iter().find_map(Expr::of_record) {
        let formula = &fit.parameters.formula;
        add(format!("{formula} was fitted by Levenberg and Marquardt's method."), levenberg);
    }
    all
}
