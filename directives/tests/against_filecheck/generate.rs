//! Check files, inputs and options that mean something to each other: most check lines are made from a piece of the
//! input, so that many match, and some are made up, so that many do not.

use super::case::Case;

const STRINGS: [&str; 4] = ["X", "Y", "$G", "Z"];
const NUMBERS: [&str; 4] = ["N", "M", "$K", "L"];
const WORDS: [&str; 24] = [
    "a", "b", "ab", "ba", "aa", "abc", "foo", "bar", "FOO", "1", "12", "7", "0", "10", "0x1f", "ff", "FF",
    "-3", ".", "|", "(", "[[", "]]", "x",
];

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("it is below a usize")
    }

    /// Once in so many times.
    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// The case of a number.
pub fn case(number: u64) -> Case {
    let mut random = Random(number);
    random.next();
    let input = input(&mut random);
    let checks = checks(&mut random, &input);
    Case { arguments: arguments(&mut random), checks, input }
}

fn input(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    let lines = if random.one_in(60) { 0 } else { 1 + random.below(9) };
    let end: &[u8] = random.pick(&[b"\n".as_slice(), b"\n", b"\n", b"\r\n", b"\n\r", b"\r"]);
    for line in 0..lines {
        for _ in 0..random.below(6) {
            text.extend_from_slice(random.pick(&WORDS).as_bytes());
            text.extend_from_slice(random.pick(&["", " ", " ", "  ", "\t"]).as_bytes());
            if random.one_in(80) {
                text.extend_from_slice(random.pick(&[
                    b"\0".as_slice(),
                    b"\xff",
                    "é".as_bytes(),
                    b"\x01",
                    b"\r",
                ]));
            }
        }
        if line + 1 < lines || !random.one_in(4) {
            text.extend_from_slice(if random.one_in(30) { b"\r\n" } else { end });
        }
    }
    text
}

fn checks(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    // Checks follow the input's lines more or less.
    let lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let mut at = 0;
    let manner = [Manner::Strange, Manner::Plain, Manner::Plain, Manner::Easy, Manner::Easy][random.below(5)];
    let (strange, easy) = (manner == Manner::Strange, manner == Manner::Easy);
    let most = if easy { lines.len().min(6) } else { 6 };
    for index in 0..1 + random.below(most) {
        let glued = strange && random.one_in(12);
        let front = if glued { "x" } else { random.pick(&["", "", "// ", "; "]) };
        text.extend_from_slice(front.as_bytes());
        let suffix = if easy { easy_suffix(random, index) } else { suffix(random, index, strange) };
        text.extend_from_slice(prefix(random, strange).as_bytes());
        text.extend_from_slice(suffix.as_bytes());
        text.extend_from_slice(random.pick(&[" ", " ", " ", "", "  ", "\t"]).as_bytes());
        if !suffix.contains("EMPTY") || random.one_in(40) {
            if easy && index > 0 {
                at += usize::from(suffix != "-SAME:") + usize::from(suffix == ":" && random.one_in(3));
            } else if !easy {
                at += random.below(2);
            }
            at = at.min(lines.len() - 1);
            let anywhere = if easy { suffix == "-NOT:" } else { random.one_in(5) };
            let line = if anywhere { lines[random.below(lines.len())] } else { lines[at] };
            // A carriage return would end the pattern.
            let kept = line.iter().copied().filter(|byte| *byte != b'\r' || random.one_in(40));
            let line: &[u8] = &kept.collect::<Vec<u8>>();
            let start = text.len();
            if suffix.contains("LABEL") && !random.one_in(20) {
                plain(random, &mut text, line.trim_ascii());
            } else {
                pattern(random, &mut text, line, manner);
            }
            if text[start..].trim_ascii().is_empty() && !random.one_in(30) {
                text.extend_from_slice(random.pick(&["{{^}}", "a", "{{.*}}", "1"]).as_bytes());
            }
        }
        text.extend_from_slice(random.pick(&["\n", "\n", "\n", "\n", " \n", "\r\n", "\t\n"]).as_bytes());
        if random.one_in(12) {
            let noise =
                ["\n", "COM: CHECK: nothing\n", "RUN: x\n", "CHECK\n", "text CHECK and more\n", "CHECK-\n"];
            text.extend_from_slice(random.pick(&noise).as_bytes());
        }
    }
    if random.one_in(12) {
        while matches!(text.last(), Some(b'\n' | b'\r')) {
            text.pop();
        }
    }
    text
}

fn prefix(random: &mut Random, strange: bool) -> &'static str {
    match random.below(if strange { 24 } else { 90 }) {
        0 | 1 => "A",
        2 => "XCHECK",
        3 => "CHECK ",
        _ => "CHECK",
    }
}

fn easy_suffix(random: &mut Random, index: usize) -> &'static str {
    if index == 0 {
        return random.pick(&[":", ":", ":", "-LABEL:"]);
    }
    random
        .pick(&[":", ":", ":", "-NEXT:", "-NEXT:", "-NEXT:", "-DAG:", "-DAG:", "-LABEL:", "-NOT:", "-SAME:"])
}

fn suffix(random: &mut Random, index: usize, strange: bool) -> &'static str {
    if strange && random.one_in(8) {
        return random.pick(&[
            "_NEXT:",
            "-NOT-DAG:",
            "-DAG-NOT:",
            "-COUNT-0:",
            "-COUNT-x:",
            "-NOPE:",
            " :",
            "{LITERAL,LITERAL}:",
            "{ LITERAL }:",
            "{FOO}:",
            "-COUNT-1:",
            "-COUNT-2",
            "-NEXT-NOT:",
            "_COUNT-2:",
            "-EMPTY{LITERAL}:",
            "-COUNT-2147483648:",
            "-SAME-NEXT:",
            "",
        ]);
    }
    if index == 0 && !random.one_in(30) {
        return random.pick(&[":", ":", ":", "-DAG:", "-NOT:", "-LABEL:", "-COUNT-2:"]);
    }
    random.pick(&[
        ":",
        ":",
        ":",
        ":",
        "-NEXT:",
        "-NEXT:",
        "-SAME:",
        "-SAME:",
        "-NOT:",
        "-NOT:",
        "-NOT:",
        "-DAG:",
        "-DAG:",
        "-DAG:",
        "-LABEL:",
        "-EMPTY:",
        "-COUNT-2:",
        "-COUNT-3:",
        "{LITERAL}:",
        "-NOT{LITERAL}:",
        "-DAG{LITERAL}:",
    ])
}

/// What a check file is to be like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Likely to hold: line by line, what stands there.
    Easy,
    Plain,
    /// Likely to be refused.
    Strange,
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// A pattern from a piece of a line: its words as they are, or as something that stands for them.
fn pattern(random: &mut Random, text: &mut Vec<u8>, line: &[u8], manner: Manner) {
    let strange = manner == Manner::Strange;
    let from = random.below(line.len() + 1);
    let to = from + random.below(line.len() - from + 1);
    let piece = if manner == Manner::Easy || random.one_in(3) { line } else { &line[from..to] };
    let mut rest = piece;
    let mut parts = 0;
    while !rest.is_empty() && parts < 8 {
        parts += 1;
        let kind =
            |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic(), matches!(byte, b' ' | b'\t'));
        let length = rest.iter().take_while(|byte| kind(**byte) == kind(rest[0])).count();
        let (word, behind) = rest.split_at(length);
        rest = behind;
        let choices = if word[0].is_ascii_digit() { 6 } else { 14 };
        // What a file is made of that holds: text, variables that have a value, and one expression.
        let choice = match (manner, random.below(choices)) {
            (Manner::Easy, 0 | 2) if !contains(text, b":") => choices,
            (Manner::Easy, 1) if contains(text, b"{{") => choices,
            (_, choice) => choice,
        };
        match choice {
            0 => substitution(random, text),
            1 => regex(random, text, word, strange),
            2 if word[0].is_ascii_digit() => number(random, text, strange),
            3 if word[0].is_ascii_digit() => numeric_definition(random, text),
            2 => {
                text.extend_from_slice(format!("[[{}:", random.pick(&STRINGS)).as_bytes());
                expression(random, text, word, 2, strange);
                text.extend_from_slice(b"]]");
            }
            _ => plain(random, text, word),
        }
    }
    if manner != Manner::Easy && (parts == 0 || random.one_in(10)) {
        match random.below(5) {
            0 => text.extend_from_slice(random.pick(&WORDS).as_bytes()),
            1 => regex(random, text, random_word(number_of(text)), strange),
            2 => substitution(random, text),
            3 => number(random, text, strange),
            _ => text.extend_from_slice(random.pick(&["zzz", "a", "1", "b c"]).as_bytes()),
        }
    }
}

/// A word as it is, or as an expression if it means something else.
fn plain(random: &mut Random, text: &mut Vec<u8>, word: &[u8]) {
    if word.contains(&b'[') && !random.one_in(20) {
        text.extend_from_slice(b"{{");
        escaped(text, word);
        text.extend_from_slice(b"}}");
    } else if word.is_empty() {
        text.push(b'b');
    } else {
        text.extend_from_slice(word);
    }
}

fn number_of(text: &[u8]) -> usize {
    text.iter().map(|byte| usize::from(*byte)).sum()
}

fn random_word(number: usize) -> &'static [u8] {
    WORDS[number % WORDS.len()].as_bytes()
}

fn substitution(random: &mut Random, text: &mut Vec<u8>) {
    let name = random.pick(&STRINGS);
    text.extend_from_slice(format!("[[{name}]]").as_bytes());
}

fn regex(random: &mut Random, text: &mut Vec<u8>, word: &[u8], strange: bool) {
    text.extend_from_slice(b"{{");
    expression(random, text, word, 3, strange);
    // The first two closing braces end the whole.
    if text.ends_with(b"}") && !random.one_in(10) {
        text.extend_from_slice(b"()");
    }
    text.extend_from_slice(b"}}");
}

/// An expression that often matches a word.
fn expression(random: &mut Random, text: &mut Vec<u8>, word: &[u8], depth: usize, strange: bool) {
    let general =
        [".*", ".+", "[a-z]+", "[0-9]+", "[^ ]+", "[[:alnum:]]+", "[^a]*", ".", "[a-f0-9]*", "[[:space:]]*"];
    let odd = [
        "^",
        "$",
        "[[:<:]]",
        "[[:>:]]",
        "\\1",
        "\\2",
        "()",
        "a**",
        "(",
        "[",
        "a{2,1}",
        "a{",
        "{2}",
        "\\",
        "[b-a]",
        "[[:nope:]]",
        "[[.hyphen.]]",
        "[]a]",
        "[a-]",
        "a{0}",
        "|",
        "\\d",
        "[[=a=]]",
        "[^]]",
        "(a|)",
        "+",
        "\\.",
        "[\\]",
        "a{0,0}",
        "a{256}",
        "(^a)",
        "[[.a.]-c]",
    ];
    match random.below(if depth == 0 { 4 } else { 11 }) {
        0 | 1 => escaped(text, word),
        2 => text.extend_from_slice(random.pick(&general).as_bytes()),
        3 if strange => text.extend_from_slice(random.pick(&odd).as_bytes()),
        3 => text.extend_from_slice(random.pick(&["^", "$", "a", "b", "(a)\\1", "x*", "a?"]).as_bytes()),
        4 | 5 => {
            expression(random, text, word, depth - 1, strange);
            text.push(b'|');
            expression(random, text, random_word(random_number(text)), depth - 1, strange);
        }
        6 | 7 => {
            text.push(b'(');
            expression(random, text, word, depth - 1, strange);
            text.push(b')');
            let repeats = ["", "", "*", "+", "?", "{1,2}", "{2}", "{0,1}", "{1,}", "\\1"];
            text.extend_from_slice(random.pick(&repeats).as_bytes());
        }
        8 => {
            let middle = word.len() / 2;
            escaped(text, &word[..middle]);
            expression(random, text, &word[middle..], depth - 1, strange);
        }
        9 => {
            let middle = word.len() / 2;
            expression(random, text, &word[..middle], depth - 1, strange);
            escaped(text, &word[middle..]);
        }
        _ => {
            escaped(text, word);
            text.extend_from_slice(random.pick(&["*", "+", "?", "{1,3}", "{2}", "{0,2}"]).as_bytes());
        }
    }
}

fn random_number(text: &[u8]) -> usize {
    number_of(text) * 7 + text.len()
}

fn escaped(text: &mut Vec<u8>, word: &[u8]) {
    if word.is_empty() {
        text.push(b'a');
    }
    for byte in word {
        if b"()^$|*+?.[]\\{}".contains(byte) {
            text.push(b'\\');
        }
        text.push(*byte);
    }
}

/// A variable, with the format that it mostly has.
fn variable(random: &mut Random) -> (&'static str, &'static str) {
    let (name, format) = [("N", ""), ("M", "%x,"), ("$K", "%u,"), ("L", "%d,")][random.below(4)];
    let formats = ["", "%u,", "%d,", "%x,", "%X,", "%.2u,", "%#x,", "%.3d,", "%.2X, "];
    (name, if random.one_in(8) { random.pick(&formats) } else { format })
}

fn numeric_definition(random: &mut Random, text: &mut Vec<u8>) {
    let (name, format) = variable(random);
    text.extend_from_slice(format!("[[#{format}{name}:").as_bytes());
    if random.one_in(6) {
        arithmetic(random, text, 1, false);
    }
    text.extend_from_slice(b"]]");
}

fn number(random: &mut Random, text: &mut Vec<u8>, strange: bool) {
    text.extend_from_slice(b"[[#");
    let formats = ["", "", " ", "%u,", "%u,", "%d, ", "%d,", "%x,", "%x,", "%X,", "%#x,", "%.4x,", "%.3u,"];
    text.extend_from_slice(random.pick(&formats).as_bytes());
    if strange && random.one_in(6) {
        let odd = ["%q,", "N+", "==", "== ", "@FOO", "1 2", "N M:", ",", "%.,", "()", "1)", "(", "$", "N*2"];
        text.extend_from_slice(random.pick(&odd).as_bytes());
    }
    text.extend_from_slice(random.pick(&["", "", "", "", "== "]).as_bytes());
    if !random.one_in(8) {
        arithmetic(random, text, 2, strange);
    }
    text.extend_from_slice(b"]]");
}

fn arithmetic(random: &mut Random, text: &mut Vec<u8>, depth: usize, strange: bool) {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 | 1 => text.extend_from_slice(random.pick(&NUMBERS).as_bytes()),
        2 => text.extend_from_slice(random.pick(&["1", "12", "7", "0", "0x1f", "-3", "10", "2"]).as_bytes()),
        3 => text.extend_from_slice(random.pick(&["@LINE", "1", "99999999999999999999"]).as_bytes()),
        4 | 5 => {
            arithmetic(random, text, depth - 1, strange);
            text.extend_from_slice(random.pick(&["+", "-", " + ", " - "]).as_bytes());
            arithmetic(random, text, depth - 1, strange);
        }
        6 => {
            text.push(b'(');
            arithmetic(random, text, depth - 1, strange);
            text.push(b')');
        }
        _ => {
            let functions = ["add", "sub", "mul", "div", "min", "max"];
            let name = if strange && random.one_in(8) { "pow" } else { random.pick(&functions) };
            text.extend_from_slice(format!("{name}(").as_bytes());
            arithmetic(random, text, depth - 1, strange);
            text.extend_from_slice(random.pick(&[",", ", "]).as_bytes());
            arithmetic(random, text, depth - 1, strange);
            text.push(b')');
        }
    }
}

fn arguments(random: &mut Random) -> Vec<String> {
    let options = [
        ("--strict-whitespace", 8),
        ("--match-full-lines", 8),
        ("--ignore-case", 8),
        ("--allow-empty", 2),
        ("--enable-var-scope", 8),
        ("--allow-deprecated-dag-overlap", 8),
        ("--allow-unused-prefixes", 12),
        ("--check-prefixes=CHECK,A --allow-unused-prefixes", 8),
        ("--check-prefixes=A,CHECK", 100),
        ("--check-prefix=CHECK", 60),
        ("--comment-prefixes=NOTE", 20),
        ("--implicit-check-not=foo", 12),
        ("--implicit-check-not={{b+a}}", 16),
        ("--implicit-check-not=[[X]]", 40),
        ("-DX=a", 2),
        ("-DX=a.b", 16),
        ("-D$G=b", 3),
        ("-DY=ab", 3),
        ("-D#N=7", 2),
        ("-D#N=7 -D#M=N+3", 24),
        ("-D#%x,M=0x1f", 8),
        ("-D#%x,M=1f", 200),
        ("-D#$K=12", 4),
        ("-D#%d,L=-3", 8),
        ("-v", 5),
        ("-vv", 5),
        ("--dump-input=never", 4),
        ("--dump-input=always", 5),
        ("--dump-input-filter=annotation", 16),
        ("--dump-input-filter=annotation-full", 16),
        ("--dump-input-context=1", 12),
        ("--color", 16),
    ];
    let chosen = options.iter().filter(|(_, times)| random.one_in(*times));
    chosen.flat_map(|(options, _)| options.split(' ').map(str::to_owned)).collect()
}
