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

use crate::asking::QueryResult;
use crate::flow_control::{Permit, Place};
use crate::job_streams::Stream;
use crate::partition::checkpoint::CheckpointMeta;
use crate::partition::inbox::Inbox;
use crate::partition::parts::log_pins::LogPin;
use crate::partition::thread::Base;

/// Everything that can be in the inbox.
#[derive(Debug)]
pub enum Message {
    Report(Report),
    Notice(Notice),
    Work(Work),
}

/// Goes ahead of everything else: answers wait for it, or the group does.
#[derive(Debug)]
pub enum Report {
    Log(LogReport),
    /// From a replica of the partition on another node.
    Replica {
        from: u64,
        message: skep_replication::Message,
        permit: Permit,
    },
    /// Another node gives no signs of life since then.
    NotHeard {
        node: u32,
        since: Instant,
    },
    /// Nobody listens at the address of another node.
    Gone {
        node: u32,
    },
    CheckpointDone {
        /// Which capture it was.
        number: u64,
        result: Result<CheckpointMeta, String>,
    },
    /// A part of a snapshot was built in: there is room for another one.
    SnapshotTaken(Part),
    /// A snapshot is ready to be installed, or cannot be.
    SnapshotBuilt {
        arrival: u64,
    },
    /// Let one of these replicas lead, the first that can.
    HandOver(Vec<u64>),
    /// Tell what a cluster that has lost its majority has to know of this replica.
    Tell(Sender<SurvivingCopy>),
    /// Tell which jobs wait, as the leader.
    TellWork(oneshot::Sender<PartitionWork>),
    /// Tell what a backup begins with.
    TellBase(Sender<Result<Base, String>>),
    /// Keep the log behind an entry until the pin is dropped, and tell where to read it.
    KeepLog {
        behind: u64,
        asker: Sender<(LogReader, LogPin)>,
    },
    /// Evaluate nothing for a moment, and tell where the log is cut.
    StandStill(Sender<Result<Cut, String>>),
    /// Go on, and tell whether nothing was evaluated meanwhile.
    GoOn(Sender<bool>),
    /// Make a checkpoint now; the sender hears when it is done.
    TakeSnapshot(Option<Sender<Result<(), String>>>),
    /// Look again: processing goes on, or the clock was moved.
    Wake,
    Stop,
}

/// Comes in the order of the work, and is heeded at once, by leaders and followers.
#[derive(Debug)]
pub enum Notice {
    StreamOpened(Arc<Stream>),
    StreamClosed(StreamId),
    /// The cluster has agreed on another routing.
    Routing(Arc<Routing>),
    /// A copy of secondary storage has come from another node, or cannot be fetched.
    StoreArrived(Result<(), String>),
    /// Change who belongs to the group, as its leader, for this revision of the cluster's state.
    ChangeMembers {
        change: Change,
        plan: u64,
    },
}

/// What a leader evaluates, in the order in which it came, when there is room.
#[derive(Debug)]
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
    /// What was found behind `after` for a batch operation.
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
    pub permit: Permit,
    /// `None`: it waits for something else than the partition.
    pub place: Option<Place>,
    /// What was found out about its command before it came here.
    pub prepared: Option<Box<Prepared>>,
}

/// A client's request that asks for an evaluation which takes long. With what comes of it, it goes back into the inbox.
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
    /// A client's request whose client has gone away.
    pub fn is_abandoned(&self) -> bool {
        matches!(self, Work::Request(request) if request.responder.is_abandoned())
    }
}
