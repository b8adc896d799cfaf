//! A simulated node whose replica has no room at times, and then follows the directory of the leader: what the node goes by never becomes
//! older, whatever its replica applies.

use std::collections::VecDeque;

use skep_identity::{Directory, Entry};
use skep_protocol::Key;
use skep_protocol::value::{PasswordHash, UserValue};
use skep_random::Random;

use super::DirectoryView;

const STEPS: usize = 300;

/// Deliberate mistakes. The checks must catch each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    None,
    /// A replica publishes whatever it applies, as before.
    PublishesWhatItApplies,
    /// The answer to a question from before something newer was received counts.
    TakesOldAnswers,
}

/// Entry N of the log creates user N.
struct World {
    mutation: Mutation,
    view: DirectoryView,
    /// The directory after each entry.
    versions: Vec<Directory>,
    committed: usize,
    applied: usize,
    has_room: bool,
    /// What the leader has sent and was not received yet: directories, and the number of the one that a position was asked for.
    directories: VecDeque<usize>,
    positions: VecDeque<(u64, usize)>,
}

fn versions() -> Vec<Directory> {
    let mut directory = Directory::default();
    let mut versions = vec![directory.clone()];
    for number in 1..=STEPS as u64 {
        let user = UserValue {
            user_key: Key::new(1, number),
            username: format!("user-{number}").as_str().into(),
            name: "".into(),
            email: "".into(),
            password: PasswordHash::new("a hash"),
        };
        directory.add(Key::new(1, number), &Entry::User(user));
        versions.push(directory.clone());
    }
    versions
}

impl World {
    fn new(mutation: Mutation) -> World {
        World {
            mutation,
            view: DirectoryView::default(),
            versions: versions(),
            committed: 0,
            applied: 0,
            has_room: true,
            directories: VecDeque::new(),
            positions: VecDeque::new(),
        }
    }

    fn shown(&self) -> u64 {
        self.view.get().version()
    }

    /// Whether the node goes by its replica, and takes nothing from others.
    fn has_directory(&self) -> bool {
        self.has_room && !self.view.is_received()
    }

    fn applies(&mut self) {
        if self.has_room && self.applied < self.committed {
            self.applied += 1;
            let directory = self.versions[self.applied].clone();
            if self.mutation == Mutation::PublishesWhatItApplies {
                self.view.lead_with(directory);
            } else {
                self.view.set(directory);
            }
        }
    }

    /// What a node does ten times per second.
    fn ticks(&mut self) {
        if self.has_room {
            self.view.has_applied(self.applied as u64);
            if self.view.wants_position() {
                let asked = (self.view.number(), self.committed);
                self.positions.push_back(asked);
            }
        }
        if !self.has_directory() {
            self.directories.push_back(self.committed);
        }
    }

    fn receives_directory(&mut self) {
        if let Some(version) = self.directories.pop_front()
            && !self.has_directory()
        {
            self.view.receive(self.versions[version].clone());
        }
    }

    fn receives_position(&mut self) {
        if let Some((mut number, entry)) = self.positions.pop_front() {
            if self.mutation == Mutation::TakesOldAnswers {
                number = self.view.number();
            }
            self.view.is_as_new_at(number, entry as u64);
        }
    }

    fn step(&mut self, random: &mut Random) {
        let before = self.shown();
        match random.below(8) {
            0 => self.committed += usize::from(self.committed < STEPS),
            1 | 2 => self.applies(),
            3 => self.has_room = !self.has_room || !random.one_in(4),
            4 | 5 => self.ticks(),
            6 => self.receives_directory(),
            _ => self.receives_position(),
        }
        if self.has_directory() {
            // What was asked before arrives before the disk is full again.
            self.directories.clear();
        }
        assert!(
            self.shown() >= before,
            "version {before} was known, and now {}",
            self.shown()
        );
    }

    /// With room, the node goes by its replica in the end.
    fn settles(&mut self) {
        self.has_room = true;
        while self.applied < self.committed {
            self.applies();
        }
        self.directories.clear();
        self.positions.clear();
        self.ticks();
        self.receives_position();
        self.ticks();
        assert!(self.has_directory());
        assert_eq!(self.shown(), self.committed as u64);
    }
}

fn run(seed: u64, mutation: Mutation) {
    let (mut world, mut random) = (World::new(mutation), Random(seed));
    for _ in 0..STEPS {
        world.step(&mut random);
    }
    world.settles();
}

#[test]
fn a_replica_that_catches_up_brings_no_older_permissions_back() {
    skep_sim::each(100, |seed| run(seed, Mutation::None));
}

#[test]
fn the_checks_catch_older_permissions() {
    let seeds: Vec<u64> = (1..=50).collect();
    for mutation in [Mutation::PublishesWhatItApplies, Mutation::TakesOldAnswers] {
        let caught = skep_sim::search(&seeds, |seed| run(seed, mutation));
        assert!(caught.is_some(), "{mutation:?} was not caught");
    }
}

#[test]
fn a_replica_that_begins_to_lead_has_the_newest_directory() {
    let versions = versions();
    let view = DirectoryView::default();
    view.receive(versions[3].clone());
    view.set(versions[4].clone());
    assert_eq!(view.get().version(), 3);
    view.leads();
    assert_eq!(view.get().version(), 4);
    view.receive(versions[5].clone());
    view.lead_with(versions[6].clone());
    assert!(!view.is_received());
    assert_eq!(view.get().version(), 6);
}
