//! Rounding, roots, powers and logarithms.

use dashu_int::IBig;

use super::wide::{context, from_decimal, to_decimal};
use super::{Number, Parts, pow10};

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
    /// Rounds to at most `scale` decimals; a negative scale rounds to tens, hundreds, … `None` when the result is too large.
    pub fn round(&self, scale: i32, rounding: Rounding) -> Option<Number> {
        let Parts { mantissa, exponent } = self.parts();
        let drop = i64::from(exponent) + i64::from(scale);
        if drop >= 0 {
            return Some(self.clone());
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
        Number::from_parts(rounded, -i64::from(scale)).map(|number| number.strip_zeros(0))
    }

    /// The whole number next to this one in the direction of `rounding`.
    pub fn to_integer(&self, rounding: Rounding) -> Number {
        self.round(0, rounding).unwrap_or_else(|| self.clone())
    }

    /// Square root; `None` below zero.
    pub fn sqrt(&self) -> Option<Number> {
        if self.is_negative() {
            return None;
        }
        if self.is_zero() {
            return Some(Number::ZERO);
        }
        let root = context().sqrt(&to_decimal(self.parts())).ok()?.value();
        from_decimal(root.repr())
    }

    /// Natural logarithm; `None` at or below zero.
    pub fn ln(&self) -> Option<Number> {
        if self.is_negative() || self.is_zero() {
            return None;
        }
        let log = context().ln(&to_decimal(self.parts()), None).ok()?.value();
        from_decimal(log.repr())
    }

    /// `e` to the power of this number; `None` when the result is too large.
    pub fn exp(&self) -> Option<Number> {
        if *self > Number::from_i64(14_200) {
            return None;
        }
        if *self < Number::from_i64(-14_300) {
            return Some(Number::ZERO);
        }
        if self.is_zero() {
            return Some(Number::ONE);
        }
        let power = context().exp(&to_decimal(self.parts()), None).ok()?.value();
        from_decimal(power.repr())
    }

    /// `self ** exponent`; `None` when it is no real number or too large.
    pub fn pow(&self, exponent: &Number) -> Option<Number> {
        if exponent.is_zero() {
            return Some(Number::ONE);
        }
        if self.is_zero() {
            return if exponent.is_negative() {
                None
            } else {
                Some(Number::ZERO)
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
                let power = context()
                    .powf(&base, &to_decimal(exponent.parts()), None)
                    .ok()?
                    .value();
                from_decimal(power.repr())
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
