//! Text and machine numbers.

use std::fmt;
use std::str::FromStr;

use super::{DIGITS, Number, Parts, Repr, Rounding, pow10};

/// The text is no decimal number, or too large (beyond 10^6145).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal number of at most 6145 digits")]
pub struct ParseNumberError;

impl FromStr for Number {
    type Err = ParseNumberError;

    /// Reads `-12.50`, `.5`, `1e3`. More than 34 digits are rounded half-even.
    fn from_str(text: &str) -> Result<Number, ParseNumberError> {
        parse(text.as_bytes()).ok_or(ParseNumberError)
    }
}

fn parse(bytes: &[u8]) -> Option<Number> {
    let (negative, mut rest) = match bytes.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, bytes),
    };
    let mut mantissa: i128 = 0;
    let mut kept = 0u32;
    let mut exponent: i64 = 0;
    let mut sticky = false;
    let mut any = false;
    let mut fraction = false;
    while let Some((byte, tail)) = rest.split_first() {
        match byte {
            b'0'..=b'9' => {
                any = true;
                let digit = i128::from(byte - b'0');
                if kept <= DIGITS {
                    mantissa = mantissa * 10 + digit;
                    if mantissa != 0 {
                        kept += 1;
                    }
                    if fraction {
                        exponent -= 1;
                    }
                } else {
                    sticky |= digit != 0;
                    if !fraction {
                        exponent += 1;
                    }
                }
            }
            b'.' if !fraction => fraction = true,
            b'e' | b'E' if any => {
                exponent = exponent.checked_add(parse_exponent(tail)?)?;
                rest = &[];
                continue;
            }
            _ => return None,
        }
        rest = tail;
    }
    if !any {
        return None;
    }
    // One digit below the last kept one decides ties.
    if sticky && mantissa % 5 == 0 {
        mantissa += 1;
    }
    Number::from_parts(if negative { -mantissa } else { mantissa }, exponent)
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = (value * 10 + i64::from(byte - b'0')).min(100_000_000);
    }
    Some(if negative { -value } else { value })
}

impl fmt::Display for Number {
    /// All digits and the scale, as decimals are written (`5.00`, `2.0E+2`): plain from 0.000001 on, if no digit is missing
    /// in front of the decimal point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Repr::Small { mantissa, scale: 0 } = &self.0 {
            return write!(f, "{mantissa}");
        }
        let Parts { mantissa, exponent } = self.parts();
        let digits = mantissa.unsigned_abs().to_string();
        if mantissa < 0 {
            f.write_str("-")?;
        }
        let magnitude = digits.len() as i64 + i64::from(exponent) - 1;
        if exponent <= 0 && magnitude >= -6 {
            return write_plain(f, &digits, exponent);
        }
        write_scientific(f, &digits, magnitude)
    }
}

/// Digits without an exponent behind them.
fn write_plain(f: &mut impl fmt::Write, digits: &str, exponent: i32) -> fmt::Result {
    let count = exponent.unsigned_abs() as usize;
    if exponent >= 0 {
        f.write_str(digits)?;
        return (0..count).try_for_each(|_| f.write_str("0"));
    }
    if digits.len() > count {
        let (whole, fraction) = digits.split_at(digits.len() - count);
        return write!(f, "{whole}.{fraction}");
    }
    f.write_str("0.")?;
    (digits.len()..count).try_for_each(|_| f.write_str("0"))?;
    f.write_str(digits)
}

fn write_scientific(f: &mut impl fmt::Write, digits: &str, magnitude: i64) -> fmt::Result {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    write!(f, "{first}{point}{rest}E{magnitude:+}")
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::from_i64(value)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Number {
        Number::from_i64(i64::from(value))
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Number {
        Number::from_i64(i64::from(value))
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::from_parts(value as i128, 0).unwrap_or(Number::ZERO)
    }
}

impl Number {
    /// From a 128-bit whole number, rounded to 34 digits.
    pub fn from_i128(value: i128) -> Number {
        Number::from_parts(value, 0).unwrap_or(Number::ZERO)
    }

    /// The whole number, when there is no fraction and it fits.
    pub fn to_i64(&self) -> Option<i64> {
        if let Repr::Small { mantissa, scale: 0 } = &self.0 {
            return Some(*mantissa);
        }
        self.to_i128().and_then(|n| i64::try_from(n).ok())
    }

    /// The whole number, when there is no fraction and it fits.
    pub fn to_i128(&self) -> Option<i128> {
        if !self.is_integer() {
            return None;
        }
        let Parts { mantissa, exponent } = self.parts();
        match u32::try_from(exponent) {
            Ok(exponent) if exponent > 38 => (mantissa == 0).then_some(0),
            Ok(exponent) => mantissa.checked_mul(pow10(exponent)),
            Err(_) => Some(mantissa / pow10(exponent.unsigned_abs().min(38))),
        }
    }

    /// The whole part (towards zero), when it fits.
    pub fn trunc_i64(&self) -> Option<i64> {
        self.to_integer(Rounding::Down).to_i64()
    }

    /// Writes the value without trailing zeros, for JSON: `1.0` would be no whole number to clients that tell whole numbers
    /// from others by their text. Beyond 100 digits there is an exponent (`1E+400`).
    pub(crate) fn write_value(&self, out: &mut impl fmt::Write) -> fmt::Result {
        if let Repr::Small { mantissa, scale: 0 } = &self.0 {
            return write!(out, "{mantissa}");
        }
        let Parts { mantissa, exponent } = self.clone().strip_zeros(0).parts();
        if mantissa == 0 {
            return out.write_str("0");
        }
        let digits = mantissa.unsigned_abs().to_string();
        if mantissa < 0 {
            out.write_str("-")?;
        }
        let magnitude = digits.len() as i64 + i64::from(exponent) - 1;
        if (-100..=100).contains(&magnitude) {
            return write_plain(out, &digits, exponent);
        }
        write_scientific(out, digits.trim_end_matches('0'), magnitude)
    }

    /// The number with its zeros in place of an exponent, if it has the room: `1e3` of JSON is 1000.
    pub(crate) fn without_exponent(self) -> Number {
        let Parts { mantissa, exponent } = self.parts();
        let shifted = u32::try_from(exponent)
            .ok()
            .filter(|exponent| exponent + super::digits(mantissa) <= DIGITS)
            .and_then(|exponent| mantissa.checked_mul(pow10(exponent)));
        shifted
            .and_then(|mantissa| Number::from_parts(mantissa, 0))
            .unwrap_or(self)
    }

    /// The nearest binary floating point number.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Small { mantissa, scale: 0 } => *mantissa as f64,
            _ => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// The decimal that has exactly the value of a floating point number, rounded to 34 digits.
    pub(crate) fn from_f64_digits(value: f64) -> Option<Number> {
        if value.is_finite() {
            format!("{value:.33e}").parse().ok()
        } else {
            None
        }
    }

    /// The shortest decimal of a floating point number, with at least one decimal: `2.0`.
    pub(crate) fn with_double_precision(value: f64) -> Option<Number> {
        if value.is_finite() {
            format!("{value:?}").parse().ok()
        } else {
            None
        }
    }

    /// The decimal of the shortest text of a floating point number; `None` for NaN and infinities.
    pub fn from_f64(value: f64) -> Option<Number> {
        if value.is_finite() {
            value.to_string().parse().ok()
        } else {
            None
        }
    }
}
