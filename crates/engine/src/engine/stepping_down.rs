//! Stepping down: a deposed leader undoes changes that it evaluated but that were not committed.

use super::{Engine, Key};
use crate::effects::Effects;
use crate::processing::Volatile;
use crate::processing::batch_operation::turns::Turns;
use crate::processing::bpmn::Steps;

impl Engine {
    /// Starts or stops keeping changes undoable until they are settled. Only between batches.
    pub fn keep_undo(&mut self, keep: bool) {
        if keep != self.state.keeps_undo() {
            self.state.keep_undo(keep.then(|| self.next_position()));
        }
    }

    /// Whether changes can be undone.
    pub fn keeps_undo(&self) -> bool {
        self.state.keeps_undo()
    }

    /// Marks the records before this position as committed.
    pub fn settle(&mut self, position: u64) {
        self.state.settle(position);
    }

    /// Undoes the records from this position on, with everything that waits for them. `false`: the undo data does not reach
    /// back that far, and nothing has happened.
    pub fn undo(&mut self, position: u64) -> bool {
        if !self.state.undo(position) {
            return false;
        }
        self.out.reset(position);
        self.effects = Effects::default();
        self.volatile = Volatile::default();
        self.steps = Steps::default();
        self.new_jobs.clear();
        self.prepared = None;
        self.last_continued = Key::NONE;
        self.batch_turns = Turns::default();
        self.was_batch = false;
        self.last_retry = None;
        self.working_for = Key::NONE;
        true
    }
}
