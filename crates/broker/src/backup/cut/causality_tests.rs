//! Two partitions work and send each other commands while they are paused for a cut, in every possible order: no accepted cut has an effect
//! without its cause.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use skep_backup::Cut;

use super::{NotTogether, StepFailed, Stepped, together};
use crate::partition::Standstill;

const TERM: u64 = 3;
/// Commands of clients.
const COMMANDS: u32 = 2;
/// Longer than any pause.
const LATE: Duration = Duration::from_secs(1);

/// A mistake that must not stay unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// A partition reports its cut, and evaluates commands all the same.
    MarkerAfterCommand,
    /// The cut counts although a partition had resumed unaided.
    EarlyResumeCounts,
    /// The cut counts although a partition was never paused.
    RefusalCounts,
}

/// An entry of the other partition.
#[derive(Clone, Copy, Debug)]
struct Cause {
    index: u64,
}

#[derive(Clone, Debug, Default)]
struct Partition {
    /// What each entry was caused by, if not by a client.
    log: Vec<Option<Cause>>,
    inbox: Vec<Cause>,
    standstill: Standstill,
    /// Whether it leads here: the last entry when it was paused, or a refusal.
    stood: Option<Result<u64, ()>>,
    stayed: Option<bool>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Command(usize),
    Hears(usize),
    Stands(usize),
    /// Another node leads it, or its log accepts nothing.
    Refuses(usize),
    GoesOn(usize),
    TimePasses,
}

#[derive(Clone, Debug)]
struct World {
    mistake: Mistake,
    partitions: [Partition; 2],
    commands: u32,
    now: Instant,
    is_late: bool,
}

/// How many cuts were accepted and refused, and how many of the accepted ones lack a cause.
#[derive(Debug, Default)]
struct Found {
    accepted: u32,
    refused: u32,
    torn: u32,
}

impl World {
    fn stands(&self, partition: usize) -> bool {
        let standstill = &self.partitions[partition].standstill;
        self.mistake != Mistake::MarkerAfterCommand && standstill.left(self.now).is_some()
    }

    fn possible(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let all_stood = self.partitions.iter().all(|it| it.stood.is_some());
        for (number, partition) in self.partitions.iter().enumerate() {
            let works = !self.stands(number);
            if works && self.commands < COMMANDS {
                events.push(Event::Command(number));
            }
            if works && !partition.inbox.is_empty() {
                events.push(Event::Hears(number));
            }
            if partition.stood.is_none() {
                events.extend([Event::Stands(number), Event::Refuses(number)]);
            }
            if all_stood && partition.stayed.is_none() {
                events.push(Event::GoesOn(number));
            }
        }
        if !self.is_late {
            events.push(Event::TimePasses);
        }
        events
    }

    /// An entry is written, and the other partition is sent a command that it causes.
    fn evaluate(&mut self, number: usize, cause: Option<Cause>, sends: bool) {
        let log = &mut self.partitions[number].log;
        log.push(cause);
        let index = log.len() as u64;
        if sends {
            self.partitions[1 - number].inbox.push(Cause { index });
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Command(number) => {
                self.commands += 1;
                self.evaluate(number, None, true);
            }
            Event::Hears(number) => {
                let cause = self.partitions[number].inbox.remove(0);
                self.evaluate(number, Some(cause), false);
            }
            Event::Stands(number) => {
                let now = self.now;
                let partition = &mut self.partitions[number];
                partition.standstill.begin(TERM, now);
                partition.stood = Some(Ok(partition.log.len() as u64));
            }
            Event::Refuses(number) => self.partitions[number].stood = Some(Err(())),
            Event::GoesOn(number) => {
                let now = self.now;
                let partition = &mut self.partitions[number];
                partition.stayed = Some(partition.standstill.end(TERM, now));
            }
            Event::TimePasses => {
                self.is_late = true;
                self.now += LATE;
            }
        }
    }

    /// The answers of the nodes, of which each leads one partition, as the coordinator gets them.
    fn cuts(&self) -> Result<BTreeMap<u32, Cut>, NotTogether> {
        let led = BTreeMap::from([(0, vec![1]), (1, vec![2])]);
        let nodes = (0..).zip(&self.partitions);
        let stood = nodes.clone().map(|(node, partition)| {
            let end = partition.log.len() as u64;
            let answer = match partition.stood.unwrap() {
                Ok(index) => Ok(Stepped::Stands(vec![cut(index)])),
                Err(()) if self.mistake == Mistake::RefusalCounts => {
                    Ok(Stepped::Stands(vec![cut(end)]))
                }
                Err(()) => Err(StepFailed::new("it does not lead")),
            };
            (node, answer)
        });
        let gone_on = nodes.map(|(node, partition)| {
            let counts = match self.mistake {
                Mistake::EarlyResumeCounts | Mistake::RefusalCounts => true,
                Mistake::None | Mistake::MarkerAfterCommand => false,
            };
            let stayed = partition.stayed.unwrap() || counts;
            (node, Ok(Stepped::GoneOn(stayed)))
        });
        together(&led, stood.collect(), &gone_on.collect::<Vec<_>>())
    }

    /// Whether an entry in the cut was caused by one outside it.
    fn is_torn(&self, cuts: &BTreeMap<u32, Cut>) -> bool {
        let partitions = (1..).zip(&self.partitions);
        let mut torn = partitions.map(|(number, partition)| {
            let (own, other) = (cuts[&number].index, cuts[&(3 - number)].index);
            let within = partition.log.iter().take(own as usize);
            within.flatten().any(|cause| cause.index > other)
        });
        torn.any(|it| it)
    }

    /// Goes through all that may happen from here on until both partitions have gone on.
    fn explore(&self, found: &mut Found) {
        if self.partitions.iter().all(|it| it.stayed.is_some()) {
            match self.cuts() {
                Ok(cuts) => {
                    found.accepted += 1;
                    found.torn += u32::from(self.is_torn(&cuts));
                }
                Err(_) => found.refused += 1,
            }
            return;
        }
        for event in self.possible() {
            let mut next = self.clone();
            next.happens(event);
            next.explore(found);
        }
    }
}

fn cut(index: u64) -> Cut {
    Cut {
        index,
        term: TERM,
        position: 0,
        last_key: 0,
    }
}

fn explored(mistake: Mistake) -> Found {
    let world = World {
        mistake,
        partitions: Default::default(),
        commands: 0,
        now: Instant::now(),
        is_late: false,
    };
    let mut found = Found::default();
    world.explore(&mut found);
    found
}

#[test]
fn no_cut_has_an_effect_without_its_cause() {
    let found = explored(Mistake::None);
    assert!(found.accepted > 100 && found.refused > 100, "{found:?}");
    assert_eq!(found.torn, 0, "{found:?}");
}

#[test]
fn each_mistake_would_tear_a_cut() {
    for mistake in [
        Mistake::MarkerAfterCommand,
        Mistake::EarlyResumeCounts,
        Mistake::RefusalCounts,
    ] {
        let found = explored(mistake);
        assert!(found.torn > 0, "{mistake:?}: {found:?}");
    }
}
