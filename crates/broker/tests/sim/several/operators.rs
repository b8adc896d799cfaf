//! Operators change the cluster while clients work: one change at a time.

use std::collections::{BTreeMap, BTreeSet};

use super::purging::Purge;
use super::scaling::Growth;
use super::world::{Happening, ReplicaId, World};

/// Microseconds between two looks.
pub const LOOK: u64 = 30_000;
/// Without a change under way, partitions are added at one look in so many. A purge, of which a world has one, begins at four, and correlation
/// keys are spread over another number of partitions at three.
const RARELY: u64 = 15;

#[derive(Default)]
pub struct Operators {
    pub growth: Growth,
    pub purge: Purge,
    /// By partition that goes on from one copy, as the others were lost for good: the machine that has it.
    pub left: BTreeMap<u32, u32>,
    /// Copies whose directories were lost.
    pub lost: BTreeSet<ReplicaId>,
}

impl World {
    pub fn is_changing(&self) -> bool {
        let growth = &self.operators.growth;
        growth.target.is_some()
            || growth.relocating.is_some()
            || self.operators.purge.left.is_some()
    }

    /// An operator looks at the cluster and takes the next step of its change, or begins one.
    pub fn operator_looks(&mut self) {
        if let Some(target) = self.operators.growth.target {
            self.go_on_growing(target);
        } else if let Some(target) = self.operators.growth.relocating {
            self.go_on_relocating(target);
        } else if self.operators.purge.left.is_some() {
            self.go_on_purging();
        } else if self.calm.faults && self.operators.left.is_empty() {
            match self.random.below(RARELY) {
                _ if self.operators.growth.moves_on => self.begin_relocating(),
                0 => self.begin_growing(),
                1..5 => self.begin_purging(),
                5..8 => self.begin_relocating(),
                _ => {}
            }
        }
        self.after(LOOK, Happening::Operator);
    }
}
