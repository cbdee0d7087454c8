//! A case made smaller as long as it still shows what it showed.

use super::case::Case;

/// Tries after which it is small enough.
const TRIES: usize = 3_000;

/// The smallest case found that `still` holds for.
pub fn smallest(case: &Case, mut still: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut tries = 0;
    loop {
        let best_size = size(&best);
        let found = smaller(&best).filter(|smaller| size(smaller) < best_size).find(|smaller| {
            tries += 1;
            tries > TRIES || still(smaller)
        });
        match found {
            Some(smaller) if tries <= TRIES => best = smaller,
            _ => return best,
        }
    }
}

fn size(case: &Case) -> usize {
    let arguments: usize = case.arguments.iter().map(|argument| argument.len() + 1).sum();
    arguments + case.checks.len() + case.input.len()
}

/// Every case with one piece less, larger pieces first.
fn smaller(case: &Case) -> impl Iterator<Item = Case> + '_ {
    let without_argument = (0..case.arguments.len()).map(|index| {
        let mut smaller = case.clone();
        smaller.arguments.remove(index);
        smaller
    });
    let checks = shorter(&case.checks).map(|checks| Case { checks, ..case.clone() });
    let inputs = shorter(&case.input).map(|input| Case { input, ..case.clone() });
    without_argument.chain(checks).chain(inputs)
}

fn shorter(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let sizes = std::iter::successors(Some(text.len().div_ceil(2)), |size| (*size > 1).then(|| size / 2));
    sizes.flat_map(move |size| {
        (0..text.len()).step_by(size.max(1)).map(move |start| {
            let end = (start + size).min(text.len());
            [&text[..start], &text[end..]].concat()
        })
    })
}
