//! What each group of a match took, where no back-reference decides it.
//!
//! The elements of a sequence take as much as they can from left to right, as long as the rest can still take the rest;
//! of a repetition the last round counts; of branches the first that fits.

use super::program::{Op, past};
use super::search::{Run, Scratch};

/// Start and end of a group.
pub(super) type GroupSpan = (Option<usize>, Option<usize>);

/// All groups by number; the first is not used.
pub(super) type Spans = Vec<GroupSpan>;

impl Run<'_, '_> {
    fn part(&self, from: usize, to: usize) -> Self {
        Self { steps: (from, to), ..*self }
    }

    /// Fills `spans` for a match of the run's steps that takes `start..stop`.
    pub(super) fn dissect(&self, start: usize, stop: usize, spans: &mut Spans, scratch: &mut Scratch) {
        let ops = &self.program.ops;
        let (mut at, last) = self.steps;
        let mut from = start;
        while at < last {
            let next = at + past(ops, at);
            match ops[at] {
                Op::Byte(_) | Op::Set(_) => from += 1,
                Op::Open(group) => spans[group as usize].0 = Some(from),
                Op::Close(group) => spans[group as usize].1 = Some(from),
                Op::OptionStart(_) | Op::LoopStart(_) | Op::Either(_) => {
                    let Some(end) = self.share((at, next), from, stop, scratch) else { return };
                    match ops[at] {
                        Op::OptionStart(_) => {
                            let inside = self.part(at + 1, next - 1);
                            if inside.longest(from, end, scratch).is_some() {
                                inside.dissect(from, end, spans, scratch);
                            }
                        }
                        Op::LoopStart(_) => self.part(at + 1, next - 1).last_round(from, end, spans, scratch),
                        _ => self.first_branch(at, from, end, spans, scratch),
                    }
                    from = end;
                }
                _ => {}
            }
            at = next;
        }
    }

    /// How far the element `steps` goes so that the rest of the run ends at `stop`.
    fn share(&self, steps: (usize, usize), from: usize, stop: usize, scratch: &mut Scratch) -> Option<usize> {
        let mut ends = Vec::new();
        self.part(steps.0, steps.1).ends(from, stop, scratch, |end| ends.push(end));
        let rest = self.part(steps.1, self.steps.1);
        ends.into_iter().rev().find(|&end| rest.longest(end, stop, scratch) == Some(stop))
    }

    fn last_round(&self, from: usize, end: usize, spans: &mut Spans, scratch: &mut Scratch) {
        let (mut start, mut previous) = (from, from);
        loop {
            match self.longest(start, end, scratch) {
                None => return self.dissect(previous, start, spans, scratch),
                Some(stop) if stop == start => return self.dissect(start, stop, spans, scratch),
                Some(stop) => (previous, start) = (start, stop),
            }
        }
    }

    fn first_branch(&self, either: usize, from: usize, end: usize, spans: &mut Spans, scratch: &mut Scratch) {
        let mut head = either;
        while let Op::Either(next) | Op::Branch(next) = self.program.ops[head] {
            let next = head + next as usize;
            let branch = self.part(head + 1, next - 1);
            if branch.longest(from, end, scratch) == Some(end) {
                return branch.dissect(from, end, spans, scratch);
            }
            head = next;
        }
    }
}
