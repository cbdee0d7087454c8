//! Distance between words, and the nearest of a list.
//!
//! What must not enter: which words there are (the tables and the suite say that).

/// Edits between two words: insert, drop, replace, or swap two neighbours (optimal string alignment).
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// Words are compared up to this many characters, so that a hostile line costs little.
const LONGEST: usize = 64;

/// The nearest candidate that a slip of the pen explains: one edit in a word of up to five letters, two in a
/// longer one. Ties go to the first candidate.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match word.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    candidates
        .into_iter()
        .filter(|c| c.len().abs_diff(word.len()) <= 4)
        .map(|c| (distance(&word.to_uppercase(), &c.to_uppercase()), c))
        .filter(|(d, c)| *d <= allowed && *c != word)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_edit() {
        assert_eq!(distance("CHEKC", "CHECK"), 1);
        assert_eq!(distance("LABLE", "LABEL"), 1);
        assert_eq!(distance("", "RUN"), 3);
    }

    #[test]
    fn nearest_knows_its_limits() {
        assert_eq!(nearest("XFIAL", ["RUN", "XFAIL"]), Some("XFAIL"));
        assert_eq!(nearest("LOWER", ["RUN", "XFAIL"]), None);
        assert_eq!(nearest("level-zero", ["gpu", "level_zero"]), Some("level_zero"));
    }
}
