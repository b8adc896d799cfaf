//! FEEL numbers: decimals of 34 significant digits, rounded half-even (DMN 1.5, IEEE 754 decimal128).
//!
//! Nearly every number in a process is a small integer or an amount with a few decimals, so a number is a 64-bit
//! mantissa with a scale as long as it fits, and a shared 34-digit decimal otherwise. Results that do not fit the fast
//! path are computed by `dashu` (see [`wide`]), which rounds correctly.

mod convert;
mod functions;
mod wide;

use std::cmp::Ordering;
use std::sync::Arc;

pub use convert::ParseNumberError;
pub use functions::Rounding;

/// Significant digits of a result.
pub(crate) const DIGITS: u32 = 34;
/// The largest exponent of the leading digit (decimal128).
const MAX_EXPONENT: i64 = 6144;
/// The smallest exponent of the last digit (decimal128); smaller results become zero.
const MIN_EXPONENT: i64 = -6176;
/// The largest scale of the fast form, in both directions.
const MAX_SMALL_SCALE: i8 = 18;

/// A decimal number of at most 34 significant digits. Equality is numeric: `1.0 = 1.00`.
#[derive(Clone)]
pub struct Number(Repr);

impl Default for Number {
    fn default() -> Number {
        Number::ZERO
    }
}

#[derive(Clone)]
enum Repr {
    /// `mantissa * 10^-scale`, scale from -18 to 18. Arithmetic keeps the scale, as the text shows it: `1.5 * 2` is `3.0`.
    Small {
        mantissa: i64,
        scale: i8,
    },
    Wide(Arc<Parts>),
}

/// `mantissa * 10^exponent`, with `|mantissa| < 10^34`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub mantissa: i128,
    pub exponent: i32,
}

pub(crate) const fn pow10(n: u32) -> i128 {
    10i128.pow(n)
}

#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
const POW10_I64: [i64; 19] = {
    let mut table = [1i64; 19];
    let mut i = 1;
    while i < 19 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

fn pow10_i64(n: u8) -> Option<i64> {
    POW10_I64.get(usize::from(n)).copied()
}

pub(crate) fn digits(mantissa: i128) -> u32 {
    mantissa
        .unsigned_abs()
        .checked_ilog10()
        .map_or(1, |n| n + 1)
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number::from_i64(0);
    /// One.
    pub const ONE: Number = Number::from_i64(1);

    /// A whole number.
    pub const fn from_i64(value: i64) -> Number {
        Number(Repr::Small {
            mantissa: value,
            scale: 0,
        })
    }

    pub(crate) const fn small(mantissa: i64, scale: i8) -> Number {
        Number(Repr::Small { mantissa, scale })
    }

    pub(crate) fn parts(&self) -> Parts {
        match &self.0 {
            Repr::Small { mantissa, scale } => Parts {
                mantissa: i128::from(*mantissa),
                exponent: -i32::from(*scale),
            },
            Repr::Wide(parts) => **parts,
        }
    }

    /// Beyond the fast form: arithmetic takes longer, and the digits stand in an allocation of their own.
    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.0, Repr::Wide(_))
    }

    /// Builds a number from any mantissa and exponent, rounding half-even to 34 digits. `None` when it is too large.
    pub(crate) fn from_parts(mantissa: i128, exponent: i64) -> Option<Number> {
        let (mut mantissa, mut exponent) = (mantissa, exponent);
        if mantissa == 0 {
            let limit = i64::from(MAX_SMALL_SCALE);
            let scale = (-exponent).clamp(-limit, limit) as i8;
            return Some(Number::small(0, scale));
        }
        let count = digits(mantissa);
        if count > DIGITS {
            let drop = count - DIGITS;
            mantissa = functions::div_round(mantissa, pow10(drop), Rounding::HalfEven);
            exponent += i64::from(drop);
            // Rounded up to the next power of ten.
            if digits(mantissa) > DIGITS {
                mantissa /= 10;
                exponent += 1;
            }
        }
        if exponent < MIN_EXPONENT {
            let drop = MIN_EXPONENT - exponent;
            if drop > i64::from(DIGITS) {
                return Some(Number::ZERO);
            }
            mantissa = functions::div_round(mantissa, pow10(drop as u32), Rounding::HalfEven);
            exponent = MIN_EXPONENT;
            if mantissa == 0 {
                return Some(Number::ZERO);
            }
        }
        if exponent + i64::from(digits(mantissa)) - 1 > MAX_EXPONENT {
            return None;
        }
        if exponent.unsigned_abs() <= u64::from(MAX_SMALL_SCALE.unsigned_abs())
            && let Ok(small) = i64::try_from(mantissa)
        {
            return Some(Number::small(small, (-exponent) as i8));
        }
        Some(Number(Repr::Wide(Arc::new(Parts {
            mantissa,
            exponent: exponent as i32,
        }))))
    }

    /// Drops trailing zeros, but none that would make the exponent of the last digit larger than this.
    pub(crate) fn strip_zeros(self, limit: i64) -> Number {
        let Parts {
            mut mantissa,
            exponent,
        } = self.parts();
        let mut exponent = i64::from(exponent);
        if mantissa == 0 {
            return Number::from_parts(0, limit).unwrap_or(self);
        }
        if exponent >= limit || mantissa % 10 != 0 {
            return self;
        }
        while exponent < limit && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        Number::from_parts(mantissa, exponent).unwrap_or(self)
    }

    /// `self + other`; `None` when the result is too large.
    pub fn add(&self, other: &Number) -> Option<Number> {
        if let (
            Repr::Small {
                mantissa: a,
                scale: sa,
            },
            Repr::Small {
                mantissa: b,
                scale: sb,
            },
        ) = (&self.0, &other.0)
        {
            let (a, b, scale) = match sa.cmp(sb) {
                Ordering::Equal => (Some(*a), Some(*b), *sa),
                Ordering::Less => (
                    pow10_i64(sb.abs_diff(*sa)).and_then(|p| a.checked_mul(p)),
                    Some(*b),
                    *sb,
                ),
                Ordering::Greater => (
                    Some(*a),
                    pow10_i64(sa.abs_diff(*sb)).and_then(|p| b.checked_mul(p)),
                    *sa,
                ),
            };
            if let (Some(a), Some(b)) = (a, b)
                && let Some(sum) = a.checked_add(b)
            {
                return Some(Number::small(sum, scale));
            }
        }
        wide::add(self.parts(), other.parts())
    }

    /// `self - other`; `None` when the result is too large.
    pub fn sub(&self, other: &Number) -> Option<Number> {
        self.add(&other.neg())
    }

    /// `-self`.
    pub fn neg(&self) -> Number {
        if let Repr::Small { mantissa, scale } = &self.0
            && let Some(mantissa) = mantissa.checked_neg()
        {
            return Number::small(mantissa, *scale);
        }
        let Parts { mantissa, exponent } = self.parts();
        Number::from_parts(-mantissa, i64::from(exponent)).unwrap_or(Number::ZERO)
    }

    /// `self * other`; `None` when the result is too large.
    pub fn mul(&self, other: &Number) -> Option<Number> {
        if let (
            Repr::Small {
                mantissa: a,
                scale: sa,
            },
            Repr::Small {
                mantissa: b,
                scale: sb,
            },
        ) = (&self.0, &other.0)
            && (sa + sb).abs() <= MAX_SMALL_SCALE
            && let Some(product) = a.checked_mul(*b)
        {
            return Some(Number::small(product, sa + sb));
        }
        wide::mul(self.parts(), other.parts())
    }

    /// `self / other`; `None` when `other` is zero or the result too large.
    pub fn div(&self, other: &Number) -> Option<Number> {
        if other.is_zero() {
            return None;
        }
        if let (
            Repr::Small {
                mantissa: a,
                scale: sa,
            },
            Repr::Small {
                mantissa: b,
                scale: sb,
            },
        ) = (&self.0, &other.0)
            && (sa - sb).abs() <= MAX_SMALL_SCALE
            && a.checked_rem(*b) == Some(0)
        {
            return Some(Number::small(a / b, sa - sb));
        }
        wide::div(self.parts(), other.parts())
    }

    /// `self - other * floor(self / other)`: the sign follows the divisor. `None` when `other` is zero.
    pub fn modulo(&self, other: &Number) -> Option<Number> {
        if other.is_zero() {
            return None;
        }
        if let (
            Repr::Small {
                mantissa: a,
                scale: 0,
            },
            Repr::Small {
                mantissa: b,
                scale: 0,
            },
        ) = (&self.0, &other.0)
            && let Some(remainder) = a.checked_rem(*b)
        {
            let shifted = remainder != 0 && (remainder < 0) != (*b < 0);
            return Some(Number::from_i64(if shifted {
                remainder + b
            } else {
                remainder
            }));
        }
        wide::modulo(self.parts(), other.parts())
    }

    /// True for zero of any scale.
    pub fn is_zero(&self) -> bool {
        self.parts().mantissa == 0
    }

    /// True below zero.
    pub fn is_negative(&self) -> bool {
        self.parts().mantissa < 0
    }

    /// True when there is no fraction.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Small { scale: ..=0, .. } => true,
            _ => {
                let Parts { mantissa, exponent } = self.parts();
                exponent >= 0
                    || mantissa == 0
                    || (exponent >= -(DIGITS as i32)
                        && mantissa % pow10(exponent.unsigned_abs()) == 0)
            }
        }
    }

    /// Absolute value.
    pub fn abs(&self) -> Number {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        if let (
            Repr::Small {
                mantissa: a,
                scale: sa,
            },
            Repr::Small {
                mantissa: b,
                scale: sb,
            },
        ) = (&self.0, &other.0)
        {
            let apart = sa.abs_diff(*sb);
            // 64 bits times at most 10^18 fits 128 bits.
            if apart <= 18 {
                let unit = pow10(u32::from(apart));
                return match sa.cmp(sb) {
                    Ordering::Equal => a.cmp(b),
                    Ordering::Less => (i128::from(*a) * unit).cmp(&i128::from(*b)),
                    Ordering::Greater => i128::from(*a).cmp(&(i128::from(*b) * unit)),
                };
            }
        }
        wide::compare(self.parts(), other.parts())
    }
}

impl std::hash::Hash for Number {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Parts {
            mut mantissa,
            mut exponent,
        } = self.parts();
        if mantissa == 0 {
            exponent = 0;
        }
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        (mantissa, exponent).hash(state);
    }
}
