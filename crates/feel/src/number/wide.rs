//! Arithmetic outside the fast path: exact in 128 bits where that fits, else by `dashu` at 34 digits, half-even.

use std::cmp::Ordering;

use dashu_float::Context;
use dashu_float::Repr;
use dashu_float::round::mode::HalfEven;
use dashu_int::IBig;

use super::{DIGITS, Number, Parts, digits, pow10};

pub(super) type Decimal = Repr<10>;

pub(super) fn context() -> Context<HalfEven> {
    Context::new(DIGITS as usize)
}

pub(super) fn to_decimal(parts: Parts) -> Decimal {
    Repr::new(IBig::from(parts.mantissa), parts.exponent as isize)
}

pub(super) fn from_decimal(repr: &Decimal) -> Option<Number> {
    if repr.is_infinite() {
        return None;
    }
    let mantissa = i128::try_from(repr.significand()).ok()?;
    Number::from_parts(mantissa, repr.exponent() as i64)
}

/// Both mantissas at the smaller exponent, when that fits 128 bits.
fn align(a: Parts, b: Parts) -> Option<(i128, i128, i32)> {
    let exponent = a.exponent.min(b.exponent);
    let shift = |p: Parts| {
        let by = u32::try_from(p.exponent - exponent).ok()?;
        if by > 37 {
            None
        } else {
            p.mantissa.checked_mul(pow10(by))
        }
    };
    Some((shift(a)?, shift(b)?, exponent))
}

pub(super) fn add(a: Parts, b: Parts) -> Option<Number> {
    if let Some((x, y, exponent)) = align(a, b)
        && let Some(sum) = x.checked_add(y)
    {
        return Number::from_parts(sum, i64::from(exponent));
    }
    // A term more than 36 digits below the other one only matters as a tie breaker, which dashu handles.
    let sum = context().add(&to_decimal(a), &to_decimal(b)).ok()?.value();
    from_decimal(sum.repr())
}

pub(super) fn mul(a: Parts, b: Parts) -> Option<Number> {
    if let Some(product) = a.mantissa.checked_mul(b.mantissa) {
        return Number::from_parts(product, i64::from(a.exponent) + i64::from(b.exponent));
    }
    let product = context().mul(&to_decimal(a), &to_decimal(b)).ok()?.value();
    from_decimal(product.repr())
}

pub(super) fn div(a: Parts, b: Parts) -> Option<Number> {
    if b.mantissa == 0 {
        return None;
    }
    let ideal = i64::from(a.exponent) - i64::from(b.exponent);
    let room = 37u32.saturating_sub(digits(a.mantissa));
    let scaled = a.mantissa.checked_mul(pow10(room))?;
    if scaled % b.mantissa == 0 {
        return Number::from_parts(scaled / b.mantissa, ideal - i64::from(room))
            .map(|n| n.strip_zeros(ideal));
    }
    if let Some((mantissa, shift)) = long_division(a.mantissa, b.mantissa) {
        return Number::from_parts(mantissa, ideal - shift);
    }
    divide_exactly_rounded(a, b)
}

fn divide_exactly_rounded(a: Parts, b: Parts) -> Option<Number> {
    let quotient = context().div(&to_decimal(a), &to_decimal(b)).ok()?.value();
    from_decimal(quotient.repr())
}

/// The quotient of 64-bit numbers with at least 35 digits and a last one that is not zero when there is a remainder, so
/// that rounding it to 34 digits is rounding the true quotient; and how many of its digits are decimals.
fn long_division(dividend: i128, divisor: i128) -> Option<(i128, i64)> {
    let (n, d) = (i64::try_from(dividend).ok()?, i64::try_from(divisor).ok()?);
    let negative = (n < 0) != (d < 0);
    let (n, d) = (u128::from(n.unsigned_abs()), u128::from(d.unsigned_abs()));
    let mut quotient = n.checked_div(d)?;
    let mut remainder = n % d;
    let mut missing = 36u32.checked_sub(quotient.checked_ilog10().map_or(0, |log| log + 1))?;
    let mut shift = 0i64;
    while missing > 0 {
        // 64 bits times 10^18 fit 128 bits.
        let count = missing.min(18);
        let unit = pow10(count).unsigned_abs();
        let extended = remainder * unit;
        quotient = quotient * unit + extended / d;
        remainder = extended % d;
        missing -= count;
        shift += i64::from(count);
    }
    if quotient < pow10(34).unsigned_abs() {
        return None;
    }
    let sticky = u128::from(remainder != 0);
    let mantissa = i128::try_from(quotient * 10 + sticky).ok()?;
    Some((if negative { -mantissa } else { mantissa }, shift + 1))
}

pub(super) fn modulo(a: Parts, b: Parts) -> Option<Number> {
    let (mantissa, exponent) = match align(a, b) {
        Some((x, y, exponent)) => {
            let remainder = x.checked_rem(y)?;
            let shifted = remainder != 0 && (remainder < 0) != (y < 0);
            (if shifted { remainder + y } else { remainder }, exponent)
        }
        None => {
            let exponent = a.exponent.min(b.exponent);
            let lift = |p: Parts| {
                IBig::from(p.mantissa) * IBig::from(10).pow((p.exponent - exponent) as usize)
            };
            let (x, y) = (lift(a), lift(b));
            let remainder = x % &y;
            let zero = IBig::ZERO;
            let remainder = if remainder != zero && (remainder < zero) != (y < zero) {
                remainder + y
            } else {
                remainder
            };
            let repr: Decimal = Repr::new(remainder, exponent as isize);
            let rounded = dashu_float::FBig::<HalfEven, 10>::from_repr(repr, Context::new(0))
                .with_precision(DIGITS as usize);
            return from_decimal(rounded.value().repr());
        }
    };
    Number::from_parts(mantissa, i64::from(exponent))
}

pub(super) fn compare(a: Parts, b: Parts) -> Ordering {
    let sign = a.mantissa.signum().cmp(&b.mantissa.signum());
    if sign != Ordering::Equal || a.mantissa == 0 {
        return sign;
    }
    if let Some((x, y, _)) = align(a, b) {
        return x.cmp(&y);
    }
    // Not alignable: the magnitudes differ by more than the digits we keep, or the leading digits decide.
    let magnitude = |p: Parts| i64::from(p.exponent) + i64::from(digits(p.mantissa));
    match magnitude(a).cmp(&magnitude(b)) {
        Ordering::Equal => to_decimal(a).cmp(&to_decimal(b)),
        order if a.mantissa < 0 => order.reverse(),
        order => order,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_fast_division_agrees_with_the_library(a in any::<i64>(), b in any::<i64>(), small in 1i64..2000, exponent in -18i32..1) {
            for (a, b) in [(a, b), (a, small), (a % 1_000_000, b % 1_000_000), (a % 100_000, small), (small, b)] {
                prop_assume!(b != 0);
                let parts = |mantissa: i64| Parts { mantissa: i128::from(mantissa), exponent };
                let fast = div(parts(a), Parts { mantissa: i128::from(b), exponent: -2 });
                let exact = divide_exactly_rounded(parts(a), Parts { mantissa: i128::from(b), exponent: -2 });
                prop_assert_eq!(fast, exact, "{} / {}", a, b);
            }
        }
    }
}
