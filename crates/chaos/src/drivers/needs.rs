//! Requirements of a plan on the machine, found by trying.

use skep_testbed::{Product, SearchServer};

use super::group::Limit;
use super::{cores, disk, faults};
use crate::plan::{Action, Plan, StoreKind};

/// A feature that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Mounts,
    Postgres,
    OpenSearch,
    Elasticsearch,
    S3,
    Strace,
    /// `strace` attaches to running programs.
    Attach,
    ControlGroups,
    Memory,
    Cores,
}

impl Need {
    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mounts => "mounts",
            Self::Postgres => "postgres",
            Self::OpenSearch => "opensearch",
            Self::Elasticsearch => "elasticsearch",
            Self::S3 => "s3",
            Self::Strace => "strace",
            Self::Attach => "strace -p",
            Self::ControlGroups => "cgroups",
            Self::Memory => "memory",
            Self::Cores => "cores",
        }
    }

    /// Why this machine lacks it.
    fn lack(self, plan: &Plan) -> Option<&'static str> {
        let (has, why) = match self {
            Self::Mounts => (
                disk::mounts_are_permitted(),
                "this machine does not let a file system be mounted (`unshare --mount`)",
            ),
            Self::Postgres => (
                skep_testbed::Postgres::is_installed(),
                "PostgreSQL is not installed (apt-get install postgresql)",
            ),
            Self::OpenSearch => (
                SearchServer::is_installed(Product::OpenSearch),
                "OpenSearch is not installed in the repository (.ci/setup stores)",
            ),
            Self::Elasticsearch => (
                SearchServer::is_installed(Product::Elasticsearch),
                "Elasticsearch is not installed in the repository (.ci/setup stores)",
            ),
            Self::S3 => (
                skep_testbed::S3Server::is_installed(),
                "versitygw, a server of S3, is not installed (go install github.com/versity/versitygw/cmd/versitygw@v1.8.0)",
            ),
            Self::Strace => (
                disk::flushes_can_be_late(),
                "strace is not installed (apt-get install strace), or may not trace programs here",
            ),
            Self::Attach => (
                faults::can_be_injected(),
                "strace is not installed (apt-get install strace), or may not attach to running programs here",
            ),
            Self::ControlGroups => (
                Limit::Cores(0.5).is_permitted(),
                "this machine does not let a control group with a quota of CPU be made",
            ),
            Self::Memory => (
                Limit::Memory { mib: 64 }.is_permitted(),
                "this machine does not let a control group with a limit of memory be made",
            ),
            Self::Cores => (
                cores::suffice(&plan.nodes),
                "the nodes and their clients need more cores than this machine lets them have",
            ),
        };
        (!has).then_some(why)
    }
}

/// The requirements of a plan.
pub fn needs(plan: &Plan) -> Vec<Need> {
    let nodes = &plan.nodes;
    let does = |is: fn(&Action) -> bool| plan.steps.iter().any(|step| is(&step.action));
    let is_limited = nodes.quota.is_some() || does(|it| matches!(it, Action::Limit { .. }));
    let is = |kind| nodes.store == Some(kind);
    let needs = [
        (nodes.disk_mib.is_some(), Need::Mounts),
        (is(StoreKind::Postgres), Need::Postgres),
        (is(StoreKind::Opensearch), Need::OpenSearch),
        (is(StoreKind::Elasticsearch), Need::Elasticsearch),
        (nodes.leases, Need::S3),
        (does(|it| matches!(it, Action::Disk { .. })), Need::Strace),
        (
            does(|it| matches!(it, Action::FailDisk { .. })),
            Need::Attach,
        ),
        (is_limited, Need::ControlGroups),
        (does(|it| matches!(it, Action::Memory { .. })), Need::Memory),
        (nodes.cores.is_some() || nodes.quota.is_some(), Need::Cores),
    ];
    let needs = needs.into_iter().filter(|(is_needed, _)| *is_needed);
    needs.map(|(_, need)| need).collect()
}

/// The first requirement of a plan that this machine does not meet, as a text.
pub fn missing(plan: &Plan) -> Option<&'static str> {
    needs(plan).into_iter().find_map(|need| need.lack(plan))
}
