//! The nearest of some known words to one that is not known: for suggestions in messages.

/// How alike two words must be, from 0 to 1, so that one is offered for the other.
const ALIKE: f32 = 0.7;

/// The known word that is most like `word`, if one is alike enough. Letter case does not matter.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let lower: Vec<String> = known.iter().map(|k| k.to_lowercase()).collect();
    let candidates: Vec<&str> = lower.iter().map(String::as_str).collect();
    let best = *similar::get_close_matches(&word.to_lowercase(), &candidates, 1, ALIKE).first()?;
    lower.iter().position(|l| l == best).map(|at| known[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words() {
        let check = |word: &str, expect: Option<&str>| {
            assert_eq!(nearest(word, ["cuda", "opencl", "host", "Timeout"]), expect, "{word}");
        };
        check("cudaa", Some("cuda"));
        check("opnecl", Some("opencl"));
        check("timeout", Some("Timeout"));
        check("vulkan", None);
        check("", None);
    }
}
