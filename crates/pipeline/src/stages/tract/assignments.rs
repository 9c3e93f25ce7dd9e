//! Which labels streamlines connect, as `fimbria connectome --assignments` lists them.

use std::path::Path;
use std::str::FromStr;

use super::TractError;

/// Labels of which a streamline has each: one, or the two of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectedText {
    first: u32,
    second: Option<u32>,
}

impl FromStr for ConnectedText {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let label = |word: &str| word.trim().parse().map_err(|_| "expected LABEL or LABEL,LABEL");
        match text.split_once(',') {
            None => Ok(Self { first: label(text)?, second: None }),
            Some((first, second)) => {
                Ok(Self { first: label(first)?, second: Some(label(second)?) })
            }
        }
    }
}

impl std::fmt::Display for ConnectedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.second {
            None => write!(f, "{}", self.first),
            Some(second) => write!(f, "{},{second}", self.first),
        }
    }
}

impl serde::Serialize for ConnectedText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ConnectedText {
    /// Whether a streamline of these labels is one of them. A label and itself: both ends of two have it.
    fn is_met(self, labels: &[u32]) -> bool {
        let has = |label| labels.contains(&label);
        match self.second {
            Some(second) if second == self.first && labels.len() == 2 => labels == [second; 2],
            second => has(self.first) && second.is_none_or(has),
        }
    }
}

/// For each line of labels whether one of the pairs is met.
pub(super) fn connected(path: &Path, pairs: &[ConnectedText]) -> Result<Vec<bool>, TractError> {
    let text = fimbria_image::read_regular_text(path)
        .map_err(|source| TractError::Read { path: path.to_owned(), source })?;
    let mut labels = Vec::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let is_met = |(number, line): (usize, &str)| {
        labels.clear();
        for word in line.split_whitespace() {
            labels.push(word.parse().map_err(|_| TractError::Assignments {
                path: path.to_owned(),
                why: format!("line {}: `{word}` is no label", number + 1),
            })?);
        }
        Ok(pairs.iter().any(|pair| pair.is_met(&labels)))
    };
    lines.map(is_met).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_and_nodes_are_met_in_either_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "# of tck2connectome\n1 2\n2 1\n1 0\n1 1\n3 2 1\n0\n").unwrap();
        let kept = |pairs: &[&str]| -> Vec<usize> {
            let pairs: Vec<ConnectedText> =
                pairs.iter().map(|text| text.parse().unwrap()).collect();
            let all = connected(&path, &pairs).unwrap();
            (0..all.len()).filter(|i| all[*i]).collect()
        };
        assert_eq!(kept(&["1,2"]), [0, 1, 4]);
        assert_eq!(kept(&["1,1"]), [3, 4]);
        assert_eq!(kept(&["2"]), [0, 1, 4]);
        assert_eq!(kept(&["0", "3,1"]), [2, 4, 5]);
        std::fs::write(&path, "1 2\n1 x\n").unwrap();
        let error = connected(&path, &["1".parse().unwrap()]).unwrap_err().to_string();
        assert!(error.ends_with("line 2: `x` is no label"), "{error}");
    }
}
