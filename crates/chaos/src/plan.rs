//! A plan: the steps, and the criteria that must hold. Plain data, written and read as YAML.

mod check;
mod criterion;
mod seed;
mod shown;
mod yaml;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::drivers::Network;
pub use criterion::{Criterion, Limit, Measure, Provided, Take, Window};

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    pub hypothesis: String,
    /// The cluster under test.
    #[serde(default)]
    pub nodes: Nodes,
    /// Refusals that contain these words are counted, as `refused-for.WORD`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Steps, in order.
    pub steps: Vec<Step>,
    /// After the last step: seconds in which all instances must end.
    #[serde(default = "drain")]
    pub drain_s: f64,
    pub criteria: Vec<Criterion>,
}

fn drain() -> f64 {
    60.0
}

/// Nodes on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Nodes {
    pub count: u32,
    pub partitions: u32,
    /// Further nodes, which are no members of the cluster and not started at first: `start` starts them, and `scale` makes them members.
    #[serde(skip_serializing_if = "is_none")]
    pub spare: u32,
    /// Further nodes without partitions, which serve clients and are started at first. Their numbers follow those of all others.
    #[serde(skip_serializing_if = "is_none")]
    pub gateways: u32,
    /// Settings of all nodes, by the names of docs/configuration.md.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Size in MiB of each node's private disk, which is in memory and ends with the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mib: Option<u64>,
    /// Number of cores dedicated to each node, which the rest of the run does not use; the first ones of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
    /// Maximum number of cores of each node, possibly a fraction, by a quota of CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// Kind of the nodes' secondary storage server. It is unavailable until a step says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreKind>,
    /// Whether nodes also export their records to a server of the run that takes everything, by an exporter with the name `sink`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sink: bool,
    /// If set, callers need tokens of the run's identity provider; each is valid for this many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_s: Option<u64>,
    /// Whether nodes take backups, to a directory of the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub backups: bool,
    /// Whether nodes have no numbers of their own but lease them from a bucket of an S3 server of the run. They share a data directory, and
    /// a node of the plan is a process, whatever its number is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub leases: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// The server that holds secondary storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    Postgres,
    Opensearch,
    Elasticsearch,
}

impl Nodes {
    /// The number of nodes that have partitions, or can get some.
    pub fn brokers(&self) -> u32 {
        self.count.saturating_add(self.spare)
    }

    /// The number of all nodes.
    pub fn all(&self) -> u32 {
        self.brokers().saturating_add(self.gateways)
    }

    /// Whether the node with this number has no partitions.
    pub fn is_gateway(&self, number: u32) -> bool {
        number >= self.brokers()
    }
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            count: 1,
            partitions: 1,
            spare: 0,
            gateways: 0,
            settings: BTreeMap::new(),
            disk_mib: None,
            cores: None,
            quota: None,
            store: None,
            sink: false,
            tokens_s: None,
            backups: false,
            leases: false,
        }
    }
}

/// An action at its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// Its name, to which windows of criteria refer; several steps may share a name.
    pub name: String,
    /// Seconds after the previous step was done.
    #[serde(default, skip_serializing_if = "criterion::is_zero")]
    pub after_s: f64,
    #[serde(rename = "do")]
    pub action: Action,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Action {
    /// Starts process instances at this rate, whatever the cluster does.
    Load(Rate),
    /// Starts instances at a rate that grows or falls evenly for this time, and then stays; done when it has begun.
    Ramp { from: Rate, to: Rate, over_s: f64 },
    /// As [`Self::Load`], but refused starts are not sent again, and the latency of an answer counts from its request: more than the cluster can do.
    Flood(Rate),
    /// Keeps [`SATURATED`] instances under way all the time, started and worked over this wire.
    Saturate(Wire),
    /// The same with another number of instances.
    SaturateWith { wire: Wire, instances: u32 },
    /// Starts no more instances.
    StopLoad,
    /// Starts the workers, or stops them.
    Workers(bool),
    /// How workers that start from now on get their jobs.
    Delivery(Delivery),
    /// Starts a further worker that takes jobs until it is full and never finishes one, or ends it.
    HungWorker(bool),
    /// The nodes that clients use which start from now on.
    Through(Through),
    /// `kill -9`.
    Kill(Who),
    /// SIGTERM; done when the node has ended.
    Stop(Who),
    /// SIGSTOP.
    Pause(Who),
    /// SIGCONT to all paused nodes.
    Resume,
    /// Starts all nodes that are down; done when they are ready.
    Start,
    /// Kills a node, erases its data and starts it again.
    Replace(Who),
    /// Takes a backup; done when it is complete. `STEP.seconds` is its duration, `STEP.kib-per-instance` its size divided by the number of
    /// instances created so far.
    Backup { limit_s: f64 },
    /// Kills all nodes and erases their data.
    Erase,
    /// Restores every node from the newest backup and starts it; done when an instance is completed again, or, without load, when all have
    /// started. `STEP.seconds` is the duration, `STEP.copied-seconds` the time until the data was restored.
    Restore { limit_s: f64 },
    /// Fills the node's private disk with a foreign file until this many MiB are left.
    Fill { who: Who, leave_mib: u64 },
    /// Deletes these files.
    Free,
    /// Limits a node to this many cores, possibly a fraction.
    Limit { who: Who, cores: f64 },
    /// Stops the node and starts it with at most this many MiB of memory.
    Memory { node: u32, mib: u64 },
    /// Stops the node and starts it with these settings in place of those of the same name.
    Settings {
        node: u32,
        settings: BTreeMap<String, String>,
    },
    /// Restarts the node on a disk with this additional delay of each flush; done when it has started.
    Disk { node: u32, late_ms: f64 },
    /// Makes the disk of a running node fail, as one on the network does.
    FailDisk { who: Who, how: DiskFault },
    /// Makes all disks work normally again.
    MendDisks,
    /// Lets this many programs beside the nodes each use as much of a core as they get; 0 ends them.
    Hog(u32),
    /// Slows down messages on a way through the network.
    Slow {
        way: Way,
        /// They arrive later by this much.
        #[serde(default, skip_serializing_if = "criterion::is_zero")]
        delay_ms: f64,
        /// At most this many KiB per second pass, on each link between two nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kib_per_s: Option<f64>,
        /// Again and again nothing passes for a while.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stall: Option<Stall>,
    },
    /// Cuts a way: its messages no longer arrive, but no connection ends.
    Cut(Way),
    /// Restores all ways to their original state.
    Heal,
    /// Makes the nodes' secondary storage server available, or unavailable.
    Store(StoreState),
    /// Makes the identity provider available, or unavailable.
    Issuer(IssuerState),
    /// Makes the bucket with the leases available, or unavailable.
    Bucket(BucketState),
    /// Requests this number of partitions, and of nodes if given: the first ones; done when the cluster has begun the change.
    Scale {
        partitions: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<u32>,
    },
    /// Cancels the cluster's pending change; done when the cluster has begun to.
    CancelChange,
    /// Sends a request to a node; `STEP.right` is 1 if the answer has the required status, `STEP.ms` its latency.
    Request(Request),
    /// Waits for a condition; `STEP.seconds` is the duration.
    Wait { until: Until, limit_s: f64 },
}

/// Instances under way at once while a cluster is saturated: with fewer, a slow flush would be measured.
pub const SATURATED: u32 = 256;

/// The interface by which clients reach the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    Http1,
    Http2,
    Grpc,
}

/// How workers get their jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// From job streams.
    Push,
    /// By long polling.
    Poll,
}

/// The nodes that clients use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Through {
    /// Each client uses all nodes.
    All,
    /// Each client uses all of these.
    Nodes(Vec<u32>),
    /// Each client uses this one, as it is when the step begins.
    Who(Who),
    /// One address, behind which each connection gets a node at random, as with a service of Kubernetes; REST only.
    Service,
}

/// A way that stands still at the beginning of each period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stall {
    pub for_ms: f64,
    pub every_ms: f64,
}

/// Instances per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rate {
    PerSecond(f64),
    /// Share of M, the maximum of this cluster on this machine, which is measured first.
    OfMaximum(f64),
}

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Who {
    /// By its number.
    Node(u32),
    /// The leader of this partition.
    LeaderOf(u32),
    /// A node that leads no partition.
    Follower,
}

/// A way through the network, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Way {
    /// From the nodes to the workers: jobs, and answers to requests of workers.
    ToWorkers,
    /// From all other nodes to this one.
    Into(Who),
    /// From this node to all others.
    OutOf(Who),
    /// Both directions.
    Around(Who),
}

/// State of the secondary storage server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum StoreState {
    /// It works normally.
    Serves,
    /// Nobody listens on its port.
    Stopped,
    /// Connections are accepted, but nothing is answered.
    Silent,
    /// All its messages, in both directions, are delayed by this much.
    Slow { delay_ms: u64 },
    /// It refuses the nodes' password.
    WrongPassword,
}

/// State of the identity provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IssuerState {
    /// It works normally.
    Serves,
    /// It closes every connection; the run still renews its tokens.
    Away,
    /// It signs tokens with another key from now on.
    OtherKey,
}

/// How a disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskFault {
    /// Each write and each flush ends with an error.
    Errors,
    /// No write and no flush ends.
    Hangs,
    /// It does not tell how much space is free.
    SpaceUnknown,
}

/// State of the bucket with the leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BucketState {
    /// It works normally.
    Serves,
    /// Nobody listens on the port of its server.
    Away,
}

/// A request to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Request {
    pub node: u32,
    /// Whether it goes to the management port, and not to the REST API.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub management: bool,
    pub method: String,
    pub path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The required status of the answer.
    pub status: u16,
    /// A text that the answer must contain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
}

/// The condition that a step waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Until {
    /// Every member answers, every partition has a leader, and the numbers of partitions that any two members lead differ by at most one.
    Even,
    /// Every number of a member is leased by a process that serves.
    Owned,
    /// The nodes whose disk fails lead no partition, by their own account.
    Relieved,
    /// At most this many instances are under way. Also yields `STEP.backlog`, the number at first, and, where M is known,
    /// `STEP.ideal-seconds`: backlog ÷ (M − rate).
    OpenAtMost(f64),
    /// Every member knows that this many partitions take part, and knows of no pending change.
    Partitions(u32),
    /// This many creations were acknowledged since the step began.
    Created(u64),
    /// The answer is as required.
    Answer(Request),
    /// `skep status`, asked of a node, prints this text.
    Status { who: Who, says: String },
    /// Since its start, a node has written this text to its log.
    Log { node: u32, says: String },
    /// Within a second, this share of the rate was acknowledged.
    RateIs(f64),
    /// Within a second, this share of the rate was completed.
    CompletionIs(f64),
}

impl Action {
    /// The node that it is about, if a step can name it in several manners.
    pub fn who(&self) -> Option<Who> {
        match self {
            Self::Kill(who)
            | Self::Stop(who)
            | Self::Pause(who)
            | Self::Replace(who)
            | Self::Fill { who, .. }
            | Self::Limit { who, .. }
            | Self::FailDisk { who, .. }
            | Self::Through(Through::Who(who))
            | Self::Slow {
                way: Way::Into(who) | Way::OutOf(who) | Way::Around(who),
                ..
            }
            | Self::Cut(Way::Into(who) | Way::OutOf(who) | Way::Around(who))
            | Self::Wait {
                until: Until::Status { who, .. },
                ..
            } => Some(*who),
            _ => None,
        }
    }

    /// Whether it sends a request that may change something: all but GET, and searches of the REST API.
    pub fn may_change(&self) -> bool {
        let (Self::Request(request)
        | Self::Wait {
            until: Until::Answer(request),
            ..
        }) = self
        else {
            return false;
        };
        let is_search = !request.management && request.path.ends_with("/search");
        request.method != "GET" && !is_search
    }

    /// Whether it changes the cluster itself, not only its load.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Kill(_)
            | Self::Stop(_)
            | Self::Pause(_)
            | Self::Resume
            | Self::Start
            | Self::Replace(_)
            | Self::Backup { .. }
            | Self::Erase
            | Self::Restore { .. }
            | Self::Fill { .. }
            | Self::Free
            | Self::Limit { .. }
            | Self::Memory { .. }
            | Self::Settings { .. }
            | Self::Disk { .. }
            | Self::FailDisk { .. }
            | Self::MendDisks
            | Self::Hog(_)
            | Self::Slow { .. }
            | Self::Cut(_)
            | Self::Heal
            | Self::Store(_)
            | Self::Issuer(_)
            | Self::Bucket(_)
            | Self::Scale { .. }
            | Self::CancelChange => true,
            Self::Load(_)
            | Self::Ramp { .. }
            | Self::Flood(_)
            | Self::Saturate(_)
            | Self::SaturateWith { .. }
            | Self::StopLoad
            | Self::Workers(_)
            | Self::Delivery(_)
            | Self::HungWorker(_)
            | Self::Through(_)
            | Self::Request(_)
            | Self::Wait { .. } => false,
        }
    }
}

/// The fault with the step or the criterion that has it: a plan has dozens of them.
fn placed(plan: &Value, why: &serde_json::Error) -> String {
    let list = |name: &str| {
        let list = plan.get(name).and_then(Value::as_array);
        (1..).zip(list.into_iter().flatten())
    };
    let of = |what: &str, number: usize, item: &Value, why: serde_json::Error| {
        let name = item.get("name").and_then(Value::as_str);
        let name = name.map_or_else(String::new, |name| format!(" ({name})"));
        format!("{what} {number}{name}: {why}")
    };
    let steps = list("steps");
    let mut faults = steps.filter_map(|(number, step)| {
        let why = Step::deserialize(step).err()?;
        Some(of("step", number, step, why))
    });
    let criteria = list("criteria");
    let mut others = criteria.filter_map(|(number, criterion)| {
        let why = Criterion::deserialize(criterion).err()?;
        Some(of("criterion", number, criterion, why))
    });
    let fault = faults.next().or_else(|| others.next());
    fault.unwrap_or_else(|| why.to_string())
}

impl Plan {
    /// Reads a plan and checks it.
    ///
    /// # Errors
    /// The text is not YAML or not a plan, or contradicts itself.
    pub fn from_yaml(text: &str) -> Result<Self, String> {
        let value = yaml::read(text)?;
        let plan = Self::deserialize(&value).map_err(|why| placed(&value, &why))?;
        plan.check()?;
        Ok(plan)
    }

    /// The plan as YAML.
    pub fn to_yaml(&self) -> String {
        serde_json::to_value(self).map_or_else(|_| String::new(), |value| yaml::write(&value))
    }

    /// Whether M must be measured.
    pub fn needs_maximum(&self) -> bool {
        let is_share = |rate: &Rate| matches!(rate, Rate::OfMaximum(_));
        self.steps.iter().any(|step| match &step.action {
            Action::Load(rate) | Action::Flood(rate) => is_share(rate),
            Action::Ramp { from, to, .. } => is_share(from) || is_share(to),
            _ => false,
        })
    }

    /// Whether instances must be searched for once created, since a criterion is about that.
    pub fn looks_for_instances(&self) -> bool {
        self.is_about(&["found-", "own-writes"])
    }

    /// Whether readers must search at each node all the time, since a criterion is about that.
    pub fn has_readers(&self) -> bool {
        self.is_about(&["totals-fell", "keys-vanished", "search-p99-ms"])
    }

    /// Whether a criterion uses a series with one of these prefixes.
    fn is_about(&self, series: &[&str]) -> bool {
        let mut measures = self.criteria.iter().map(|criterion| &criterion.measure);
        measures.any(|measure| series.iter().any(|it| measure.of.starts_with(it)))
    }

    /// The ways changed by its steps.
    pub fn network(&self) -> Network {
        let ways = self.steps.iter().filter_map(|step| match step.action {
            Action::Slow { way, .. } | Action::Cut(way) => Some(way),
            _ => None,
        });
        let (workers, nodes): (Vec<Way>, Vec<Way>) = ways.partition(|way| *way == Way::ToWorkers);
        let mut actions = self.steps.iter().map(|step| &step.action);
        Network {
            workers: !workers.is_empty(),
            nodes: !nodes.is_empty(),
            service: actions.any(|it| *it == Action::Through(Through::Service)),
        }
    }

    /// Its maximum duration, and its duration without any waiting, in seconds.
    pub fn lengths(&self) -> (f64, f64) {
        let pauses: f64 = self.steps.iter().map(|step| step.after_s).sum();
        let waits = self.steps.iter().map(|step| match &step.action {
            Action::Wait { limit_s, .. }
            | Action::Backup { limit_s }
            | Action::Restore { limit_s } => *limit_s,
            _ => 0.0,
        });
        (pauses + waits.sum::<f64>() + self.drain_s, pauses)
    }
}
