//! The stage that draws the page.

mod restored;
mod sections;

use fimbria_report::Page;
use serde_json::{Value, json};

pub use self::restored::{NotFinished, Restored};
use crate::stages::accuracy::Accuracy;
use crate::stages::dti::DtiParameters;
use crate::stages::fit_maps::Maps;
use crate::stages::phantom::truth_in;
use crate::{Logbook, OutputFolder, Products, Stage, StageError, StageRecords};

/// Draws a page of everything among the products that can be shown.
pub struct Report {
    /// Heading of the page.
    pub title: String,
}

/// The page as HTML.
pub struct ReportPage(pub String);

impl Stage for Report {
    fn name(&self) -> &'static str {
        "report"
    }

    fn needs(&self) -> &'static [&'static str] {
        &["phantom", "dti", "accuracy"]
    }

    fn parameters(&self) -> Value {
        json!({ "title": self.title })
    }

    fn outputs(&self) -> Vec<String> {
        vec!["report.html".to_owned()]
    }

    fn compute(&self, products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        let page = self.page(products)?;
        products.put(ReportPage(page.to_html()));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write("report.html", products.get::<ReportPage>()?.0.as_bytes())?)
    }
}

impl Report {
    fn page(&self, products: &Products) -> Result<Page, StageError> {
        let fit = products.get::<Maps<DtiParameters>>()?;
        let records = products.find::<StageRecords>().map_or(&[][..], |records| &records.0);
        let mask = sections::fitted_mask(fit)?;
        let mut page = Page::new(&self.title)
            .subtitle(sections::subtitle(&mask))
            .footer(format!("fimbria {}", env!("CARGO_PKG_VERSION")));
        page = sections::headlines(page, fit, &mask, products.find());
        for record in records {
            for warning in &record.warnings {
                page = page.warning(warning);
            }
        }
        page = page.section(sections::maps(fit, &mask)?);
        if let Some(section) = sections::directions(fit, &mask)? {
            page = page.section(section);
        }
        if let Some(accuracy) = products.find::<Accuracy>() {
            page = page.section(sections::truth(accuracy, fit, truth_in(products), &mask)?);
        }
        page = page.section(sections::quality(fit, &mask)?);
        page = page.section(sections::methods(records));
        if !records.is_empty() {
            page = page.section(sections::record(records));
        }
        Ok(page)
    }
}
