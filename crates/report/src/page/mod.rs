//! A self-contained HTML page.

mod explore;
mod html;
mod verdicts;

pub use verdicts::{Level, Verdict};

use crate::{Figure, Scene};

/// A report: what was done, how it went, and the pictures.
///
/// The page is one file without scripts, fonts or images of its own elsewhere. Everything is there where
/// scripts are off; they turn, rate and explore. All text is plain text and is escaped; words that begin with
/// `https://` become links.
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    subtitle: String,
    headline: Vec<[String; 2]>,
    facts: Vec<[String; 2]>,
    verdicts: Vec<Verdict>,
    warnings: Vec<String>,
    is_rated: bool,
    scene: Scene,
    sections: Vec<Section>,
    footer: String,
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A line below the title.
    pub fn subtitle(mut self, text: impl Into<String>) -> Self {
        self.subtitle = text.into();
        self
    }

    /// A number for the row of large ones at the top, and what it is.
    pub fn headline(mut self, value: impl Into<String>, what: impl Into<String>) -> Self {
        self.headline.push([value.into(), what.into()]);
        self
    }

    /// An entry of the summary.
    pub fn fact(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push([key.into(), value.into()]);
        self
    }

    /// A verdict for the strip at the very top.
    pub fn verdict(mut self, verdict: Verdict) -> Self {
        self.verdicts.push(verdict);
        self
    }

    /// Maps and streamlines to look around in, started by the reader.
    pub fn scene(mut self, scene: Scene) -> Self {
        self.scene = scene;
        self
    }

    /// Asks the reader at the end for a rating, which is saved as a file of JSON.
    pub fn rated(mut self) -> Self {
        self.is_rated = true;
        self
    }

    /// Something the reader must know, at the top.
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }

    /// The next section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// The last line, such as the program's version.
    pub fn footer(mut self, text: impl Into<String>) -> Self {
        self.footer = text.into();
        self
    }

    /// The page as one HTML document.
    pub fn to_html(&self) -> String {
        html::document(self)
    }
}

/// A headed part of a page.
#[derive(Clone, Debug)]
pub struct Section {
    heading: String,
    blocks: Vec<Block>,
    /// How many blocks are seen before the reader opens the rest.
    seen: Option<usize>,
}

#[derive(Clone, Debug)]
enum Block {
    Text(String),
    List(Vec<String>),
    Warning(String),
    Facts(Vec<[String; 2]>),
    Figures(Vec<(Figure, String)>),
    Table(Table),
    Record { summary: String, text: String },
}

impl Section {
    /// A section without content.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), blocks: Vec::new(), seen: None }
    }

    /// Folds what is added from here on: the reader opens it. Of a section that is folded from its start the
    /// heading is seen.
    pub fn fold(mut self) -> Self {
        self.seen.get_or_insert(self.blocks.len());
        self
    }

    fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Text; empty lines separate paragraphs.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Block::Text(text.into()))
    }

    /// A list, such as references.
    pub fn list(self, items: Vec<String>) -> Self {
        self.with(Block::List(items))
    }

    /// Something the reader must know.
    pub fn warning(self, text: impl Into<String>) -> Self {
        self.with(Block::Warning(text.into()))
    }

    /// Names and values.
    pub fn facts(self, facts: Vec<[String; 2]>) -> Self {
        self.with(Block::Facts(facts))
    }

    /// A figure over the whole width, with a caption.
    pub fn figure(self, figure: Figure, caption: impl Into<String>) -> Self {
        self.with(Block::Figures(vec![(figure, caption.into())]))
    }

    /// Figures side by side where the screen is wide enough, each with a caption; nothing of none.
    pub fn figures(self, figures: Vec<(Figure, String)>) -> Self {
        if figures.is_empty() {
            return self;
        }
        self.with(Block::Figures(figures))
    }

    /// A table.
    pub fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// Long preformatted text behind a line that opens it, such as a run record.
    pub fn record(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(Block::Record { summary: summary.into(), text: text.into() })
    }
}

/// A table of text cells.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Rows; the first cell of each names it. Columns of numbers are set flush right.
    pub rows: Vec<Vec<String>>,
}
