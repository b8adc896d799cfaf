//! Holds back other work while an instance is migrated in several turns, so that no command sees a half-migrated instance.
//!
//! Clients' commands are refused and may be tried again. Timers stay due, messages of other partitions are repeated, and
//! steps wait for a later turn. Callers and called instances wait as well, because they react to the instance or report to
//! it.

use skep_protocol::value::Step;
use skep_protocol::{Key, Rejection, RejectionType};

use crate::processing::{Context, banning, reject};
use crate::remote::RemoteCommand;

impl Context<'_> {
    /// Whether this process instance, its callers or an instance called from it is being migrated.
    pub fn is_migrating(&mut self, instance: Key) -> bool {
        if self.state.migrations.is_empty() {
            return false;
        }
        let row = self.state.elements.get(instance);
        let root = row.map(|row| row.root_process_instance_key());
        root.is_some_and(|root| self.state.migrations.go_on_below(root))
    }

    /// Refuses a client's command during a migration.
    pub fn check_not_migrating(
        &mut self,
        instance: Key,
        intent: &'static str,
    ) -> Result<(), Rejection> {
        if !self.is_migrating(instance) {
            return Ok(());
        }
        let why = format!(
            "Expected to work on process instance with key '{instance}', but it, or an instance that it has called or was called by, is \
             being migrated. Try again after the migration"
        );
        Err(reject(RejectionType::InvalidState, intent, why))
    }

    /// Whether a command of another partition arrives during a migration and must be sent again later.
    pub fn comes_too_early(&mut self, command: &RemoteCommand) -> bool {
        match command {
            RemoteCommand::CorrelateSubscription(command) => {
                self.is_migrating(command.process_instance_key)
            }
            _ => false,
        }
    }

    /// Whether a step must wait for the end of a migration.
    pub fn waits_for_migration(&mut self, step: &Step) -> bool {
        if self.state.migrations.is_empty() {
            return false;
        }
        let instance = match step {
            Step::Migrate(_) => None,
            Step::DeliverSignal { signal, after } => self.next_of_signal(*signal, *after),
            _ => banning::instance_of_step(self, step),
        };
        instance.is_some_and(|instance| self.is_migrating(instance))
    }

    /// The instance that receives this signal next.
    fn next_of_signal(&mut self, signal: Key, after: Key) -> Option<Key> {
        let row = self.state.signals.on_their_way.get(signal)?;
        let (tenant, name, last) = (row.tenant.clone(), row.signal_name.clone(), row.last);
        let next = self.state.signals.next(&tenant, &name, after, last)?;
        self.instance_of_subscription(next)
    }

    /// The process instance of the element that waits for a signal.
    pub fn instance_of_subscription(&mut self, subscription: Key) -> Option<Key> {
        let row = self.state.signals.get(subscription)?;
        let element = row.element_instance_key;
        let row = self.state.elements.get(element)?;
        Some(row.process_instance_key)
    }
}
