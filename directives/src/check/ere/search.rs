//! Leftmost-longest search: all ways through a program at once, one pass over the text, memory of the program's size.

use memchr::{memchr, memrchr};

use super::program::{Op, Program, successors};

/// Working memory, kept between searches.
#[derive(Default)]
pub(in crate::check) struct Scratch {
    threads: Vec<Thread>,
    stepped: Vec<Thread>,
    /// For each step, the round in which it was last reached.
    seen: Vec<u64>,
    round: u64,
    stack: Vec<usize>,
    waiting: Vec<Thread>,
    /// All threads of the last step are as if the search began here.
    cold: bool,
}

/// One way through the program: the step it waits at and where its match began.
#[derive(Clone, Copy)]
struct Thread {
    at: usize,
    start: usize,
}

/// A part of a program run over a part of a text.
#[derive(Clone, Copy)]
pub(super) struct Run<'p, 't> {
    pub(super) program: &'p Program,
    /// The steps to run, from the first to past the last.
    pub(super) steps: (usize, usize),
    /// The whole text: it decides where lines and words end.
    pub(super) text: &'t [u8],
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'p, 't> Run<'p, 't> {
    /// The longest match that starts at `from` and ends at `to` or before.
    pub(super) fn longest(&self, from: usize, to: usize, scratch: &mut Scratch) -> Option<usize> {
        self.ends(from, to, scratch, |_| {})
    }

    /// As [`Run::longest`], and tells every end on the way, in ascending order.
    pub(super) fn ends(
        &self,
        from: usize,
        to: usize,
        scratch: &mut Scratch,
        mut each: impl FnMut(usize),
    ) -> Option<usize> {
        let mut longest = None;
        scratch.begin(self.program);
        let mut accepted = self.reach(self.steps.0, from, from, scratch);
        let mut at = from;
        loop {
            accepted |= self.boundaries(at, scratch);
            if accepted {
                longest = Some(at);
                each(at);
            }
            if scratch.threads.is_empty() || at >= to {
                return longest;
            }
            accepted = self.step(at, scratch);
            at += 1;
        }
    }

    /// The leftmost of the longest matches in `from..=to`.
    pub(super) fn leftmost(&self, from: usize, to: usize, scratch: &mut Scratch) -> Option<(usize, usize)> {
        if self.program.staged {
            return self.leftmost_staged(from, to, scratch);
        }
        scratch.begin(self.program);
        let mut best: Option<(usize, usize)> = None;
        let mut at = from;
        loop {
            if best.is_none() {
                if scratch.threads.is_empty() {
                    at = self.candidate(at, to)?;
                    scratch.round += 1;
                }
                if self.may_start(at) && self.reach(self.steps.0, at, at, scratch) {
                    best = Some((at, at));
                }
            }
            if at >= to || (scratch.threads.is_empty() && best.is_some()) {
                return best;
            }
            // The threads are in the order of their starts, so the first that ends is the leftmost.
            let searching = best.is_none();
            if let Some(start) = self.step_leftmost(at, best.map(|(start, _)| start), scratch) {
                best = Some((start, at + 1));
            }
            at += 1;
            if searching && std::mem::take(&mut scratch.cold) {
                best = None;
                scratch.threads.clear();
                scratch.round += 1;
            }
        }
    }

    /// As [`Run::leftmost`] where boundaries are passed in stages, which mixes up the order of the threads: one pass
    /// tells whether there is a match and where no search was under way before it, then each start is tried.
    fn leftmost_staged(&self, from: usize, to: usize, scratch: &mut Scratch) -> Option<(usize, usize)> {
        let mut start = self.last_idle(from, to, scratch)?;
        loop {
            start = self.candidate(start, to)?;
            if let Some(end) = self.longest(start, to, scratch) {
                return Some((start, end));
            }
            start += 1;
        }
    }

    /// The last place before the first end of a match at which nothing was under way; nothing without a match.
    fn last_idle(&self, from: usize, to: usize, scratch: &mut Scratch) -> Option<usize> {
        scratch.begin(self.program);
        let (mut at, mut idle) = (from, from);
        let mut accepted = false;
        loop {
            if scratch.threads.is_empty() && scratch.waiting.is_empty() && !accepted {
                at = self.candidate(at, to)?;
                scratch.round += 1;
                idle = at;
            }
            accepted |= self.may_start(at) && self.reach(self.steps.0, at, at, scratch);
            accepted |= self.boundaries(at, scratch);
            if accepted {
                return Some(idle);
            }
            if at >= to {
                return None;
            }
            accepted = self.step(at, scratch);
            at += 1;
        }
    }

    /// The first place from `at` on where a match may start.
    fn candidate(&self, at: usize, to: usize) -> Option<usize> {
        let facts = &self.program.facts;
        if at > to {
            return None;
        }
        if !facts.prefix.is_empty() {
            return self.program.prefix.find(&self.text[at..to]).map(|offset| at + offset);
        }
        if facts.at_line_start && !self.line_starts(at) {
            return memchr(b'\n', &self.text[at..to]).map(|offset| at + offset + 1);
        }
        if facts.nullable || facts.at_line_start {
            return Some(at);
        }
        self.text[at..to].iter().position(|byte| facts.first.contains(*byte)).map(|offset| at + offset)
    }

    fn may_start(&self, at: usize) -> bool {
        let facts = &self.program.facts;
        facts.nullable || self.text.get(at).is_some_and(|byte| facts.first.contains(*byte))
    }

    fn line_starts(&self, at: usize) -> bool {
        at == 0 || self.text[at - 1] == b'\n'
    }

    fn line_ends(&self, at: usize) -> bool {
        self.text.get(at).is_none_or(|byte| *byte == b'\n')
    }

    /// Takes the byte at `at`; whether a thread came to the end.
    fn step(&self, at: usize, scratch: &mut Scratch) -> bool {
        let byte = self.text[at];
        let threads = scratch.next_round();
        let mut accepted = false;
        for thread in &threads {
            if self.takes(thread.at, byte) {
                accepted |= self.reach(thread.at + 1, thread.start, at + 1, scratch);
            }
        }
        scratch.stepped = threads;
        accepted
    }

    /// As [`Run::step`], dropping what starts behind `best`; where the first match that ends there starts.
    fn step_leftmost(&self, at: usize, best: Option<usize>, scratch: &mut Scratch) -> Option<usize> {
        let byte = self.text[at];
        let threads = scratch.next_round();
        let cold = &self.program.cold;
        let (mut any_cold, mut any_other) = (false, cold.is_empty());
        let mut ended = None;
        for thread in &threads {
            if best.or(ended).is_some_and(|start| thread.start > start) {
                break;
            }
            if !self.takes(thread.at, byte) {
                continue;
            }
            if !cold.is_empty() {
                any_cold |= cold[thread.at];
                any_other |= !cold[thread.at];
            }
            if self.reach(thread.at + 1, thread.start, at + 1, scratch) {
                ended = ended.or(Some(thread.start));
            }
        }
        scratch.cold = any_cold && !any_other;
        scratch.stepped = threads;
        ended
    }

    fn takes(&self, at: usize, byte: u8) -> bool {
        match self.program.ops[at] {
            Op::Byte(wanted) => wanted == byte,
            Op::Set(set) => self.program.sets[set as usize].contains(byte),
            _ => false,
        }
    }

    /// Adds what can be reached from a step without taking a byte; whether that is the end.
    fn reach(&self, step: usize, start: usize, at: usize, scratch: &mut Scratch) -> bool {
        let ops = &self.program.ops;
        let mut accepted = false;
        scratch.stack.push(step);
        while let Some(step) = scratch.stack.pop() {
            if std::mem::replace(&mut scratch.seen[step], scratch.round) == scratch.round {
                continue;
            }
            if step == self.steps.1 {
                accepted = true;
                continue;
            }
            match ops[step] {
                Op::Byte(_) | Op::Set(_) => scratch.threads.push(Thread { at: step, start }),
                Op::LineStart | Op::LineEnd | Op::WordStart | Op::WordEnd if self.program.staged => {
                    scratch.waiting.push(Thread { at: step, start });
                }
                Op::LineStart if !self.line_starts(at) => {}
                Op::LineEnd if !self.line_ends(at) => {}
                op => successors(op, ops, step, |next| scratch.stack.push(next)),
            }
        }
        accepted
    }

    /// Passes boundaries in stages, as the dialect has it: as many in a row of lines as are written in the
    /// expression, copies not counted, then one of words. Behind that, `^` and `$` fail.
    fn boundaries(&self, at: usize, scratch: &mut Scratch) -> bool {
        let counts = self.program.counts;
        let (line_starts, line_ends) = (self.line_starts(at), self.line_ends(at));
        let stages = u32::from(line_starts) * counts.line_starts + u32::from(line_ends) * counts.line_ends;
        let mut accepted = false;
        for stage in 0..=stages {
            let words = stage == stages;
            let mut waiting = std::mem::take(&mut scratch.waiting);
            if waiting.is_empty() {
                break;
            }
            waiting.retain(|thread| {
                let holds = match self.program.ops[thread.at] {
                    Op::LineStart => line_starts && !words,
                    Op::LineEnd => line_ends && !words,
                    Op::WordStart => words && self.word_starts(at),
                    _ => words && self.word_ends(at),
                };
                if holds {
                    accepted |= self.reach(thread.at + 1, thread.start, at, scratch);
                }
                !holds
            });
            scratch.waiting.append(&mut waiting);
        }
        scratch.waiting.clear();
        accepted
    }

    pub(super) fn word_starts(&self, at: usize) -> bool {
        self.text.get(at).is_some_and(|b| is_word(*b)) && (at == 0 || !is_word(self.text[at - 1]))
    }

    pub(super) fn word_ends(&self, at: usize) -> bool {
        at > 0 && is_word(self.text[at - 1]) && self.text.get(at).is_none_or(|b| !is_word(*b))
    }
}

impl Scratch {
    fn begin(&mut self, program: &Program) {
        let length = program.ops.len() + 1;
        if self.seen.len() < length {
            self.seen.resize(length, 0);
        }
        self.round += 1;
        self.threads.clear();
        self.waiting.clear();
    }

    fn next_round(&mut self) -> Vec<Thread> {
        self.round += 1;
        let mut empty = std::mem::take(&mut self.stepped);
        empty.clear();
        std::mem::replace(&mut self.threads, empty)
    }
}

impl Program {
    /// The leftmost of the longest matches that start at `from` or behind, back-references taken for copies of
    /// their groups.
    pub(super) fn find(&self, text: &[u8], from: usize, scratch: &mut Scratch) -> Option<(usize, usize)> {
        let facts = &self.facts;
        if facts.literal && !facts.prefix.is_empty() {
            let start = from + self.prefix.find(&text[from..])?;
            return Some((start, start + facts.prefix.len()));
        }
        let run = Run { program: self, steps: (0, self.ops.len()), text };
        if facts.required.is_empty() {
            return run.leftmost(from, text.len(), scratch);
        }
        let mut at = from;
        loop {
            let found = at + self.required.find(&text[at..])?;
            if !facts.in_line {
                return run.leftmost(from, text.len(), scratch);
            }
            // A match lies in one line, and only a line with the required bytes can have one.
            let line = memrchr(b'\n', &text[at..found]).map_or(at, |offset| at + offset + 1);
            let end = memchr(b'\n', &text[found..]).map_or(text.len(), |offset| found + offset);
            if let Some(range) = run.leftmost(line, end, scratch) {
                return Some(range);
            }
            if end >= text.len() {
                return None;
            }
            at = end + 1;
        }
    }
}
