//! Batches per second and latency of a group on real logs, in one process.
//!
//! `cargo run --release -p skep-replication --example bench -- [seconds per case]`
//!
//! Each member is a thread with its own log and writer thread; messages go through encoded bytes. The leader keeps a
//! window of proposals in flight; latency is from proposing to commit.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::{Receiver, select, tick, unbounded};
use skep_replication::transport::{InProcess, Transport};
use skep_replication::{
    EntryId, Event, Group, GroupConfig, LogEvidence, Message, Output, RecoveredLog,
};
use skep_storage::disk::RealDisk;
use skep_storage::log::{Log, LogConfig, LogReader, LogWriter, Recovered, Report, WriterConfig};

struct Case {
    members: u64,
    window: usize,
    payload: usize,
    seconds: u64,
}

#[derive(Default)]
struct Figures {
    latencies: Vec<Duration>,
    flushes: u64,
    elapsed: Duration,
}

fn found(log: Recovered, source: Box<LogReader>) -> RecoveredLog {
    RecoveredLog {
        log,
        checkpoint: EntryId::default(),
        source,
        evidence: LogEvidence::default(),
    }
}

fn member(
    id: u64,
    case: &Case,
    directory: &Path,
    transport: &InProcess,
    inbox: &Receiver<Bytes>,
    stop: &AtomicBool,
) -> Figures {
    let started = Instant::now();
    let (log, recovered) =
        Log::open(Arc::new(RealDisk), directory, LogConfig::default()).expect("open");
    let source = Box::new(log.reader());
    let (sender, reports) = unbounded();
    let report = move |report| drop(sender.send(report));
    let writer = LogWriter::spawn(log, WriterConfig::default(), report).expect("writer");
    let recovered = found(recovered, source);
    let mut config = GroupConfig::new(1, id, (1..=case.members).collect());
    // The first member leads.
    config.election_ticks = if id == 1 { 5 } else { 50 };
    let mut group = Group::open(config, recovered).expect("group");
    let ticks = tick(Duration::from_millis(10));
    let payload: Bytes = (0..case.payload).map(|at| ((at * 31) >> 2) as u8).collect();
    let mut in_flight: VecDeque<(u64, Instant)> = VecDeque::new();
    let mut figures = Figures::default();
    let mut out = Output::default();
    let mut measuring = None;
    while !stop.load(Ordering::Relaxed) {
        while in_flight.len() < case.window
            && let Ok(proposed) = group.propose(payload.clone())
        {
            measuring.get_or_insert_with(|| {
                println!("    leads {:?} after opening", started.elapsed());
                Instant::now()
            });
            in_flight.push_back((proposed.index, Instant::now()));
        }
        group.poll(&mut out).expect("poll");
        for append in out.appends.drain(..) {
            writer.append(append.number, append.frames).expect("append");
        }
        for message in out.messages.drain(..) {
            transport.send(message.to(), message.encode());
        }
        for event in out.events.drain(..) {
            if let Event::Committed { index } = event {
                while let Some((_, at)) = in_flight.pop_front_if(|(proposed, _)| *proposed <= index)
                {
                    figures.latencies.push(at.elapsed());
                }
            }
        }
        if measuring.is_some() && in_flight.len() < case.window {
            continue;
        }
        if measuring.is_some_and(|from| from.elapsed() > Duration::from_secs(case.seconds)) {
            stop.store(true, Ordering::Relaxed);
        }
        // Wait for the first message, then take all that have arrived.
        select! {
            recv(reports) -> report => persisted(&mut group, report.expect("report"), &mut figures),
            recv(inbox) -> bytes => receive(&mut group, bytes.expect("message")),
            recv(ticks) -> _ => group.tick(),
        }
        while let Ok(report) = reports.try_recv() {
            persisted(&mut group, report, &mut figures);
        }
        while let Ok(bytes) = inbox.try_recv() {
            receive(&mut group, bytes);
        }
    }
    figures.elapsed = measuring.map_or(Duration::ZERO, |from| from.elapsed());
    figures
}

fn persisted(group: &mut Group, report: Report, figures: &mut Figures) {
    match report {
        Report::Written { number, .. } => {
            figures.flushes += 1;
            group.persisted(number);
        }
        other => panic!("{other:?}"),
    }
}

fn receive(group: &mut Group, bytes: Bytes) {
    let message = Message::decode(bytes).expect("a message");
    group.receive(message.from(), message);
}

fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

fn main() {
    let seconds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    for (members, window, payload) in [
        (1, 1, 1024),
        (1, 16, 1024),
        (1, 256, 1024),
        (3, 1, 1024),
        (3, 16, 1024),
        (3, 256, 1024),
    ] {
        let case = Case {
            members,
            window,
            payload,
            seconds,
        };
        let directory = tempfile::tempdir_in(".").expect("directory");
        let nodes: Vec<u64> = (1..=members).collect();
        let (transport, inboxes) = InProcess::connect(&nodes, 4096);
        let stop = AtomicBool::new(false);
        let before = cpu();
        let figures: Vec<Figures> = std::thread::scope(|scope| {
            let threads: Vec<_> = inboxes
                .iter()
                .map(|(id, inbox)| {
                    let path = directory.path().join(id.to_string());
                    let (case, transport, stop) = (&case, &transport, &stop);
                    scope.spawn(move || member(*id, case, &path, transport, inbox, stop))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("member"))
                .collect()
        });
        let spent = cpu() - before;
        let Some(mut leader) = figures
            .into_iter()
            .max_by_key(|figures| figures.latencies.len())
        else {
            continue;
        };
        leader.latencies.sort_unstable();
        let count = leader.latencies.len();
        let at = |share: f64| {
            leader
                .latencies
                .get((count as f64 * share) as usize)
                .copied()
                .unwrap_or_default()
        };
        println!(
            "{members} members, window {window:3}, {payload} B: {:7.0} batches/s, p50 {:?}, p99 {:?}, {:.1} batches per flush, CPU {:.1} us per batch",
            count as f64 / leader.elapsed.as_secs_f64(),
            at(0.5),
            at(0.99),
            count as f64 / leader.flushes as f64,
            spent.as_secs_f64() * 1e6 / count as f64,
        );
    }
}
