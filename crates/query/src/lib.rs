//! Searches of the API.
//!
//! Each entity of the API is described once, in a file of [`entities`]: its fields, their types, which filter operators and
//! sorts they take. From this follow the tables of the store, the filters and sorts that requests may name, the cursors and
//! the JSON of the answers. This crate has no IO: a store ([`Storage`]) finds rows, [`merge`] joins those of several
//! partitions, [`answer`] writes them.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod access;
mod active_elements;
mod active_instances;
pub mod answer;
mod cursor;
pub mod durations;
pub mod entities;
mod entity;
mod everything;
pub mod groups;
mod latest;
pub mod merge;
mod parse;
pub mod pulse;
mod search;
pub mod selection;
mod spellings;
mod storage;
mod time;
mod value;
mod wire;

pub use active_elements::ActiveElements;
pub use active_instances::{ActiveInstances, ActiveMeasure, COUNTED_BY};
pub use cursor::Cursor;
pub use durations::Durations;
pub use entity::{Entity, Field, Indexed, Kind, Leaves, Merged, Ops, RelatedFilter};
pub use groups::{Groups, Measure};
pub use parse::{BadRequest, key, search};
pub use pulse::{Pulse, StorePulse};
pub use search::{
    Condition, Conditions, MAX_LIMIT, MAX_WINDOW, Op, Page, Related, Search, Sort, Start,
};
pub use storage::{Answer, BoxFuture, Consistency, Query, QueryError, ResultPage, Row, Storage};
pub use time::{parse as parse_time, render as render_time, span as parse_span};
pub use value::Value;
pub use wire::fingerprint;
