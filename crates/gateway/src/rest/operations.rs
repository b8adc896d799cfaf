//! The operations of the API, one row each. Operations of this release are in the file of their tag; operations that it
//! knows but answers with 501 are in [`missing`].

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use skep_protocol::command::{Need, Row};
use skep_protocol::origin::Claims;
use skep_query::Entity;

use self::path::{MAX_PARAMETERS, Parameter, Texts};
use super::RestBody;
use super::decode::Decoded;
use super::problem::Problem;
use super::queries::What;
use crate::admission::Purpose;
use crate::call::FrontEnd;

mod audit_log;
mod batch_operations;
mod clock;
mod cluster;
mod cluster_variables;
mod decisions;
mod deployments;
mod documents;
mod element_instances;
mod events;
mod expressions;
mod forms;
mod identity;
mod incidents;
mod jobs;
mod kept;
mod missing;
pub mod path;
mod process_definitions;
mod process_instances;
mod resources;
mod rows;
mod system;
mod user_tasks;
mod variables;

use events::{conditional_events, messages, signals};
use identity::{
    authentication, authorizations, groups, mapping_rules, roles, setup, tenants, users,
};
use system::management;

/// The tables, in the order in which documents show them.
const TABLES: &[&[Operation]] = &[
    cluster::ROWS,
    system::ROWS,
    management::ROWS,
    deployments::ROWS,
    resources::ROWS,
    process_definitions::ROWS,
    process_instances::ROWS,
    element_instances::ROWS,
    variables::ROWS,
    jobs::ROWS,
    user_tasks::ROWS,
    forms::ROWS,
    incidents::ROWS,
    messages::ROWS,
    signals::ROWS,
    conditional_events::ROWS,
    decisions::ROWS,
    batch_operations::ROWS,
    cluster_variables::ROWS,
    documents::ROWS,
    expressions::ROWS,
    audit_log::ROWS,
    kept::ROWS,
    clock::ROWS,
    authentication::ROWS,
    setup::ROWS,
    users::ROWS,
    groups::ROWS,
    roles::ROWS,
    tenants::ROWS,
    mapping_rules::ROWS,
    authorizations::ROWS,
    missing::ROWS,
];

/// Every method and path whose answer is not 404 or 405.
pub static OPERATIONS: [Operation; COUNT] = joined();

pub const COUNT: usize = {
    let (mut count, mut tables) = (0, TABLES);
    while let [table, others @ ..] = tables {
        count += table.len();
        tables = others;
    }
    count
};

const fn joined() -> [Operation; COUNT] {
    let [[first, ..], ..] = TABLES else {
        panic!("there are operations")
    };
    let mut all = [*first; COUNT];
    let (mut places, mut tables): (&mut [Operation], _) = (&mut all, TABLES);
    while let [table, others @ ..] = tables {
        let mut rows = *table;
        while let [row, rest @ ..] = rows {
            let [place, left @ ..] = places else {
                panic!("there are as many places as rows");
            };
            *place = *row;
            places = left;
            rows = rest;
        }
        tables = others;
    }
    all
}

#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its part of the API: `openapi/` has a file for each.
    pub tag: &'static str,
    pub method: &'static str,
    /// Template; `{name}` represents one segment.
    pub path: &'static str,
    pub parameters: &'static [Parameter],
    pub id: &'static str,
    pub does: Does,
    pub needs: Needs,
    /// The equivalent rpcs.
    pub rpcs: &'static [&'static str],
}

/// How an operation is carried out.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// The gateway answers from its own state.
    Answer(fn(&FrontEnd) -> Response<RestBody>),
    /// The gateway answers the caller from its own state about them.
    AnswerCaller(fn((&FrontEnd, &Claims)) -> Response<RestBody>),
    /// The broker carries out the command of this row.
    Command {
        row: Row,
        takes: Takes,
        decode: fn(&Call<'_>) -> Result<Decoded, Problem>,
    },
    /// A query to secondary storage.
    Query {
        /// The entity that the query is about.
        entity: &'static Entity,
        decode: fn(&Call<'_>) -> Result<What, Problem>,
    },
    /// A query to secondary storage for the kinds of rows that have changed.
    Pulse,
    /// All nodes answer from their own state.
    AskNodes(super::nodes::NodesQuery),
    /// The endpoints of the management port.
    Manage,
    /// The document stores, without the broker.
    Document(super::documents::Operation),
    /// An operation of the API that this release does not carry out.
    NotYet,
}

/// The permission that the caller must have.
#[derive(Clone, Copy, Debug)]
pub enum Needs {
    /// The permission that the resulting command requires.
    OfCommand,
    Stated(&'static Need<'static>),
    /// It is not carried out for anybody.
    NotYet,
}

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Json,
    /// Files in parts of it.
    Files,
}

/// A request whose operation and body are known.
#[derive(Clone, Copy)]
pub struct Call<'r> {
    pub path: Texts<'r>,
    pub bytes: &'r Bytes,
    /// The body, unless it is of files.
    pub text: &'r str,
    pub parts: &'r Parts,
    pub front: &'r FrontEnd,
}

impl Operation {
    /// Fails the build if a row contradicts itself.
    const fn checked(self) -> Operation {
        assert!(
            path::are_those_of(self.parameters, self.path),
            "the parameters are those of the path, in its order"
        );
        assert!(
            self.parameters.len() <= MAX_PARAMETERS,
            "MAX_PARAMETERS is too low"
        );
        self
    }

    /// Its purpose at the gate.
    pub fn purpose(&self) -> Purpose {
        match &self.does {
            Does::Command { row, .. } => Purpose::Command(row.class),
            _ => Purpose::Question,
        }
    }

    pub fn takes(&self) -> Takes {
        match self.does {
            Does::Command { takes, .. } => takes,
            Does::Document(document) => document.takes(),
            Does::Answer(_)
            | Does::AnswerCaller(_)
            | Does::Query { .. }
            | Does::Pulse
            | Does::AskNodes(_)
            | Does::Manage
            | Does::NotYet => Takes::Json,
        }
    }

    /// Whether everybody may call it, even if callers must authenticate.
    pub fn is_open(&self) -> bool {
        const OPEN: [&str; 5] = [
            "getLicense",
            "getStatus",
            "getClusterStatus",
            "createAdminUser",
            "getOpenApi",
        ];
        OPEN.contains(&self.id)
    }

    /// Whether the answer of a query depends on who asks, and not only on what they may see.
    pub fn is_about_caller(&self) -> bool {
        matches!(self.needs, Needs::Stated(Need::Nothing))
    }

    /// Whether this release implements it.
    pub fn is_there(&self) -> bool {
        !matches!(self.does, Does::NotYet)
    }
}

impl Takes {
    pub fn content_type(self) -> &'static str {
        match self {
            Takes::Json => "application/json",
            Takes::Files => "multipart/form-data",
        }
    }
}

/// The row of a command. Evaluated at compile time: a name without a row fails the build.
const fn row(rows: &[Row], name: &str) -> Row {
    let mut rest = rows;
    while let [row, others @ ..] = rest {
        if is(row.name.as_bytes(), name.as_bytes()) {
            return *row;
        }
        rest = others;
    }
    panic!("no command has this name")
}

const fn is(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([a, one_rest @ ..], [b, other_rest @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (one_rest, other_rest);
    }
    one.is_empty() && other.is_empty()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::grpc::rpcs::RPCS;

    #[test]
    fn an_operation_stands_in_the_table_once() {
        let mut ids = BTreeSet::new();
        let mut requests = BTreeSet::new();
        for operation in &OPERATIONS {
            assert!(ids.insert(operation.id), "{} stands twice", operation.id);
            let request = (operation.method, operation.path);
            assert!(requests.insert(request), "{request:?} stands twice");
        }
        assert_eq!(OPERATIONS.first().map(|o| o.id), Some("getTopology"));
        assert_eq!(OPERATIONS.last().map(|o| o.id), Some("resolveSecrets"));
    }

    #[test]
    fn every_implemented_operation_states_the_permission_it_needs() {
        for operation in &OPERATIONS {
            let is_stated = match (operation.does, operation.needs) {
                (Does::NotYet, Needs::NotYet) => true,
                (Does::Command { .. }, Needs::OfCommand) => true,
                // All other operations are available to clients.
                (Does::NotYet, _) | (_, Needs::OfCommand | Needs::NotYet) => false,
                (_, Needs::Stated(need)) => !matches!(need, Need::Internal),
            };
            assert!(is_stated, "{operation:?}");
        }
    }

    #[test]
    fn the_rpcs_of_rows_are_those_of_the_service() {
        let rows = OPERATIONS.iter().flat_map(|o| o.rpcs.iter().copied());
        let of_rows: Vec<&str> = rows.collect();
        let each: BTreeSet<&str> = of_rows.iter().copied().collect();
        assert_eq!(each, RPCS.iter().map(|rpc| rpc.name).collect());
        assert_eq!(each.len(), of_rows.len(), "an rpc does one operation");
    }

    /// The numbers of operations in the README are written by hand.
    #[test]
    fn the_readme_counts_the_operations() {
        const README: &str = include_str!("../../../../README.md");
        const OWN: [&str; 33] = [
            "getOpenApi",
            "getPulse",
            "getMonitor",
            "getProcessDefinitionDurations",
            "getProcessDefinitionActiveElements",
            "getProcessDefinitionStartTimers",
            "getBatchOperationRequest",
            "getOverdueElements",
            "getJobTypes",
            "getNodeStates",
            "getClusterState",
            "changeCluster",
            "getClusterChanges",
            "cancelClusterChange",
            "rebalanceCluster",
            "getExporters",
            "enableExporter",
            "disableExporter",
            "pauseExporters",
            "resumeExporters",
            "getBackups",
            "takeBackup",
            "getBackupState",
            "deleteBackup",
            "getConfigurationProperties",
            "streamJobs",
            "getProcessInstanceWaitingStates",
            "getProcessInstanceDiagnosis",
            "checkDeployment",
            "listKept",
            "getKept",
            "putKept",
            "deleteKept",
        ];
        let there = OPERATIONS.iter().filter(|operation| operation.is_there());
        let (own, of_camunda): (Vec<&Operation>, Vec<&Operation>) =
            there.partition(|o| OWN.contains(&o.id));
        assert_eq!(own.len(), OWN.len(), "{own:?}");
        let count = of_camunda.len();
        let sentence = format!("{count} operations of the Camunda 8 REST API and 33 of Skep's own");
        assert!(README.contains(&sentence), "README.md lacks: {sentence}");
    }
}
