//! Text to tokens.

use super::error::{ParseError, ParseErrorKind};

/// A word of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Plus,
    Minus,
    Times,
    Over,
    Power,
    Open,
    Close,
    Comma,
    End,
}

impl Token<'_> {
    /// As error messages call it.
    pub(super) fn described(self) -> String {
        match self {
            Self::Number(value) => format!("the number {value}"),
            Self::Name(name) => format!("'{name}'"),
            Self::Plus => "'+'".to_owned(),
            Self::Minus => "'-'".to_owned(),
            Self::Times => "'*'".to_owned(),
            Self::Over => "'/'".to_owned(),
            Self::Power => "'^'".to_owned(),
            Self::Open => "'('".to_owned(),
            Self::Close => "')'".to_owned(),
            Self::Comma => "','".to_owned(),
            Self::End => "the end".to_owned(),
        }
    }
}

pub(super) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

pub(super) fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads one token at a time.
pub(super) struct Lexer<'a> {
    rest: &'a str,
    column: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, column: 1 }
    }

    /// The next token and its column; [`Token::End`] for ever after the last.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, usize), ParseError> {
        let trimmed = self.rest.trim_start();
        let blank = &self.rest[..self.rest.len() - trimmed.len()];
        self.column += blank.chars().count();
        self.rest = trimmed;
        let column = self.column;
        let Some(first) = self.rest.chars().next() else { return Ok((Token::End, column)) };
        let token = match first {
            '0'..='9' | '.' => return Ok((self.number()?, column)),
            c if starts_name(c) => {
                let end = self.rest.find(|c| !continues_name(c)).unwrap_or(self.rest.len());
                return Ok((Token::Name(self.take(end)), column));
            }
            '*' if self.rest.starts_with("**") => {
                self.take(1);
                Token::Power
            }
            '+' => Token::Plus,
            '-' | '−' => Token::Minus,
            '*' | '·' => Token::Times,
            '/' => Token::Over,
            '^' => Token::Power,
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
            other => {
                return Err(ParseError { column, kind: ParseErrorKind::Character(other) });
            }
        };
        self.take(first.len_utf8());
        Ok((token, column))
    }

    /// Digits, a point, an exponent.
    fn number(&mut self) -> Result<Token<'a>, ParseError> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = digits(end + 1 + sign);
            // "2e" and "2exp" are a number and a name.
            if after > end + 1 + sign {
                end = after;
            }
        }
        let column = self.column;
        let text = self.take(end);
        match text.parse::<f64>() {
            // f32 is what fits compute in.
            Ok(value) if (value as f32).is_finite() => Ok(Token::Number(value)),
            _ => Err(ParseError { column, kind: ParseErrorKind::Number(text.to_owned()) }),
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.column += taken.chars().count();
        self.rest = rest;
        taken
    }
}
