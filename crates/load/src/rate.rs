//! The rates of the open loop: constant, a ramp, or steps.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Serialize, Serializer};

/// Starts per second that a rate may have at most.
const HIGHEST: f64 = 1e6;
/// Steps that a rate may have at most.
const MOST_STEPS: usize = 100;

/// `--rate`: constant as in `150`, a ramp as in `50..300`, or steps of equal length as in `50,150,300`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Constant(f64),
    Ramp { from: f64, to: f64 },
    Steps(Vec<f64>),
}

/// A text that is no rate.
#[derive(Debug)]
pub struct NotARate(String);

impl fmt::Display for NotARate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotARate {}

/// A time during which the rate grows or falls evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leg {
    /// In seconds, above 0.
    pub seconds: f64,
    /// Starts per second at its beginning, above 0.
    pub from: f64,
    /// Starts per second at its end, above 0.
    pub to: f64,
}

impl Leg {
    /// Starts that are due in the first `seconds` of it.
    pub fn starts(&self, seconds: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        seconds * (self.from + slope * seconds / 2.0)
    }

    /// All starts that are due in it.
    pub fn all(&self) -> f64 {
        self.starts(self.seconds)
    }

    /// After how many seconds so many starts are due.
    pub fn seconds_until(&self, starts: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        // The root of a quadratic equation, in the form that also holds without a slope.
        let root = (self.from * self.from + 2.0 * slope * starts)
            .max(0.0)
            .sqrt();
        2.0 * starts / (self.from + root)
    }
}

impl Rate {
    /// The legs of a measurement of this length after a warm-up with the first rate. After the last leg the last rate stays.
    pub fn legs(&self, warmup: Duration, duration: Duration) -> Vec<Leg> {
        let even = |seconds: f64, rate: f64| Leg {
            seconds,
            from: rate,
            to: rate,
        };
        let measured = duration.as_secs_f64();
        let mut legs = vec![even(warmup.as_secs_f64(), self.first())];
        match &self.0 {
            Kind::Constant(_) => {}
            Kind::Ramp { from, to } => legs.push(Leg {
                seconds: measured,
                from: *from,
                to: *to,
            }),
            Kind::Steps(rates) => {
                #[expect(clippy::cast_precision_loss, reason = "there are few steps")]
                let each = measured / rates.len().max(1) as f64;
                legs.extend(rates.iter().map(|rate| even(each, *rate)));
            }
        }
        legs.retain(|leg| leg.seconds > 0.0);
        legs
    }

    /// The rate at the beginning, in starts per second.
    pub fn first(&self) -> f64 {
        match &self.0 {
            Kind::Constant(rate) | Kind::Ramp { from: rate, .. } => *rate,
            Kind::Steps(rates) => rates.first().copied().unwrap_or(1.0),
        }
    }

    /// The rate at the end, in starts per second.
    pub fn last(&self) -> f64 {
        match &self.0 {
            Kind::Constant(rate) | Kind::Ramp { to: rate, .. } => *rate,
            Kind::Steps(rates) => rates.last().copied().unwrap_or(1.0),
        }
    }

    /// A rate that grows or falls evenly, and then stays.
    ///
    /// # Errors
    /// One of both is no rate.
    pub fn ramp(from: f64, to: f64) -> Result<Self, NotARate> {
        let (from, to) = (valid(from)?, valid(to)?);
        Ok(Self(Kind::Ramp { from, to }))
    }
}

impl TryFrom<f64> for Rate {
    type Error = NotARate;

    fn try_from(rate: f64) -> Result<Self, NotARate> {
        valid(rate).map(|rate| Self(Kind::Constant(rate)))
    }
}

fn valid(rate: f64) -> Result<f64, NotARate> {
    if rate.is_finite() && rate > 0.0 && rate <= HIGHEST {
        Ok(rate)
    } else {
        Err(NotARate(format!(
            "a rate is above 0 and at most {HIGHEST} per second, not {rate}"
        )))
    }
}

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        let one = |text: &str| match text.trim().parse::<f64>() {
            Ok(rate) => valid(rate),
            Err(_) => Err(NotARate(format!(
                "{text:?} is no rate; write for example 150, a ramp as 50..300, or steps as 50,150,300"
            ))),
        };
        let kind = if let Some((from, to)) = text.split_once("..") {
            let (from, to) = (one(from)?, one(to)?);
            Kind::Ramp { from, to }
        } else if text.contains(',') {
            let rates = text.split(',').map(one).collect::<Result<Vec<f64>, _>>()?;
            if rates.len() > MOST_STEPS {
                return Err(NotARate(format!(
                    "there are {} steps, the limit is {MOST_STEPS}",
                    rates.len()
                )));
            }
            Kind::Steps(rates)
        } else {
            Kind::Constant(one(text)?)
        };
        Ok(Self(kind))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Constant(rate) => write!(f, "{rate}"),
            Kind::Ramp { from, to } => write!(f, "{from}..{to}"),
            Kind::Steps(rates) => {
                let rates: Vec<String> = rates.iter().map(f64::to_string).collect();
                f.write_str(&rates.join(","))
            }
        }
    }
}

/// A number if it is constant, otherwise as it is written.
impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Kind::Constant(rate) => serializer.serialize_f64(*rate),
            _ => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_written_alike() {
        for text in ["150", "0.5", "50..300", "300..50", "50,150,300"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for (bad, why) in [
            ("0", "above 0"),
            ("-1", "above 0"),
            ("inf", "above 0"),
            ("1000001", "at most 1000000"),
            ("50..", "a ramp as 50..300"),
            ("50,x", "steps as 50,150,300"),
            ("", "is no rate"),
        ] {
            let said = bad.parse::<Rate>().unwrap_err().to_string();
            assert!(said.contains(why), "{bad}: {said}");
        }
        let many = vec!["1"; 101].join(",");
        let said = many.parse::<Rate>().unwrap_err().to_string();
        assert_eq!(said, "there are 101 steps, the limit is 100");
    }

    #[test]
    fn a_ramp_begins_after_the_warm_up() {
        let (warmup, duration) = (Duration::from_secs(3), Duration::from_secs(10));
        let legs = |text: &str| text.parse::<Rate>().unwrap().legs(warmup, duration);
        let leg = |seconds, from, to| Leg { seconds, from, to };
        assert_eq!(legs("5"), [leg(3.0, 5.0, 5.0)]);
        assert_eq!(legs("5..20"), [leg(3.0, 5.0, 5.0), leg(10.0, 5.0, 20.0)]);
        let ramp = Rate::ramp(5.0, 20.0).unwrap();
        let alone = ramp.legs(Duration::ZERO, duration);
        assert_eq!(alone, [leg(10.0, 5.0, 20.0)]);
        assert!(Rate::ramp(0.0, 5.0).is_err() && Rate::ramp(5.0, f64::NAN).is_err());
        let steps = [leg(3.0, 5.0, 5.0), leg(5.0, 5.0, 5.0), leg(5.0, 9.0, 9.0)];
        assert_eq!(legs("5,9"), steps);
    }

    #[test]
    fn the_starts_of_a_leg_and_their_times_agree() {
        for (from, to) in [(5.0, 20.0), (20.0, 5.0), (7.0, 7.0)] {
            let leg = Leg {
                seconds: 10.0,
                from,
                to,
            };
            assert!((leg.all() - 10.0 * (from + to) / 2.0).abs() < 1e-9);
            for seconds in [0.0, 1.0, 4.5, 10.0] {
                let back = leg.seconds_until(leg.starts(seconds));
                assert!((back - seconds).abs() < 1e-9, "{from}..{to}: {back}");
            }
        }
    }
}
