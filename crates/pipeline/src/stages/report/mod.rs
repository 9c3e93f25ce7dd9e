//! The stage that draws the page.

mod job;
mod restored;
mod scene;
mod sections;

use fimbria_models::gradient_check::GradientCheck;
use fimbria_report::Page;
use serde_json::{Value, json};

pub use self::job::JobPage;
pub use self::restored::{NotFinished, Restored, of_folder};
use crate::stages::fits::FITS;
use crate::stages::fits::dti;
use crate::stages::fits::fit_maps::Maps;
use crate::stages::gradients::GRADIENT_TABLE;
use crate::stages::method::Shown;
use crate::stages::methods;
use crate::stages::quality::Quality;
use crate::stages::shown::Methods;
use crate::{
    FileKind, Logbook, OutputFolder, Product, Products, RunRecord, Stage, StageError, StageRecords,
    Taken, Written,
};

/// What `fimbria report` writes.
pub const REPORT_WRITES: &[Written] = &[
    Written::file("OUT", FileKind::Page, "one HTML file that needs no other and no network"),
    Written::RECORD_BESIDE,
];

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

    fn takes(&self) -> Vec<Taken> {
        let fits = FITS.iter().map(|fit| Taken::product_where_made(fit.product()));
        let own = [
            Taken::always::<Maps<dti::Parameters>>(),
            Taken::where_made::<GradientCheck>(),
            Taken::where_made::<Quality>(),
        ];
        fits.chain(own)
            .chain(methods::sections_around_fits().into_iter().flatten().flat_map(|s| (s.takes)()))
            .collect()
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<ReportPage>()]
    }

    fn parameters(&self) -> Value {
        json!({ "title": self.title })
    }

    fn outputs(&self) -> Vec<String> {
        vec!["report.html".to_owned()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let page = log.session().on.workers.install(|| self.page(products))?;
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
        let fit = products.get::<Maps<dti::Parameters>>()?;
        let records = products.find::<StageRecords>().map_or(&[][..], |records| &records.0);
        let mask = sections::fitted_mask(fit)?;
        let mut page = Page::new(&self.title)
            .subtitle(sections::subtitle(&mask))
            .footer(format!("fimbria {}", env!("CARGO_PKG_VERSION")));
        let judged = products.find::<Quality>();
        page = judged.into_iter().flat_map(sections::quality::verdicts).fold(page, Page::verdict);
        if judged.is_some() {
            page = page.rated();
        }
        page = sections::headlines(page, fit, &mask, products.find());
        for record in records {
            for warning in &record.warnings {
                page = page.warning(format!("{}: {warning}", record.task));
            }
        }
        let shown = Shown { products, records, fa: fit.map("FA"), mask: &mask };
        let [truth, series, fibres, others] = methods::sections_around_fits();
        for section in truth.chain(series) {
            page = (section.draw)(&shown)?.into_iter().fold(page, Page::section);
        }
        if let Some(quality) = judged {
            page = page.section(sections::quality::series(quality));
        }
        page = page.section(sections::dti::maps(fit, &mask)?);
        if let Some(section) = sections::dti::directions(fit, &mask)? {
            page = page.section(section);
        }
        for section in fibres {
            page = (section.draw)(&shown)?.into_iter().fold(page, Page::section);
        }
        for fit in FITS {
            let stage = records.iter().find_map(|record| fit.of_record(record));
            let section = stage.map(|stage| stage.section(products, &mask)).transpose()?;
            page = section.flatten().into_iter().fold(page, Page::section);
        }
        for section in others {
            page = (section.draw)(&shown)?.into_iter().fold(page, Page::section);
        }
        let table = records.iter().find_map(|record| record.results.get(GRADIENT_TABLE)?.as_str());
        page = page.section(sections::quality(fit, &mask, table)?);
        page = page.section(Methods::section(methods_of(records)));
        if !records.is_empty() {
            page = page.section(sections::record::record(records));
        }
        Ok(page.scene(scene::scene(products, records, fit, &mask)?))
    }
}

/// What the stages with these records did, in words for a paper.
pub fn methods_of(records: &[RunRecord]) -> Vec<Methods> {
    methods::all().filter_map(|method| (method.text)(records)).collect()
}
