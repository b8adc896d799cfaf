//! A panic in the engine is a bug. It costs the command that met it, not the partition: the state, half changed, is thrown
//! away and rebuilt from the checkpoint and the log, as after a loss of leadership, and the command is not tried again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rustc_hash::FxHashSet;

use super::*;

/// Panics within [`WINDOW`] that a partition survives. More are no accident: it would do nothing but rebuild its state.
const MAX_PANICS: usize = 10;
const WINDOW: Duration = Duration::from_secs(600);

/// When the engine panicked lately.
#[derive(Debug, Default)]
pub(super) struct Panics {
    recent: VecDeque<Instant>,
    /// The state has to be rebuilt.
    rebuild: bool,
}

impl Panics {
    /// False if there were too many.
    fn count(&mut self, now: Instant) -> bool {
        let recent = |then: &Instant| now.saturating_duration_since(*then) < WINDOW;
        self.recent.retain(recent);
        self.recent.push_back(now);
        self.recent.len() <= MAX_PANICS
    }
}

impl Partition {
    /// Lets the engine work. `None` if it panicked: then its state is void, and `request`, the client whose command it was,
    /// was told.
    pub(super) fn guarded<T>(
        &mut self,
        request: Option<RequestId>,
        work: impl FnOnce(&mut PartitionCore, &mut StreamRegistry) -> T,
    ) -> Result<Option<T>, CoreError> {
        let (core, streams) = (&mut self.core, &mut self.streams);
        // What the panic left behind is not looked at again: the engine is replaced.
        match catch_unwind(AssertUnwindSafe(|| work(core, streams))) {
            Ok(result) => Ok(Some(result)),
            Err(panic) => self.panicked(request, &text_of(&*panic)).map(|()| None),
        }
    }

    fn panicked(&mut self, request: Option<RequestId>, panic: &str) -> Result<(), CoreError> {
        let partition = self.status.partition;
        tracing::error!(
            partition,
            panic,
            "the engine panicked, which is a bug; the command is dropped and the state rebuilt from the log"
        );
        self.core.discard();
        self.panics.rebuild = true;
        self.commands_in_batch = 0;
        if let Some(waiting) = request.and_then(|id| self.requests.remove(id)) {
            let text = format!(
                "Partition {partition} could not carry out the command because of a bug in Skep ({panic}). Nothing has \
                 changed; sending the same command again will most likely fail in the same way. The log of the node has \
                 the place of the bug: please report it"
            );
            self.fail_request(waiting, Failure::Internal(text));
        }
        // What was evaluated and not proposed is gone; what was proposed will be answered.
        let in_flight: FxHashSet<RequestId> = self.core.in_flight().collect();
        self.abort_except(&in_flight, "its state has to be rebuilt after an error");
        if !self.panics.count(Instant::now()) {
            let text = format!(
                "the engine panicked more than {MAX_PANICS} times in {} minutes, the last time with: {panic}",
                WINDOW.as_secs() / 60
            );
            return Err(CoreError::Store(skep_engine::state::StoreError(text)));
        }
        Ok(())
    }

    /// Rebuilds the state after a panic, once nothing is in flight that was evaluated before it.
    pub(super) fn recover_from_panic(&mut self) -> Result<(), CoreError> {
        if self.panics.rebuild && !self.core.is_in_flight() {
            self.panics.rebuild = false;
            self.inflight.clear();
            self.rebuild("its state was rebuilt after an error")?;
        }
        Ok(())
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_string())
}

#[cfg(test)]
pub(super) mod tests {
    //! A partition whose engine panics on purpose: at messages with this name.

    use skep_protocol::Document;
    use skep_protocol::command::PublishMessage;
    use skep_protocol::service::Broker as _;

    use super::*;
    use crate::Broker;

    const PANICS: &str = "panic";

    /// Called before every command in tests of this crate.
    pub fn may_panic(command: &Command) {
        if matches!(command, Command::PublishMessage(message) if &*message.name == PANICS) {
            panic!("the engine met a bug");
        }
    }

    fn message(name: &str, id: &str) -> Command {
        Command::PublishMessage(PublishMessage {
            name: name.into(),
            correlation_key: "key".into(),
            time_to_live: 600_000,
            message_id: id.into(),
            variables: Document::new(),
        })
    }

    async fn open(directory: &tempfile::TempDir) -> Arc<Broker> {
        let config = BrokerConfig {
            directory: directory.path().to_path_buf(),
            check_interval: Duration::from_millis(20),
            ..BrokerConfig::default()
        };
        let broker = Broker::open(config, Arc::new(Clock::default())).unwrap();
        while !broker.is_ready() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        broker
    }

    async fn publish(broker: &Broker, name: &str, id: &str) -> Result<Response, Failure> {
        broker.execute(message(name, id).into()).await.result
    }

    /// Publishes until the partition answers for sure: a rebuild aborts what came in between.
    async fn publish_for_sure(broker: &Broker, id: &str) {
        loop {
            match publish(broker, "fine", id).await {
                Ok(_) => return,
                // It was carried out, but the answer was lost.
                Err(Failure::Rejected(_)) => return,
                Err(Failure::Aborted(_)) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    /// A message id is taken once while the message is buffered: what was acknowledged is refused the second time.
    async fn is_there(broker: &Broker, id: &str) -> bool {
        matches!(
            publish(broker, "fine", id).await,
            Err(Failure::Rejected(rejection)) if rejection.kind == skep_protocol::RejectionType::AlreadyExists
        )
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_costs_the_command_and_not_the_partition() {
        let directory = tempfile::tempdir().unwrap();
        let broker = open(&directory).await;
        publish_for_sure(&broker, "before").await;
        let failure = publish(&broker, PANICS, "").await.unwrap_err();
        assert!(
            matches!(&failure, Failure::Internal(text) if text.contains("the engine met a bug")),
            "{failure:?}"
        );
        assert!(is_there(&broker, "before").await);
        publish_for_sure(&broker, "after").await;
        broker.stop();
        drop(broker);
        let broker = open(&directory).await;
        assert!(is_there(&broker, "before").await && is_there(&broker, "after").await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_acknowledged_around_a_panic_is_there_with_checkpoints_on_their_way() {
        let directory = tempfile::tempdir().unwrap();
        let broker = open(&directory).await;
        for round in 0..5 {
            let mut writers = Vec::new();
            for n in 0..20 {
                let broker = broker.clone();
                writers.push(tokio::spawn(async move {
                    publish_for_sure(&broker, &format!("{round}-{n}")).await;
                }));
            }
            broker.partitions()[0]
                .inbox
                .send(Message::TakeSnapshot(None));
            let failure = publish(&broker, PANICS, "").await.unwrap_err();
            assert!(matches!(failure, Failure::Internal(_)), "{failure:?}");
            for writer in writers {
                writer.await.unwrap();
            }
        }
        for round in 0..5 {
            for n in 0..20 {
                assert!(is_there(&broker, &format!("{round}-{n}")).await);
            }
        }
        broker.stop();
        drop(broker);
        let broker = open(&directory).await;
        assert!(is_there(&broker, "4-19").await && is_there(&broker, "0-0").await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_partition_that_does_nothing_but_panic_stops_and_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let broker = open(&directory).await;
        for _ in 0..=MAX_PANICS {
            let failure = publish(&broker, PANICS, "").await.unwrap_err();
            assert!(matches!(failure, Failure::Internal(_)), "{failure:?}");
        }
        let failure = loop {
            match publish(&broker, "fine", "").await.unwrap_err() {
                // It arrived before the thread had ended.
                Failure::Aborted(_) => {}
                failure => break failure,
            }
        };
        assert!(
            matches!(&failure, Failure::Unavailable(text) if text.contains("panicked more than 10 times")),
            "{failure:?}"
        );
    }
}
