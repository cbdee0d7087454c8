//! Texts as Python writes them: lit's messages and result lines have them, and other tools read those.

/// A string as `repr` shows it.
pub fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if u32::from(c) < 0x20 || u32::from(c) == 0x7f => {
                out.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// A word as `shlex.quote` writes it for a shell.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if word.is_empty() {
        "''".to_owned()
    } else if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_python_writes_them() {
        for (text, expect) in
            [("a", "'a'"), ("it's", "\"it's\""), ("'\"", "'\\'\"'"), ("a\\\n\u{1}", "'a\\\\\\n\\x01'")]
        {
            assert_eq!(repr(text), expect);
        }
        for (word, expect) in [("", "''"), ("a/b.c", "a/b.c"), ("a b", "'a b'"), ("it's", "'it'\"'\"'s'")] {
            assert_eq!(quote(word), expect);
        }
    }
}
