//! Searches that have been validated against their entity.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::cursor::Cursor;
use crate::entity::Entity;
use crate::value::Value;
use crate::wire;

/// Maximum page size.
pub const MAX_LIMIT: u32 = 10_000;

/// Maximum end of a page that starts at an offset. Cursors can go beyond it.
pub const MAX_WINDOW: u32 = 10_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Search {
    #[serde(with = "wire::entity")]
    pub entity: &'static Entity,
    pub filter: Conditions,
    /// Alternatives, one of which must hold in addition to the filter; empty: no restriction.
    pub any_of: Vec<Conditions>,
    /// Sort fields. The key breaks ties.
    pub sort: Vec<Sort>,
    pub page: Page,
    /// Whether rows contain all fields, not only those that lists show.
    pub details: bool,
    /// Whether long texts are complete instead of previews.
    pub whole_texts: bool,
}

/// Conditions that must all hold.
pub type Conditions = Vec<Condition>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Condition {
    /// A condition on the field with this index.
    Field { field: usize, op: Op },
    /// A list of texts (a JSON array) has an item that satisfies the operator.
    Item { field: usize, op: Op },
    /// The row belongs to this process or element instance, to anything inside it, or to instances called from it.
    Within { field: usize, key: Key },
    /// All conditions of at least one alternative hold.
    Any(Vec<Conditions>),
    /// There is a row of another entity whose `link` equals our `own` and for which the conditions hold.
    Related(Box<Related>),
}

#[derive(Clone, Debug)]
pub struct Related {
    pub entity: &'static Entity,
    pub own: &'static str,
    pub link: &'static str,
    pub conditions: Conditions,
}

impl PartialEq for Related {
    fn eq(&self, other: &Related) -> bool {
        std::ptr::eq(self.entity, other.entity)
            && (self.own, self.link) == (other.own, other.link)
            && self.conditions == other.conditions
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    Eq(Value),
    Neq(Value),
    Exists(bool),
    Gt(Value),
    Gte(Value),
    Lt(Value),
    Lte(Value),
    In(Vec<Value>),
    NotIn(Vec<Value>),
    /// `*` matches any run of characters, `?` matches one, and a backslash escapes.
    Like(Arc<str>),
}

impl Op {
    /// Whether it matches every row, even those that lack the field.
    pub fn says_nothing(&self) -> bool {
        matches!(self, Op::NotIn(values) if values.is_empty())
    }

    /// Whether it holds for a value that is present.
    pub fn holds_for(&self, value: &Value) -> bool {
        let order = |other: &Value| (*other != Value::Null).then(|| value.compare(other, false));
        match self {
            Op::Eq(other) => value == other,
            Op::Neq(other) => value != other,
            Op::Exists(exists) => *exists,
            Op::Gt(other) => order(other).is_some_and(Ordering::is_gt),
            Op::Gte(other) => order(other).is_some_and(Ordering::is_ge),
            Op::Lt(other) => order(other).is_some_and(Ordering::is_lt),
            Op::Lte(other) => order(other).is_some_and(Ordering::is_le),
            Op::In(others) => others.contains(value),
            Op::NotIn(others) => !others.contains(value),
            Op::Like(pattern) => value.as_text().is_some_and(|text| is_like(text, pattern)),
        }
    }
}

/// Whether a text matches a pattern. Tracks the text positions reached by the pattern so far, so the time is bounded by the
/// product of the two lengths.
fn is_like(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut reached = vec![false; text.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    let mut pattern = pattern.chars();
    while let Some(sign) = pattern.next() {
        let (sign, is_literal) = match sign {
            '\\' => (pattern.next().unwrap_or('\\'), true),
            sign => (sign, false),
        };
        if sign == '*' && !is_literal {
            let mut any = false;
            for place in &mut reached {
                any |= *place;
                *place = any;
            }
            continue;
        }
        let fits = |c: &char| *c == sign || (sign == '?' && !is_literal);
        let next = reached.iter().zip(&text).map(|(here, c)| *here && fits(c));
        reached = std::iter::once(false).chain(next).collect();
    }
    reached.last().copied().unwrap_or_default()
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sort {
    pub field: usize,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub limit: u32,
    pub start: Start,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Start {
    Offset(u32),
    After(Cursor),
    /// The page that ends before this row. Its rows are still in sort order.
    Before(Cursor),
}

/// Maximum numbers of alternatives and conditions on related entities in an ordinary search.
const FEW_ALTERNATIVES: usize = 32;
const FEW_RELATED: usize = 8;

impl Search {
    /// Whether it does so much per row that it may take as long as many others.
    pub fn is_costly(&self) -> bool {
        let all = self.any_of.iter().flatten().chain(&self.filter);
        let related = all.filter(|condition| matches!(condition, Condition::Related(_)));
        self.any_of.len() > FEW_ALTERNATIVES || related.count() > FEW_RELATED
    }

    /// All rows of an entity that match the conditions, sorted by key, up to a page limit.
    pub fn all(entity: &'static Entity, filter: Conditions, limit: u32) -> Search {
        Search {
            entity,
            filter,
            any_of: Vec::new(),
            sort: Vec::new(),
            page: Page {
                limit,
                start: Start::Offset(0),
            },
            details: false,
            whole_texts: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_any_run_and_any_character() {
        let like =
            |text: &str, pattern: &str| Op::Like(pattern.into()).holds_for(&Value::text(text));
        for pattern in [
            "JOB", "*", "J*", "*B", "J?B", "*O*", "???", "J\\OB", "**J**OB*",
        ] {
            assert!(like("JOB", pattern), "{pattern}");
        }
        for pattern in ["", "job", "JO", "J?", "????", "\\*", "J\\?B", "*X*", "JOB?"] {
            assert!(!like("JOB", pattern), "{pattern}");
        }
        assert!(like("a*\\", r"a\*\"), "a backslash at the end is one");
        assert!(like("", "") && like("", "*") && !like("", "?"));
        assert!(!like(
            &"a".repeat(2_000),
            &format!("{}b", "*a".repeat(1_000))
        ));
    }

    #[test]
    fn operators_compare_present_values() {
        let (two, three) = (Value::Int(2), Value::Int(3));
        for (op, for_two) in [
            (Op::Eq(two.clone()), true),
            (Op::Neq(two.clone()), false),
            (Op::Exists(true), true),
            (Op::Exists(false), false),
            (Op::Gt(two.clone()), false),
            (Op::Gte(two.clone()), true),
            (Op::Lt(three.clone()), true),
            (Op::Lte(three.clone()), true),
            (Op::Gt(Value::Null), false),
            (Op::Lt(Value::Null), false),
            (Op::In(vec![three.clone(), two.clone()]), true),
            (Op::In(Vec::new()), false),
            (Op::NotIn(vec![two.clone()]), false),
            (Op::NotIn(vec![three]), true),
        ] {
            assert_eq!(op.holds_for(&two), for_two, "{op:?}");
        }
    }
}
