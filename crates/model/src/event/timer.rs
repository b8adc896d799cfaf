//! Timer event definitions: exactly one of date, duration and cycle.

use crate::context::Context;
use crate::error::{Rule, abbreviate};
use crate::graph::{TextValue, Timer};
use crate::timer_value::{self, Cycle};
use crate::value;
use crate::xml::{self, Node, bpmn_name};

/// Whether a position can repeat.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Cycles {
    Allowed,
    Refused,
}

impl Cycles {
    /// An interrupting event happens only once.
    pub(crate) fn unless(interrupting: Option<bool>) -> Cycles {
        match interrupting {
            Some(false) => Cycles::Allowed,
            _ => Cycles::Refused,
        }
    }
}

pub(crate) fn parse<'x>(
    definition: Node<'x>,
    cycles: Cycles,
    context: &mut Context<'_, 'x>,
) -> Option<Timer> {
    let is_value = |child: &Node<'x>| {
        matches!(
            bpmn_name(*child),
            Some("timeDate" | "timeDuration" | "timeCycle")
        )
    };
    let values: Vec<Node<'x>> = definition.children().filter(is_value).collect();
    let [value] = values[..] else {
        context.add(
            definition,
            Rule::TimerInvalid,
            format!(
                "A timer must have exactly one of date, duration and cycle, but has {}",
                values.len()
            ),
        );
        return None;
    };
    let text = xml::text(value);
    if text.is_empty() {
        context.add(
            value,
            Rule::TimerInvalid,
            "The value of the timer is empty. Give it one, for instance the duration PT15M",
        );
        return None;
    }
    let text = value::text_value(value, "The value of the timer", &text, context.findings)?;
    let (timer, problem) = match bpmn_name(value) {
        Some("timeDate") => (
            Timer::Date(text.clone()),
            check(&text, timer_value::parse_date),
        ),
        Some("timeDuration") => (
            Timer::Duration(text.clone()),
            check(&text, timer_value::parse_duration),
        ),
        _ if cycles == Cycles::Refused => {
            context.add(value, Rule::TimerInvalid, "A timer cycle is possible only on events that do not interrupt. Use a date or a duration here, or make the event non-interrupting");
            return None;
        }
        _ => (Timer::Cycle(text.clone()), check(&text, Cycle::parse)),
    };
    if let Some(problem) = problem {
        context.add(value, Rule::TimerInvalid, problem);
        return None;
    }
    Some(timer)
}

/// Constant values must be readable; expressions are read when the timer is set.
fn check<T>(
    text: &TextValue,
    parse: impl Fn(&str) -> Result<T, timer_value::InvalidTimerValue>,
) -> Option<String> {
    match text {
        TextValue::Static(text) => parse(text).err().map(|error| {
            format!(
                "The timer value '{}' is not valid: {error}",
                abbreviate(text)
            )
        }),
        TextValue::Expression(_) => None,
    }
}
