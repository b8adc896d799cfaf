//! Processes that take numbers from a simulated store: with clocks that run at different speeds and say different times, pauses, crashes,
//! messages that are late or lost, and times without a store. `SKEP_SEEDS=100000 cargo test -p skep-cluster lease` runs more of them.

mod world;

use world::{Setting, World};

/// A claimant with a mistake; the simulation must notice each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    /// Treats a lease as expired when the time written in it is long ago.
    TrustsWrittenTime,
    /// Takes a number that was not released without waiting.
    TakesAtOnce,
    /// Acts on the store's word alone, before it has the lock.
    ActsBeforeTheLock,
    /// Treats a claim without an answer as successful.
    BelievesLostAnswers,
    /// Treats every unmet condition as another process's doing.
    TakesRefusalForLoss,
    /// Counts the age of a lease from the answer.
    CountsFromTheAnswer,
    /// Overwrites another process that it finds in its place.
    KeepsALostNumber,
    /// Treats a number whose data is elsewhere like any other.
    FoundsElsewhere,
}

const USUAL: u64 = 200;
const UNTIL_CAUGHT: u64 = 2_000;

#[test]
fn no_two_processes_act_as_one_node_whatever_happens() {
    skep_sim::each(USUAL, |seed| {
        for setting in [Setting::ONE_DISK, Setting::OWN_DISKS, Setting::REPLACING] {
            World::new(seed, setting, None).run();
        }
    });
}

fn is_caught(mutation: Mutation) {
    let seeds: Vec<u64> = (1..=UNTIL_CAUGHT).collect();
    let caught = skep_sim::search(&seeds, |seed| {
        for setting in [Setting::ONE_DISK, Setting::OWN_DISKS] {
            World::new(seed, setting, Some(mutation)).run();
        }
    });
    assert!(caught.is_some(), "nobody notices {mutation:?}");
}

macro_rules! mutations {
    ($($name:ident: $mutation:ident;)*) => {$(
        #[test]
        fn $name() {
            is_caught(Mutation::$mutation);
        }
    )*};
}

mutations! {
    whoever_trusts_a_written_time_is_caught: TrustsWrittenTime;
    whoever_takes_a_lease_at_once_is_caught: TakesAtOnce;
    whoever_acts_before_the_lock_is_caught: ActsBeforeTheLock;
    whoever_believes_in_lost_answers_is_caught: BelievesLostAnswers;
    whoever_takes_a_refusal_for_a_loss_is_caught: TakesRefusalForLoss;
    whoever_counts_from_the_answer_is_caught: CountsFromTheAnswer;
    whoever_keeps_a_lost_number_is_caught: KeepsALostNumber;
    whoever_founds_without_the_data_is_caught: FoundsElsewhere;
}
