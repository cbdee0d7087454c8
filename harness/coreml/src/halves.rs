//! Single precision rounded to what half precision can hold.

/// The nearest number with the eleven significant bits of half precision, ties to even. Beyond its largest number,
/// 65504, an infinity; below its least, rounded to a multiple of that.
pub fn rounded(value: f32) -> f32 {
    const SMALLEST_NORMAL: f32 = 6.103_515_6e-5;
    const LEAST: f32 = 5.960_464_5e-8;
    let magnitude = value.abs();
    if !value.is_finite() || magnitude == 0.0 {
        return value;
    }
    if magnitude < SMALLEST_NORMAL {
        return (value / LEAST).round_ties_even() * LEAST;
    }
    // 13 bits of the 24 go; adding what makes a tie round to even.
    let bits = value.to_bits();
    let odd = (bits >> 13) & 1;
    let rounded = f32::from_bits((bits + 0x0fff + odd) & !0x1fff);
    if rounded.abs() > 65_504.0 { f32::INFINITY.copysign(value) } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn numbers_of_half_precision_stay_and_others_go_to_the_nearest() {
        for (value, expect) in [
            (0.0, 0.0),
            (-1.75, -1.75),
            (2048.0, 2048.0),
            (2049.0, 2048.0),
            (2051.0, 2052.0),
            (0.1, 0.099_975_586),
            (65_504.0, 65_504.0),
            (65_519.0, 65_504.0),
            (65_520.0, f32::INFINITY),
            (-1e6, f32::NEG_INFINITY),
            (1e-7, 1.192_092_9e-7),
            (1e-8, 0.0),
        ] {
            assert_eq!(rounded(value), expect, "{value}");
        }
        assert!(rounded(f32::NAN).is_nan());
    }
}
