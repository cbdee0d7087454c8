//! Options of builtins, read as Python's `getopt.gnu_getopt` reads them: lit's builtins have its messages.

/// Options with their values, and the other words.
pub(super) type Parsed = (Vec<(String, String)>, Vec<String>);

/// `short` as in `getopt(3)`, a colon behind a letter that takes a value; `long` without values.
pub(super) fn getopt(words: &[String], short: &str, long: &[&str]) -> Result<Parsed, String> {
    let (mut options, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.extend(words.by_ref().cloned());
        } else if let Some(name) = word.strip_prefix("--") {
            let (name, value) = name.split_once('=').map_or((name, None), |(n, v)| (n, Some(v)));
            let mut found = long.iter().filter(|l| l.starts_with(name));
            let exact = long.iter().find(|l| **l == name);
            match (exact, found.next(), found.next()) {
                (Some(one), ..) | (None, Some(one), None) if value.is_some() => {
                    return Err(format!("option --{one} must not have an argument"));
                }
                (Some(one), ..) | (None, Some(one), None) => {
                    options.push((format!("--{one}"), String::new()));
                }
                (None, Some(_), Some(_)) => return Err(format!("option --{name} not a unique prefix")),
                (None, None, _) => return Err(format!("option --{name} not recognized")),
            }
        } else if word.len() > 1 && word.starts_with('-') {
            let mut letters = word[1..].char_indices();
            while let Some((at, letter)) = letters.next() {
                let place = short.find(letter).filter(|_| letter != ':');
                let place = place.ok_or_else(|| format!("option -{letter} not recognized"))?;
                let mut value = String::new();
                if short[place + letter.len_utf8()..].starts_with(':') {
                    let behind = &word[1 + at + letter.len_utf8()..];
                    letters.by_ref().for_each(drop);
                    value = if behind.is_empty() { words.next().cloned() } else { Some(behind.to_owned()) }
                        .ok_or_else(|| format!("option -{letter} requires argument"))?;
                }
                options.push((format!("-{letter}"), value));
            }
        } else {
            rest.push(word.clone());
        }
    }
    Ok((options, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_words() {
        let check = |text: &str, expect: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let shown = match getopt(&words, "wI:r", &["strip-cr"]) {
                Ok((options, rest)) => {
                    let options: String = options.iter().map(|(o, v)| format!("{o}{v} ")).collect();
                    format!("{options}| {}", rest.join(" "))
                }
                Err(why) => why,
            };
            assert_eq!(shown, expect, "{text}");
        };
        check("-w a -rI x b", "-w -r -Ix | a b");
        check("-Ix - -- -w", "-Ix | - -w");
        check("--strip a", "--strip-cr | a");
        check("--strip-cr=a", "option --strip-cr must not have an argument");
        check("-q", "option -q not recognized");
        check("-I", "option -I requires argument");
        check("--nope", "option --nope not recognized");
    }
}
