//! Refills a replica's secondary storage if the log no longer has the entries that the storage lacks: a copy is fetched from a replica that
//! has them.

use std::path::Path;

use skep_replication::Group;

use super::effect_sink::{Effect, WantedStore};
use super::environment::Environment;
use super::exporters::Exporters;
use crate::config::BrokerConfig;
use crate::partition::message::Notice;
use crate::partition::secondary::{Secondary, StoreOf, forget, forget_copies, reopen_secondary};

/// File name of an incoming copy.
const INCOMING: &str = "query.arriving";

/// Whether the embedded store in this directory cannot be filled from a log that continues after `base`.
pub(super) fn lacks_entries(config: &BrokerConfig, directory: &Path, base: u64) -> bool {
    let embedded = config.secondary_storage.as_ref();
    if embedded.is_none_or(skep_secondary::Config::is_shared) {
        return false;
    }
    let has_others = config.cluster.is_some();
    if has_others {
        forget_copies(directory);
    }
    match skep_secondary::stored_position(directory) {
        Ok(position) => has_others && position.entry < base,
        // Other nodes have its contents, or the log has.
        Err(error) if error.is_damage() && (has_others || base == 0) => {
            match skep_secondary::set_aside(directory) {
                Ok(aside) => {
                    let aside = aside.display();
                    tracing::error!(
                        code = "SECONDARY_STORAGE",
                        %error,
                        %aside,
                        "secondary storage is damaged: it was moved aside and is rebuilt"
                    );
                    has_others && base > 0
                }
                Err(failed) => {
                    tracing::error!(code = "SECONDARY_STORAGE", %error, %failed, "secondary storage is damaged, and cannot be moved aside");
                    false
                }
            }
        }
        // From another version, for example: it is left for inspection.
        Err(_) => false,
    }
}

impl Exporters {
    /// Gives up a store that was found damaged while open, if another node has all of its data.
    pub fn mend_secondary(&mut self, group: &Group, env: &Environment) {
        if self.secondary.has_copy {
            self.store_arrived(group, env);
        }
        if let Secondary::Open(store) = self.secondary.cell.get()
            && env.has_others()
            && store.is_damaged()
        {
            drop(store);
            self.fetch_secondary(group, env);
        }
    }

    /// Abandons the embedded store: the entries that a snapshot replaces are not in the local log, and so not in secondary storage.
    pub fn abandon_secondary(&self) {
        if let Secondary::Open(store) = self.secondary.cell.get()
            && !store.is_shared()
        {
            store.abandon();
        }
    }

    /// The log continues after entries that secondary storage did not get. The local store is given up, and a copy is fetched.
    pub fn fetch_secondary(&mut self, group: &Group, env: &Environment) {
        let embedded = env.config.secondary_storage.as_ref();
        if embedded.is_none_or(skep_secondary::Config::is_shared) {
            return;
        }
        let before = self.secondary.cell.replace(Secondary::Fetching);
        if let Secondary::Open(store) = &before {
            // It must not continue with a log that has a gap.
            store.abandon();
        }
        self.without_secondary();
        self.secondary.has_copy = false;
        let partition = env.partition();
        tracing::warn!(
            code = "SECONDARY_STORAGE",
            partition,
            "secondary storage lacks the changes made while the node was away, or is damaged: it is being fetched from another node, \
             which answers queries meanwhile"
        );
        let wanted = WantedStore {
            partition,
            at_least: group.base().index,
            file: env.directory().join(INCOMING),
            by: env.status.clone(),
        };
        let inbox = env.inbox.clone();
        let arrived = move |fetched: std::io::Result<()>| {
            let fetched = fetched.map_err(|error| error.to_string());
            inbox.send(Notice::StoreArrived(fetched));
        };
        env.effect_sink.send(Effect::FetchStore {
            wanted,
            before: Box::new(move || forget(before)),
            done: Box::new(arrived),
        });
    }

    /// A copy cannot be fetched.
    pub fn store_failed(&mut self, error: &str) {
        let reason = format!("the thread that fetches it cannot start: {error}");
        self.secondary.cell.replace(Secondary::Broken(reason));
    }

    /// A copy has arrived.
    pub fn store_arrived(&mut self, group: &Group, env: &Environment) {
        if !matches!(self.secondary.cell.get(), Secondary::Fetching) {
            return;
        }
        let directory = env.directory();
        let arrived = directory.join(INCOMING);
        let position = skep_secondary::copied_position(&arrived);
        let Some(position) = position.ok().filter(|it| it.entry >= group.base().index) else {
            // The log was compacted further meanwhile, or another snapshot has arrived.
            return self.fetch_secondary(group, env);
        };
        // A store is never ahead of the log: at the next start that would prove that the log has lost its end.
        self.secondary.has_copy = position.entry > group.commit_index();
        if self.secondary.has_copy {
            return;
        }
        let opened = match skep_secondary::put_copy(&arrived, &directory) {
            Ok(()) => {
                let of = StoreOf {
                    config: &env.config,
                    directory: &directory,
                    partition: env.partition(),
                    metrics: &self.metrics,
                };
                reopen_secondary(of, self.log.clone(), &self.progress)
            }
            Err(error) => Secondary::Broken(error.to_string()),
        };
        self.with_secondary(&opened);
        self.secondary.cell.replace(opened);
    }
}
