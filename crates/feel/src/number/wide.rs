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
    let keep = u32::try_from(-ideal).unwrap_or(0);
    let room = 37u32.saturating_sub(digits(a.mantissa));
    let scaled = a.mantissa.checked_mul(pow10(room))?;
    if scaled % b.mantissa == 0 {
        return Number::from_parts(scaled / b.mantissa, ideal - i64::from(room))
            .map(|n| n.strip_zeros(keep));
    }
    let quotient = context().div(&to_decimal(a), &to_decimal(b)).ok()?.value();
    from_decimal(quotient.repr())
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
