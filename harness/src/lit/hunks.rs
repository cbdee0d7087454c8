//! Which lines two texts have in common, as Python's `difflib` finds them: the longest run of equal lines first, then what is
//! before and behind it in the same way. Its documentation, <https://docs.python.org/3/library/difflib.html>, says so, and that
//! of 200 lines and more those that make up over 1 % do not begin a run.

use similar::DiffOp;
use std::collections::HashMap;
use std::hash::Hash;

/// From this many lines on frequent ones begin no run.
const MANY: usize = 200;

/// A run of equal lines: where it is on both sides, and its length.
type Run = (usize, usize, usize);

/// What makes `new` of `old`.
pub(super) fn operations<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    let mut places: HashMap<&T, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= MANY {
        places.retain(|_, found| found.len() <= new.len() / 100 + 1);
    }
    let mut runs = Vec::new();
    let mut open = vec![(0, old.len(), 0, new.len())];
    while let Some((from, to, new_from, new_to)) = open.pop() {
        let run @ (at, new_at, length) = longest(old, new, &places, (from, to), (new_from, new_to));
        if length > 0 {
            runs.push(run);
            open.push((from, at, new_from, new_at));
            open.push((at + length, to, new_at + length, new_to));
        }
    }
    runs.sort_unstable();
    between(&runs, old.len(), new.len())
}

/// The longest run inside of two ranges; of several the first in `old`, then in `new`. Around it frequent lines count, too.
fn longest<T: Eq + Hash>(
    old: &[T],
    new: &[T],
    places: &HashMap<&T, Vec<usize>>,
    (from, to): (usize, usize),
    (new_from, new_to): (usize, usize),
) -> Run {
    let (mut at, mut new_at, mut length) = (from, new_from, 0);
    // For each line of `new`: how long the run is that ends there and at the line of `old` before.
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (here, line) in old.iter().enumerate().take(to).skip(from) {
        let mut next = HashMap::new();
        for &there in places.get(line).into_iter().flatten() {
            if there < new_from || there >= new_to {
                continue;
            }
            let before = there.checked_sub(1).and_then(|before| lengths.get(&before)).copied().unwrap_or(0);
            next.insert(there, before + 1);
            if before + 1 > length {
                (at, new_at, length) = (here - before, there - before, before + 1);
            }
        }
        lengths = next;
    }
    while at > from && new_at > new_from && old[at - 1] == new[new_at - 1] {
        (at, new_at, length) = (at - 1, new_at - 1, length + 1);
    }
    while at + length < to && new_at + length < new_to && old[at + length] == new[new_at + length] {
        length += 1;
    }
    (at, new_at, length)
}

/// The operations of runs in order, those that touch taken together.
fn between(runs: &[Run], old_len: usize, new_len: usize) -> Vec<DiffOp> {
    let mut operations: Vec<DiffOp> = Vec::new();
    let (mut old_index, mut new_index) = (0, 0);
    for &(at, new_at, len) in runs.iter().chain([&(old_len, new_len, 0)]) {
        match (at - old_index, new_at - new_index) {
            (0, 0) => {}
            (old_len, 0) => operations.push(DiffOp::Delete { old_index, old_len, new_index }),
            (0, new_len) => operations.push(DiffOp::Insert { old_index, new_index, new_len }),
            (old_len, new_len) => operations.push(DiffOp::Replace { old_index, old_len, new_index, new_len }),
        }
        match operations.last_mut() {
            Some(DiffOp::Equal { len: known, .. }) => *known += len,
            _ if len > 0 => operations.push(DiffOp::Equal { old_index: at, new_index: new_at, len }),
            _ => {}
        }
        (old_index, new_index) = (at + len, new_at + len);
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operations in the letters of `difflib`'s: each with its ranges.
    fn shown(old: &str, new: &str) -> String {
        let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
        let one = |op: DiffOp| {
            let letter = match op {
                DiffOp::Equal { .. } => 'e',
                DiffOp::Delete { .. } => 'd',
                DiffOp::Insert { .. } => 'i',
                DiffOp::Replace { .. } => 'r',
            };
            let (a, b) = (op.old_range(), op.new_range());
            format!("{letter}{}:{},{}:{}", a.start, a.end, b.start, b.end)
        };
        operations(&old, &new).into_iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_longest_run_first() {
        for (old, new, expect) in [
            ("abcabba", "cbabac", "i0:0,0:2 e0:2,2:4 i2:2,4:5 e2:3,5:6 d3:7,6:6"),
            ("qabxcd", "abycdf", "d0:1,0:0 e1:3,0:2 r3:4,2:3 e4:6,3:5 i6:6,5:6"),
            ("", "ab", "i0:0,0:2"),
            ("ab", "", "d0:2,0:0"),
            ("", "", ""),
        ] {
            assert_eq!(shown(old, new), expect, "{old} {new}");
        }
    }

    #[test]
    fn frequent_lines_begin_no_run() {
        let text = |n: usize| format!("{}x", "ab".repeat(n));
        assert_eq!(shown(&format!("y{}", text(100)), &text(100)), "d0:1,0:0 e1:202,0:201");
        assert_eq!(shown(&format!("y{}", text(99)), &text(99)), "d0:1,0:0 e1:200,0:199");
    }
}
