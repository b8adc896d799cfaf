//! Secondary storage of a replica that lacks entries which the log does not have any more: it is fetched from a replica that has them.

use super::*;
use crate::cluster::{WantedStore, forget_copies};
use crate::partition::thread::secondary::{StoreOf, reopen_secondary};

/// Where a copy arrives.
const INCOMING: &str = "query.arriving";

/// Whether the embedded store in this directory cannot be filled from a log that goes on behind `base`.
pub(super) fn lacks_entries(config: &BrokerConfig, directory: &Path, base: u64) -> bool {
    let embedded = config.secondary_storage.as_ref();
    if embedded.is_none_or(skep_export::Config::is_shared) {
        return false;
    }
    let has_others = config.cluster.is_some();
    if has_others {
        forget_copies(directory);
    }
    match skep_export::stored_position(directory) {
        Ok(position) => has_others && position.entry < base,
        // Others have what is in it, or the log has.
        Err(error) if error.is_damage() && (has_others || base == 0) => {
            match skep_export::set_aside(directory) {
                Ok(aside) => {
                    let aside = aside.display();
                    tracing::error!(code = "SECONDARY_STORAGE", %error, %aside, "secondary storage is damaged: it was put aside and is made anew");
                    has_others && base > 0
                }
                Err(failed) => {
                    tracing::error!(code = "SECONDARY_STORAGE", %error, %failed, "secondary storage is damaged, and cannot be put aside");
                    false
                }
            }
        }
        // Another version's, say: it is left for somebody to look at.
        Err(_) => false,
    }
}

impl Partition {
    fn is_refillable(&self) -> bool {
        let embedded = self.config.secondary_storage.as_ref();
        embedded.is_some_and(|config| !config.is_shared())
    }

    /// A store in which damage was found while it was open is given up where another node has all of it.
    pub(super) fn mend_secondary(&mut self) {
        if self.exporters.has_copy {
            self.store_arrived();
        }
        if let Secondary::Open(store) = self.secondary.get()
            && self.config.cluster.is_some()
            && store.is_damaged()
        {
            drop(store);
            self.fetch_secondary();
        }
    }

    /// The log goes on behind entries that secondary storage did not get. What is there is given up.
    pub(super) fn fetch_secondary(&mut self) {
        if !self.is_refillable() {
            return;
        }
        let before = self.secondary.replace(Secondary::Fetching);
        if let Secondary::Open(store) = &before {
            // It must not go on with a log that has a gap.
            store.abandon();
        }
        self.exporters.without_secondary();
        self.exporters.has_copy = false;
        let partition = self.status.partition;
        tracing::warn!(
            code = "SECONDARY_STORAGE",
            partition,
            "secondary storage lacks what happened while the node was away, or is damaged: it is fetched from another node, which answers \
             queries meanwhile"
        );
        let wanted = WantedStore {
            partition,
            at_least: self.core.group().base().index,
            file: self.directory().join(INCOMING),
            by: self.status.clone(),
        };
        let inbox = self.own_inbox.clone();
        let fetching = self.effect_sink.fetch_store(
            wanted,
            Box::new(move || forget(before)),
            Box::new(move || inbox.send(Notice::StoreArrived)),
        );
        if let Err(error) = fetching {
            let reason = format!("the thread that fetches it cannot start: {error}");
            self.secondary.replace(Secondary::Broken(reason));
        }
    }

    /// A copy is there.
    pub(super) fn store_arrived(&mut self) {
        if self.stopping || !matches!(self.secondary.get(), Secondary::Fetching) {
            return;
        }
        let directory = self.directory();
        let arrived = directory.join(INCOMING);
        let position = skep_export::copied_position(&arrived);
        let base = self.core.group().base().index;
        let Some(position) = position.ok().filter(|it| it.entry >= base) else {
            // The log has been given up further meanwhile, or another snapshot has come.
            return self.fetch_secondary();
        };
        // A store is never ahead of the log: at the next start that would prove that the log has lost its end.
        self.exporters.has_copy = position.entry > self.core.group().commit_index();
        if self.exporters.has_copy {
            return;
        }
        let opened = match skep_export::put_copy(&arrived, &directory) {
            Ok(()) => {
                let of = StoreOf {
                    config: &self.config,
                    directory: &directory,
                    partition: self.status.partition,
                    metrics: &self.exporters.metrics,
                };
                reopen_secondary(of, self.log_reader.clone(), &self.exporters.progress)
            }
            Err(error) => Secondary::Broken(error.to_string()),
        };
        self.exporters.with_secondary(&opened);
        self.secondary.replace(opened);
    }
}

/// Ends a store whose place another one takes. Its files must not be open any more when that one comes: the last who closes them
/// deletes files by their names.
fn forget(store: Secondary) {
    let Secondary::Open(store) = store else {
        return;
    };
    while Arc::strong_count(&store) > 1 {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(store);
}
