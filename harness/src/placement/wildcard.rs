//! Text patterns of `PLACED` and of fleet identities: `*` stands for any text, all else for itself.

/// Whether `text` is what `pattern` describes.
pub fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    // A split has at least one part.
    let Some(rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    let mut rest = rest;
    for part in parts {
        match rest.find(part) {
            Some(position) => rest = &rest[position + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether a kernel's name, as the runtime gives it or demangled, is what `pattern` describes.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    matches_wildcard(pattern, name) || demangled(name).is_some_and(|name| matches_wildcard(pattern, &name))
}

/// The function's name inside an Itanium C++ symbol, scopes included, template arguments and parameters
/// dropped: `_Z4vaddPKfPfi` is `vadd`, `_ZN2ns3mulIfEEvPT_` is `ns::mul`. `None` for any other text.
pub fn demangled(symbol: &str) -> Option<String> {
    let rest = symbol.strip_prefix("_Z")?;
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    let Some(mut rest) = rest.strip_prefix('N') else { return Some(source_name(rest)?.0.to_owned()) };
    rest = rest.trim_start_matches(['K', 'V', 'r']);
    let mut names = Vec::new();
    loop {
        if let Some((name, after)) = source_name(rest) {
            names.push(name);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('I') {
            rest = after_template(after)?;
        } else {
            break;
        }
    }
    (!names.is_empty() && rest.starts_with('E')).then(|| names.join("::"))
}

/// `4vadd…` is `vadd` and what follows it.
fn source_name(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    (length > 0 && rest.is_char_boundary(length) && rest.len() >= length).then(|| rest.split_at(length))
}

/// What follows the `E` that ends template arguments. Names are stepped over whole: they may hold any letter.
fn after_template(mut text: &str) -> Option<&str> {
    let mut depth = 1;
    while depth > 0 {
        if let Some((_, after)) = source_name(text) {
            text = after;
            continue;
        }
        let first = text.chars().next()?;
        match first {
            'I' | 'N' | 'L' | 'J' | 'X' => depth += 1,
            'E' => depth -= 1,
            _ => {}
        }
        text = &text[first.len_utf8()..];
        // The value of a literal, `Lj16E`, is digits that are no length.
        if first == 'L' {
            let end = text.find('E')?;
            text = &text[end..];
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let check =
            |pattern, text, expect| assert_eq!(matches_wildcard(pattern, text), expect, "{pattern} {text}");
        check("matmul", "matmul", true);
        check("matmul", "matmul_f32", false);
        check("matmul*", "matmul_f32", true);
        check("*matmul", "tiled_matmul", true);
        check("*", "", true);
        check("a*b*c", "a--b--c", true);
        check("a*b*c", "a--c--b", false);
        check("ab*ba", "aba", false);
        check("a*a", "a", false);
        check("", "", true);
        check("", "a", false);
        check("**x", "x", true);
    }

    #[test]
    fn names_inside_symbols() {
        let check =
            |symbol, expect: Option<&str>| assert_eq!(demangled(symbol).as_deref(), expect, "{symbol}");
        check("_Z10vadd_probePKfS0_Pfi", Some("vadd_probe"));
        check("_Z3mulIfEvPT_", Some("mul"));
        check("_ZN2ns3mulEPf", Some("ns::mul"));
        check("_ZN2ns3mulIfEEvPT_", Some("ns::mul"));
        check("_ZN2ns4TileILi16EE3runEv", Some("ns::Tile::run"));
        check("_ZL5localPf", Some("local"));
        check("saxpy", None);
        check("_Z", None);
        check("_Z99x", None);
        check("_ZN2ns", None);
        check("_Z3äb", Some("äb"));
    }

    #[test]
    fn a_name_matches_mangled_or_demangled() {
        assert!(matches_name("vadd*", "_Z10vadd_probePKfS0_Pfi"));
        assert!(matches_name("_Z10vadd*", "_Z10vadd_probePKfS0_Pfi"));
        assert!(!matches_name("add*", "_Z10vadd_probePKfS0_Pfi"));
        assert!(matches_name("saxpy", "saxpy"));
    }
}
