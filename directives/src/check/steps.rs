//! The steps of a run as they are noted, up to where LLVM's program leaves a block.

use super::intended;
use super::log::{self, Event, Then, What};
use super::pattern::Match;
use super::run::Runner;
use crate::source::Span;

impl Runner<'_> {
    /// Notes a step, if LLVM's program would come to it and tell it.
    pub(super) fn log(&mut self, level: u8, event: impl FnOnce() -> Event) {
        if let Some(log) = self.log.as_mut().filter(|log| log.level >= level && !self.failed) {
            log.events.push(event());
        }
    }

    pub(super) fn log_search(
        &mut self,
        level: u8,
        index: usize,
        searched: Span,
        counted: Option<(u32, u32)>,
        what: impl FnOnce(&Self) -> What,
    ) {
        if self.failed || self.log.as_ref().is_none_or(|log| log.level < level) {
            return;
        }
        let values = log::values(&self.file.patterns[index], &self.values);
        let round = counted.map(|(done, of)| (done + 1, of));
        let event = Event { directive: Some(index), searched, round, values, what: what(self) };
        self.log(level, || event);
    }

    pub(super) fn log_match(
        &mut self,
        index: usize,
        searched: Span,
        counted: Option<(u32, u32)>,
        found: &Match,
        then: Then,
    ) {
        let level = match then {
            Then::Good => 1,
            Then::Discarded(_) => 2,
            Then::WrongLine(_) | Then::Forbidden => 0,
        };
        self.log_search(level, index, searched, counted, |runner| What::Found {
            span: Span::new(found.start, found.end),
            captures: log::captures(runner.file, index, found),
            then,
        });
    }

    /// The last match turns out to be on the wrong line.
    pub(super) fn log_wrong_line(&mut self, index: usize, skipped: Span, found: Span) {
        let wrong = Then::WrongLine(skipped.start);
        let last = self.log.as_mut().filter(|log| log.level > 0 && !self.failed);
        match last.and_then(|log| log.events.last_mut()).map(|event| &mut event.what) {
            Some(What::Found { then, .. }) => *then = wrong,
            _ => self.log(0, || Event::found(Some(index), skipped, found, wrong)),
        }
    }

    pub(super) fn intended(&self, index: usize, searched: Span) -> Option<usize> {
        let text = &self.text[searched.start..searched.end];
        intended::intended(&self.file.patterns[index], text).map(|at| searched.start + at)
    }

    /// Something of the block failed.
    pub(super) fn leave(&mut self) {
        if !std::mem::replace(&mut self.failed, true) && self.log.is_some() {
            self.left_with = Some(self.values.clone());
        }
    }
}
