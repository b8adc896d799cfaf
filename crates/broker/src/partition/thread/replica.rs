//! The partition as one of several replicas: messages between replicas, leading and following, snapshots.

use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use skep_cluster::{SurvivingCopy, node_of};
use skep_replication::{Change, EntryId, Event, Part, Role};
use skep_service::work::PartitionWork;
use tokio::sync::oneshot;

use super::Partition;
use crate::partition::core::{CoreError, Polled};
use crate::partition::message::{ClientRequest, Work};
use crate::partition::parts::choosing::Choosing;
use crate::partition::parts::effect_sink::Effect;
use crate::partition::parts::snapshot_receiver::{Taken, gets_on};
use crate::partition::parts::snapshot_sender::SnapshotSender;
use crate::partition::work::of_state;

impl Partition {
    /// Whether there are other replicas, and this one is not the leader.
    pub(super) fn follows(&self) -> bool {
        !self.core.is_leader() && self.env.has_others()
    }

    /// Whether it follows after a panic, and its state cannot be rebuilt yet. Meanwhile it acknowledges entries and votes for others.
    pub(super) fn lacks_state(&self) -> bool {
        self.follows() && self.core.is_void()
    }

    /// Sends the replica's messages to others, and handles snapshots.
    pub(super) fn exchange(&mut self, polled: &mut Polled) -> Result<(), CoreError> {
        let group = self.core.group();
        if self.env.has_others() {
            // Before a vote of this term leaves: the leader of an earlier one may ask whether it still leads.
            let leadership = &self.env.status.leadership;
            leadership.set_leader(group.leader(), group.term());
            leadership.set_known_commit(group.known_commit());
        }
        for message in polled.output.messages.drain(..) {
            self.replica.metrics.sends(&message);
            self.env.effect_sink.send(Effect::Replicate(message));
        }
        if !self.env.has_others() {
            return Ok(());
        }
        let committed = self.core.group().commit_index();
        self.replica.snapshots.is_followed(committed, &self.env);
        for event in polled.output.events.drain(..) {
            match event {
                Event::ProduceSnapshot { to } => {
                    let sender = SnapshotSender {
                        checkpointer: &self.checkpointer,
                        exporters: &self.exporters,
                        env: &self.env,
                    };
                    sender.offer(to, self.core.group_mut());
                }
                Event::SnapshotChunk {
                    part, last, bytes, ..
                } => self.take_in(part, last, bytes)?,
                Event::DiscardSnapshot => {
                    self.replica.snapshots.forget(&self.env);
                    self.replica.metrics.snapshot_ends(false);
                }
                Event::Role(Role::Candidate) => self.replica.metrics.is_candidate(),
                Event::InstallSnapshot { id } => self.install(id)?,
                Event::Apply(_) => gets_on(&self.env),
                Event::Committed { .. } | Event::Role(_) => {}
                Event::Members(members) => {
                    let own = self.core.group().config().node;
                    tracing::info!(partition = self.env.partition(), ?members, "replicas");
                    self.env.status.is_member(own, &members);
                    self.env.effect_sink.send(Effect::MembersChanged);
                }
            }
        }
        Ok(())
    }

    fn take_in(&mut self, part: Part, last: bool, bytes: Bytes) -> Result<(), CoreError> {
        let (group, now) = (self.core.group_mut(), Instant::now());
        let snapshots = &mut self.replica.snapshots;
        let taken = snapshots.take_in((part, last), bytes, group, &self.env, now)?;
        if taken == Taken::Begun {
            self.replica.metrics.snapshot_begins();
        }
        Ok(())
    }

    /// A snapshot is ready, or cannot be built. It takes the place of the state at once, so a checkpoint that is being stored ends before.
    pub(super) fn snapshot_built(&mut self, arrival: u64) -> Result<(), CoreError> {
        if self.checkpointer.is_storing() {
            self.replica.snapshots.waits_for_checkpoint(arrival);
            return Ok(());
        }
        let (group, now) = (self.core.group_mut(), Instant::now());
        let snapshots = &mut self.replica.snapshots;
        if snapshots.built(arrival, group, &self.env, now)? {
            self.replica.metrics.snapshot_ends(false);
        }
        Ok(())
    }

    pub(super) fn spare_snapshot(&mut self) {
        let (group, now) = (self.core.group_mut(), Instant::now());
        if self.replica.snapshots.spare(group, &self.env, now) {
            self.replica.metrics.snapshot_ends(false);
        }
    }

    /// Reports members on silent nodes to the group: a hibernating replica would not notice that they are gone.
    pub(super) fn hibernate_while_all_are_alive(&mut self) {
        if self.core.group().hibernates() {
            let alive = self.env.effect_sink.others(self.env.partition()).alive;
            let silent = |member| node_of(member).is_some_and(|node| !alive.contains(&node));
            self.core.group_mut().note_silent(silent, 0);
        }
    }

    pub(super) fn note_silent(&mut self, node: u32, since: Instant) {
        let tick = self.env.config.tick().as_nanos().max(1);
        let ticks = usize::try_from(since.elapsed().as_nanos() / tick).unwrap_or(usize::MAX);
        let silent = |member| node_of(member) == Some(node);
        self.core.group_mut().note_silent(silent, ticks);
    }

    pub(super) fn is_gone(&mut self, node: u32) {
        let gone = |member| node_of(member) == Some(node);
        self.core.group_mut().gone(gone);
    }

    /// Changes the members. A change that is not possible now will be requested again.
    pub(super) fn change_members(&mut self, change: Change, plan: u64) {
        if let Change::Promote(member) = change
            && !self.core.group().has_caught_up(member)
        {
            return;
        }
        if !self.replica.hand_over.is_under_way() {
            let _ = self.core.group_mut().change_members(change, plan);
        }
    }

    /// Reports waiting jobs. A follower drops the request unanswered, which the requester notices.
    pub(super) fn describe_work(&mut self, asker: oneshot::Sender<PartitionWork>) {
        if self.core.is_leader() {
            let partition = self.env.partition();
            let work = of_state(partition, &mut self.core.engine_mut().state);
            // The requester may have given up.
            let _ = asker.send(work);
        }
    }

    /// This copy, described for a group that would have to continue from it if the other replicas were lost.
    pub(super) fn survives(&self) -> SurvivingCopy {
        let group = self.core.group();
        let (members, last) = (group.members(), group.last_in_log());
        let last_key = self.core.engine().state.next_key().counter();
        SurvivingCopy {
            partition: self.env.partition(),
            member: group.config().node,
            members_index: members.index,
            voters: members.voters.clone(),
            term: last.term,
            index: last.index,
            last_key: last_key.saturating_sub(1),
        }
    }

    /// The replica leads: commands are accepted from now on.
    pub(super) fn leads(&mut self) {
        for job_type in self.delivery.streams.forget_reservations() {
            self.intake.waits(Work::StreamHasRoom(job_type));
        }
        self.env.effect_sink.send(Effect::RoleChanged);
    }

    /// Waiting requests were not begun: clients may send them again, to the new leader.
    pub(super) fn steps_down(&mut self) {
        let partition = self.env.partition();
        tracing::info!(partition, term = self.core.group().term(), "follower");
        if self.core.group().disk_hangs() {
            tracing::error!(
                code = "LOG_STALLED",
                partition,
                "the disk of the log does not respond; another node should lead"
            );
        }
        self.replica.hand_over.end();
        self.replica.metrics.follows();
        self.choosing = Choosing::default();
        self.panics.forget();
        for work in self.intake.take_waiting() {
            self.turn_away(work);
        }
        for request in self.intake.take_frozen() {
            self.turn_away(Work::Request(request));
        }
        self.env.effect_sink.send(Effect::RoleChanged);
    }

    /// Refuses work that only the leader does. Other partitions repeat their requests, and undelivered jobs have their timeout.
    pub(super) fn turn_away(&mut self, work: Work) {
        let Work::Request(ClientRequest {
            request, responder, ..
        }) = work
        else {
            return;
        };
        self.env.effect_sink.send(Effect::SendOn {
            partition: self.env.partition(),
            request: Box::new(request),
            responder,
        });
    }

    /// A stopping node hands leadership over, so that no client has to wait for an election.
    pub(super) fn hand_over(&mut self) {
        if let Some(to) = self.core.group().successor() {
            self.hand_over_to(&[to]);
        }
    }

    /// Hands leadership to the first of these members that has the whole log.
    pub(super) fn hand_over_to(&mut self, others: &[u64]) {
        let group = self.core.group();
        let to = others.iter().copied().find(|to| group.is_abreast(*to));
        if let Some(to) = to {
            self.replica.hand_over.begin(to, Instant::now());
        }
    }

    pub(super) fn go_on_handing_over(&mut self) {
        if !self.replica.hand_over.is_under_way() {
            return;
        }
        let idle = !self.core.is_in_flight() && self.core.engine().batch_len() == 0;
        // Work that waits for disk space may wait forever.
        let may_ask = idle || self.env.status.stalled.load(Ordering::Relaxed);
        let hand_over = &mut self.replica.hand_over;
        if let Some(to) = hand_over.go_on(may_ask, Instant::now()) {
            self.core.group_mut().transfer_leadership(to);
        }
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.follows() || self.replica.hand_over.is_over(Instant::now())
    }

    /// The snapshot takes the place of the state.
    // Engines are large and made on the stack, which is not to be touched that deep where none is made.
    #[inline(never)]
    fn install(&mut self, id: EntryId) -> Result<(), CoreError> {
        let began = Instant::now();
        let env = &self.env;
        self.replica.metrics.snapshot_ends(true);
        let why = "its state is replaced by that of the leader";
        self.delivery.abort_all(why, env);
        let is_idle = self.checkpointer.abandon();
        debug_assert!(
            is_idle,
            "a snapshot is installed while no checkpoint is stored"
        );
        self.exporters.abandon_secondary();
        let meta = self.replica.snapshots.adopt(&self.checkpointer, env)?;
        let state = EntryId {
            index: meta.index,
            term: meta.term,
        };
        if state.index < id.index || state.index == id.index && state != id {
            return Err(CoreError::Snapshot(format!(
                "it ends at entry {}, but the leader announced entry {} for it",
                state.index, id.index
            )));
        }
        let (mut engine, _) = self.checkpointer.open_engine(&env.engine_config)?;
        engine.promote()?;
        self.core.installed(engine, state);
        self.delivery.directory.state_is_new();
        env.status.checkpoint_is(meta);
        self.panics.state_is_new();
        self.exporters.fetch_secondary(self.core.group(), env);
        tracing::info!(
            partition = env.partition(),
            index = state.index,
            log_from = id.index + 1,
            took = ?began.elapsed(),
            "a snapshot was installed"
        );
        Ok(())
    }
}
