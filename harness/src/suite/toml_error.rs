//! What is wrong with a TOML file, for whoever wrote it: the place, the nearest name that there is, and what would be
//! right. The words of serde name Rust's types, and inside some values it does not know places: both are mended here,
//! for all keys alike.

use crate::diag::Problem;
use regex::Regex;
use runproof_directives::{Source, Span};
use std::sync::LazyLock;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// What is right, by the path of its key; `*` is any name. What a folder may say of itself stands under `lit.config`.
pub type Examples = [(&'static str, &'static str)];

/// Words of serde, and what they are called in TOML.
static WORDS: LazyLock<[(Regex, &str); 3]> = LazyLock::new(|| {
    let word = |pattern: &str| Regex::new(pattern).expect("a fixed pattern");
    [
        (word(r"\ba sequence\b"), "a list"),
        (word(r"\b(struct|internally tagged enum) \w+|\ba? ?map\b"), "a table"),
        (word(r"\b(u8|u16|u32|u64|usize)\b"), "a whole number, 0 or more"),
    ]
});

/// A value of another type than the one that is wanted.
static WRONG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^invalid (?:type|value): [\w ]+ (?:"(.*)"|`(.*)`), expected"#).expect("a fixed pattern")
});

/// Any text in the form of a value, for files that are no TOML at all.
const FORM: &str = "write `key = value`: a text in quotation marks, a number, `true` or `false`, \
                    a list `[\"a\", \"b\"]`, or a table `{ key = value }`";

/// A key or an element of a list, with the path to it.
struct Entry {
    path: Vec<String>,
    key: Span,
    value: Span,
}

/// An error with its place and a way out.
pub fn problem(source: &Source, error: &toml::de::Error, examples: &Examples) -> Problem {
    let at = error.span().unwrap_or(0..0);
    let mut at = Span::new(at.start, at.end);
    let mut message = error.message().to_owned();
    for (pattern, word) in WORDS.iter() {
        message = pattern.replace_all(&message, *word).into_owned();
    }
    let entries = entries(source);
    let holds = |span: &Span| span.start <= at.start && at.end <= span.end;
    let deepest = entries.iter().filter(|e| holds(&e.key) || holds(&e.value)).max_by_key(|e| e.path.len());
    let mut path = deepest.map(|e| e.path.clone()).unwrap_or_default();
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = names.split_first().filter(|_| message.starts_with("unknown "));
    if let Some((name, _)) = unknown {
        let named = |e: &&Entry| e.path.last().is_some_and(|last| last == name) && e.key.start >= at.start;
        if let Some(entry) = entries.iter().filter(named).min_by_key(|e| e.key.start) {
            at = entry.key;
            path = entry.path[..entry.path.len() - 1].to_vec();
        }
    }
    // In a value that serde had to keep before it could tell what it is, only the value itself tells where it stands.
    if let Some(literal) = WRONG.captures(&message).and_then(|c| c.get(1).or(c.get(2))) {
        let text = |e: &Entry| source.bytes.get(e.value.start..e.value.end).unwrap_or_default();
        let is_it = |e: &&Entry| {
            e.path.len() == path.len() + 1
                && e.path.starts_with(&path)
                && String::from_utf8_lossy(text(e)).trim_matches(['"', '\'']) == literal.as_str()
        };
        if let Some(entry) = entries.iter().find(is_it) {
            at = entry.value;
            path.clone_from(&entry.path);
        }
    }
    let near = unknown.and_then(|(name, known)| runproof_directives::nearest(name, known.iter().copied()));
    let missing = names.first().filter(|_| message.starts_with("missing field "));
    let help = match (near, missing) {
        (Some(near), _) => Some(format!("did you mean `{near}`?")),
        (None, Some(name)) => {
            example(examples, &[path, vec![(*name).to_owned()]].concat()).map(|e| format!("add `{e}`"))
        }
        (None, None) if entries.is_empty() => Some(FORM.to_owned()),
        (None, None) => example(examples, &path).map(|e| format!("write it like this: `{e}`")),
    };
    let problem =
        Problem::new("bad-config", format!("{message} in `{}`", source.name)).at(source, at, "here");
    help.into_iter().fold(problem, Problem::help)
}

/// Where the key at a path stands, or the element of a list, which is named by its number.
pub fn place(source: &Source, path: &[&str]) -> Span {
    let found = entries(source).into_iter().find(|e| e.path == path);
    found.map_or_else(Span::default, |e| e.key)
}

fn example(examples: &Examples, path: &[String]) -> Option<&'static str> {
    let names: Vec<&str> = path.iter().map(String::as_str).filter(|p| p.parse::<usize>().is_err()).collect();
    let fits = |pattern: &str, names: &[&str]| {
        pattern.split('.').count() == names.len()
            && pattern.split('.').zip(names).all(|(part, name)| part == "*" || part == *name)
    };
    let find =
        |names: &[&str]| examples.iter().find(|(pattern, _)| fits(pattern, names)).map(|(_, text)| *text);
    let as_config = || match names.as_slice() {
        ["lit", "folder", rest @ ..] => find(&[&["lit", "config"], rest].concat()),
        _ => None,
    };
    find(&names).or_else(as_config)
}

/// All keys and elements of a file; none when it is no TOML.
fn entries(source: &Source) -> Vec<Entry> {
    let mut all = Vec::new();
    if let Some(table) = std::str::from_utf8(&source.bytes).ok().and_then(|text| DeTable::parse(text).ok()) {
        of_table(table.get_ref(), &[], &mut all);
    }
    all
}

fn of_table(table: &DeTable<'_>, path: &[String], all: &mut Vec<Entry>) {
    for (key, value) in table {
        let path = [path, &[key.get_ref().to_string()]].concat();
        all.push(Entry { path: path.clone(), key: span(key), value: span(value) });
        of_value(value.get_ref(), &path, all);
    }
}

fn of_list(list: &DeArray<'_>, path: &[String], all: &mut Vec<Entry>) {
    for (index, value) in list.iter().enumerate() {
        let path = [path, &[index.to_string()]].concat();
        all.push(Entry { path: path.clone(), key: span(value), value: span(value) });
        of_value(value.get_ref(), &path, all);
    }
}

fn of_value(value: &DeValue<'_>, path: &[String], all: &mut Vec<Entry>) {
    match value {
        DeValue::Table(table) => of_table(table, path, all),
        DeValue::Array(list) => of_list(list, path, all),
        _ => {}
    }
}

/// The range of a spanned value.
pub fn span<T>(value: &Spanned<T>) -> Span {
    Span::new(value.span().start, value.span().end)
}
