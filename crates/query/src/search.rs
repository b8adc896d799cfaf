//! A search, checked against its entity.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::cursor::Cursor;
use crate::entity::Entity;
use crate::value::Value;
use crate::wire;

/// Rows of a page at most.
pub const MAX_LIMIT: u32 = 10_000;

/// A page that is named by its offset ends here; cursors go on.
pub const MAX_WINDOW: u32 = 10_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Search {
    #[serde(with = "wire::entity")]
    pub entity: &'static Entity,
    pub filter: Conditions,
    /// One of these must hold beside the filter; empty: nothing more is asked.
    pub any_of: Vec<Conditions>,
    /// The key decides between rows that are equal in all of these.
    pub sort: Vec<Sort>,
    pub page: Page,
    /// Rows have everything that is known, not only what lists show.
    pub details: bool,
    /// Long texts are given whole instead of as previews.
    pub whole_texts: bool,
}

/// Conditions that must all hold.
pub type Conditions = Vec<Condition>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Condition {
    /// The field at this place.
    Field { field: usize, op: Op },
    /// A list of texts (a JSON array) has an item of which this holds.
    Item { field: usize, op: Op },
    /// The row belongs to this process or element instance, or to what is inside of it or was called from there.
    Within { field: usize, key: Key },
    /// One of these holds, all of its conditions.
    Any(Vec<Conditions>),
    /// A row of another entity exists whose `link` is our `own` and for which the conditions hold.
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
    /// `*` any run, `?` one character, backslash escapes.
    Like(Arc<str>),
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
    /// The page that ends before this row; its rows come in the order of the sort all the same.
    Before(Cursor),
}

impl Search {
    /// All rows of an entity for which the conditions hold, up to a page, by key.
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
