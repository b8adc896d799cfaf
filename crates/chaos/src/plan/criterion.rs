//! What must hold: a measure, and the limit of its value.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A statement that is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Criterion {
    pub name: String,
    pub measure: Measure,
    pub limit: Limit,
    /// The limit is for a fast disk: so many times the time that a flush takes here is added to it (milliseconds).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flushes: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// What the post says about the engine that it measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post: Option<String>,
    /// It is about speed: on a machine with other work it is NOT RUN.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed: bool,
    /// If it is NOT RUN, the experiment may still be HELD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks
pub(super) fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// A value that is taken of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Measure {
    /// A series of the record.
    pub of: String,
    /// What is taken of its values in a window.
    #[serde(default, skip_serializing_if = "Take::is_max")]
    pub take: Take,
    /// The whole run if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// What is taken of the values of several windows.
    #[serde(default, skip_serializing_if = "Take::is_max")]
    pub across: Take,
    /// The value is divided by this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Box<Measure>>,
}

/// One value of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    #[default]
    Max,
    Min,
    Mean,
    Median,
    P99,
    /// The last one less the first one.
    Growth,
    /// How much they grow in an hour: the median of the slopes between all pairs, which a few odd values do not change.
    Slope,
}

impl Take {
    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks
    fn is_max(&self) -> bool {
        *self == Self::Max
    }
}

/// Time from each step of a name on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Window {
    /// Name of steps; each of them that began has a window.
    pub from: String,
    /// It ends where the next step of this name begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// It begins so many seconds later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip_s: f64,
    /// It ends after so many seconds, if nothing else ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_s: Option<f64>,
}

impl Measure {
    /// The largest value of the whole run; the only one, of what is measured once.
    pub fn of(series: &str) -> Self {
        Self {
            of: series.into(),
            take: Take::Max,
            window: None,
            across: Take::Max,
            over: None,
        }
    }

    pub fn take(mut self, take: Take) -> Self {
        self.take = take;
        self
    }

    /// From steps of one name to those of another.
    pub fn between(mut self, from: &str, to: &str) -> Self {
        self.window = Some(Window {
            from: from.into(),
            to: Some(to.into()),
            skip_s: 0.0,
            for_s: None,
        });
        self
    }

    /// The window begins later.
    pub fn skip(mut self, seconds: f64) -> Self {
        if let Some(window) = &mut self.window {
            window.skip_s = seconds;
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
        }
    }

    /// It is about speed.
    pub fn timed(mut self) -> Self {
        self.timed = true;
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
