//! Tables of expressions: what they find, and which are none.

use super::*;

/// Finds `regex` in `text`; the match and its groups as text, or nothing.
fn find(regex: &str, text: &str) -> Option<Vec<String>> {
    let ere = Ere::new(regex.as_bytes(), false).unwrap_or_else(|error| panic!("{regex}: {error}"));
    let found = ere.find(text.as_bytes(), true, &mut Scratch::default()).unwrap()?;
    let ranges = [found.range].into_iter().chain((1..found.groups.len()).map(|number| found.group(number)));
    Some(ranges.map(|(start, end)| text[start..end].to_owned()).collect())
}

fn check(regex: &str, text: &str, expect: &[&str]) {
    assert_eq!(find(regex, text).unwrap_or_default(), expect, "{regex} in {text:?}");
}

fn absent(regex: &str, text: &str) {
    assert_eq!(find(regex, text), None, "{regex} in {text:?}");
}

#[test]
fn leftmost_then_longest() {
    check("foo|foobar", "a foobar", &["foobar"]);
    check("b|abc|ab", "abcd", &["abc"]);
    check("(a|ab)(c|bcd)(d*)", "abcd", &["abcd", "ab", "c", "d"]);
    check("x*", "aaxx", &[""]);
    check("a{2,3}", "aaaaa", &["aaa"]);
    check("(ab){2}", "abababab", &["abab", "ab"]);
    check("a.*b|a", "a--b--b--", &["a--b--b"]);
    check("[a-z]+x", "aaaabxaa x", &["aaaabx"]);
}

#[test]
fn groups_of_repetitions_and_branches() {
    check("(a|b)*c", "xabbc", &["abbc", "b"]);
    // The last round, which is empty.
    check("(a*)*", "aab", &["aa", ""]);
    check("(a)|b", "b", &["b", ""]);
    check("(a?)(a?)(a?)b", "aab", &["aab", "a", "a", ""]);
    check("((a+)(b*))+", "aabab", &["aabab", "ab", "a", "b"]);
    check("(.*)(.*)", "xyz", &["xyz", "xyz", ""]);
    check("([0-9]+)-([0-9]+)", "12-345", &["12-345", "12", "345"]);
}

#[test]
fn an_optional_beginning_may_be_forgotten() {
    check("(a?|b)c", "bc", &["c", ""]);
    check("(b|a?)c", "bc", &["bc", "b"]);
    check("(a?|b)$", "b", &["", ""]);
}

#[test]
fn lines_bound_what_matches() {
    check("a.*", "abc\nd", &["abc"]);
    check("[^x]+", "ab\ncd", &["ab"]);
    check("a[[:space:]]b", "a\nb", &["a\nb"]);
    check("^b", "ab\nb", &["b"]);
    check("a$", "ab\na", &["a"]);
    check("^$", "a\n\nb", &[""]);
    check("(^|x)b", "ab xb", &["xb", "x"]);
    absent("^b", "ab");
    absent("a$", "ab\n");
}

#[test]
fn words() {
    check("[[:<:]]in[[:>:]]", "inner in", &["in"]);
    absent("[[:<:]]in[[:>:]]", "inner begin");
    // A line's end is not looked at behind a word's.
    absent("in[[:>:]]$", "in\n");
}

#[test]
fn brackets() {
    check("[]a]+", "b]a", &["]a"]);
    check("[^]a]+", "]ab", &["b"]);
    check("[a-]+", "b-a", &["-a"]);
    check("[[:xdigit:]]+", "xBEEf", &["BEEf"]);
    check("[[.hyphen.]]", "a-", &["-"]);
    check("[[=a=]b]+", "cab", &["ab"]);
    check(r"[\d]+", r"\d", &[r"\d"]);
}

#[test]
fn back_references() {
    check(r"([a-z])\1", "abccd", &["cc", "c"]);
    check(r"(a*)b\1", "aabaaa", &["aabaa", "aa"]);
    check(r"(a|b)*\1", "abb", &["abb", "b"]);
    absent(r"([a-z]+)-\1;", "ab-abc;");
}

#[test]
fn a_backslash_makes_the_next_byte_ordinary() {
    check(r"\d\.", "1.d.", &["d."]);
    check(r"a\{1", "a{1", &["a{1"]);
    check("a{,2}", "a{,2}", &["a{,2}"]);
}

#[test]
fn letter_case() {
    let ere = Ere::new(b"[a-c]x\\.[^q]", true).unwrap();
    let found = ere.find(b"Q BX.Q BX.z", false, &mut Scratch::default()).unwrap().unwrap();
    assert_eq!(found.range, (7, 11));
}

#[test]
fn what_is_no_expression() {
    use EreError as E;
    let table = [
        ("(", E::Parenthesis),
        ("a)", E::Parenthesis),
        ("[a", E::Bracket),
        ("[[:digit:]", E::Bracket),
        ("a{2", E::Brace),
        ("a{1x}", E::Count),
        ("a{2,1}", E::Count),
        ("a{256}", E::Count),
        ("*a", E::Repetition),
        ("a**", E::Repetition),
        (".*?", E::Repetition),
        ("^*", E::Repetition),
        ("(?:a)", E::Repetition),
        ("", E::Empty),
        ("a|", E::Empty),
        ("(|a)", E::Empty),
        ("a{0}", E::Empty),
        ("a\\", E::Backslash),
        ("\\1", E::BackReference),
        ("(a\\1)", E::BackReference),
        ("[b-a]", E::Range),
        ("[a-b-c]", E::Range),
        ("[[:digits:]]", E::Class),
        ("[[.nothing.]]", E::Collating),
    ];
    for (regex, error) in table {
        assert_eq!(Ere::new(regex.as_bytes(), false).map(|_| ()), Err(error), "{regex}");
    }
}

#[test]
fn time_is_linear_where_backtracking_is_not() {
    let text = "a".repeat(20_000);
    absent("(a*)*(a*)*(a|aa)*b", &text);
    absent("(a|a)(a|a)*(aa|a)*[bc]", &text);
    absent("[[:<:]].*([bc][[:>:]])", &"a ".repeat(20_000));
}
