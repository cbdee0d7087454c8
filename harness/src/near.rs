//! The nearest of some known words to one that is not known: for suggestions in messages.

/// The known word that is at most a third of its letters away from `word`, if there is one.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|k| (distance(&word.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(d, k)| *d <= (k.chars().count().max(3)) / 3)
        .min()
        .map(|(_, k)| k)
}

/// Edit distance with transpositions of neighbours (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let swap = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + swap);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words() {
        let check = |word: &str, expect: Option<&str>| {
            assert_eq!(nearest(word, ["cuda", "opencl", "host", "timeout"]), expect, "{word}");
        };
        check("cudaa", Some("cuda"));
        check("opnecl", Some("opencl"));
        check("Timeout", Some("timeout"));
        check("vulkan", None);
        check("", None);
    }
}
