//! Text from files, made harmless for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with every character that could command a terminal, or turn the direction of what
/// follows, written out as `\u{1b}`. Line breaks and tabs stay.
///
/// Names, header entries and tokens come from files of strangers: what is printed passes here once,
/// where it is printed.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_command(c) {
            let _ = write!(harmless, "{}", c.escape_unicode()); // a String takes everything
        } else {
            harmless.push(c);
        }
    }
    Cow::Owned(harmless)
}

fn is_command(c: char) -> bool {
    let is_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || is_direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_written_out() {
        assert_eq!(printable("a\u{1b}]0;x\u{7}b"), "a\\u{1b}]0;x\\u{7}b");
        assert_eq!(printable("\u{9b}31m \u{202e}fdp\r"), "\\u{9b}31m \\u{202e}fdp\\u{d}");
    }

    #[test]
    fn what_people_write_stays() {
        let text = "b = 1000 s/mm², ×\t±\nnaïve Ελληνικά 日本";
        assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
    }
}
