//! Each block of a process executes as often as the diagram says: random block-structured processes, whose flows appear in random order in
//! the document, are played with jobs, messages and timers in random order. They complete without an incident and leave nothing behind.
//!
//! `SKEP_SEEDS=100000 cargo test --release -p skep-engine --test once` tries more of them; `SKEP_SEED=7` only this one.

#[path = "once/player.rs"]
mod player;
#[path = "once/tree.rs"]
mod tree;

use std::collections::BTreeMap;

use skep_random::Random;
use skep_testkit::rig::*;

fn play_one(seed: u64) {
    let mut random = Random(seed);
    let size = 3 + random.below(25) as usize;
    let blocks = tree::random(&mut random, size);
    let process = tree::process(&blocks, seed);
    let mut rig = Rig::new();
    rig.deploy(tree::called());
    rig.deploy(process);
    rig.turn_steps([1, 2, 7, 1000][random.below(4) as usize]);
    let instance = rig.create("once", "{}");
    player::play(&mut rig, &mut random, instance);

    assert_eq!(rig.intents("INCIDENT"), Vec::<&str>::new(), "no incident");
    let mut completed = BTreeMap::new();
    for id in rig.completed(instance) {
        *completed.entry(id).or_insert(0) += 1;
    }
    let expected = tree::expected(&blocks);
    let ids = expected.keys().chain(completed.keys());
    let differs = ids.filter(|id| expected.get(*id) != completed.get(*id));
    let differences: Vec<_> = differs
        .map(|id| format!("{id}: {:?}, not {:?}", completed.get(id), expected.get(id)))
        .collect();
    assert_eq!(differences, Vec::<String>::new());
    rig.assert_completed(instance);
}

#[test]
fn every_element_completes_as_often_as_the_drawing_says() {
    let seeds = skep_sim::chosen(600);
    if let Some((seed, why)) = skep_sim::search(&seeds, play_one) {
        panic!("SKEP_SEED={seed}: {why}");
    }
}
