//! Laws for all values: decimals, dates, durations, logic, JSON.

use proptest::prelude::*;
use skep_feel::{
    Date, DateTime, DayTimeDuration, EmptyScope, EvalContext, Expression, JsonScope, Number,
    Rounding, Value, YearMonthDuration, Zone,
};

fn number() -> impl Strategy<Value = Number> {
    let small = (any::<i32>(), 0u32..6).prop_map(|(n, scale)| format!("{n}e-{scale}"));
    let wide = (any::<i128>(), -40i32..40).prop_map(|(n, exponent)| format!("{n}e{exponent}"));
    prop_oneof![small, wide].prop_map(|text| text.parse().expect("a number"))
}

fn date() -> impl Strategy<Value = Date> {
    prop_oneof![
        -3_000_000i64..3_000_000,
        -300_000_000_000i64..300_000_000_000
    ]
    .prop_map(|day| Date::from_epoch_day(day).expect("in range"))
}

fn evaluate(text: &str) -> Value {
    Expression::parse(text)
        .expect(text)
        .evaluate(&EmptyScope, &EvalContext::default())
        .value
}

/// `a` and `b` differ by no more than the last of 33 digits.
fn close(a: &Number, b: &Number) -> bool {
    let difference = a.sub(b).expect("in range").abs();
    let unit: Number = "1e-32".parse().expect("a number");
    difference <= a.abs().mul(&unit).expect("in range")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_print_and_read_back(a in number()) {
        let read: Number = a.to_string().parse().unwrap();
        prop_assert_eq!(&read, &a);
        prop_assert_eq!(read.to_string(), a.to_string());
        prop_assert_eq!(Value::from_json(&Value::Number(a.clone()).to_json()).unwrap(), Value::Number(a));
    }

    #[test]
    fn sums_and_products_commute(a in number(), b in number()) {
        prop_assert_eq!(a.add(&b), b.add(&a));
        prop_assert_eq!(a.mul(&b), b.mul(&a));
        prop_assert_eq!(a.sub(&b), b.sub(&a).map(|d| d.neg()));
    }

    #[test]
    fn zero_and_one_are_neutral(a in number()) {
        prop_assert_eq!(a.add(&Number::ZERO), Some(a.clone()));
        prop_assert_eq!(a.mul(&Number::ONE), Some(a.clone()));
        prop_assert_eq!(a.div(&Number::ONE), Some(a.clone()));
        prop_assert_eq!(a.sub(&a), Some(Number::ZERO));
        prop_assert_eq!(a.neg().neg(), a);
    }

    #[test]
    fn the_order_is_that_of_the_difference(a in number(), b in number()) {
        let difference = a.sub(&b).unwrap();
        prop_assert_eq!(a.cmp(&b), difference.cmp(&Number::ZERO));
        prop_assert_eq!(b.cmp(&a), a.cmp(&b).reverse());
    }

    #[test]
    fn whole_numbers_calculate_exactly(a in any::<i64>(), b in any::<i64>(), c in any::<i32>()) {
        let n = |n: i128| Number::from_i128(n);
        let (x, y, z) = (i128::from(a), i128::from(b), i128::from(c));
        prop_assert_eq!(n(x).add(&n(y)), Some(n(x + y)));
        prop_assert_eq!(n(x).mul(&n(z)), Some(n(x * z)));
        prop_assert_eq!(n(x).cmp(&n(y)), x.cmp(&y));
        if b != 0 {
            let remainder = x.rem_euclid(y.abs());
            let expected = if y < 0 && remainder != 0 { remainder + y } else { remainder };
            prop_assert_eq!(n(x).modulo(&n(y)), Some(n(expected)));
        }
    }

    #[test]
    fn division_undoes_multiplication(a in number(), b in number()) {
        prop_assume!(!b.is_zero());
        let quotient = a.div(&b).unwrap();
        prop_assert!(close(&a, &quotient.mul(&b).unwrap()), "{} / {} = {}", a, b, quotient);
    }

    #[test]
    fn roots_undo_squares(a in number()) {
        let square = a.mul(&a).unwrap();
        // Roots have the precision of a double.
        let root = square.sqrt().unwrap().to_f64();
        let a = a.abs().to_f64();
        prop_assert!((root - a).abs() <= a * 1e-15);
    }

    #[test]
    fn rounding_stays_within_one_unit(a in any::<i64>(), scale in 0u32..12, to in 0i32..8) {
        let a: Number = format!("{a}e-{scale}").parse().unwrap();
        let unit: Number = format!("1e-{to}").parse().unwrap();
        let round = |rounding| a.round(to, rounding).unwrap();
        let (floor, ceiling) = (round(Rounding::Floor), round(Rounding::Ceiling));
        prop_assert!(floor <= a && a <= ceiling && ceiling.sub(&floor).unwrap() <= unit);
        for rounding in [Rounding::Up, Rounding::Down, Rounding::HalfUp, Rounding::HalfDown, Rounding::HalfEven] {
            let rounded = round(rounding);
            prop_assert!(rounded == floor || rounded == ceiling);
            prop_assert_eq!(rounded.round(to, rounding), Some(rounded.clone()));
        }
        prop_assert!(round(Rounding::Up).abs() >= a.abs() && round(Rounding::Down).abs() <= a.abs());
    }

    #[test]
    fn dates_print_and_read_back(date in date()) {
        prop_assert_eq!(Date::parse(&date.to_string()), Some(date));
        prop_assert_eq!(Date::from_epoch_day(date.epoch_day()), Some(date));
    }

    #[test]
    fn days_that_are_added_can_be_taken_away(date in date(), days in -1_000_000i64..1_000_000) {
        let later = date.add_days(days).unwrap();
        prop_assert_eq!(later.epoch_day() - date.epoch_day(), days);
        prop_assert_eq!(later.add_days(-days), Some(date));
        prop_assert_eq!((later.weekday() - date.weekday()).rem_euclid(7) as i64, days.rem_euclid(7));
    }

    #[test]
    fn added_months_lie_between(date in date(), months in -5_000i64..5_000) {
        let later = date.add_months(months).unwrap();
        prop_assert!(later.day() <= date.day());
        let between = later.months_since(date);
        prop_assert!(between == months || (later.day() < date.day() && (between - months).abs() == 1));
    }

    #[test]
    fn durations_form_a_group(a in any::<i64>(), b in any::<i64>(), nanos in 0i128..1_000_000_000) {
        let a = DayTimeDuration::from_nanos(i128::from(a) * 1_000 + nanos).unwrap();
        let b = DayTimeDuration::from_nanos(i128::from(b) * 1_000).unwrap();
        let sum = evaluate(&format!("@\"{a}\" + @\"{b}\""));
        prop_assert_eq!(&sum, &evaluate(&format!("@\"{b}\" + @\"{a}\"")));
        prop_assert_eq!(evaluate(&format!("@\"{sum}\" - @\"{b}\"")), Value::DayTimeDuration(a));
        prop_assert_eq!(DayTimeDuration::parse(&a.to_string()), Some(a));
        prop_assert_eq!(evaluate(&format!("-(-@\"{a}\")")), Value::DayTimeDuration(a));
    }

    #[test]
    fn month_durations_form_a_group(a in any::<i32>(), b in any::<i32>()) {
        let duration = |months: i32| YearMonthDuration::from_months(i64::from(months));
        let (a, b) = (duration(a), duration(b));
        prop_assert_eq!(evaluate(&format!("@\"{a}\" + @\"{b}\" - @\"{b}\"")), Value::YearMonthDuration(a));
        prop_assert_eq!(YearMonthDuration::parse(&a.to_string()), Some(a));
        prop_assert_eq!(a.years() * 12 + a.months(), a.total_months());
    }

    #[test]
    fn an_instant_is_the_same_in_every_zone(seconds in -60_000_000_000i64..60_000_000_000, zone in 0usize..6, add in any::<i32>()) {
        let names = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "+05:30", "Z"];
        let zone = Zone::parse(names[zone]).unwrap();
        let moment = DateTime::from_epoch(seconds, 0, zone).unwrap();
        // When the clock is set back, an ambiguous local time means the earlier moment.
        let named = moment.epoch_seconds();
        prop_assert!(named == seconds || seconds - named == 3600 || seconds - named == 1800, "{} {}", seconds, moment);
        let text = moment.to_string();
        prop_assert_eq!(DateTime::parse(&text).unwrap().to_string(), text);
        let later = moment.add(DayTimeDuration::from_seconds(i64::from(add))).unwrap();
        let moved = later.epoch_seconds() - named;
        prop_assert!((moved - i64::from(add)).abs() <= 3600);
    }

    #[test]
    fn logic_obeys_de_morgan(a in 0usize..3, b in 0usize..3, c in 0usize..3) {
        let names = ["true", "false", "null"];
        let (a, b, c) = (names[a], names[b], names[c]);
        let same = |x: String, y: String| {
            prop_assert_eq!(evaluate(&x), evaluate(&y), "{} and {}", x, y);
            Ok(())
        };
        same(format!("not({a} and {b})"), format!("not({a}) or not({b})"))?;
        same(format!("not({a} or {b})"), format!("not({a}) and not({b})"))?;
        same(format!("{a} and {b}"), format!("{b} and {a}"))?;
        same(format!("{a} or {b}"), format!("{b} or {a}"))?;
        same(format!("({a} and {b}) and {c}"), format!("{a} and ({b} and {c})"))?;
        same(format!("{a} and ({b} or {c})"), format!("({a} and {b}) or ({a} and {c})"))?;
        same(format!("not(not({a}))"), a.to_owned())?;
        same(format!("all([{a}, {b}, {c}])"), format!("{a} and {b} and {c}"))?;
        same(format!("any([{a}, {b}, {c}])"), format!("{a} or {b} or {c}"))?;
        same(format!("every x in [{a}, {b}] satisfies x"), format!("{a} and {b}"))?;
        same(format!("some x in [{a}, {b}] satisfies x"), format!("{a} or {b}"))?;
    }

    #[test]
    fn a_comparison_is_the_opposite_of_its_complement(a in number(), b in number()) {
        let holds = |op: &str| evaluate(&format!("({a}) {op} ({b})")).as_bool().unwrap();
        prop_assert_eq!(holds("<"), !holds(">="));
        prop_assert_eq!(holds(">"), !holds("<="));
        prop_assert_eq!(holds("="), !holds("!="));
        prop_assert_eq!(holds("="), holds("<=") && holds(">="));
    }
}

/// Any JSON without numbers beyond 34 digits.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "\\PC{0,12}".prop_map(Into::into),
        "[\"\\\\\\n\\t\u{1}é]{0,6}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::vec(("[abc\"\\\\é ]{0,3}", inner), 0..5)
                .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_goes_in_and_out(json in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
        let out = Value::from_json(&text).unwrap().to_json();
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), json);
    }

    #[test]
    fn a_lazy_path_finds_what_a_value_holds(inner in json(), noise in json(), pretty in any::<bool>()) {
        let json = serde_json::json!({"x": {"a": noise, "b": {"c d": inner, "e": 1}}});
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
        let scope = JsonScope::parse(&text).unwrap();
        let cx = EvalContext::default();
        // The second form reads the whole variable first.
        let lazy = Expression::parse("x.b.`c d`").unwrap().evaluate(&scope, &cx).value;
        let eager = Expression::parse("{y: x, z: y.b.`c d`}.z").unwrap().evaluate(&scope, &cx).value;
        prop_assert_eq!(lazy.to_json(), eager.to_json());
    }

    #[test]
    fn broken_json_is_an_error(json in json(), at in any::<prop::sample::Index>(), with in "[\\[\\]{}\",:x0-9\\\\-]") {
        let mut text = serde_json::to_string(&json).unwrap();
        let mut at = at.index(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &with);
        // Whatever the text is now, both readers agree on whether it is JSON.
        let expected = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        let long_number = text.bytes().filter(u8::is_ascii_digit).count() > 300;
        prop_assert!(Value::from_json(&text).is_ok() == expected || long_number || text.contains("\\u"), "{}", text);
    }
}
