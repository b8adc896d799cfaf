//! A panic in the engine is a bug. It fails the command that caused it, not the partition: the half-changed state is
//! dropped and rebuilt from the checkpoint and the log, as after a loss of leadership, and the command is not tried again.
//!
//! A timer, an offered job or a command of another partition comes back by itself and would panic again, so its process instance is banned.
//! Then the same thing cannot happen twice.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use rustc_hash::FxHashSet;
use skep_engine::{Ban, RequestId};
use skep_protocol::Failure;

use super::Partition;
use super::panic_place::watched;
use crate::job_streams::StreamRegistry;
use crate::partition::core::{CoreError, PartitionCore};
use crate::partition::message::Work;
use crate::partition::parts::panics::{MAX_PANICS, Panic, WINDOW};

impl Partition {
    /// Runs the engine. `None` if it panicked: then its state is void, and `request`, the client whose command it was, was notified.
    pub(super) fn guarded<T>(
        &mut self,
        request: Option<RequestId>,
        work: impl FnOnce(&mut PartitionCore, &mut StreamRegistry) -> T,
    ) -> Result<Option<T>, CoreError> {
        let (core, streams) = (&mut self.core, &mut self.delivery.streams);
        core.engine_mut().work_ends();
        // State left by the panic is not used again: the engine is replaced.
        match watched(|| catch_unwind(AssertUnwindSafe(|| work(core, streams)))) {
            (Ok(result), _) => Ok(Some(result)),
            (Err(panic), place) => {
                self.panicked(request, text_of(&*panic), place);
                Ok(None)
            }
        }
    }

    fn panicked(&mut self, request: Option<RequestId>, panic: String, place: String) {
        let partition = self.env.partition();
        let culprit = self.core.engine().working_for();
        tracing::error!(
            code = "PANIC",
            partition,
            panic,
            process_instance_key = culprit.map(|key| key.0),
            "the engine panicked, which is a bug; the command is dropped and the state rebuilt from the log"
        );
        self.core.discard();
        for (key, deadline) in self.log.discard_batch() {
            self.env.inbox.send(Work::Yield { key, deadline });
        }
        let banned = culprit.map_or_else(String::new, |key| {
            format!(" The process instance '{key}' is banned: nothing happens in it any more, but it can be cancelled.")
        });
        if let Some(id) = request {
            let text = format!(
                "Partition {partition} could not carry out the command because of a bug in Skep ({panic}). Nothing has changed; sending \
                 the same command again will most likely fail in the same way.{banned} Please report the bug with its location from the \
                 node's log"
            );
            let failure = Failure::Internal(text);
            self.delivery.fail(id, failure);
        }
        // Work evaluated but not proposed is lost; proposed work will be answered.
        let in_flight: FxHashSet<RequestId> = self.core.in_flight().collect();
        let why = "its state has to be rebuilt after an error";
        self.delivery.abort_except(&in_flight, why, &self.env);
        self.panics.happened(Panic {
            ban: culprit.map(|process_instance_key| Ban {
                process_instance_key,
                message: panic.clone(),
                stacktrace: place,
            }),
            text: panic,
        });
    }

    /// Rebuilds the state after a panic, once nothing is in flight that was evaluated before it, and bans the instance before anything else
    /// is evaluated. A replica that has lost leadership meanwhile has nobody to ban.
    pub(super) fn recover_from_panic(&mut self) -> Result<(), CoreError> {
        if self.core.is_in_flight() || !self.core.is_void() {
            return Ok(());
        }
        // Other replicas hear from this one while a checkpoint is stored.
        if !self.checkpointer.abandon() {
            return Ok(());
        }
        self.log.clear();
        self.rebuild("its state was rebuilt after an error")?;
        let Some(panic) = self.panics.take_rebuild() else {
            return Ok(());
        };
        let now = self.env.clock.now();
        if let Some(ban) = panic.ban
            && self.guarded(None, |core, _| core.ban(now, &ban))? == Some(true)
        {
            let (partition, key) = (self.env.partition(), ban.process_instance_key.0);
            tracing::error!(
                code = "INSTANCE_BANNED",
                partition,
                process_instance_key = key,
                reason = ban.message,
                "process instance banned"
            );
            return self.propose();
        }
        if self.panics.count(Instant::now()) {
            return Ok(());
        }
        Err(CoreError::Panicked {
            times: MAX_PANICS,
            minutes: WINDOW.as_secs() / 60,
            panic: panic.text,
        })
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_string())
}

#[cfg(test)]
pub(super) mod tests;
