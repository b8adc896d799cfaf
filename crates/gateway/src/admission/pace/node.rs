//! A simulated node: one partition, a log, more callers than it can serve, and a worker. An instance needs three commands.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::super::lane::Slots;
use super::{LEAST, MOST, Pace, Waited};

const LONG: Duration = Duration::from_secs(3);

enum Work {
    Creation,
    /// A job is sent to the worker.
    Activation,
    Completion,
}

/// Decides how many creations are admitted.
trait Gate {
    fn finishes(&mut self) {}

    fn answered(&mut self, now: Duration, waited: Waited, creations: usize, jobs: usize) -> usize;
}

/// Admits this many.
struct Fixed(usize);

impl Gate for Fixed {
    fn answered(&mut self, _: Duration, _: Waited, _: usize, _: usize) -> usize {
        self.0
    }
}

struct Paced {
    pace: Pace,
    start: Instant,
    size: usize,
}

impl Paced {
    fn new() -> Paced {
        Paced {
            pace: Pace::new(LEAST, MOST),
            start: Instant::now(),
            size: MOST,
        }
    }
}

impl Gate for Paced {
    fn finishes(&mut self) {
        self.pace.finishes();
    }

    fn answered(&mut self, now: Duration, waited: Waited, taken: usize, jobs: usize) -> usize {
        if let Some(window) = self.pace.waited(waited, self.start + now) {
            let all = self.size;
            self.size = self.pace.next(window, Slots { all, taken }, jobs);
        }
        self.size
    }
}

/// What a node needs for its work, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Of each command, on the partition's thread.
    command: u64,
    /// Of a flush, which answers the commands that were processed before it began.
    flush: u64,
    /// Of each command in a flush.
    written: u64,
    /// Maximum number of jobs that the worker holds.
    worker: usize,
}

/// A command that has been processed.
struct Processed {
    arrived: Duration,
    waited: Duration,
    work: Work,
}

struct Flush {
    ends: Duration,
    answers: Vec<Processed>,
}

struct Node {
    costs: Costs,
    now: Duration,
    /// When each command came.
    queue: VecDeque<(Duration, Work)>,
    processed: Vec<Processed>,
    flush: Option<Flush>,
    creations: usize,
    jobs: usize,
    with_worker: usize,
    completed: u32,
}

impl Node {
    fn new(costs: Costs) -> Node {
        Node {
            costs,
            now: Duration::ZERO,
            queue: VecDeque::new(),
            processed: Vec::new(),
            flush: None,
            creations: 0,
            jobs: 0,
            with_worker: 0,
            completed: 0,
        }
    }

    /// Number of instances that are completed in [`LONG`].
    fn completed(mut self, mut gate: impl Gate) -> u32 {
        let mut size = MOST;
        while self.now < LONG {
            self.take(size);
            self.process();
            for processed in self.flushed() {
                self.answer(&processed.work, &mut gate);
                let waited = Waited {
                    all: nanos(self.now - processed.arrived),
                    for_others: nanos(processed.waited),
                };
                size = gate.answered(self.now, waited, self.creations, self.jobs);
            }
        }
        self.completed
    }

    fn take(&mut self, size: usize) {
        while self.creations < size {
            self.queue.push_back((self.now, Work::Creation));
            self.creations += 1;
        }
        while self.jobs > 0 && self.with_worker < self.costs.worker {
            self.queue.push_back((self.now, Work::Activation));
            (self.jobs, self.with_worker) = (self.jobs - 1, self.with_worker + 1);
        }
    }

    /// Processes a command, or waits for the log.
    fn process(&mut self) {
        if let Some((arrived, work)) = self.queue.pop_front() {
            let waited = self.now - arrived;
            self.processed.push(Processed {
                arrived,
                waited,
                work,
            });
            self.now += Duration::from_micros(self.costs.command);
        } else if let Some(flush) = &self.flush {
            self.now = self.now.max(flush.ends);
        }
    }

    /// What a flush has answered by now. Another one begins.
    fn flushed(&mut self) -> Vec<Processed> {
        let ended = self.flush.take_if(|flush| flush.ends <= self.now);
        if self.flush.is_none() && !self.processed.is_empty() {
            let answers = std::mem::take(&mut self.processed);
            let took = self.costs.flush + self.costs.written * answers.len() as u64;
            let ends = self.now + Duration::from_micros(took);
            self.flush = Some(Flush { ends, answers });
        }
        ended.map_or(Vec::new(), |flush| flush.answers)
    }

    fn answer(&mut self, work: &Work, gate: &mut impl Gate) {
        match work {
            Work::Creation => (self.creations, self.jobs) = (self.creations - 1, self.jobs + 1),
            Work::Activation => {
                gate.finishes();
                self.queue.push_back((self.now, Work::Completion));
            }
            Work::Completion => {
                self.with_worker -= 1;
                self.completed += 1;
            }
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

#[test]
fn a_flood_of_new_work_does_not_keep_a_node_from_finishing_work() {
    let costs = |command, flush, written, worker| Costs {
        command,
        flush,
        written,
        worker,
    };
    let nodes = [
        // An unoptimized build, and an optimized one, where many commands fit into a short wait.
        costs(100, 0, 0, 256),
        costs(20, 0, 0, 256),
        // The processor is what all wait for; then the log; then both.
        costs(24, 100, 2, 64),
        costs(10, 1_400, 15, 64),
        costs(24, 1_400, 15, 64),
        costs(24, 4_000, 15, 256),
        // A very slow disk: less new work than it takes makes the batches smaller, and nothing faster.
        costs(24, 20_000, 20, 256),
    ];
    for costs in nodes {
        let sizes = [LEAST, 32, 64, 128, MOST];
        let fixed = sizes.map(|size| Node::new(costs).completed(Fixed(size)));
        let best = fixed.into_iter().max().unwrap();
        let paced = Node::new(costs).completed(Paced::new());
        assert!(paced > best / 100 * 95, "{costs:?}: {paced}, {fixed:?}");
    }
    // Without the pace throughput drops.
    for costs in &nodes[..5] {
        let flooded = Node::new(*costs).completed(Fixed(MOST));
        let best = Node::new(*costs).completed(Fixed(LEAST * 2));
        assert!(flooded < best / 100 * 75, "{costs:?}: {flooded} of {best}");
    }
}
