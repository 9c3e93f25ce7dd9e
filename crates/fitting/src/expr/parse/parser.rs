//! Tokens to a graph, by recursive descent of limited depth.

use super::error::{ParseError, ParseErrorKind, similar};
use super::functions::{FUNCTIONS, arity, call};
use super::lexer::{Lexer, Token};
use super::{MAX_DEPTH, MAX_NODES, MAX_TEXT, Names};
use crate::expr::graph::{Graph, Input, Node};

/// As [`Graph::parse`].
pub(super) fn parse(graph: &mut Graph, text: &str, names: &Names<'_>) -> Result<Node, ParseError> {
    if text.len() > MAX_TEXT {
        return Err(ParseError { column: 1, kind: ParseErrorKind::TooLong(text.len()) });
    }
    let before = graph.operations().len();
    let mut lexer = Lexer::new(text);
    let (token, column) = lexer.next()?;
    if token == Token::End {
        return Err(ParseError { column, kind: ParseErrorKind::Empty });
    }
    let mut parser = Parser { graph, names, lexer, token, column, depth: 0, before };
    let root = parser.sum()?;
    match parser.token {
        Token::End => Ok(root),
        _ => Err(parser.expected("an operator or the end")),
    }
}

struct Parser<'a, 'g> {
    graph: &'g mut Graph,
    names: &'g Names<'g>,
    lexer: Lexer<'a>,
    /// The token that is next, and its column.
    token: Token<'a>,
    column: usize,
    depth: usize,
    /// Operations that were there before.
    before: usize,
}

impl<'a> Parser<'a, '_> {
    fn sum(&mut self) -> Result<Node, ParseError> {
        let mut left = self.product()?;
        loop {
            let sign = self.token;
            if !matches!(sign, Token::Plus | Token::Minus) {
                return Ok(left);
            }
            self.advance()?;
            let right = self.product()?;
            left = match sign {
                Token::Plus => self.graph.add(left, right),
                _ => self.graph.sub(left, right),
            };
        }
    }

    fn product(&mut self) -> Result<Node, ParseError> {
        let mut left = self.sign()?;
        loop {
            let sign = self.token;
            if !matches!(sign, Token::Times | Token::Over) {
                return Ok(left);
            }
            self.advance()?;
            let right = self.sign()?;
            left = match sign {
                Token::Times => self.graph.mul(left, right),
                _ => self.graph.div(left, right),
            };
        }
    }

    /// Every nesting passes through here.
    fn sign(&mut self) -> Result<Node, ParseError> {
        let mut negative = false;
        while let Token::Plus | Token::Minus = self.token {
            negative ^= self.token == Token::Minus;
            self.advance()?;
        }
        if self.depth == MAX_DEPTH {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        self.depth += 1;
        let power = self.power()?;
        self.depth -= 1;
        Ok(if negative { self.graph.neg(power) } else { power })
    }

    fn power(&mut self) -> Result<Node, ParseError> {
        let base = self.atom()?;
        if self.token != Token::Power {
            return Ok(base);
        }
        self.advance()?;
        let exponent = self.sign()?;
        Ok(self.graph.pow(base, exponent))
    }

    fn atom(&mut self) -> Result<Node, ParseError> {
        if self.graph.operations().len() - self.before > MAX_NODES {
            return Err(self.error(ParseErrorKind::TooLarge));
        }
        match self.token {
            Token::Number(value) => {
                self.advance()?;
                Ok(self.graph.constant(value))
            }
            Token::Name(name) => {
                let column = self.column;
                self.advance()?;
                if self.token == Token::Open {
                    self.function(name, column)
                } else {
                    self.name(name).map_err(|kind| ParseError { column, kind })
                }
            }
            Token::Open => {
                self.advance()?;
                let inner = self.sum()?;
                self.close()?;
                Ok(inner)
            }
            _ => Err(self.expected("a number, a name or '('")),
        }
    }

    fn name(&mut self, name: &str) -> Result<Node, ParseErrorKind> {
        let place = |names: &[&str]| names.iter().position(|known| *known == name);
        let input = if let Some(place) = place(self.names.parameters) {
            Input::Parameter(place as u16)
        } else if let Some(place) = place(self.names.samples) {
            Input::Sample(place as u16)
        } else if let Some(place) = place(self.names.problems) {
            Input::Problem(place as u16)
        } else if name == "pi" || name == "π" {
            return Ok(self.graph.constant(std::f64::consts::PI));
        } else if arity(name).is_some() {
            return Err(ParseErrorKind::FunctionAsName(name.to_owned()));
        } else {
            let known = || self.names.all().chain(["pi"]);
            return Err(ParseErrorKind::UnknownName {
                name: name.to_owned(),
                similar: similar(name, known()),
                known: known().map(str::to_owned).collect(),
            });
        };
        Ok(self.graph.input(input))
    }

    /// The arguments of a function whose name, at `column`, has been read.
    fn function(&mut self, name: &'a str, column: usize) -> Result<Node, ParseError> {
        let Some(expected) = arity(name) else {
            let known = || FUNCTIONS.iter().map(|(known, ..)| *known);
            let kind = ParseErrorKind::UnknownFunction {
                name: name.to_owned(),
                similar: similar(name, known()),
                known: known().map(str::to_owned).collect(),
            };
            return Err(ParseError { column, kind });
        };
        self.advance()?;
        let mut arguments = Vec::new();
        if self.token != Token::Close {
            arguments.push(self.sum()?);
            while self.token == Token::Comma {
                self.advance()?;
                arguments.push(self.sum()?);
            }
        }
        self.close()?;
        call(self.graph, name, &arguments).ok_or_else(|| ParseError {
            column,
            kind: ParseErrorKind::Arguments {
                name: name.to_owned(),
                expected,
                found: arguments.len(),
            },
        })
    }

    fn close(&mut self) -> Result<(), ParseError> {
        if self.token != Token::Close {
            return Err(self.expected("an operator or ')'"));
        }
        self.advance()
    }

    fn advance(&mut self) -> Result<(), ParseError> {
        (self.token, self.column) = self.lexer.next()?;
        Ok(())
    }

    fn expected(&self, expected: &'static str) -> ParseError {
        self.error(ParseErrorKind::Expected { expected, found: self.token.described() })
    }

    fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError { column: self.column, kind }
    }
}
