//! Rounding, roots, powers and logarithms.

use dashu_int::IBig;

use super::wide::{context, from_decimal, to_decimal};
use super::{DIGITS, Number, Parts, digits, pow10};

/// How a number is cut to fewer digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards negative infinity.
    Floor,
    /// Towards positive infinity.
    Ceiling,
    /// Away from zero.
    Up,
    /// Towards zero.
    Down,
    /// To the nearest; ties away from zero.
    HalfUp,
    /// To the nearest; ties towards zero.
    HalfDown,
    /// To the nearest; ties to the even neighbour.
    HalfEven,
}

/// `value / divisor` rounded to a whole number; `divisor` is a positive power of ten.
pub(super) fn div_round(value: i128, divisor: i128, rounding: Rounding) -> i128 {
    let quotient = value / divisor;
    let remainder = value % divisor;
    if remainder == 0 {
        return quotient;
    }
    let away = if value < 0 { -1 } else { 1 };
    let twice = remainder
        .unsigned_abs()
        .saturating_mul(2)
        .cmp(&divisor.unsigned_abs());
    let step = match rounding {
        Rounding::Floor => value < 0,
        Rounding::Ceiling => value > 0,
        Rounding::Up => true,
        Rounding::Down => false,
        Rounding::HalfUp => twice.is_ge(),
        Rounding::HalfDown => twice.is_gt(),
        Rounding::HalfEven => twice.is_gt() || (twice.is_eq() && quotient % 2 != 0),
    };
    if step { quotient + away } else { quotient }
}

impl Number {
    /// Rounds to `scale` decimals; a negative scale rounds to tens, hundreds, … `None` when the result is too large.
    pub fn round(&self, scale: i32, rounding: Rounding) -> Option<Number> {
        let Parts { mantissa, exponent } = self.parts();
        let drop = i64::from(exponent) + i64::from(scale);
        if drop >= 0 {
            // As many zeros behind the number as its 34 digits leave room for.
            let room = DIGITS
                .saturating_sub(digits(mantissa))
                .min(drop.min(36) as u32);
            return Number::from_parts(
                mantissa * pow10(if mantissa == 0 { 0 } else { room }),
                i64::from(exponent) - if mantissa == 0 { drop } else { i64::from(room) },
            );
        }
        let drop = drop.unsigned_abs();
        let rounded = if drop > 36 {
            let away = if mantissa < 0 { -1 } else { 1 };
            match rounding {
                Rounding::Floor if mantissa < 0 => away,
                Rounding::Ceiling if mantissa > 0 => away,
                Rounding::Up if mantissa != 0 => away,
                _ => 0,
            }
        } else {
            div_round(mantissa, pow10(drop as u32), rounding)
        };
        Number::from_parts(rounded, -i64::from(scale))
    }

    /// The whole number next to this one in the direction of `rounding`.
    pub fn to_integer(&self, rounding: Rounding) -> Number {
        self.round(0, rounding).unwrap_or_else(|| self.clone())
    }

    /// Square root with the precision of a double, as in the reference engine; `None` below zero.
    pub fn sqrt(&self) -> Option<Number> {
        if self.is_negative() {
            return None;
        }
        if let Some(root) = Number::with_double_precision(self.to_f64().sqrt())
            && root.is_zero() == self.is_zero()
        {
            return Some(root);
        }
        // Beyond the range of doubles.
        let root = context().sqrt(&to_decimal(self.parts())).ok()?.value();
        from_decimal(root.repr())
    }

    /// This number as a double holds it, for functions of doubles; itself beyond their range.
    fn as_double(&self) -> Number {
        Number::from_f64_digits(self.to_f64())
            .filter(|double| double.is_zero() == self.is_zero())
            .unwrap_or_else(|| self.clone())
    }

    /// The result of a function of doubles. It is computed with 34 digits, as all nodes have to agree on the last one.
    fn to_double_precision(&self) -> Number {
        Number::with_double_precision(self.to_f64())
            .filter(|double| double.is_zero() == self.is_zero())
            .unwrap_or_else(|| self.clone())
    }

    /// Natural logarithm with the precision of a double, as in the reference engine; `None` at or below zero.
    pub fn ln(&self) -> Option<Number> {
        if self.is_negative() || self.is_zero() {
            return None;
        }
        let double = to_decimal(self.as_double().parts());
        let log = context().ln(&double, None).ok()?.value();
        from_decimal(log.repr()).map(|log| log.to_double_precision())
    }

    /// `e` to the power of this number with the precision of a double, as in the reference engine; `None` when the result
    /// is too large.
    pub fn exp(&self) -> Option<Number> {
        if *self > Number::from_i64(14_200) {
            return None;
        }
        if *self < Number::from_i64(-14_300) {
            return Some(Number::ZERO);
        }
        if self.is_zero() {
            return Some(Number::small(10, 1));
        }
        let double = to_decimal(self.as_double().parts());
        let power = context().exp(&double, None).ok()?.value();
        from_decimal(power.repr()).map(|power| power.to_double_precision())
    }

    /// `self ** exponent`; `None` when it is no real number or too large.
    pub fn pow(&self, exponent: &Number) -> Option<Number> {
        if exponent.is_zero() {
            return Some(Number::ONE);
        }
        if self.is_zero() {
            return if exponent.is_negative() {
                None
            } else if exponent.is_integer() {
                Some(Number::ZERO)
            } else {
                Some(Number::small(0, 1))
            };
        }
        let whole = if exponent.is_integer() {
            exponent.to_i64()
        } else {
            None
        };
        // The magnitude decides cheaply whether the result can be represented at all.
        let magnitude = (self.abs().to_f64().log10() * exponent.to_f64()).abs();
        if !magnitude.is_finite() || magnitude > 6_200.0 {
            let grows = (self.abs() > Number::ONE) != exponent.is_negative();
            return if grows { None } else { Some(Number::ZERO) };
        }
        let base = to_decimal(self.parts());
        match whole {
            Some(n) if n.unsigned_abs() <= 999_999_999 => {
                if let Some(exact) = self.small_power(n) {
                    return Some(exact);
                }
                let power = context().powi(&base, IBig::from(n)).ok()?.value();
                from_decimal(power.repr())
            }
            _ => {
                if self.is_negative() {
                    return None;
                }
                // Fractional powers have the precision of a double, as in the reference engine.
                let base = to_decimal(self.as_double().parts());
                let exponent = to_decimal(exponent.as_double().parts());
                let power = context().powf(&base, &exponent, None).ok()?.value();
                from_decimal(power.repr()).map(|power| power.to_double_precision())
            }
        }
    }

    /// Exact powers that fit 128 bits, so that `1.10 ** 2` keeps its digits.
    fn small_power(&self, n: i64) -> Option<Number> {
        let n = u32::try_from(n).ok().filter(|n| *n <= 128)?;
        let Parts { mantissa, exponent } = self.parts();
        let power = mantissa.checked_pow(n)?;
        Number::from_parts(power, i64::from(exponent).checked_mul(i64::from(n))?)
    }
}
