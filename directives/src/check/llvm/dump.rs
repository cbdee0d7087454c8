//! The input with marks under its lines.

use std::collections::BTreeMap;

use super::super::options::DumpFilter;
use super::Scene;
use super::annotate::{Annotation, annotations};
use super::message::{BLACK, BOLD, ON_CYAN, Paint};
use crate::source::Span;

/// Lines that are left out have to be more than those that say so.
const ELLIPSIS_LINES: usize = 3;

/// Writes the annotated input.
pub(in crate::check) fn dump(scene: &Scene<'_>, out: &mut Vec<u8>) {
    let lines = scene.input_lines();
    let annotations = annotations(scene, &lines);
    let label_width = annotations.iter().map(|annotation| annotation.label.len()).max().unwrap_or(0);
    let ends = lines.line(lines.text.len()) - usize::from(lines.text.ends_with(b"\n"));
    let number_width = ends.checked_ilog10().map_or(1, |digits| digits as usize + 1);
    let head = format!(
        "\nInput file: {}\nCheck file: {}\n\n-dump-input=help explains the following input dump.\n\nInput was:\n<<<<<<\n",
        scene.input_name, scene.check_name
    );
    out.extend_from_slice(head.as_bytes());
    let mut starts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, annotation) in annotations.iter().enumerate() {
        starts.entry(annotation.lines.0).or_default().push(index);
    }
    let printer = Printer {
        text: lines.text,
        annotations: &annotations,
        paint: Paint(scene.options.color),
        verbose: scene.options.verbosity > 0,
        label_width: label_width.max(number_width) + ELLIPSIS_LINES,
    };
    let shown = shown_lines(scene, &annotations);
    printer.all(out, &starts, shown);
    out.extend_from_slice(b">>>>>>\n");
}

/// Ranges of lines to be shown, in order and apart.
fn shown_lines(scene: &Scene<'_>, annotations: &[Annotation]) -> Vec<(usize, usize)> {
    let filter = scene.options.filter();
    let context = scene.options.context();
    let mut wanted: Vec<(usize, usize)> = annotations
        .iter()
        .filter(|annotation| filter != DumpFilter::Error || annotation.is_error())
        .map(|annotation| match filter {
            DumpFilter::AnnotationFull => annotation.lines,
            _ => (annotation.lines.0, annotation.lines.0),
        })
        .map(|(first, last)| (first.saturating_sub(context), last.saturating_add(context)))
        .collect();
    if filter == DumpFilter::All {
        wanted = vec![(0, usize::MAX)];
    }
    wanted.sort_unstable();
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (first, last) in wanted {
        match apart.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => apart.push((first, last)),
        }
    }
    apart
}

struct Printer<'a> {
    text: &'a [u8],
    annotations: &'a [Annotation],
    paint: Paint,
    /// Input without a match is shown as such.
    verbose: bool,
    label_width: usize,
}

impl Printer<'_> {
    fn all(&self, out: &mut Vec<u8>, starts: &BTreeMap<usize, Vec<usize>>, shown: Vec<(usize, usize)>) {
        out.extend_from_slice(self.paint.code(BOLD).as_bytes());
        out.extend_from_slice(self.paint.reset().as_bytes());
        let mut ranges = shown.into_iter().peekable();
        // Annotations that reach into the line.
        let mut open: Vec<usize> = Vec::new();
        // What was left out since the last line that was shown, as long as it may still be shown.
        let (mut left_out, mut left_out_lines) = (Vec::new(), 0);
        let (mut start, mut number) = (0, 1);
        loop {
            let end = memchr::memchr(b'\n', &self.text[start..]).map(|length| start + length);
            let begin = starts.get(&number);
            if end.is_none() && start == self.text.len() && begin.is_none() {
                break;
            }
            open.retain(|index| self.annotations[*index].lines.1 >= number);
            if let Some(begin) = begin {
                open.extend(begin);
                open.sort_unstable();
            }
            while ranges.peek().is_some_and(|(_, last)| *last < number) {
                ranges.next();
            }
            let line = Span::new(start, end.map_or(self.text.len(), |end| end + 1));
            if ranges.peek().is_some_and(|(first, _)| *first <= number) {
                self.left_out(out, &mut left_out, &mut left_out_lines);
                self.line(out, number, line, end.is_some(), &open);
            } else {
                left_out_lines += 1 + open.len();
                if left_out_lines <= ELLIPSIS_LINES {
                    self.line(&mut left_out, number, line, end.is_some(), &open);
                }
            }
            let Some(end) = end else { break };
            (start, number) = (end + 1, number + 1);
        }
        self.left_out(out, &mut left_out, &mut left_out_lines);
    }

    /// Lines that were left out, or dots for them if they are many.
    fn left_out(&self, out: &mut Vec<u8>, left_out: &mut Vec<u8>, lines: &mut usize) {
        if *lines > ELLIPSIS_LINES {
            let (black, reset) = (self.paint.code(BLACK), self.paint.reset());
            for _ in 0..ELLIPSIS_LINES {
                out.extend_from_slice(format!("{black}{:>1$}{reset}\n", '.', self.label_width).as_bytes());
            }
        } else {
            out.extend_from_slice(left_out);
        }
        left_out.clear();
        *lines = 0;
    }

    fn line(&self, out: &mut Vec<u8>, number: usize, line: Span, has_end: bool, open: &[usize]) {
        let (black, reset) = (self.paint.code(BLACK), self.paint.reset());
        out.extend_from_slice(format!("{black}{number:>0$}: {reset}", self.label_width).as_bytes());
        out.extend_from_slice(self.paint.code(BOLD).as_bytes());
        let shown = &self.text[line.start..line.end - usize::from(has_end)];
        if self.paint.0 && self.verbose {
            self.unmatched(out, number, line, shown, open);
        } else {
            out.extend_from_slice(shown);
            if has_end {
                out.push(b' ');
            }
        }
        out.extend_from_slice(reset.as_bytes());
        out.push(b'\n');
        for index in open {
            let annotation = &self.annotations[*index];
            let (from, to) = self.marks(*index, number, line);
            let mut text = format!("{:<1$}  ", annotation.label, self.label_width);
            if let Some(mark) = annotation.mark {
                text.push_str(&" ".repeat(from));
                let is_first = annotation.lines.0 == number;
                text.push(if is_first { char::from(mark) } else { '~' });
                text.push_str(&"~".repeat((to - from).saturating_sub(1)));
            }
            if annotation.lines.0 == number && !annotation.note.is_empty() {
                // Notes stand in one column, but for marks behind the line.
                let column = self.label_width + 3 + to.max(line.end - line.start);
                text = format!("{text:<column$}{}", annotation.note);
            }
            let colour = self.paint.code(annotation.colour);
            out.extend_from_slice(format!("{colour}{}\n{reset}", text.trim_end()).as_bytes());
        }
    }

    /// The columns of a line that an annotation marks, from 0.
    fn marks(&self, index: usize, number: usize, line: Span) -> (usize, usize) {
        let annotation = &self.annotations[index];
        let from = if annotation.lines.0 == number { annotation.columns.0 } else { 0 };
        let end = annotation.columns.1.filter(|_| annotation.lines.1 == number);
        let to = end.unwrap_or(line.end - line.start);
        (from, to.max(from + 1))
    }

    /// A line with what no check matched on another ground.
    fn unmatched(&self, out: &mut Vec<u8>, number: usize, line: Span, shown: &[u8], open: &[usize]) {
        let good: Vec<(usize, usize)> = open
            .iter()
            .filter(|index| self.annotations[**index].is_good_match)
            .map(|index| self.marks(*index, number, line))
            .collect();
        let mut was_matched = false;
        out.extend_from_slice(ON_CYAN.as_bytes());
        for column in 0..line.end - line.start {
            if good.iter().any(|(from, to)| (*from..*to).contains(&column)) != was_matched {
                was_matched = !was_matched;
                out.extend_from_slice(if was_matched { "\x1b[0m" } else { ON_CYAN }.as_bytes());
            }
            out.push(shown.get(column).copied().unwrap_or(b' '));
        }
    }
}
