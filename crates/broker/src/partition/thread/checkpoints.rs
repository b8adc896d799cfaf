//! Taking checkpoints, and what becomes of the state when leadership is lost.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// When a checkpoint that failed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(10);

impl Partition {
    /// Takes the changed rows out of the state. They are stored once the entry they belong to is committed.
    pub(super) fn capture_checkpoint(&mut self) {
        if self.checkpoint.is_some() || self.core.is_stale() || self.core.engine().batch_len() > 0 {
            return;
        }
        let started = Instant::now();
        let (index, term) = self.core.evaluated();
        if index == 0 {
            // A new partition that is not even leader yet: waiting for its first entry would hold up a stop for ever.
            for waiter in self.checkpoint_waiters.drain(..) {
                let _ = waiter.send(Ok(()));
            }
            return;
        }
        let next_position = self.core.engine().next_position();
        self.core
            .engine_mut()
            .state
            .checkpoint(&mut self.pending_rows.capture());
        let exporting = self.core.engine().state.exporting.value().clone();
        let meta = CheckpointMeta {
            index,
            term,
            next_position,
        };
        tracing::debug!(
            partition = self.status.partition,
            rows = self.pending_rows.len(),
            took = ?started.elapsed(),
            "checkpoint captured"
        );
        debug_assert!(self.checkpoint.is_none(), "one checkpoint at a time");
        self.captures += 1;
        self.checkpoint = Some(CapturedCheckpoint {
            number: self.captures,
            meta,
            exporting,
            started,
            storing: None,
        });
        self.last_checkpoint = started;
        self.log_bytes_since_checkpoint = 0;
        self.metrics.capture.observe(nanos(started.elapsed()));
        self.store_checkpoint();
    }

    pub(super) fn store_checkpoint(&mut self) {
        let Some(captured) = &mut self.checkpoint else {
            return;
        };
        if captured.storing.is_some() || captured.meta.index > self.core.applied() {
            return;
        }
        let (number, meta) = (captured.number, captured.meta);
        let (kv, inbox) = (self.kv.clone(), self.own_inbox.clone());
        // A rebuild waits for this thread before it clears them.
        let rows = self.pending_rows.clone();
        let status = self.status.clone();
        let store = move || {
            let mut kv = kv.lock();
            let stored = catch_unwind(AssertUnwindSafe(|| rows.store(&mut *kv, meta)));
            let stored = match stored {
                Ok(stored) => stored.map_err(|error| error.to_string()),
                Err(_) => Err("the store panicked, see the log of the node".to_string()),
            };
            if stored.is_ok()
                && status.disk_low.load(Ordering::Relaxed)
                && let Err(error) = kv.reclaim()
            {
                tracing::warn!(code = "CHECKPOINT_FAILED", partition = status.partition, %error, "the store cannot give room back");
            }
            drop(kv);
            let result = stored.map(|()| meta);
            inbox.send(Report::CheckpointDone { number, result });
        };
        let thread = std::thread::Builder::new().name("checkpoint".into());
        match thread.spawn(store) {
            Ok(thread) => captured.storing = Some(thread),
            Err(error) => self.checkpoint_done(number, Err(error.to_string())),
        }
    }

    pub(super) fn checkpoint_done(&mut self, number: u64, result: Result<CheckpointMeta, String>) {
        // One that was on its way when the state was rebuilt is no longer waited for.
        let Some(captured) = self
            .checkpoint
            .take_if(|captured| captured.number == number)
        else {
            return;
        };
        match &result {
            Ok(meta) => {
                debug_assert!(
                    meta.index <= self.core.applied(),
                    "a checkpoint holds only what is committed"
                );
                self.pending_rows.clear();
                self.exporters.stored(captured.exporting);
                self.status.checkpoint_is(*meta);
                self.status
                    .checkpoint_time
                    .store(self.clock.now(), Ordering::Relaxed);
                self.metrics.checkpoints.inc();
                let time = captured.started.elapsed();
                self.metrics.checkpoint.observe(nanos(time));
                let share = self.memory_share();
                let evicted = self.core.engine_mut().state.evict(share);
                if evicted > 0 {
                    tracing::debug!(
                        partition = self.status.partition,
                        evicted,
                        "cold rows evicted"
                    );
                }
                let disk_low = self.status.disk_low.load(Ordering::Relaxed);
                let mut compactable = self.exporters.compactable(meta.index, disk_low);
                if !disk_low {
                    // A node that is away finds what it lacks in the log, as long as there is room for it.
                    let partition = self.status.partition;
                    compactable = compactable.min(self.effect_sink.replicated(partition));
                }
                debug_assert!(
                    compactable <= meta.index,
                    "the log keeps what the checkpoint lacks"
                );
                if let Some(id) = self.core.group_mut().compact(compactable)
                    && let Some(writer) = &self.writer
                {
                    debug_assert!(id.index <= compactable);
                    let _ = writer.compact(id.index, id.term);
                    self.compacting = Some(Instant::now());
                }
            }
            Err(reason) => {
                self.checkpoint_again();
                tracing::error!(code = "CHECKPOINT_FAILED", partition = self.status.partition, %reason, "checkpoint failed");
            }
        }
        for waiter in self.checkpoint_waiters.drain(..) {
            let _ = waiter.send(result.clone().map(|_| ()));
        }
    }

    /// The rows stay readable in memory and go with the next checkpoint, which must not wait for a whole period: the log grows
    /// meanwhile.
    fn checkpoint_again(&mut self) {
        let period = self.config.snapshot_period.saturating_sub(RETRY_AFTER);
        let then = Instant::now().checked_sub(period);
        self.last_checkpoint = then.unwrap_or(self.last_checkpoint);
    }

    /// The node leads no more. `kept`: the entry up to which the state is what it was.
    pub(super) fn loses_what_is_not_committed(&mut self, kept: u64) -> Result<(), CoreError> {
        const WHY: &str = "the node is no longer the leader of this partition";
        if self.core.is_void() {
            return self.rebuild(WHY);
        }
        self.abort_all(WHY);
        let is_void = |captured: &mut CapturedCheckpoint| {
            captured.storing.is_none() && captured.meta.index > kept
        };
        if self.checkpoint.take_if(is_void).is_some() {
            self.checkpoint_again();
        }
        self.state_is_another();
        Ok(())
    }

    /// Replaces a void state by that of the last committed entry, from the checkpoint and the log.
    // Engines are large and made on the stack, which is not to be touched that deep where none is made.
    #[inline(never)]
    pub(super) fn rebuild(&mut self, why: &str) -> Result<(), CoreError> {
        self.abort_all(why);
        if let Some(storing) = self.checkpoint.take().and_then(|captured| captured.storing) {
            // The store must stand still while the state is read from it: rows of a checkpoint that lands later would be
            // newer than the entries that are applied to them.
            let _ = storing.join();
        }
        self.pending_rows.clear();
        let (mut engine, meta) =
            open_engine(&self.kv.lock(), &self.pending_rows, &self.engine_config)?;
        debug_assert!(
            meta.index <= self.core.applied(),
            "the store is not ahead of what is committed"
        );
        let (mut from, mut term) = (meta.index + 1, meta.term);
        let to = self.core.applied() + 1;
        while from < to {
            let entries = self
                .log_reader
                .read(from, to, 4 << 20)
                .map_err(|error| CoreError::ReadLog(error.to_string()))?;
            let Some(last) = entries.last() else {
                break;
            };
            (from, term) = (last.index + 1, last.term);
            let written = entries.iter().filter(|e| !e.content().is_empty());
            let written: Vec<_> = written.map(|e| (e.index, &*e.payload)).collect();
            crate::partition::core::apply(&mut engine, &written)?;
        }
        debug_assert!(from <= to, "only what is committed is applied");
        engine.promote()?;
        self.core.rebuild(engine, term);
        self.state_is_another();
        Ok(())
    }

    /// Forgets what was known of the state.
    fn state_is_another(&mut self) {
        self.shown_bans = None;
        self.exporters.state_is_new();
        let job_types = self.streams.forget_reservations();
        if !self.follows() {
            let have_room = job_types.into_iter().map(Work::StreamHasRoom);
            self.backlog.extend(have_room);
        }
        self.due_at = Some(0);
    }
}
