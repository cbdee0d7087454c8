//! Arithmetic of numeric substitutions: text to a postfix program, and its value. Variables are held elsewhere.

use super::error::NumericError;
use super::format::Format;
use super::integer::{Integer, TooLarge};
use super::variables::{Names, NumericId};

/// Parentheses and calls may be nested this deep.
const MAX_DEPTH: usize = 200;
pub(super) const BLANKS: &[u8] = b" \t";

/// An expression in postfix order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expression(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Number(Integer, Extent),
    /// With its name's place.
    Variable(NumericId, Extent),
    /// With the place that messages name, which is that program's: a chain from its first operand on, in parentheses
    /// from behind it, and of a call what follows it.
    Apply(Function, Extent),
}

/// Bytes of a block's content that something was read from.
type Extent = (usize, usize);

/// A mistake and the byte of the block's content that it is at.
pub(super) type Fault = (usize, NumericError);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoValue {
    /// The variable, and where in the block's content it stands.
    Undefined(NumericId, usize),
    DivisionByZero,
    TooLarge,
}

impl From<TooLarge> for NoValue {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

/// What may stand as an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Any,
    /// As any, at the beginning of the whole.
    First,
    /// `@LINE`, first in a legacy `[[@LINE+1]]`.
    Line,
    /// A decimal number, second in it.
    Decimal,
}

/// An expression being read.
pub(super) struct Reader<'a, 'n> {
    pub(super) rest: &'a [u8],
    pub(super) names: &'n mut Names,
    /// Line of the check, if it has one.
    pub(super) line: Option<usize>,
    terms: Vec<Term>,
    depth: usize,
    /// Where in the block's content `rest` ends.
    end: usize,
}

impl<'a, 'n> Reader<'a, 'n> {
    /// `rest` stands at `start` in the block's content.
    pub(super) fn new(rest: &'a [u8], start: usize, names: &'n mut Names, line: Option<usize>) -> Self {
        Self { rest, names, line, terms: Vec::new(), depth: 0, end: start + rest.len() }
    }

    fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    fn fault<T>(&self, error: NumericError) -> Result<T, Fault> {
        Err((self.at(), error))
    }

    /// Reads to the end of the text, the first operand as the caller says. A legacy expression has two at most.
    pub(super) fn whole(mut self, first: Operand) -> Result<Expression, Fault> {
        let legacy = first == Operand::Line;
        let start = self.at();
        self.operand(first)?;
        let mut operators = 0;
        while !self.rest.is_empty() {
            if legacy && operators > 0 {
                return self.fault(NumericError::LegacyTrailing(lossy(self.rest)));
            }
            self.operation(start, if legacy { Operand::Decimal } else { Operand::Any })?;
            operators += 1;
        }
        Ok(Expression(self.terms))
    }

    fn skip_blanks(&mut self) {
        self.rest = trim_start(self.rest);
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    /// An operator and what stands to its right, of a chain that began at `start`. Blanks alone are no operator and no
    /// mistake.
    fn operation(&mut self, start: usize, allowed: Operand) -> Result<(), Fault> {
        self.skip_blanks();
        let Some((operator, rest)) = self.rest.split_first() else { return Ok(()) };
        let function = match operator {
            b'+' => Function::Add,
            b'-' => Function::Sub,
            other => return self.fault(NumericError::Operator(*other)),
        };
        self.rest = trim_start(rest);
        if self.rest.is_empty() {
            return self.fault(NumericError::OperandMissing);
        }
        self.operand(allowed)?;
        self.terms.push(Term::Apply(function, (start, self.at())));
        Ok(())
    }

    fn operand(&mut self, allowed: Operand) -> Result<(), Fault> {
        let nests = matches!(allowed, Operand::Any | Operand::First);
        if self.rest.first() == Some(&b'(') {
            return if nests { self.parenthesis() } else { self.fault(NumericError::LegacyParenthesis) };
        }
        if allowed != Operand::Decimal
            && let Some((name, rest)) = variable_name(self.rest)
        {
            if trim_start(rest).first() != Some(&b'(') {
                return self.variable(name, rest);
            }
            return if nests { self.call(name, rest) } else { self.fault(NumericError::LegacyCall) };
        }
        if allowed == Operand::Line {
            return self.fault(NumericError::Operand(lossy(self.rest)));
        }
        self.number(allowed)
    }

    fn variable(&mut self, name: &[u8], rest: &'a [u8]) -> Result<(), Fault> {
        if name[0] == b'@' && name != b"@LINE" {
            return self.fault(NumericError::Pseudo(lossy(name)));
        }
        let id = self.names.use_numeric(name);
        if self.line.is_some() && self.names.numeric(id).line == self.line {
            return self.fault(NumericError::SameLine(lossy(name)));
        }
        let start = self.at();
        self.rest = rest;
        self.terms.push(Term::Variable(id, (start, self.at())));
        Ok(())
    }

    fn deeper(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { self.fault(NumericError::Depth) } else { Ok(()) }
    }

    fn parenthesis(&mut self) -> Result<(), Fault> {
        self.deeper()?;
        self.eat(b'(');
        self.skip_blanks();
        if self.rest.is_empty() {
            return self.fault(NumericError::OperandMissing);
        }
        self.operand(Operand::Any)?;
        let start = self.at();
        self.skip_blanks();
        while !matches!(self.rest.first(), None | Some(b')')) {
            self.operation(start, Operand::Any)?;
            self.skip_blanks();
        }
        self.depth -= 1;
        if self.eat(b')') { Ok(()) } else { self.fault(NumericError::Parenthesis) }
    }

    fn call(&mut self, name: &[u8], rest: &'a [u8]) -> Result<(), Fault> {
        self.deeper()?;
        let start = self.at();
        let function = match name {
            b"add" => Function::Add,
            b"sub" => Function::Sub,
            b"mul" => Function::Mul,
            b"div" => Function::Div,
            b"min" => Function::Min,
            b"max" => Function::Max,
            _ => return self.fault(NumericError::Function(lossy(name))),
        };
        self.rest = rest;
        self.skip_blanks();
        self.eat(b'(');
        self.skip_blanks();
        let mut arguments = 0;
        while !matches!(self.rest.first(), None | Some(b')')) {
            if self.rest[0] == b',' {
                return self.fault(NumericError::MissingArgument);
            }
            let argument = self.at();
            self.operand(Operand::Any)?;
            self.skip_blanks();
            while !matches!(self.rest.first(), None | Some(b')' | b',')) {
                self.operation(argument, Operand::Any)?;
                self.skip_blanks();
            }
            arguments += 1;
            if !self.eat(b',') {
                break;
            }
            self.skip_blanks();
            if self.rest.first() == Some(&b')') {
                return self.fault(NumericError::MissingArgument);
            }
        }
        self.depth -= 1;
        if !self.eat(b')') {
            return self.fault(NumericError::CallParenthesis);
        }
        if arguments != 2 {
            return Err((start, NumericError::Arguments(lossy(name), arguments)));
        }
        self.terms.push(Term::Apply(function, (self.at(), self.end)));
        Ok(())
    }

    fn number(&mut self, allowed: Operand) -> Result<(), Fault> {
        let (whole, start) = (self.rest, self.at());
        let negative = self.eat(b'-');
        let signless = self.rest;
        let (radix, digits) = if allowed == Operand::Decimal { (10, signless) } else { radix(signless) };
        let length = digits.iter().take_while(|b| char::from(**b).is_digit(radix)).count();
        // What only names a radix is no number, unless something stands behind it: then it is zero.
        if digits.is_empty() || (length == 0 && digits.len() == signless.len()) {
            let shown = lossy(whole);
            let error = match allowed {
                Operand::First => NumericError::Operand(shown),
                _ => NumericError::LaterOperand(shown),
            };
            return Err((start, error));
        }
        let value = Integer::from_digits(&digits[..length], radix, negative)
            .map_err(|_: TooLarge| (start, NumericError::TooLarge))?;
        self.rest = &digits[length..];
        self.terms.push(Term::Number(value, (start, self.at())));
        Ok(())
    }
}

fn radix(text: &[u8]) -> (u32, &[u8]) {
    match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        [b'0', b'o', rest @ ..] => (8, rest),
        [b'0', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => (8, rest),
        _ => (10, text),
    }
}

impl Expression {
    /// The value, or every reason why there is none.
    pub(super) fn value(
        &self,
        mut variable: impl FnMut(NumericId) -> Option<Integer>,
    ) -> Result<Integer, Vec<NoValue>> {
        let mut stack: Vec<Result<Integer, Vec<NoValue>>> = Vec::new();
        for term in &self.0 {
            let value = match term {
                Term::Number(value, _) => Ok(value.clone()),
                Term::Variable(id, extent) => {
                    variable(*id).ok_or_else(|| vec![NoValue::Undefined(*id, extent.0)])
                }
                Term::Apply(function, _) => match (stack.pop(), stack.pop()) {
                    (Some(Ok(right)), Some(Ok(left))) => function.apply(&left, &right).map_err(|e| vec![e]),
                    (Some(Err(right)), Some(Err(mut left))) => {
                        left.extend(right);
                        Err(left)
                    }
                    (Some(Err(reasons)), _) | (_, Some(Err(reasons))) => Err(reasons),
                    _ => Err(Vec::new()),
                },
            };
            stack.push(value);
        }
        // The reader makes no expression without a term.
        stack.pop().unwrap_or_else(|| Ok(Integer::default()))
    }

    /// The format that the operands agree on, if any has one. `content` is the block's, which messages quote.
    pub(super) fn implicit_format(&self, content: &[u8], names: &Names) -> Result<Option<Format>, Fault> {
        let mut stack: Vec<(Option<Format>, Extent)> = Vec::new();
        for term in &self.0 {
            let operand = match term {
                Term::Number(_, extent) => (None, *extent),
                Term::Variable(id, extent) => (Some(names.numeric(*id).format), *extent),
                Term::Apply(_, extent) => {
                    let (Some((right, right_at)), Some((left, left_at))) = (stack.pop(), stack.pop()) else {
                        break;
                    };
                    if let (Some(right), Some(left)) = (right, left)
                        && left != right
                    {
                        let shown = |extent: Extent, format: Format| {
                            (lossy(&content[extent.0..extent.1]), format.notation())
                        };
                        let (left, right) = (shown(left_at, left), shown(right_at, right));
                        return Err((extent.0, NumericError::Conflict(left, right)));
                    }
                    (left.or(right), *extent)
                }
            };
            stack.push(operand);
        }
        Ok(stack.pop().and_then(|(format, _)| format))
    }
}

impl Function {
    fn apply(self, left: &Integer, right: &Integer) -> Result<Integer, NoValue> {
        Ok(match self {
            Self::Add => left.add(right)?,
            Self::Sub => left.subtract(right)?,
            Self::Mul => left.multiply(right)?,
            Self::Div if right.is_zero() => return Err(NoValue::DivisionByZero),
            Self::Div => left.divide(right).ok_or(NoValue::DivisionByZero)?,
            Self::Min => left.min(right).clone(),
            Self::Max => left.max(right).clone(),
        })
    }
}

/// Splits a variable's name off the front: `V`, `$V` or `@V`.
pub(super) fn variable_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mark = usize::from(matches!(text.first(), Some(b'$' | b'@')));
    text.get(mark).filter(|b| **b == b'_' || b.is_ascii_alphabetic())?;
    let length = text[mark..].iter().take_while(|b| **b == b'_' || b.is_ascii_alphanumeric()).count();
    Some(text.split_at(mark + length))
}

pub(super) fn trim_start(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|b| BLANKS.contains(b)).count();
    &text[blanks..]
}

pub(super) fn trim_end(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take_while(|b| BLANKS.contains(b)).count();
    &text[..text.len() - blanks]
}

pub(super) fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
