//! lit's shell language: words, pipes, lists of equal rank, redirections. No variables, no substitution of commands, no comments:
//! those are plain text.

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// As it is.
    Text(String),
    /// A pattern of file names.
    Glob(String),
}

impl Word {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Glob(text) => text,
        }
    }
}

/// A redirection as written: `2>&` is `(">&", Some(2))`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The operator without its number.
    pub operator: &'static str,
    /// The number before it.
    pub number: Option<u64>,
    /// Where to; `None` when another operator stood there.
    pub target: Option<Word>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its words; at least one.
    pub words: Vec<Word>,
    /// Its redirections in order.
    pub redirects: Vec<Redirect>,
}

/// How a list goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;`
    Then,
    /// `&`, which lit reads and does not run.
    Background,
}

/// Pipelines, joined from the left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first pipeline.
    pub first: Vec<Command>,
    /// What follows.
    pub rest: Vec<(Join, Vec<Command>)>,
}

enum Token {
    Word(Word),
    Operator(&'static str, Option<u64>),
}

/// Reads a command line.
///
/// # Errors
/// What lit stumbles over, in a few words.
pub fn parse(text: &str) -> Result<Line, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Lexer { chars: &chars, at: 0 }.all()?.into_iter().peekable();
    let first = pipeline(&mut tokens)?;
    let mut rest = Vec::new();
    while let Some(token) = tokens.next() {
        let join = match token {
            Token::Operator("&&", _) => Join::And,
            Token::Operator("||", _) => Join::Or,
            Token::Operator(";", _) => Join::Then,
            Token::Operator("&", _) => Join::Background,
            Token::Operator(other, _) => return Err(format!("unexpected `{other}`")),
            Token::Word(word) => return Err(format!("unexpected `{}`", word.text())),
        };
        if tokens.peek().is_none() {
            return Err("an operator has nothing behind it".to_owned());
        }
        rest.push((join, pipeline(&mut tokens)?));
    }
    Ok(Line { first, rest })
}

type Tokens = std::iter::Peekable<std::vec::IntoIter<Token>>;

fn pipeline(tokens: &mut Tokens) -> Result<Vec<Command>, String> {
    let mut commands = vec![command(tokens)?];
    while tokens.next_if(|t| matches!(t, Token::Operator("|", _))).is_some() {
        commands.push(command(tokens)?);
    }
    Ok(commands)
}

fn command(tokens: &mut Tokens) -> Result<Command, String> {
    let first = match tokens.next() {
        None => return Err("empty command".to_owned()),
        Some(Token::Word(Word::Text(text))) if text.is_empty() => return Err("empty command".to_owned()),
        Some(Token::Word(word)) => word,
        Some(Token::Operator(operator, _)) => return Err(format!("unexpected `{operator}`")),
    };
    let (mut words, mut redirects) = (vec![first], Vec::new());
    while let Some(token) =
        tokens.next_if(|t| !matches!(t, Token::Operator("|" | ";" | "&" | "||" | "&&", _)))
    {
        match token {
            Token::Word(word) => words.push(word),
            Token::Operator(operator, number) => {
                let target = match tokens.next() {
                    Some(Token::Word(word)) if !word.text().is_empty() => Some(word),
                    Some(Token::Operator(..)) => None,
                    _ => return Err(format!("`{operator}` has nothing behind it")),
                };
                redirects.push(Redirect { operator, number, target });
            }
        }
    }
    Ok(Command { words, redirects })
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn all(mut self) -> Result<Vec<Token>, String> {
        let mut tokens = Vec::new();
        while let Some(c) = self.peek() {
            if c.is_whitespace() {
                self.at += 1;
            } else {
                tokens.push(self.token()?);
            }
        }
        Ok(tokens)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// The next character must be there.
    fn need(&self) -> Result<char, String> {
        self.peek().ok_or_else(|| "the line ends too early".to_owned())
    }

    fn take(&mut self, c: char) -> Result<bool, String> {
        let found = self.need()? == c;
        self.at += usize::from(found);
        Ok(found)
    }

    fn token(&mut self) -> Result<Token, String> {
        let c = self.need()?;
        self.at += 1;
        let operator = match c {
            ';' => ";",
            '|' => {
                if self.take('|')? {
                    "||"
                } else {
                    "|"
                }
            }
            '&' => {
                if self.take('&')? {
                    "&&"
                } else if self.take('>')? {
                    "&>"
                } else {
                    "&"
                }
            }
            '>' => {
                if self.take('&')? {
                    ">&"
                } else if self.take('>')? {
                    ">>"
                } else {
                    ">"
                }
            }
            // lit reads `<>` as it reads `<<`: it can run neither.
            '<' => {
                if self.take('&')? {
                    "<&"
                } else if self.take('>')? {
                    "<<"
                } else {
                    "<"
                }
            }
            _ => return self.word(c),
        };
        Ok(Token::Operator(operator, None))
    }

    /// A word whose first character is taken. One without quotes and operators ends at the next blank; in others a
    /// backslash protects, but for the very first character.
    fn word(&mut self, c: char) -> Result<Token, String> {
        let rest = &self.chars[self.at - 1..];
        let length = rest.iter().position(|c| c.is_whitespace()).unwrap_or(rest.len());
        let chunk = &rest[..length];
        if !chunk.iter().any(|c| matches!(c, '|' | '&' | '<' | '>' | '\'' | '"' | ';' | '\\')) {
            self.at += length - 1;
            let text: String = chunk.iter().collect();
            let glob = text.contains(['*', '?']);
            return Ok(Token::Word(if glob { Word::Glob(text) } else { Word::Text(text) }));
        }
        let mut text = String::new();
        if matches!(c, '\'' | '"') {
            self.quoted(c, &mut text)?;
        } else {
            text.push(c);
        }
        let (mut bare_glob, mut quoted_glob) = (false, false);
        while let Some(c) = self.peek() {
            match c {
                '|' | '&' | ';' => break,
                c if c.is_whitespace() => break,
                '<' | '>' => {
                    let Some(number) = number(&text) else { break };
                    return match self.token()? {
                        Token::Operator(operator, None) => Ok(Token::Operator(operator, Some(number))),
                        _ => Err("a number stands before no redirection".to_owned()),
                    };
                }
                '\'' | '"' => {
                    self.at += 1;
                    let from = text.len();
                    self.quoted(c, &mut text)?;
                    quoted_glob |= text[from..].contains(['*', '?']);
                }
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(c) => text.push(c),
                        None => return Err("nothing follows the last `\\`".to_owned()),
                    }
                    self.at += 1;
                }
                c => {
                    bare_glob |= matches!(c, '*' | '?');
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        if bare_glob && quoted_glob {
            return Err(format!("`{text}` has file name patterns inside and outside of quotes"));
        }
        Ok(Token::Word(if bare_glob { Word::Glob(text) } else { Word::Text(text) }))
    }

    /// Up to the closing quote.
    fn quoted(&mut self, delimiter: char, text: &mut String) -> Result<(), String> {
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == delimiter {
                return Ok(());
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            let next = self.need()?;
            match (delimiter, next) {
                ('"', '$' | '"' | '\\') => {
                    text.push(next);
                    self.at += 1;
                }
                ('"', _) => {
                    text.push('\\');
                    text.push(next);
                    self.at += 1;
                }
                _ => text.push('\\'),
            }
        }
        Err(format!("the quote {delimiter} is never closed"))
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line in short: words in brackets, `*` behind a pattern.
    fn show(text: &str) -> String {
        let word = |w: &Word| match w {
            Word::Text(t) => format!("[{t}]"),
            Word::Glob(t) => format!("[{t}]*"),
        };
        let redirect = |r: &Redirect| {
            let number = r.number.map(|n| n.to_string()).unwrap_or_default();
            format!(" {number}{}{}", r.operator, r.target.as_ref().map_or("?".into(), word))
        };
        let command = |c: &Command| {
            let words: String = c.words.iter().map(word).collect();
            words + &c.redirects.iter().map(redirect).collect::<String>()
        };
        let pipeline = |p: &Vec<Command>| p.iter().map(command).collect::<Vec<_>>().join(" | ");
        match parse(text) {
            Ok(line) => line
                .rest
                .iter()
                .fold(pipeline(&line.first), |all, (join, p)| format!("{all} {join:?} {}", pipeline(p))),
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn lines_are_read_as_lit_reads_them() {
        for (text, expect) in [
            ("a b  c", "[a][b][c]"),
            ("a | b && c || d ; e", "[a] | [b] And [c] Or [d] Then [e]"),
            ("a 2>&1 >o <i 2> e >> f", "[a] 2>&[1] >[o] <[i] 2>[e] >>[f]"),
            ("a &>x >& y", "[a] &>[x] >&[y]"),
            ("a >x 2>'y z'", "[a] >[x] 2>[y z]"),
            ("echo $HOME ~ {a,b} `x` #c (d)", "[echo][$HOME][~][{a,b}][`x`][#c][(d)]"),
            (r#"echo 'a\b' "a\"\\\$\n" a\ b"#, r#"[echo][a\b][a"\$\n][a b]"#),
            (r"a \; b", r"[a][\] Then [b]"),
            (r#"a "b"'c'd"#, "[a][bcd]"),
            ("a *.c '*.c' [a-z]", "[a][*.c]*[*.c][[a-z]]"),
            ("a *'x'", "[a][*x]"),
            ("a x*'y'", "[a][x*y]*"),
            ("a & b", "[a] Background [b]"),
            ("a '' b", "[a][][b]"),
            ("a 12>f", "[a] 12>[f]"),
            ("a x2>f", "[a][x2] >[f]"),
            ("a <<EOF", "[a][EOF] <?"),
        ] {
            assert_eq!(show(text), expect, "{text}");
        }
    }

    #[test]
    fn lines_that_lit_cannot_read() {
        for text in [
            "",
            "a |",
            "a &&",
            "| a",
            "a >",
            "a > ''",
            "''",
            "a x*'?'",
            "a && ; b",
            "a &",
            "a 'x\\",
            "a 'open",
            "a \"x\\\"",
            "a b\\",
        ] {
            assert!(show(text).starts_with("error: "), "{text}: {}", show(text));
        }
    }
}
