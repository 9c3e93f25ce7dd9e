//! What is good about the data and what is not, at a glance.

use crate::svg::escape;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Good,
    /// To be looked at.
    Doubtful,
    /// Not to be worked with as it is.
    Bad,
    /// The data do not tell.
    Unknown,
}

/// One thing, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was looked at.
    pub name: String,
    /// How it is.
    pub level: Level,
    /// The number, with its unit.
    pub value: String,
    /// What it says, in a sentence.
    pub says: String,
    /// Where good ends.
    pub threshold: String,
    /// Where the threshold is from.
    pub source: String,
}

impl Level {
    /// Class, sign and word: the colour alone says nothing to many.
    fn looks(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Good => ("good", "✓", "good"),
            Self::Doubtful => ("doubtful", "!", "look at this"),
            Self::Bad => ("bad", "✕", "bad"),
            Self::Unknown => ("unknown", "?", "cannot be told"),
        }
    }
}

/// The strip, and a line that counts.
pub(super) fn strip(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let count = |level: Level| verdicts.iter().filter(|verdict| verdict.level == level).count();
    let counts = [Level::Bad, Level::Doubtful, Level::Unknown, Level::Good];
    let counts: Vec<_> = counts
        .into_iter()
        .filter(|level| count(*level) > 0)
        .map(|level| format!("{} {}", count(level), level.looks().2))
        .collect();
    let mut html = format!(
        "<section class=\"glance\" aria-label=\"Verdicts\">\n<p class=\"glance-sum\">Is this scan good? \
         <strong>{}</strong></p>\n<ul class=\"verdicts\">\n",
        counts.join(", ")
    );
    for Verdict { name, level, value, says, threshold, source } in verdicts {
        let (class, sign, word) = level.looks();
        let [name, value, says, threshold, source] =
            [name, value, says, threshold, source].map(|text| escape(text));
        html += &format!(
            "<li class=\"{class}\"><p class=\"verdict-name\"><span class=\"sign\" role=\"img\" \
             aria-label=\"{word}\">{sign}</span>{name}</p>\n<p class=\"verdict-value\">{value}</p>\n\
             <p>{says}</p>\n<p class=\"verdict-limit\"><span>Limit</span> {threshold}</p>\n\
             <details><summary>Source of the limit</summary><p>{source}</p></details></li>\n"
        );
    }
    html + "</ul>\n</section>\n"
}
