//! Whole numbers of any size: a check may compare what no machine word holds. Formats do not enter here.

use std::cmp::Ordering;

/// Numbers with more 32-bit limbs (some 10,000 decimal digits) are refused: arithmetic on them is quadratic.
const MAX_LIMBS: usize = 1_040;

/// A signed whole number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Integer {
    negative: bool,
    /// Least significant first, without leading zeros; zero has none and is not negative.
    limbs: Vec<u32>,
}

/// A number has more digits than are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Integer {
    /// A number from its digits; bytes that are no digit of the radix must not be in.
    pub(super) fn from_digits(digits: &[u8], radix: u32, negative: bool) -> Result<Self, TooLarge> {
        let mut limbs = Vec::new();
        for digit in digits {
            let digit = char::from(*digit).to_digit(radix).unwrap_or(0);
            multiply_add(&mut limbs, radix, digit);
            if limbs.len() > MAX_LIMBS {
                return Err(TooLarge);
            }
        }
        Ok(Self::new(negative, limbs))
    }

    fn new(negative: bool, mut limbs: Vec<u32>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self { negative: negative && !limbs.is_empty(), limbs }
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// The digits of the absolute value, lower case.
    pub(super) fn digits(&self, radix: u32) -> String {
        let mut rest = self.limbs.clone();
        let mut digits = Vec::new();
        while !rest.is_empty() {
            let digit = divide_small(&mut rest, radix);
            digits.push(char::from_digit(digit, radix).unwrap_or('0'));
        }
        if digits.is_empty() {
            digits.push('0');
        }
        digits.into_iter().rev().collect()
    }

    #[must_use]
    pub(super) fn negated(mut self) -> Self {
        self.negative = !self.negative && !self.limbs.is_empty();
        self
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, TooLarge> {
        let sum = if self.negative == other.negative {
            Self::new(self.negative, add(&self.limbs, &other.limbs))
        } else if compare(&self.limbs, &other.limbs) == Ordering::Less {
            Self::new(other.negative, subtract(&other.limbs, &self.limbs))
        } else {
            Self::new(self.negative, subtract(&self.limbs, &other.limbs))
        };
        sum.bounded()
    }

    pub(super) fn subtract(&self, other: &Self) -> Result<Self, TooLarge> {
        self.add(&other.clone().negated())
    }

    pub(super) fn multiply(&self, other: &Self) -> Result<Self, TooLarge> {
        if self.limbs.len() + other.limbs.len() > MAX_LIMBS + 1 {
            return Err(TooLarge);
        }
        let mut product = vec![0u32; self.limbs.len() + other.limbs.len()];
        for (index, limb) in self.limbs.iter().enumerate() {
            let mut carry = 0u64;
            for (offset, factor) in other.limbs.iter().enumerate() {
                let place = &mut product[index + offset];
                carry += u64::from(*limb) * u64::from(*factor) + u64::from(*place);
                *place = low(carry);
                carry >>= 32;
            }
            product[index + other.limbs.len()] = low(carry);
        }
        Self::new(self.negative != other.negative, product).bounded()
    }

    /// Quotient towards zero; none for a zero divisor.
    pub(super) fn divide(&self, divisor: &Self) -> Option<Self> {
        let negative = self.negative != divisor.negative;
        match divisor.limbs.as_slice() {
            [] => None,
            [small] => {
                let mut quotient = self.limbs.clone();
                divide_small(&mut quotient, *small);
                Some(Self::new(negative, quotient))
            }
            large => Some(Self::new(negative, divide_large(&self.limbs, large))),
        }
    }

    fn bounded(self) -> Result<Self, TooLarge> {
        if self.limbs.len() > MAX_LIMBS { Err(TooLarge) } else { Ok(self) }
    }
}

impl From<usize> for Integer {
    fn from(value: usize) -> Self {
        let value = value as u64;
        Self::new(false, vec![low(value), low(value >> 32)])
    }
}

impl PartialOrd for Integer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Integer {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => compare(&self.limbs, &other.limbs),
            (true, true) => compare(&other.limbs, &self.limbs),
        }
    }
}

/// The lower half of a double limb.
fn low(double: u64) -> u32 {
    (double & 0xffff_ffff) as u32
}

fn compare(left: &[u32], right: &[u32]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.iter().rev().cmp(right.iter().rev()))
}

fn multiply_add(limbs: &mut Vec<u32>, factor: u32, addend: u32) {
    let mut carry = u64::from(addend);
    for limb in limbs.iter_mut() {
        carry += u64::from(*limb) * u64::from(factor);
        *limb = low(carry);
        carry >>= 32;
    }
    if carry > 0 {
        limbs.push(low(carry));
    }
}

/// Divides in place; the remainder.
fn divide_small(limbs: &mut Vec<u32>, divisor: u32) -> u32 {
    let mut rest = 0u64;
    for limb in limbs.iter_mut().rev() {
        let part = rest << 32 | u64::from(*limb);
        *limb = low(part / u64::from(divisor));
        rest = part % u64::from(divisor);
    }
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    low(rest)
}

fn add(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut carry = 0u64;
    let mut sum = Vec::with_capacity(left.len().max(right.len()) + 1);
    for index in 0..left.len().max(right.len()) {
        carry += u64::from(left.get(index).copied().unwrap_or(0));
        carry += u64::from(right.get(index).copied().unwrap_or(0));
        sum.push(low(carry));
        carry >>= 32;
    }
    sum.push(low(carry));
    sum
}

/// `left - right`, which must not be below zero.
fn subtract(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut borrow = false;
    let mut difference = Vec::with_capacity(left.len());
    for (index, limb) in left.iter().enumerate() {
        let (part, first) = limb.overflowing_sub(right.get(index).copied().unwrap_or(0));
        let (part, second) = part.overflowing_sub(u32::from(borrow));
        borrow = first || second;
        difference.push(part);
    }
    difference
}

/// Long division, bit by bit.
fn divide_large(dividend: &[u32], divisor: &[u32]) -> Vec<u32> {
    let mut quotient = vec![0u32; dividend.len()];
    let mut rest: Vec<u32> = Vec::new();
    for bit in (0..dividend.len() * 32).rev() {
        multiply_add(&mut rest, 2, dividend[bit / 32] >> (bit % 32) & 1);
        if compare(&rest, divisor) != Ordering::Less {
            rest = subtract(&rest, divisor);
            while rest.last() == Some(&0) {
                rest.pop();
            }
            quotient[bit / 32] |= 1 << (bit % 32);
        }
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn integer(value: i128) -> Integer {
        let text = value.unsigned_abs().to_string();
        Integer::from_digits(text.as_bytes(), 10, value < 0).unwrap()
    }

    fn shown(value: &Integer) -> String {
        format!("{}{}", if value.is_negative() { "-" } else { "" }, value.digits(10))
    }

    proptest! {
        #[test]
        fn arithmetic_agrees_with_the_machine(a in any::<i64>(), b in any::<i64>(), c in any::<i128>()) {
            let (wide_a, wide_b) = (i128::from(a), i128::from(b));
            let (left, right) = (integer(wide_a), integer(wide_b));
            prop_assert_eq!(shown(&left.add(&right).unwrap()), (wide_a + wide_b).to_string());
            prop_assert_eq!(shown(&left.subtract(&right).unwrap()), (wide_a - wide_b).to_string());
            prop_assert_eq!(shown(&left.multiply(&right).unwrap()), (wide_a * wide_b).to_string());
            prop_assert_eq!(left.cmp(&right), a.cmp(&b));
            if b != 0 {
                prop_assert_eq!(shown(&integer(c).divide(&right).unwrap()), (c / wide_b).to_string());
            }
            prop_assert_eq!(integer(c).digits(16), format!("{:x}", c.unsigned_abs()));
        }
    }

    #[test]
    fn division_by_more_than_one_limb() {
        let large = Integer::from_digits(b"340282366920938463463374607431768211456", 10, false).unwrap();
        let divisor = Integer::from_digits(b"18446744073709551617", 10, true).unwrap();
        assert_eq!(shown(&large.divide(&divisor).unwrap()), "-18446744073709551615");
        assert_eq!(integer(5).divide(&integer(0)), None);
    }

    #[test]
    fn sizes_are_bounded() {
        assert_eq!(Integer::from_digits(&[b'9'; 20_000], 10, false), Err(TooLarge));
        let large = Integer::from_digits(&[b'9'; 9_000], 10, false).unwrap();
        assert_eq!(large.multiply(&large), Err(TooLarge));
    }
}
