//! The messages to a partition's thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use skep_backup::Cut;
use skep_cluster::SurvivingCopy;
use skep_engine::{Evaluation, Prepared, Sent, StreamId};
use skep_protocol::command::Request;
use skep_protocol::{Key, Routing};
use skep_replication::{Change, Part};
use skep_service::Responder;
use skep_service::work::PartitionWork;
use skep_storage::log::{LogReader, Report as LogReport};
use tokio::sync::oneshot;

use crate::flow_control::{InboxPermit, Permit};
use crate::job_streams::Stream;
use crate::partition::QueryResult;
use crate::partition::checkpoint::CheckpointMeta;
use crate::partition::inbox::Inbox;
use crate::partition::parts::log_pins::LogPin;
use crate::partition::thread::Base;

/// All messages of the inbox.
#[derive(Debug)]
pub enum Message {
    Report(Report),
    Notice(Notice),
    Work(Work),
}

/// Takes precedence over everything else: answers wait for it, or the group does.
#[derive(Debug)]
pub enum Report {
    Log(LogReport),
    /// From a replica of the partition on another node.
    Replica {
        from: u64,
        message: skep_replication::Message,
        inbox_permit: InboxPermit,
    },
    /// Another node has been silent since then.
    NodeSilent {
        node: u32,
        since: Instant,
    },
    /// Nobody listens at the address of another node.
    Gone {
        node: u32,
    },
    CheckpointDone {
        /// The number of the capture.
        number: u64,
        result: Result<CheckpointMeta, String>,
    },
    /// A part of a snapshot was processed: there is room for another one.
    SnapshotTaken(Part),
    /// A snapshot is ready to be installed, or cannot be.
    SnapshotBuilt {
        arrival: u64,
    },
    /// Hand leadership to the first of these replicas that can lead.
    HandOver(Vec<u64>),
    /// Report what a cluster that has lost its majority needs to know about this replica.
    DescribeCopy(Sender<SurvivingCopy>),
    /// Report which jobs wait, as the leader.
    DescribeWork(oneshot::Sender<PartitionWork>),
    /// Report the base of a backup.
    DescribeBase(Sender<Result<Base, String>>),
    /// Keep the log after an entry until the pin is dropped, even on a nearly full disk if `required`, and report where to read it.
    KeepLog {
        behind: u64,
        required: bool,
        asker: Sender<(LogReader, LogPin)>,
    },
    /// Stop evaluating for a moment, and report where the log is cut.
    StandStill(Sender<Result<Cut, String>>),
    /// Resume, and report whether nothing was evaluated meanwhile.
    GoOn(Sender<bool>),
    /// Make a checkpoint now; the sender is notified when it is done.
    TakeSnapshot(Option<Sender<Result<(), String>>>),
    /// Check for work again: processing was resumed, or the clock was moved.
    Wake,
    Stop,
}

/// Kept in order with the work but processed at once, by leaders and followers.
#[derive(Debug)]
pub enum Notice {
    StreamOpened(Arc<Stream>),
    StreamClosed(StreamId),
    /// The cluster has agreed on another routing.
    Routing(Arc<Routing>),
    /// A copy of secondary storage has come from another node, or cannot be fetched.
    StoreArrived(Result<(), String>),
    /// Change the members of the group, as its leader, for this revision of the cluster's state.
    ChangeMembers {
        change: Change,
        plan: u64,
    },
}

/// Work that a leader evaluates in order of arrival, when there is room.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are requests: a box would be an allocation for each of them"
)]
pub enum Work {
    Request(ClientRequest),
    /// A command of another partition.
    Remote {
        command: Sent,
        prepared: Option<Box<Prepared>>,
    },
    /// A pushed job that was not delivered.
    Yield {
        key: Key,
        deadline: i64,
    },
    /// The items found after `after` for a batch operation.
    Chosen {
        key: Key,
        after: Key,
        answer: QueryResult,
    },
    /// A stream of this job type has credit again.
    StreamHasRoom(Arc<str>),
}

#[derive(Debug)]
pub struct ClientRequest {
    pub request: Request,
    pub responder: Responder,
    pub received: Instant,
    pub route: Duration,
    /// Its share of the inbox's capacity.
    pub inbox_permit: InboxPermit,
    /// `None`: it waits for something other than the partition.
    pub permit: Option<Permit>,
    /// The result of preparing the command before it came here.
    pub prepared: Option<Box<Prepared>>,
}

/// A client's request that asks for a long evaluation. It goes back into the inbox with the result.
#[derive(Debug)]
pub struct LongEvaluation {
    pub evaluation: Evaluation,
    pub request: ClientRequest,
    pub inbox: Inbox,
}

impl From<Report> for Message {
    fn from(report: Report) -> Message {
        Message::Report(report)
    }
}

impl From<Notice> for Message {
    fn from(notice: Notice) -> Message {
        Message::Notice(notice)
    }
}

impl From<Work> for Message {
    fn from(work: Work) -> Message {
        Message::Work(work)
    }
}

impl Work {
    /// Whether this is a request whose client is gone.
    pub fn is_abandoned(&self) -> bool {
        matches!(self, Work::Request(request) if request.responder.is_abandoned())
    }
}
