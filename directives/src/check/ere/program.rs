//! The tree of an expression as a flat program, and what can be told of its matches beforehand.
//!
//! Every jump is relative, so a part of a program is a program: a counted repetition is copied out, and the walk that
//! finds what a group matched runs single elements.

use memchr::memmem::Finder;

use super::EreError;
use super::bytes::ByteSet;
use super::syntax::{self, Counts, Node};

/// A program may have this many steps: counted repetitions multiply.
const MAX_STEPS: usize = 100_000;

/// One step. The numbers of the composite ones are distances in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Byte(u8),
    Set(u32),
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    Open(u32),
    Close(u32),
    /// A back-reference: the group's number and the distance past its end. Between lies a copy of the group's
    /// content, which a plain run uses in its place.
    BackStart(u32, u32),
    BackEnd,
    /// Something that may be left out: the distance past its end.
    OptionStart(u32),
    OptionEnd,
    /// Something that is there once or more: the distance past its end.
    LoopStart(u32),
    /// Distance back to the loop's first step.
    LoopEnd(u32),
    /// First of several branches: the distance to the next [`Op::Branch`].
    Either(u32),
    /// A later branch: the distance to the next one or to the end.
    Branch(u32),
    /// A branch is done: the distance past the last one.
    BranchEnd(u32),
    EitherEnd,
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) sets: Vec<ByteSet>,
    pub(super) counts: Counts,
    pub(super) refers_back: bool,
    /// Boundaries have to be passed one after the other: there are some of words, or copies of some of lines.
    pub(super) staged: bool,
    pub(super) facts: Facts,
    /// Steps behind which a search is where it began; see [`cold_steps`]. Empty if there are none.
    pub(super) cold: Vec<bool>,
    /// For [`Facts::prefix`] and [`Facts::required`].
    pub(super) prefix: Finder<'static>,
    pub(super) required: Finder<'static>,
}

/// What every match has.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Bytes that every match starts with.
    pub(super) prefix: Vec<u8>,
    /// Bytes that every match contains.
    pub(super) required: Vec<u8>,
    /// Bytes that a match which is not empty can start with.
    pub(super) first: ByteSet,
    /// A match may be empty.
    pub(super) nullable: bool,
    /// A match starts at the beginning of a line.
    pub(super) at_line_start: bool,
    /// A match never contains the end of a line.
    pub(super) in_line: bool,
    /// There is nothing but the prefix.
    pub(super) literal: bool,
}

struct Emitter {
    ops: Vec<Op>,
    sets: Vec<ByteSet>,
    /// Where the content of groups 1 to 9 stands.
    contents: [Option<(usize, usize)>; 10],
    refers_back: bool,
}

impl Program {
    pub(super) fn compile(text: &[u8], fold_case: bool) -> Result<Self, EreError> {
        let (tree, counts) = syntax::parse(text, fold_case)?;
        let mut emitter = Emitter {
            ops: Vec::with_capacity(text.len()),
            sets: Vec::new(),
            contents: [None; 10],
            refers_back: false,
        };
        emitter.sequence(&tree)?;
        let Emitter { ops, sets, refers_back, .. } = emitter;
        let has_words = ops.iter().any(|op| matches!(op, Op::WordStart | Op::WordEnd));
        let line_boundaries = ops.iter().filter(|op| matches!(op, Op::LineStart | Op::LineEnd)).count();
        let staged = has_words || line_boundaries > (counts.line_starts + counts.line_ends) as usize;
        let facts = facts(&ops, &sets);
        let finder = |bytes: &[u8]| Finder::new(bytes).into_owned();
        let (prefix, required) = (finder(&facts.prefix), finder(&facts.required));
        let cold = cold_steps(&ops);
        Ok(Self { ops, sets, counts, refers_back, staged, facts, cold, prefix, required })
    }
}

fn distance(steps: usize) -> u32 {
    u32::try_from(steps).unwrap_or(u32::MAX)
}

impl Emitter {
    fn push(&mut self, op: Op) -> Result<usize, EreError> {
        if self.ops.len() >= MAX_STEPS {
            return Err(EreError::Size);
        }
        self.ops.push(op);
        Ok(self.ops.len() - 1)
    }

    fn sequence(&mut self, nodes: &[Node]) -> Result<(), EreError> {
        nodes.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Result<(), EreError> {
        match node {
            Node::Byte(byte) => self.push(Op::Byte(*byte))?,
            Node::Set(set) => {
                let index = self.sets.iter().position(|known| known == set).unwrap_or_else(|| {
                    self.sets.push(*set);
                    self.sets.len() - 1
                });
                self.push(Op::Set(distance(index)))?
            }
            Node::LineStart => self.push(Op::LineStart)?,
            Node::LineEnd => self.push(Op::LineEnd)?,
            Node::WordStart => self.push(Op::WordStart)?,
            Node::WordEnd => self.push(Op::WordEnd)?,
            Node::Group(number, inside) => {
                let start = self.push(Op::Open(*number))? + 1;
                self.sequence(inside)?;
                let end = self.push(Op::Close(*number))?;
                if let Some(content) = self.contents.get_mut(*number as usize) {
                    content.get_or_insert((start, end));
                }
                end
            }
            Node::Either(branches) => return self.either(branches),
            Node::Star(inside) => {
                let start = self.push(Op::OptionStart(0))?;
                self.repeated(inside)?;
                let end = self.push(Op::OptionEnd)?;
                self.ops[start] = Op::OptionStart(distance(end + 1 - start));
                end
            }
            Node::Plus(inside) => return self.repeated(inside),
            Node::Optional(inside) => return self.optional(|emitter| emitter.node(inside)),
            Node::Repeat(inside, from, to) => return self.counted(inside, *from, *to),
            Node::Back(number) => return self.back(*number),
        };
        Ok(())
    }

    fn repeated(&mut self, inside: &Node) -> Result<(), EreError> {
        let start = self.push(Op::LoopStart(0))?;
        self.node(inside)?;
        let end = self.push(Op::LoopEnd(0))?;
        self.ops[start] = Op::LoopStart(distance(end + 1 - start));
        self.ops[end] = Op::LoopEnd(distance(end - start - 1));
        Ok(())
    }

    fn either(&mut self, branches: &[Vec<Node>]) -> Result<(), EreError> {
        let mut heads = Vec::new();
        let mut ends = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            heads.push(self.push(if index == 0 { Op::Either(0) } else { Op::Branch(0) })?);
            self.sequence(branch)?;
            ends.push(self.push(Op::BranchEnd(0))?);
        }
        let end = self.push(Op::EitherEnd)?;
        for (index, &head) in heads.iter().enumerate() {
            let next = distance(heads.get(index + 1).copied().unwrap_or(end) - head);
            self.ops[head] = if index == 0 { Op::Either(next) } else { Op::Branch(next) };
        }
        for branch_end in ends {
            self.ops[branch_end] = Op::BranchEnd(distance(end - branch_end));
        }
        Ok(())
    }

    /// `(inside|)`, which is how the dialect takes what may be left out: it decides what a group is said to match.
    fn optional(&mut self, inside: impl FnOnce(&mut Self) -> Result<(), EreError>) -> Result<(), EreError> {
        let head = self.push(Op::Either(0))?;
        inside(self)?;
        let first_end = self.push(Op::BranchEnd(0))?;
        let branch = self.push(Op::Branch(2))?;
        self.push(Op::BranchEnd(1))?;
        let end = self.push(Op::EitherEnd)?;
        self.ops[head] = Op::Either(distance(branch - head));
        self.ops[first_end] = Op::BranchEnd(distance(end - first_end));
        Ok(())
    }

    fn counted(&mut self, inside: &Node, mut from: u16, mut to: Option<u16>) -> Result<(), EreError> {
        loop {
            match (from, to) {
                (0, Some(0)) => return Ok(()),
                (0, _) => return self.optional(|emitter| emitter.counted(inside, 1, to)),
                (1, Some(1)) => return self.node(inside),
                (1, None) => return self.repeated(inside),
                (1, Some(most)) => {
                    self.optional(|emitter| emitter.node(inside))?;
                    to = Some(most - 1);
                }
                _ => {
                    self.node(inside)?;
                    from -= 1;
                    to = to.map(|most| most - 1);
                }
            }
        }
    }

    fn back(&mut self, number: u32) -> Result<(), EreError> {
        self.refers_back = true;
        let start = self.push(Op::BackStart(number, 0))?;
        if let Some((from, to)) = self.contents[number as usize] {
            for index in from..to {
                self.push(self.ops[index])?;
            }
        }
        let end = self.push(Op::BackEnd)?;
        self.ops[start] = Op::BackStart(number, distance(end + 1 - start));
        Ok(())
    }
}

fn facts(ops: &[Op], sets: &[ByteSet]) -> Facts {
    let mut facts = Facts { in_line: true, ..Facts::default() };
    for op in ops {
        facts.in_line &= match op {
            Op::Byte(byte) => *byte != b'\n',
            Op::Set(set) => !sets[*set as usize].contains(b'\n'),
            _ => true,
        };
    }
    literals(ops, &mut facts);
    first_bytes(ops, sets, &mut facts);
    facts
}

/// The runs of bytes that stand outside everything optional or repeated.
fn literals(ops: &[Op], facts: &mut Facts) {
    let mut run = Vec::new();
    let mut at_front = true;
    let mut nothing_yet = true;
    let mut at = 0;
    while let Some(op) = ops.get(at) {
        match op {
            Op::Byte(byte) => run.push(*byte),
            Op::Open(_) | Op::Close(_) => {}
            _ => {
                if *op == Op::LineStart && nothing_yet {
                    facts.at_line_start = true;
                }
                end_run(&mut run, at_front, facts);
                at_front = false;
            }
        }
        nothing_yet &= matches!(op, Op::Open(_));
        at += past(ops, at);
    }
    facts.literal = at_front;
    end_run(&mut run, at_front, facts);
}

fn end_run(run: &mut Vec<u8>, at_front: bool, facts: &mut Facts) {
    if at_front {
        facts.prefix.clone_from(run);
    }
    if run.len() > facts.required.len() {
        facts.required = std::mem::take(run);
    }
    run.clear();
}

/// Steps from an element's first to the one past its last.
pub(super) fn past(ops: &[Op], at: usize) -> usize {
    match ops[at] {
        Op::BackStart(_, length) | Op::OptionStart(length) | Op::LoopStart(length) => length as usize,
        Op::Either(next) => {
            let mut end = at + next as usize;
            while let Some(Op::Branch(next)) = ops.get(end) {
                end += *next as usize;
            }
            end + 1 - at
        }
        _ => 1,
    }
}

fn first_bytes(ops: &[Op], sets: &[ByteSet], facts: &mut Facts) {
    let mut seen = vec![false; ops.len() + 1];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        match ops.get(at) {
            None => facts.nullable = true,
            Some(Op::Byte(byte)) => facts.first.insert(*byte),
            Some(Op::Set(set)) => facts.first.union(&sets[*set as usize]),
            Some(op) => successors(*op, ops, at, |next| open.push(next)),
        }
    }
}

/// For each step that takes a byte: whether what can follow is part of what can begin a match.
///
/// The dialect's engine takes a search that is in no other state than at its beginning for one that begins here, and
/// forgets where it really began. That is so behind the last of several branches, if it is one byte long and another
/// branch may be empty: `(a?|b)c` finds `c` in `bc`.
fn cold_steps(ops: &[Op]) -> Vec<bool> {
    let mut begins = vec![false; ops.len() + 1];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut begins[at], true) {
            continue;
        }
        match ops.get(at) {
            None | Some(Op::Byte(_) | Op::Set(_)) => {}
            Some(Op::LineStart | Op::LineEnd | Op::WordStart | Op::WordEnd) => {}
            Some(op) => successors(*op, ops, at, |next| open.push(next)),
        }
    }
    let is_cold = |at: usize| {
        // The end of the last branch is the end of them all.
        let next = if ops.get(at + 1) == Some(&Op::BranchEnd(1)) { at + 2 } else { at + 1 };
        matches!(ops[at], Op::Byte(_) | Op::Set(_)) && begins[next]
    };
    let cold: Vec<bool> = (0..ops.len()).map(is_cold).collect();
    if cold.contains(&true) { cold } else { Vec::new() }
}

/// Where a step that takes no byte leads; line and word boundaries are taken to hold.
pub(super) fn successors(op: Op, ops: &[Op], at: usize, mut reach: impl FnMut(usize)) {
    match op {
        Op::OptionStart(length) => {
            reach(at + length as usize);
            reach(at + 1);
        }
        Op::LoopEnd(back) => {
            reach(at + 1);
            reach(at - back as usize);
        }
        Op::Either(next) => {
            reach(at + next as usize);
            reach(at + 1);
        }
        Op::Branch(next) => {
            if matches!(ops.get(at + next as usize), Some(Op::Branch(_))) {
                reach(at + next as usize);
            }
            reach(at + 1);
        }
        Op::BranchEnd(to) => reach(at + to as usize),
        _ => reach(at + 1),
    }
}
