//! Back-references: whether a program can take an exact piece of text, trying one way after the other.
//!
//! This can take time exponential in the text, so it counts its steps and gives up.

use super::Found;
use super::dissect::{GroupSpan, Spans};
use super::program::{Op, Program};
use super::search::{Run, Scratch};

/// Steps of one search after which it gives up: some tenths of a second.
const MAX_STEPS: u64 = 20_000_000;
/// Back-references to something empty in one way: more is taken for a loop that goes nowhere.
const MAX_EMPTY: u32 = 100;

/// The search took too many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) struct TooManySteps;

/// A way not tried yet.
struct Choice {
    step: usize,
    at: usize,
    level: usize,
    empty: u32,
    /// Length of the undo list when it was noted.
    undo: usize,
}

struct Machine<'p, 't> {
    run: Run<'p, 't>,
    spans: Spans,
    /// Where the current round of each open loop began, by nesting. A way that fails does not restore it.
    rounds: Vec<usize>,
    /// Groups as they were before a way changed them.
    undo: Vec<(usize, GroupSpan)>,
    choices: Vec<Choice>,
    steps: u64,
}

impl Program {
    /// The leftmost match and what its groups took, the longest of those that start there.
    pub(super) fn find_back(
        &self,
        text: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Option<Found>, TooManySteps> {
        let run = Run { program: self, steps: (0, self.ops.len()), text };
        let mut machine = Machine {
            run,
            spans: Vec::new(),
            rounds: Vec::new(),
            undo: Vec::new(),
            choices: Vec::new(),
            steps: 0,
        };
        let mut from = 0;
        while let Some((start, end)) = self.find(text, from, scratch) {
            let mut ends = Vec::new();
            run.ends(start, end, scratch, |end| ends.push(end));
            machine.steps += (end - start) as u64;
            for end in ends.into_iter().rev() {
                if machine.takes(start, end)? {
                    return Ok(Some(Found { range: (start, end), groups: machine.spans }));
                }
            }
            from = start + 1;
            if machine.steps > MAX_STEPS {
                return Err(TooManySteps);
            }
            if from > text.len() {
                break;
            }
        }
        Ok(None)
    }
}

impl Machine<'_, '_> {
    fn takes(&mut self, start: usize, stop: usize) -> Result<bool, TooManySteps> {
        self.spans = vec![(None, None); self.run.program.counts.groups as usize + 1];
        self.undo.clear();
        self.choices.clear();
        self.choices.push(Choice { step: 0, at: start, level: 0, empty: 0, undo: 0 });
        while let Some(choice) = self.choices.pop() {
            while self.undo.len() > choice.undo {
                if let Some((group, span)) = self.undo.pop() {
                    self.spans[group] = span;
                }
            }
            if self.follow(&choice, stop)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Follows one way until it fails or is done, noting the others.
    fn follow(&mut self, way: &Choice, stop: usize) -> Result<bool, TooManySteps> {
        let Choice { mut step, mut at, mut level, mut empty, .. } = *way;
        let text = self.run.text;
        let program = self.run.program;
        while let Some(op) = program.ops.get(step) {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(TooManySteps);
            }
            let mut next = step + 1;
            match *op {
                Op::Byte(byte) if at < stop && text[at] == byte => at += 1,
                Op::Set(set) if at < stop && program.sets[set as usize].contains(text[at]) => at += 1,
                Op::Byte(_) | Op::Set(_) => return Ok(false),
                // Behind a last line end no line starts here, unlike in a plain run.
                Op::LineStart if at == 0 || (at < text.len() && text[at - 1] == b'\n') => {}
                Op::LineEnd if text.get(at).is_none_or(|byte| *byte == b'\n') => {}
                Op::WordStart if self.run.word_starts(at) => {}
                Op::WordEnd if self.run.word_ends(at) => {}
                Op::LineStart | Op::LineEnd | Op::WordStart | Op::WordEnd => return Ok(false),
                Op::Open(group) => self.note(group, |span| span.0 = Some(at)),
                Op::Close(group) => self.note(group, |span| span.1 = Some(at)),
                Op::BackStart(group, length) => {
                    let (Some(start), Some(end)) = self.spans[group as usize] else { return Ok(false) };
                    let Some(wanted) = text.get(start..end) else { return Ok(false) };
                    if wanted.is_empty() {
                        empty += 1;
                        if empty > MAX_EMPTY + 1 {
                            return Ok(false);
                        }
                    }
                    if !text[at..stop].starts_with(wanted) {
                        return Ok(false);
                    }
                    at += wanted.len();
                    next = step + length as usize;
                }
                Op::OptionStart(length) => self.later(step + length as usize, at, level, empty),
                Op::LoopStart(_) => {
                    level += 1;
                    self.set_round(level, at);
                }
                Op::LoopEnd(back) => {
                    if self.rounds[level] != at {
                        self.set_round(level, at);
                        self.later(next, at, level - 1, empty);
                        next = step - back as usize;
                    } else {
                        level -= 1;
                    }
                }
                Op::Either(to) | Op::Branch(to) => {
                    let other = step + to as usize;
                    if matches!(program.ops.get(other), Some(Op::Branch(_))) {
                        self.later(other, at, level, empty);
                    }
                }
                Op::BranchEnd(to) => next = step + to as usize,
                Op::OptionEnd | Op::EitherEnd | Op::BackEnd => {}
            }
            step = next;
        }
        Ok(at == stop)
    }

    fn later(&mut self, step: usize, at: usize, level: usize, empty: u32) {
        self.choices.push(Choice { step, at, level, empty, undo: self.undo.len() });
    }

    fn set_round(&mut self, level: usize, at: usize) {
        if self.rounds.len() <= level {
            self.rounds.resize(level + 1, 0);
        }
        self.rounds[level] = at;
    }

    fn note(&mut self, group: u32, change: impl FnOnce(&mut GroupSpan)) {
        let span = &mut self.spans[group as usize];
        self.undo.push((group as usize, *span));
        change(span);
    }
}
