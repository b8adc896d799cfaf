//! What steps do, as text for reports.

use std::collections::BTreeMap;
use std::fmt;

use super::{
    Action, BucketState, Delivery, DiskFault, IssuerState, Rate, Request, SATURATED, Stall,
    StoreState, Through, Until, Way, Who, Wire,
};

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSecond(rate) => write!(f, "{rate}/s"),
            Self::OfMaximum(share) => write!(f, "{share} M"),
        }
    }
}

impl fmt::Display for Through {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all nodes"),
            Self::Nodes(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(|node| format!("node {node}")).collect();
                f.write_str(&nodes.join(" and "))
            }
            Self::Who(who) => who.fmt(f),
            Self::Service => f.write_str("the address of a service"),
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(number) => write!(f, "node {number}"),
            Self::LeaderOf(partition) => write!(f, "the leader of partition {partition}"),
            Self::Follower => f.write_str("a node that leads nothing"),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToWorkers => f.write_str("to workers"),
            Self::Into(who) => write!(f, "to {who} by other nodes"),
            Self::OutOf(who) => write!(f, "by {who} to other nodes"),
            Self::Around(who) => write!(f, "between {who} and other nodes"),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of node {}", self.method, self.path, self.node)
    }
}

impl fmt::Display for StoreState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serves => f.write_str("serves"),
            Self::Stopped => f.write_str("is stopped"),
            Self::Silent => f.write_str("takes connections and answers nothing"),
            Self::Slow { delay_ms } => write!(f, "is {delay_ms} ms late"),
            Self::WrongPassword => f.write_str("does not know the nodes' password"),
        }
    }
}

impl fmt::Display for IssuerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serves => "serves",
            Self::Away => "closes every connection",
            Self::OtherKey => "signs with another key",
        })
    }
}

impl fmt::Display for DiskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Errors => "refuses each write and flush",
            Self::Hangs => "ends no write and no flush",
            Self::SpaceUnknown => "does not tell its free space",
        })
    }
}

impl fmt::Display for BucketState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serves => "serves",
            Self::Away => "is away",
        })
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even => f.write_str("all nodes answer and lead evenly"),
            Self::Owned => f.write_str("every number is leased by a process that serves"),
            Self::Relieved => f.write_str("nodes whose disk fails lead nothing"),
            Self::OpenAtMost(open) => write!(f, "at most {open} instances are under way"),
            Self::Partitions(count) => write!(f, "{count} partitions take part"),
            Self::Created(count) => write!(f, "{count} creations are acknowledged"),
            Self::Answer(request) => {
                write!(f, "{request} is {}", request.status)?;
                match request.says.as_str() {
                    "" => Ok(()),
                    says => write!(f, " and says {says:?}"),
                }
            }
            Self::Status { who, says } => write!(f, "`skep status` of {who} says {says:?}"),
            Self::Log { node, says } => write!(f, "the log of node {node} says {says:?}"),
            Self::RateIs(share) => write!(f, "{share} of the rate is acknowledged"),
            Self::CompletionIs(share) => write!(f, "{share} of the rate is completed"),
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Grpc => "gRPC",
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(rate) => write!(f, "load of {rate}"),
            Self::Ramp { from, to, over_s } => {
                write!(f, "load from {from} to {to} within {over_s} s")
            }
            Self::Flood(rate) => write!(f, "load of {rate}, refused or not"),
            Self::Saturate(wire) => write!(f, "{SATURATED} instances at a time, by {wire}"),
            Self::SaturateWith { wire, instances } => {
                write!(f, "{instances} instances at a time, by {wire}")
            }
            Self::StopLoad => f.write_str("no load"),
            Self::Workers(true) => f.write_str("workers work"),
            Self::Workers(false) => f.write_str("workers are away"),
            Self::Delivery(Delivery::Push) => f.write_str("jobs are pushed"),
            Self::Delivery(Delivery::Poll) => f.write_str("jobs are polled"),
            Self::HungWorker(true) => f.write_str("a worker takes jobs and hangs"),
            Self::HungWorker(false) => f.write_str("the hung worker ends"),
            Self::Through(through) => write!(f, "clients use {through}"),
            Self::Kill(who) => write!(f, "kill -9 of {who}"),
            Self::Stop(who) => write!(f, "SIGTERM to {who}"),
            Self::Pause(who) => write!(f, "SIGSTOP to {who}"),
            Self::Resume => f.write_str("SIGCONT to all that are paused"),
            Self::Start => f.write_str("start of all that are down"),
            Self::Replace(who) => write!(f, "{who} loses its data and starts again"),
            Self::Backup { .. } => f.write_str("a backup is taken"),
            Self::Erase => f.write_str("all nodes are killed and lose their data"),
            Self::Restore { .. } => f.write_str("all nodes come back from the newest backup"),
            Self::Fill { who, leave_mib } => {
                write!(f, "the disk of {who} is filled but for {leave_mib} MiB")
            }
            Self::Free => f.write_str("room on the disks again"),
            Self::Limit { who, cores } => write!(f, "{who} gets {cores} cores"),
            Self::Memory { node, mib } => write!(f, "node {node} starts again with {mib} MiB"),
            Self::Settings { node, settings } => set(f, *node, settings),
            Self::Disk { node, late_ms } => {
                write!(
                    f,
                    "node {node} starts again, each flush takes {late_ms} ms longer"
                )
            }
            Self::FailDisk { who, how } => write!(f, "the disk of {who} {how}"),
            Self::Hog(0) => f.write_str("no other program uses CPU"),
            Self::Hog(cores) => write!(f, "{cores} other programs use CPU"),
            Self::MendDisks => f.write_str("all disks work again"),
            Self::Slow {
                way,
                delay_ms,
                kib_per_s,
                stall,
            } => slowed(f, *way, (*delay_ms, *kib_per_s, *stall)),
            Self::Store(state) => write!(f, "the database {state}"),
            Self::Issuer(state) => write!(f, "the identity provider {state}"),
            Self::Bucket(state) => write!(f, "the bucket with the leases {state}"),
            Self::Cut(way) => write!(f, "what is said {way} is held up"),
            Self::Heal => f.write_str("the network is as before"),
            Self::Scale {
                partitions,
                nodes: None,
            } => write!(f, "{partitions} partitions are asked for"),
            Self::Scale {
                partitions,
                nodes: Some(nodes),
            } => write!(f, "{nodes} nodes and {partitions} partitions are asked for"),
            Self::CancelChange => f.write_str("the change is cancelled"),
            Self::Request(request) => request.fmt(f),
            Self::Wait { until, limit_s } => write!(f, "wait until {until}, at most {limit_s} s"),
        }
    }
}

fn set(f: &mut fmt::Formatter<'_>, node: u32, settings: &BTreeMap<String, String>) -> fmt::Result {
    let settings = settings
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let settings: Vec<String> = settings.collect();
    write!(f, "node {node} starts again with {}", settings.join(", "))
}

fn slowed(
    f: &mut fmt::Formatter<'_>,
    way: Way,
    (delay_ms, kib_per_s, stall): (f64, Option<f64>, Option<Stall>),
) -> fmt::Result {
    write!(f, "what is said {way} is {delay_ms} ms late")?;
    if let Some(kib) = kib_per_s {
        write!(f, ", {kib} KiB/s at most")?;
    }
    if let Some(Stall { for_ms, every_ms }) = stall {
        write!(f, ", still for {for_ms} of each {every_ms} ms")?;
    }
    Ok(())
}
