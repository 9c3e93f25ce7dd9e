//! Maps of the fits of curves: each direction by itself, perfusion, one exponential, a formula.

use fimbria_image::Mask;
use fimbria_models::Fitted;
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::{FigureError, Section, Window, colour};

use super::Methods;
use crate::stages::dki1d::{Dki1d, Dki1dParameters};
use crate::stages::expr::{Expr, ExprParameters};
use crate::stages::fit_maps::Maps;
use crate::stages::ivim::{Ivim, IvimParameters};
use crate::stages::mono::{Mono, MonoParameters};
use crate::stages::stremi1d::{Stremi1d, Stremi1dParameters};
use crate::{Products, RunRecord};

/// A map on the page: its name, heading, caption and range.
type Shown<'a> = (&'a str, &'a str, &'a str, Window);

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
        all.push(section("Kurtosis by direction", fit, mask, &shown)?);
    }
    if let Some(fit) = products.find::<Maps<Stremi1dParameters>>() {
        let caption = "The mean over directions; 1 where diffusion is Gaussian.";
        let shown = [("Mgamma", "Mean exponent by direction", caption, Window::Fixed([0.4, 1.0]))];
        all.push(section("Stretched exponentials by direction", fit, mask, &shown)?);
    }
    if let Some(fit) = products.find::<Maps<IvimParameters>>() {
        let shown = [
            ("f", "Perfusion fraction", "Of the signal without weighting.", Window::FromZero),
            ("D", "Tissue diffusivity", "In mm²/s, without perfusion.", Window::FromZero),
        ];
        all.push(section("Intravoxel incoherent motion", fit, mask, &shown)?);
    }
    if let Some(fit) = products.find::<Maps<MonoParameters>>() {
        let shown =
            [("D", "Diffusivity", "In mm²/s, of all directions together.", Window::FromZero)];
        all.push(section("One exponential", fit, mask, &shown)?);
    }
    if let (Some(fit), Some(expr)) = (products.find::<Maps<ExprParameters>>(), expr) {
        let free = expr.parameters.iter().filter(|parameter| !parameter.fixed);
        let shown: Vec<Shown<'_>> =
            free.map(|p| (p.name.as_str(), p.name.as_str(), "", Window::Robust)).collect();
        all.push(section(&expr.formula, fit, mask, &shown)?);
    }
    Ok(all)
}

fn section(
    heading: &str,
    fit: &Fitted,
    mask: &Mask,
    shown: &[Shown<'_>],
) -> Result<Section, FigureError> {
    let mut section = Section::new(heading);
    for &(name, heading, caption, window) in shown {
        if let Some(map) = fit.map(name) {
            let scale = colour::Scale::Ember;
            let style = Scalar { scale, window, ..Scalar::new(heading, "") };
            section = section.figure(mosaic_scalar(map, mask, &style)?, caption);
        }
    }
    Ok(section)
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
