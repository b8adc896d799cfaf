//! Criteria: a measure, and the limit of its value.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A statement to be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Criterion {
    pub name: String,
    pub measure: Measure,
    pub limit: Limit,
    /// The limit is meant for a fast disk: it is relaxed by this many times the duration of a flush here (milliseconds).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flushes: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The value that the post reports for the engine it measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post: Option<String>,
    /// Whether it is about speed: then it is NOT RUN on a machine with other work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed: bool,
    /// Whether the experiment may be HELD even if this is NOT RUN.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Without these the value means nothing, and the criterion is NOT RUN.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provided: Vec<Provided>,
}

/// A precondition of a criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Provided {
    pub measure: Measure,
    pub limit: Limit,
    /// Why the criterion says nothing if the precondition does not hold.
    pub otherwise: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks
pub(super) fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// The limit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// A value computed from the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Measure {
    /// A series of the record.
    pub of: String,
    /// How its values in a window are aggregated.
    #[serde(default, skip_serializing_if = "Take::is_max")]
    pub take: Take,
    /// The window; `None`: the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// How the values of several windows are aggregated.
    #[serde(default, skip_serializing_if = "Take::is_max")]
    pub across: Take,
    /// A divisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Box<Measure>>,
    /// Whether each window is divided by the window of the divisor with the same number. The value is then the median of these ratios, of
    /// which there must be three at least.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pairs: bool,
}

/// An aggregate of several values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    #[default]
    Max,
    Min,
    Mean,
    Median,
    P99,
    /// The last value minus the first.
    Growth,
    /// Growth per hour: the median of the slopes between all pairs, which is robust against outliers.
    Slope,
}

impl Take {
    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks
    fn is_max(&self) -> bool {
        *self == Self::Max
    }
}

/// Time windows that begin with the steps of a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Window {
    /// Name of the steps; each that began has a window.
    pub from: String,
    /// Name of the steps at which the window ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Seconds by which the window begins later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip_s: f64,
    /// Seconds after which the window ends, unless it ends before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_s: Option<f64>,
}

impl Measure {
    /// The largest value of the whole run; for a series measured once, its only value.
    pub fn of(series: &str) -> Self {
        Self {
            of: series.into(),
            take: Take::Max,
            window: None,
            across: Take::Max,
            over: None,
            pairs: false,
        }
    }

    pub fn take(mut self, take: Take) -> Self {
        self.take = take;
        self
    }

    /// Restricts it to windows from steps of one name to those of another.
    pub fn between(mut self, from: &str, to: &str) -> Self {
        self.window = Some(Window {
            from: from.into(),
            to: Some(to.into()),
            skip_s: 0.0,
            for_s: None,
        });
        self
    }

    /// Makes the window begin later.
    pub fn skip(mut self, seconds: f64) -> Self {
        if let Some(window) = &mut self.window {
            window.skip_s = seconds;
        }
        self
    }

    /// Makes the window end after this time, unless it ends before.
    pub fn lasting(mut self, seconds: f64) -> Self {
        if let Some(window) = &mut self.window {
            window.for_s = Some(seconds);
        }
        self
    }

    pub fn across(mut self, take: Take) -> Self {
        self.across = take;
        self
    }

    pub fn over(mut self, other: Measure) -> Self {
        self.over = Some(Box::new(other));
        self
    }

    /// Divides each window by the window of another measure with the same number; see [`Measure::pairs`].
    pub fn paired_with(mut self, other: Measure) -> Self {
        self.pairs = true;
        self.over(other)
    }
}

impl Criterion {
    pub fn new(name: &str, measure: Measure, limit: Limit, unit: &str) -> Self {
        Self {
            name: name.into(),
            measure,
            limit,
            flushes: 0.0,
            unit: unit.into(),
            post: None,
            timed: false,
            optional: false,
            provided: Vec::new(),
        }
    }

    /// Marks it as being about speed.
    pub fn timed(mut self) -> Self {
        self.timed = true;
        self
    }

    /// See [`Criterion::provided`].
    pub fn provided(mut self, measure: Measure, limit: Limit, otherwise: &str) -> Self {
        self.provided.push(Provided {
            measure,
            limit,
            otherwise: otherwise.into(),
        });
        self
    }

    /// See [`Criterion::flushes`].
    pub fn flushes(mut self, count: f64) -> Self {
        self.flushes = count;
        self
    }

    /// See [`Criterion::post`].
    pub fn post(mut self, figure: &str) -> Self {
        self.post = Some(figure.into());
        self
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(value) => write!(f, "≤ {value}"),
            Self::AtLeast(value) => write!(f, "≥ {value}"),
        }
    }
}
