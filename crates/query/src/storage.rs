//! The interface to stores.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::entity::Entity;
use crate::groups::Groups;
use crate::pulse::Pulse;
use crate::search::Search;
use crate::value::Value;
use crate::wire;

/// A row: the values of all fields of its entity, in order.
pub type Row = Vec<Value>;

/// A query to a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Query {
    Search(Search),
    Get {
        #[serde(with = "wire::entity")]
        entity: &'static Entity,
        key: Key,
    },
    /// The sequence flows that a process instance has taken.
    SequenceFlows {
        process_instance_key: Key,
    },
    /// Measures of groups of rows.
    Groups(Groups),
    /// Number of active, completed, terminated and incident instances of each element, over all instances of a process
    /// definition.
    DefinitionStatistics {
        process_definition_key: Key,
    },
    /// Number of active, completed, terminated and incident instances of each element.
    ElementStatistics {
        process_instance_key: Key,
    },
}

impl Query {
    /// Whether it does so much per row that it may take as long as many other queries.
    pub fn is_costly(&self) -> bool {
        match self {
            Query::Search(search) => search.is_costly(),
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Page(ResultPage),
    /// `None`: there is no such row.
    Row(Option<Row>),
    /// Rows without pages; the columns depend on the query.
    Rows(Vec<Row>),
}

/// A page of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultPage {
    pub rows: Vec<Row>,
    /// Number of matches, up to the maximum that is counted.
    pub total: u64,
    /// There are more than `total` matches.
    pub more: bool,
}

/// Whether an answer must include everything acknowledged before the query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consistency {
    /// It must. The query waits for the store, within limits.
    #[default]
    ReadYourWrites,
    /// The answer contains what is stored now.
    Eventual,
}

/// Reasons why a store did not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum QueryError {
    /// Secondary storage is disabled.
    #[error(
        "Secondary storage is off (camunda.data.secondary-storage.type is 'none'), so that nothing can be searched. Turn it on \
         and start the node again."
    )]
    Disabled,
    #[error("{0}")]
    Unavailable(String),
    #[error(
        "The query took longer than the {seconds} s that one may take. Narrow it down with filters, or ask for smaller pages."
    )]
    TooLong { seconds: u64 },
    #[error(
        "The answer would have more than {mebibytes} MiB. Ask for a smaller page, or leave 'truncateValues' out."
    )]
    TooLarge { mebibytes: usize },
    #[error("The statistics would have more than {groups} groups. Narrow them down with a filter.")]
    TooMany { groups: usize },
    #[error(
        "A pattern ('$like') has more '*' and '?' than the search server of secondary storage can look for. Use fewer of them."
    )]
    TooComplex,
    #[error(
        "More queries than can be answered at a time wait already. Send this one again after a moment."
    )]
    Busy,
}

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers queries over all partitions.
pub trait Storage: Send + Sync + 'static {
    /// Whether there is no storage, so that every query is refused with [`QueryError::Disabled`].
    fn is_off(&self) -> bool {
        false
    }

    /// Returns the answer, and how many milliseconds of acknowledged history it lacks; 0 if it is complete.
    fn query(
        &self,
        query: Query,
        consistency: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>>;

    /// The current pulse, to be compared with an earlier one. A storage that does not count changes returns an unknown pulse.
    fn pulse(&self) -> BoxFuture<'_, Pulse> {
        Box::pin(async { Pulse::unknown() })
    }
}
