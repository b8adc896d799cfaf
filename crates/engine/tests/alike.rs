//! What must not matter does not matter: random processes are played twice with the same actions, plainly and with a change to the model
//! or with commands in between that should leave no trace. After each action the same has happened in both.
//!
//! `SKEP_SEEDS=1000 cargo test -p skep-engine --test alike` tries more processes; `SKEP_SEED=7` only this one.

#[path = "alike/between.rs"]
mod between;
#[path = "alike/models.rs"]
mod models;
#[path = "alike/world.rs"]
mod world;

use std::collections::BTreeSet;

use skep_model::builder::random;
use skep_random::Random;

use world::{Step, World};

/// How the second play differs from the first one.
#[derive(Clone, Copy)]
struct Variation {
    model: fn(&str) -> String,
    /// Whether the plain model is deployed as well, as the newer version.
    is_deployed_twice: bool,
    /// Happens before each action.
    between: fn(&mut World),
    /// Number of steps that a command may take before it is deferred; 0 for the default.
    turn_steps: u32,
    /// Whether the variation must not matter for this model.
    fits: fn(&str) -> bool,
}

const NONE: Variation = Variation {
    model: str::to_string,
    is_deployed_twice: false,
    between: |_| {},
    turn_steps: 0,
    fits: |_| true,
};

fn play(xml: &str, seed: u64, variation: Variation) -> Vec<Step> {
    let mut world = World::new(seed, variation.turn_steps);
    world.deploy((variation.model)(xml));
    if variation.is_deployed_twice {
        world.deploy(xml.to_string());
    }
    world.play(variation.between)
}

/// What happened more often in one of the two.
fn difference(plain: &Step, varied: &Step) -> Vec<String> {
    let count = |step: &Step, what: &str| step.happened.get(what).copied().unwrap_or(0);
    let all: BTreeSet<&String> = plain
        .happened
        .keys()
        .chain(varied.happened.keys())
        .collect();
    let lines = all
        .into_iter()
        .map(|what| (what, count(plain, what), count(varied, what)));
    let differing = lines.filter(|(_, plain, varied)| plain != varied);
    differing
        .map(|(what, plain, varied)| format!("{what}: {plain} times, {varied} when varied"))
        .collect()
}

fn compare(seed: u64, variation: Variation) {
    let size = 3 + Random(seed).below(12) as usize;
    let xml = random("random", seed, size).xml();
    if !(variation.fits)(&xml) {
        return;
    }
    let (plain, varied) = (play(&xml, seed, NONE), play(&xml, seed, variation));
    for (index, (one, other)) in plain.iter().zip(&varied).enumerate() {
        let actions: Vec<&str> = plain[..=index].iter().map(|step| &*step.action).collect();
        assert_eq!(one.action, other.action, "after {actions:?}");
        let differs = difference(one, other);
        assert!(
            differs.is_empty(),
            "{actions:?}\n  {}",
            differs.join("\n  ")
        );
    }
    assert_eq!(plain.len(), varied.len(), "both end at the same time");
}

fn same_with(variation: Variation) {
    let seeds = skep_sim::chosen(25);
    if let Some((seed, why)) = skep_sim::search(&seeds, |seed| compare(seed, variation)) {
        panic!("SKEP_SEED={seed}: {why}");
    }
}

#[test]
fn a_change_that_matters_is_noticed() {
    let variation = Variation {
        model: |xml| models::with_boundary_events(xml, models::TIMER_OF_A_MINUTE),
        ..NONE
    };
    let seeds: Vec<u64> = (0..40).collect();
    assert!(skep_sim::search(&seeds, |seed| compare(seed, variation)).is_some());
}

#[test]
fn boundary_timers_that_never_fire() {
    same_with(Variation {
        model: |xml| models::with_boundary_events(xml, models::DISTANT_TIMER),
        ..NONE
    });
}

#[test]
fn boundary_conditions_that_are_never_true() {
    same_with(Variation {
        model: |xml| models::with_boundary_events(xml, models::FALSE_CONDITION),
        ..NONE
    });
}

#[test]
fn errors_that_are_caught_but_never_thrown() {
    same_with(Variation {
        model: models::with_other_errors,
        ..NONE
    });
}

/// The variables of an end listener go to the scope around its element, and a sub-process is another scope than the process.
#[test]
fn a_process_inside_a_sub_process() {
    same_with(Variation {
        model: models::in_a_sub_process,
        fits: |xml| !xml.contains("eventType=\"end\""),
        ..NONE
    });
}

#[test]
fn turns_of_one_step() {
    same_with(Variation {
        turn_steps: 1,
        ..NONE
    });
}

#[test]
fn changes_of_the_leader() {
    same_with(Variation {
        between: |world| world.rig.change_leader(1),
        ..NONE
    });
}

#[test]
fn migrations_to_the_same_definition() {
    same_with(Variation {
        between: between::migrate_to_the_same,
        ..NONE
    });
}

/// The events that the other version lacks are closed and opened again and again.
fn same_when_migrated_back_and_forth(model: fn(&str) -> String) {
    same_with(Variation {
        model,
        is_deployed_twice: true,
        between: between::migrate_to_the_other,
        // Without an activity both versions are one.
        fits: |xml| models::with_boundary_events(xml, models::DISTANT_TIMER) != xml,
        ..NONE
    });
}

#[test]
fn migrations_to_a_version_with_more_timers_and_back() {
    same_when_migrated_back_and_forth(|xml| {
        models::with_boundary_events(xml, models::DISTANT_TIMER)
    });
}

#[test]
fn migrations_to_a_version_with_more_conditions_and_back() {
    same_when_migrated_back_and_forth(|xml| {
        models::with_boundary_events(xml, models::FALSE_CONDITION)
    });
}

#[test]
fn incidents_that_are_resolved() {
    same_with(Variation {
        between: between::fail_and_resolve,
        ..NONE
    });
}

/// A conditional event without a filter reacts to a change of any variable.
#[test]
fn commands_that_concern_nobody() {
    same_with(Variation {
        between: between::concern_nobody,
        fits: |xml| !xml.contains("conditionalEventDefinition"),
        ..NONE
    });
}

/// Start listeners would run again, cycles start over, and a condition that is true fires again when its element is activated.
#[test]
fn elements_that_a_modification_replaces_by_themselves() {
    const BEGIN_AGAIN: [&str; 3] = [
        "eventType=\"start\"",
        "timeCycle",
        "cancelActivity=\"false\">\n<bpmn:conditionalEventDefinition",
    ];
    same_with(Variation {
        between: between::replace_new_elements,
        fits: |xml| BEGIN_AGAIN.iter().all(|what| !xml.contains(what)),
        ..NONE
    });
}
