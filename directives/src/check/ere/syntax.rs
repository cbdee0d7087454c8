//! Text of a POSIX extended regular expression to a tree. Matching does not enter here.
//!
//! The dialect is the one that test authors meet: Henry Spencer's, with its back-references and its two word
//! boundaries, and with none of Perl's additions: a backslash makes the next byte ordinary, so `\d` is the letter `d`.

use super::bytes::ByteSet;
use super::{EreError, bracket};

/// Brackets may be nested this deep: the walks over the tree are recursive.
pub(super) const MAX_DEPTH: usize = 400;
/// Largest count in `{m,n}` (the least that POSIX asks for, and what other matchers allow).
const MAX_COUNT: u16 = 255;

/// One element of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Byte(u8),
    Set(ByteSet),
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    /// `(…)`: its number from 1 and what is in it.
    Group(u32, Vec<Node>),
    Either(Vec<Vec<Node>>),
    Star(Box<Node>),
    Plus(Box<Node>),
    Optional(Box<Node>),
    /// `{m,n}`; no upper bound is `None`.
    Repeat(Box<Node>, u16, Option<u16>),
    Back(u32),
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) fold_case: bool,
    found: Counts,
    /// Groups that are closed, so that a back-reference may name them.
    closed: [bool; 10],
    depth: usize,
}

/// How many there are of some elements, as they are written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) groups: u32,
    pub(super) line_starts: u32,
    pub(super) line_ends: u32,
}

/// Parses a whole expression.
pub(super) fn parse(text: &[u8], fold_case: bool) -> Result<(Vec<Node>, Counts), EreError> {
    let found = Counts::default();
    let mut parser = Parser { text, at: 0, fold_case, found, closed: [false; 10], depth: 0 };
    let tree = parser.branches()?;
    if parser.at < text.len() { Err(EreError::Parenthesis) } else { Ok((tree, parser.found)) }
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(super) fn peek_second(&self) -> Option<u8> {
        self.text.get(self.at + 1).copied()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_all(&mut self, bytes: &[u8]) -> bool {
        let found = self.text[self.at..].starts_with(bytes);
        self.at += if found { bytes.len() } else { 0 };
        found
    }

    /// Alternatives up to the end or to a `)` that belongs to a caller.
    fn branches(&mut self) -> Result<Vec<Node>, EreError> {
        let mut branches = Vec::new();
        loop {
            let mut sequence = Vec::new();
            while let Some(byte) = self.peek() {
                if byte == b'|' || (byte == b')' && self.depth > 0) {
                    break;
                }
                sequence.push(self.element()?);
            }
            // An element repeated no times leaves nothing behind, and an empty branch is refused.
            if sequence.iter().all(|node| matches!(node, Node::Repeat(_, 0, Some(0)))) {
                return Err(EreError::Empty);
            }
            branches.push(sequence);
            if !self.eat(b'|') {
                break;
            }
        }
        if branches.len() == 1 {
            return Ok(branches.remove(0));
        }
        Ok(vec![Node::Either(branches)])
    }

    fn element(&mut self) -> Result<Node, EreError> {
        let atom = self.atom()?;
        if !self.at_repetition() {
            return Ok(atom);
        }
        if atom == Node::LineStart {
            return Err(EreError::Repetition);
        }
        let operator = self.peek();
        self.at += 1;
        let atom = Box::new(atom);
        let node = match operator {
            Some(b'*') => Node::Star(atom),
            Some(b'+') => Node::Plus(atom),
            Some(b'?') => Node::Optional(atom),
            _ => {
                let (from, to) = self.bounds()?;
                Node::Repeat(atom, from, to)
            }
        };
        if self.at_repetition() { Err(EreError::Repetition) } else { Ok(node) }
    }

    fn at_repetition(&self) -> bool {
        match self.peek() {
            Some(b'*' | b'+' | b'?') => true,
            Some(b'{') => self.peek_second().is_some_and(|b| b.is_ascii_digit()),
            _ => false,
        }
    }

    fn bounds(&mut self) -> Result<(u16, Option<u16>), EreError> {
        let from = self.count()?;
        let to = if !self.eat(b',') {
            Some(from)
        } else if self.peek().is_some_and(|b| b.is_ascii_digit()) {
            let to = self.count()?;
            if from > to {
                return Err(EreError::Count);
            }
            Some(to)
        } else {
            None
        };
        if self.eat(b'}') {
            return Ok((from, to));
        }
        Err(if self.text[self.at..].contains(&b'}') { EreError::Count } else { EreError::Brace })
    }

    fn count(&mut self) -> Result<u16, EreError> {
        let mut count = 0;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            count = count * 10 + u16::from(digit - b'0');
            if count > MAX_COUNT {
                return Err(EreError::Count);
            }
            self.at += 1;
        }
        Ok(count)
    }

    fn atom(&mut self) -> Result<Node, EreError> {
        let Some(byte) = self.peek() else { return Err(EreError::Empty) };
        self.at += 1;
        Ok(match byte {
            b'(' => return self.group(),
            b')' => return Err(EreError::Parenthesis),
            b'^' => {
                self.found.line_starts += 1;
                Node::LineStart
            }
            b'$' => {
                self.found.line_ends += 1;
                Node::LineEnd
            }
            b'*' | b'+' | b'?' => return Err(EreError::Repetition),
            b'.' => Node::Set(any_in_line()),
            b'[' => return bracket::parse(self),
            b'\\' => return self.escape(),
            b'{' if self.peek().is_some_and(|b| b.is_ascii_digit()) => return Err(EreError::Repetition),
            _ => self.ordinary(byte),
        })
    }

    fn group(&mut self) -> Result<Node, EreError> {
        if self.peek().is_none() {
            return Err(EreError::Parenthesis);
        }
        if self.depth >= MAX_DEPTH {
            return Err(EreError::Depth);
        }
        self.found.groups += 1;
        let number = self.found.groups;
        self.depth += 1;
        let inside = if self.peek() == Some(b')') { Vec::new() } else { self.branches()? };
        self.depth -= 1;
        if !self.eat(b')') {
            return Err(EreError::Parenthesis);
        }
        if let Some(closed) = self.closed.get_mut(number as usize) {
            *closed = true;
        }
        Ok(Node::Group(number, inside))
    }

    fn escape(&mut self) -> Result<Node, EreError> {
        let Some(byte) = self.peek() else { return Err(EreError::Backslash) };
        self.at += 1;
        if !(b'1'..=b'9').contains(&byte) {
            return Ok(self.ordinary(byte));
        }
        let number = byte - b'0';
        if self.closed[usize::from(number)] {
            Ok(Node::Back(u32::from(number)))
        } else {
            Err(EreError::BackReference)
        }
    }

    pub(super) fn ordinary(&self, byte: u8) -> Node {
        if self.fold_case && byte.is_ascii_alphabetic() {
            let mut both = ByteSet::EMPTY;
            both.insert(byte);
            both.fold_case();
            return Node::Set(both);
        }
        Node::Byte(byte)
    }
}

/// What `.` matches: every byte that ends no line.
pub(super) fn any_in_line() -> ByteSet {
    let mut set = ByteSet::EMPTY.complement();
    set.remove(b'\n');
    set
}
