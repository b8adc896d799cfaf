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
    /// Plain decimal notation; powers of ten above 100 digits use an exponent (`1E+400`).
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
        if exponent > 0 && magnitude <= 100 {
            f.write_str(&digits)?;
            return (0..exponent).try_for_each(|_| f.write_str("0"));
        }
        if exponent <= 0 && magnitude >= -100 {
            let decimals = exponent.unsigned_abs() as usize;
            if decimals == 0 {
                return f.write_str(&digits);
            }
            if digits.len() > decimals {
                let (whole, fraction) = digits.split_at(digits.len() - decimals);
                return write!(f, "{whole}.{fraction}");
            }
            return write!(f, "0.{}{digits}", "0".repeat(decimals - digits.len()));
        }
        let (first, rest) = digits.split_at(1);
        let rest = rest.trim_end_matches('0');
        let point = if rest.is_empty() { "" } else { "." };
        write!(f, "{first}{point}{rest}E{magnitude:+}")
    }
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

    /// The nearest binary floating point number.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Small { mantissa, scale: 0 } => *mantissa as f64,
            _ => self.to_string().parse().unwrap_or(f64::NAN),
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
