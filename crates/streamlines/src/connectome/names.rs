//! What regions are called, by the tables that come with label images.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use fimbria_image::read_regular_text;

/// Names of labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionNames(BTreeMap<u32, Named>);

/// What a label is called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    name: String,
    /// What it is found by as well: a name in fewer letters, further names.
    others: Vec<String>,
    /// As the table writes it.
    colour: String,
}

impl Named {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), others: Vec::new(), colour: String::new() }
    }

    fn with_colour(name: &str, colour: &[&str]) -> Self {
        Self { colour: colour.join(" "), ..Self::new(name) }
    }

    fn or_short(mut self, short: &str) -> Self {
        self.others.push(short.to_owned());
        self
    }

    /// Takes the name of a further line for the same label, as MRtrix3's tables have a region under the names of several
    /// versions of FreeSurfer: another name of this region where it has the same colour. False of another region.
    fn join(&mut self, other: Self) -> bool {
        let is_same =
            self.name == other.name || !self.colour.is_empty() && self.colour == other.colour;
        if is_same {
            self.others.push(other.name);
            self.others.extend(other.others);
        }
        is_same
    }
}

/// A table that names no regions.
#[derive(Debug, thiserror::Error)]
pub enum NamesError {
    /// It cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of no known form.
    #[error(
        "{}, line {line}: `{text}` is no number of a label with its name", path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A label of two regions.
    #[error(
        "{}, line {line}: label {label} is `{first}` and `{second}` (if this table is for labelconvert, give the one \
         that names the labels it makes)",
        path.display()
    )]
    Twice {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The label.
        label: u32,
        /// Its name.
        first: String,
        /// What this line calls it.
        second: String,
    },
    /// No line names a label.
    #[error("{} names no labels", .0.display())]
    Empty(PathBuf),
}

impl RegionNames {
    /// Reads a table: dseg.tsv of BIDS (columns `index` and `name`, or `label`), FreeSurfer's (number, name,
    /// colours), and the other forms that MRtrix3 takes: number and name; number, short name, name, colours;
    /// short name, name, number (AAL); number, colours, visibilities, "name" (ITK-SNAP). Several lines of one label and
    /// one colour are names of one region: the first is what it is called.
    ///
    /// # Errors
    /// [`NamesError`].
    pub fn read(path: &Path) -> Result<Self, NamesError> {
        let text = read_regular_text(path)
            .map_err(|source| NamesError::Read { path: path.to_owned(), source })?;
        let mut names = Self::default();
        let mut heading = None;
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim_start_matches('\u{feff}').trim_end();
            if text.trim().is_empty() || text.trim_start().starts_with(['#', '/']) {
                continue;
            }
            if names.0.is_empty() && heading.is_none() {
                heading = Heading::parse(text);
                if heading.is_some() {
                    continue;
                }
            }
            let row = match &heading {
                Some(heading) => heading.named(text),
                None => named(text),
            };
            let (label, name) = row.ok_or_else(|| {
                let (path, text) = (path.to_owned(), text.chars().take(60).collect());
                NamesError::Line { path, line, text }
            })?;
            match names.0.entry(label) {
                Entry::Vacant(free) => {
                    free.insert(name);
                }
                Entry::Occupied(mut taken) => {
                    let (first, second) = (taken.get().name.clone(), name.name.clone());
                    if !taken.get_mut().join(name) {
                        let path = path.to_owned();
                        return Err(NamesError::Twice { path, line, label, first, second });
                    }
                }
            }
        }
        if names.0.is_empty() {
            return Err(NamesError::Empty(path.to_owned()));
        }
        Ok(names)
    }

    /// The name of a label.
    pub fn name(&self, label: u32) -> Option<&str> {
        self.0.get(&label).map(|named| &*named.name)
    }

    /// The labels of this name, or of this short or further name, ascending.
    pub fn labels_of(&self, name: &str) -> Vec<u32> {
        let is_it =
            |named: &Named| named.name == name || named.others.iter().any(|other| other == name);
        self.0.iter().filter(|(_, named)| is_it(named)).map(|(label, _)| *label).collect()
    }
}

/// Where a table with a heading has what.
struct Heading {
    between: char,
    index: usize,
    name: usize,
}

impl Heading {
    fn parse(line: &str) -> Option<Self> {
        let between = ['\t', ','].into_iter().find(|c| line.contains(*c))?;
        let heads: Vec<_> = line.split(between).map(|head| head.trim().to_lowercase()).collect();
        let at = |wanted: &str| heads.iter().position(|head| head == wanted);
        let name = at("name").or_else(|| at("label"))?;
        Some(Self { between, index: at("index")?, name })
    }

    fn named(&self, line: &str) -> Option<(u32, Named)> {
        let cells: Vec<_> = line.split(self.between).map(unquoted).collect();
        Some((cells.get(self.index)?.parse().ok()?, Named::new(cells.get(self.name)?)))
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches('"')
}

/// Of a line without a heading; what stands behind a # is not read.
fn named(line: &str) -> Option<(u32, Named)> {
    let line = line.split('#').next().unwrap_or_default();
    if let Some((numbers, quoted)) = line.split_once('"') {
        // ITK-SNAP's, or a quoted name after its number.
        let label = numbers.split_whitespace().next()?.parse().ok()?;
        return Some((label, Named::new(quoted.split('"').next()?)));
    }
    let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || c == ',').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&str| word.parse::<f64>().is_ok();
    let label = |word: &str| word.parse::<u32>().ok();
    match words[..] {
        [short, name, last] if label(short).is_none() => {
            Some((label(last)?, Named::new(name).or_short(short)))
        }
        [first, name, ref colours @ ..]
            if matches!(colours.len(), 3 | 4) && colours.iter().all(is_number) =>
        {
            Some((label(first)?, Named::with_colour(name, colours)))
        }
        [first, short, name, ref colours @ ..]
            if matches!(colours.len(), 3 | 4) && colours.iter().all(is_number) =>
        {
            Some((label(first)?, Named::with_colour(name, colours).or_short(short)))
        }
        [first, ref name @ ..] if !name.is_empty() => {
            Some((label(first)?, Named::new(&name.join(" "))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RegionNames, NamesError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lut.txt");
        std::fs::write(&path, text).unwrap();
        RegionNames::read(&path)
    }

    #[test]
    fn every_form_of_a_table_names_labels() {
        for (form, text) in [
            ("FreeSurfer", "#No. Label Name: R G B A\n\n10  Left-Thalamus  0 118 14 0\r\n"),
            ("no alpha", "10 Left-Thalamus 0 118 14\n"),
            ("MRtrix3", "# a comment\n10 L.TH Left-Thalamus 0 118 14 255\n"),
            ("basic", "10 Left-Thalamus\n"),
            ("AAL", "TH_L Left-Thalamus 10\n"),
            ("ITK-SNAP", "// comment\n 10 0 118 14 1 1 1 \"Left-Thalamus\"\n"),
            ("BIDS", "name\tindex\tcolor\nLeft-Thalamus\t10\t#00760e\n"),
            ("AtlasPack", "index\tlabel\tnetwork\n10\tLeft-Thalamus\tn/a\n"),
            ("csv", "\u{feff}index,name\n10,\"Left-Thalamus\"\n"),
        ] {
            let names = read(text).unwrap_or_else(|error| panic!("{form}: {error}"));
            assert_eq!(names.name(10), Some("Left-Thalamus"), "{form}");
            assert_eq!(names.name(11), None);
        }
        assert_eq!(
            read("3 left middle gyrus # more\n").unwrap().name(3),
            Some("left middle gyrus")
        );
    }

    #[test]
    fn labels_are_found_by_either_name() {
        let names = read("2 L.TH Left-Thalamus 0 118 14 255\n7 L.TH other 0 118 14 255\n").unwrap();
        assert_eq!(names.labels_of("L.TH"), [2, 7]);
        assert_eq!(names.labels_of("Left-Thalamus"), [2]);
        assert!(names.labels_of("Left").is_empty());
    }

    #[test]
    fn names_of_one_label_and_colour_are_names_of_one_region_as_in_mrtrix3s_tables() {
        // Lines of fs_default.txt and of fs_a2009s.txt.
        for text in [
            "36 L.TH Left-Thalamus 0 118 14 255\n36 L.TH Left-Thalamus-Proper 0 118 14 255\n",
            "76 Left-Thalamus 0 118 14 255\n76 Left-Thalamus-Proper 0 118 14 255\n",
        ] {
            let names = read(text).unwrap();
            let label = names.labels_of("Left-Thalamus")[0];
            assert_eq!(names.name(label), Some("Left-Thalamus"));
            assert_eq!(names.labels_of("Left-Thalamus-Proper"), [label]);
        }
        assert_eq!(read("1 a\n1 a\n").unwrap().labels_of("a"), [1]);
    }

    #[test]
    fn what_names_no_label_is_one_error() {
        let said = |text| read(text).unwrap_err().to_string();
        assert!(
            said("1 a\nx y\n").ends_with("line 2: `x y` is no number of a label with its name")
        );
        let twice = "line 2: label 1 is `a` and `b` (if this table is for labelconvert";
        assert!(said("1 a\n1 b\n").contains(twice));
        assert!(said("1 a 0 0 0 255\n1 b 0 9 0 255\n").contains(twice));
        assert!(said("# nothing\n").ends_with("names no labels"));
        assert!(said("index\tname\n1.5\ta\n").contains("line 2"));
    }
}
