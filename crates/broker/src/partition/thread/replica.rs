//! The partition as one of several replicas: messages of the others, leading and following, snapshots.

use std::path::PathBuf;

use bytes::Bytes;
use skep_cluster::{SurvivingCopy, node_of};
use skep_replication::{Event, Role, SnapshotPoll, SnapshotSource};
use skep_storage::kv::{KvView, StreamWriter};

use super::pace::Pace;
use super::*;

/// Bytes of one part of a snapshot.
const CHUNK_BYTES: usize = 256 << 10;
/// A snapshot goes no faster: the disks and cores that read, send and write it have work to do meanwhile.
const BYTES_A_SECOND: u64 = 150 << 20;
/// Parts that are read ahead.
const CHUNKS_AHEAD: usize = 8;
/// Another node gets this long to take over from one that stops.
const HAND_OVER: Duration = Duration::from_secs(2);

/// Leadership on its way to another replica.
#[derive(Debug)]
pub(super) struct HandingOver {
    to: u64,
    /// It has until then to take it.
    until: Instant,
    asked: bool,
}

impl Partition {
    /// There are others, and one of them leads, or nobody.
    pub(super) fn follows(&self) -> bool {
        !self.core.is_leader() && self.config.cluster.is_some()
    }

    /// What the replica says to others, and what it has to say of snapshots.
    pub(super) fn exchange(&mut self, polled: &mut Polled) -> Result<(), CoreError> {
        for message in polled.output.messages.drain(..) {
            self.replica_metrics.sends(&message);
            self.effect_sink.replicate(message);
        }
        if self.config.cluster.is_none() {
            return Ok(());
        }
        self.snapshot_is_followed();
        let group = self.core.group();
        self.status.set_leader(group.leader(), group.term());
        for event in polled.output.events.drain(..) {
            match event {
                Event::ProduceSnapshot { to } => self.offer_snapshot(to),
                Event::SnapshotChunk {
                    part, last, bytes, ..
                } => self.take_in(part, last, bytes)?,
                Event::DiscardSnapshot => self.forget_snapshot(),
                Event::Role(Role::Candidate) => self.replica_metrics.is_candidate(),
                Event::InstallSnapshot { id } => self.install(id)?,
                Event::Apply(_) => self.gets_on(),
                Event::Committed { .. } | Event::Role(_) => {}
                Event::Members(members) => {
                    let own = self.core.group().config().node;
                    tracing::info!(partition = self.status.partition, ?members, "replicas");
                    self.status.is_member(own, &members);
                }
            }
        }
        Ok(())
    }

    /// Members on nodes that are not heard: a hibernating replica would not notice that they are gone.
    pub(super) fn hibernate_while_all_are_heard(&mut self) {
        if self.core.group().hibernates() {
            let effect_sink = &self.effect_sink;
            let silent = |member| node_of(member).is_some_and(|node| !effect_sink.is_heard(node));
            self.core.group_mut().not_heard(silent, 0);
        }
    }

    pub(super) fn not_heard(&mut self, node: u32, since: Instant) {
        let ticks = since.elapsed().as_nanos() / self.config.tick().as_nanos().max(1);
        let ticks = usize::try_from(ticks).unwrap_or(usize::MAX);
        let silent = |member| node_of(member) == Some(node);
        self.core.group_mut().not_heard(silent, ticks);
    }

    /// One that cannot be made now is asked for again.
    pub(super) fn change_members(&mut self, change: Change, plan: u64) {
        if let Change::Promote(member) = change
            && !self.core.group().has_caught_up(member)
        {
            return;
        }
        if self.handing_over.is_none() {
            let _ = self.core.group_mut().change_members(change, plan);
        }
    }

    /// What the group could go on from if the other replicas were lost.
    pub(super) fn survives(&self) -> SurvivingCopy {
        let group = self.core.group();
        let (members, index) = (group.members(), group.last_index());
        let last_key = self.core.engine().state.next_key().counter();
        SurvivingCopy {
            partition: self.status.partition,
            member: group.config().node,
            members_index: members.index,
            voters: members.voters.clone(),
            term: group.term_at(index).unwrap_or_default(),
            index,
            last_key: last_key.saturating_sub(1),
        }
    }

    /// Commands come from now on.
    pub(super) fn leads(&mut self) {
        for job_type in self.streams.forget_reservations() {
            self.backlog.push_back(Work::StreamHasRoom(job_type));
        }
        self.effect_sink.role_changed();
    }

    /// What waits for its turn was not begun: its clients may send it again, to whoever leads now.
    pub(super) fn steps_down(&mut self) {
        tracing::info!(
            partition = self.status.partition,
            term = self.core.group().term(),
            "follower"
        );
        if self.core.group().disk_hangs() {
            tracing::error!(
                code = "LOG_STALLED",
                partition = self.status.partition,
                "the log's disk does not answer; another node is to lead"
            );
        }
        self.handing_over = None;
        self.replica_metrics.follows();
        self.choosing = Choosing::default();
        self.panics = Panics::default();
        for message in std::mem::take(&mut self.backlog) {
            self.turn_away(message);
        }
        self.effect_sink.role_changed();
    }

    /// Work that only the leader does. What other partitions ask for they ask again, and jobs that were not delivered have
    /// their time-out.
    pub(super) fn turn_away(&mut self, work: Work) {
        let Work::Request(ClientRequest { responder, .. }) = work else {
            return;
        };
        self.status.limit.release();
        let partition = self.status.partition;
        let text = format!(
            "Partition {partition} is not led by this node any more. Nothing was done; send the request again."
        );
        let answer = Answer {
            result: Err(Failure::Unavailable(text)),
            timings: Timings::default(),
        };
        let _ = responder.send(answer);
    }

    /// A node that stops lets another one lead, so that nobody has to wait for an election.
    pub(super) fn hand_over(&mut self) {
        if let Some(to) = self.core.group().successor() {
            self.hand_over_to(&[to]);
        }
    }

    /// What is in flight is finished first, and nothing new is begun: its clients get their answers, and the others go to the
    /// next leader.
    pub(super) fn hand_over_to(&mut self, others: &[u64]) {
        let group = self.core.group();
        let to = others.iter().copied().find(|to| group.is_abreast(*to));
        if self.handing_over.is_none()
            && let Some(to) = to
        {
            self.handing_over = Some(HandingOver {
                to,
                until: Instant::now() + HAND_OVER,
                asked: false,
            });
        }
    }

    pub(super) fn go_on_handing_over(&mut self) {
        let Some(handing_over) = &mut self.handing_over else {
            return;
        };
        let idle = !self.core.is_in_flight() && self.core.engine().batch_len() == 0;
        // What waits for room may wait for ever.
        let stalled = self.status.stalled.load(Ordering::Relaxed);
        if !handing_over.asked && (idle || stalled) {
            handing_over.asked = true;
            self.core.group_mut().transfer_leadership(handing_over.to);
        }
        // The other did not take it: this node goes on.
        if Instant::now() >= handing_over.until && !self.stopping {
            self.handing_over = None;
        }
    }

    pub(super) fn is_handed_over(&self) -> bool {
        let handing_over = self.handing_over.as_ref();
        self.follows() || handing_over.is_none_or(|h| Instant::now() >= h.until)
    }

    /// The last checkpoint, for a replica that lacks entries which are not in the log any more.
    fn offer_snapshot(&mut self, to: u64) {
        // While a checkpoint is being stored there is none to offer; the replica asks again.
        let view = self.kv.try_lock().and_then(|kv| kv.view().ok());
        let meta = view.as_ref().map(|view| CheckpointMeta::read(view.meta()));
        let (Some(view), Some(Ok(meta))) = (view, meta) else {
            self.core.group_mut().refuse_snapshot(to);
            return;
        };
        let Some(id) = self.log_begin(meta) else {
            self.core.group_mut().refuse_snapshot(to);
            return;
        };
        match read_ahead(view, self.own_inbox.clone()) {
            Ok(chunks) => {
                tracing::info!(
                    partition = self.status.partition,
                    to = to.saturating_sub(1),
                    index = meta.index,
                    log_from = id.index + 1,
                    "a snapshot is sent to a replica"
                );
                self.core
                    .group_mut()
                    .offer_snapshot(to, id, Box::new(Chunks(chunks)));
            }
            Err(error) => {
                tracing::error!(code = "CHECKPOINT_FAILED", partition = self.status.partition, %error, "a snapshot cannot be sent");
                self.core.group_mut().refuse_snapshot(to);
            }
        }
    }

    /// Behind which entry the log of a replica begins that gets the checkpoint. An exporter may be behind it: who leads next goes
    /// on from where that is, and has to have the entries.
    fn log_begin(&self, meta: CheckpointMeta) -> Option<EntryId> {
        let group = self.core.group();
        let base = group.base().index;
        // What a checkpoint says that is not stored yet may never be so.
        if meta.index == 0 || meta.index < base || self.checkpoint.is_some() {
            return None;
        }
        let index = self.exporters.needed_elsewhere(meta.index).max(base);
        let term = group.term_at(index)?;
        Some(EntryId { index, term })
    }

    /// The snapshot takes the place of the state.
    // Engines are large and made on the stack, which is not to be touched that deep where none is made.
    #[inline(never)]
    fn install(&mut self, id: EntryId) -> Result<(), CoreError> {
        let began = Instant::now();
        self.replica_metrics.snapshot_ends(true);
        self.abort_all("its state is replaced by that of the leader");
        if let Some(storing) = self.checkpoint.take().and_then(|captured| captured.storing) {
            let _ = storing.join();
        }
        self.pending_rows.clear();
        // What the snapshot stands for is not in the log here, and so not in secondary storage.
        if let Secondary::Open(store) = self.secondary.get()
            && !store.is_shared()
        {
            store.abandon();
        }
        let meta = self.adopt_snapshot()?;
        let state = EntryId {
            index: meta.index,
            term: meta.term,
        };
        if state.index < id.index || state.index == id.index && state != id {
            return Err(CoreError::Snapshot(format!(
                "it goes up to entry {}, and the log was announced from behind {} on",
                state.index, id.index
            )));
        }
        let (mut engine, _) =
            open_engine(&self.kv.lock(), &self.pending_rows, &self.engine_config)?;
        engine.promote()?;
        self.core.installed(engine, state);
        self.status.checkpoint_is(meta);
        self.shown_bans = None;
        self.fetch_secondary();
        tracing::info!(
            partition = self.status.partition,
            index = state.index,
            log_from = id.index + 1,
            took = ?began.elapsed(),
            "a snapshot was installed"
        );
        Ok(())
    }

    pub(super) fn directory(&self) -> PathBuf {
        let partition = self.status.partition.to_string();
        self.config.directory.join("partitions").join(partition)
    }
}

type Chunk = Result<Bytes, ()>;

/// Reads the parts of a snapshot in a thread of its own, which ends with the last part, or when nobody wants them any more.
fn read_ahead(
    view: Box<dyn KvView>,
    inbox: Inbox,
) -> std::io::Result<crossbeam_channel::Receiver<Chunk>> {
    let (sender, chunks) = crossbeam_channel::bounded(CHUNKS_AHEAD);
    let read = move || {
        let Ok(mut stream) = StreamWriter::new(&*view, CHUNK_BYTES) else {
            let _ = sender.send(Err(()));
            return;
        };
        let mut pace = Pace::new(BYTES_A_SECOND, Instant::now());
        loop {
            let part = match stream.next_chunk() {
                Ok(Some(part)) => Ok(part),
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(code = "CHECKPOINT_FAILED", %error, "a snapshot cannot be read");
                    Err(())
                }
            };
            let failed = part.is_err();
            let bytes = part.as_ref().map_or(0, Bytes::len);
            if sender.send(part).is_err() || failed {
                return;
            }
            // The partition may have found nothing before.
            inbox.ring();
            std::thread::sleep(pace.went(bytes, Instant::now()));
        }
    };
    std::thread::Builder::new()
        .name("snapshot".to_string())
        .spawn(read)?;
    Ok(chunks)
}

struct Chunks(crossbeam_channel::Receiver<Chunk>);

impl SnapshotSource for Chunks {
    fn poll_chunk(&mut self) -> SnapshotPoll {
        match self.0.try_recv() {
            Ok(Ok(part)) => SnapshotPoll::Chunk(part),
            Ok(Err(())) => SnapshotPoll::Failed,
            Err(crossbeam_channel::TryRecvError::Empty) => SnapshotPoll::Pending,
            Err(crossbeam_channel::TryRecvError::Disconnected) => SnapshotPoll::End,
        }
    }
}
