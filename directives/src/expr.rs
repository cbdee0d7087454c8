//! Boolean feature expressions: grammar, evaluation, and whether two can hold together.

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr;
