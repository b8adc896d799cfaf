//! Long polling across nodes: when a job of a type arrives, each node whose clients may get it gets one notification.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use skep_protocol::{TenantFilter, TenantId, Tenants};

use super::Cluster;
use super::wire::{NodeMessage, PollMessage};
use crate::long_polling::JobNotifier;

/// Maximum number of remembered job types. With more, the one that was noted first is forgotten: a client that still waits for it polls
/// periodically.
const MAX_TYPES: usize = 10_000;

/// Maximum number of tenants that a node names for a job type. One that waits for more wakes all its clients for a job of any tenant.
const MAX_TENANTS: usize = 100;

/// Nodes that wait for jobs of a type. A notification removes what its node waits for: a node that still waits registers again.
#[derive(Default)]
pub(super) struct Wanted(Mutex<Types>);

#[derive(Default)]
struct Types {
    by_name: HashMap<Arc<str>, OfType>,
    /// In the order in which they were noted.
    by_age: BTreeMap<u64, Arc<str>>,
    noted: u64,
}

/// Interest in a job type, by node.
struct OfType {
    noted: u64,
    nodes: BTreeMap<u32, Interest>,
}

impl Types {
    /// The nodes that wait for jobs of the type, which is noted now unless it is known.
    fn of(&mut self, job_type: Arc<str>) -> &mut BTreeMap<u32, Interest> {
        if !self.by_name.contains_key(&job_type) {
            if self.by_name.len() >= MAX_TYPES
                && let Some((_, oldest)) = self.by_age.pop_first()
            {
                self.by_name.remove(&oldest);
            }
            self.noted += 1;
            self.by_age.insert(self.noted, job_type.clone());
        }
        debug_assert!(self.by_age.len() <= MAX_TYPES, "types are limited");
        let noted = self.noted;
        let of_type = self.by_name.entry(job_type).or_insert_with(|| OfType {
            noted,
            nodes: BTreeMap::new(),
        });
        &mut of_type.nodes
    }

    fn forget(&mut self, job_type: &str) {
        if let Some(of_type) = self.by_name.remove(job_type) {
            self.by_age.remove(&of_type.noted);
        }
    }
}

/// Whose jobs of a type a node waits for.
#[derive(Default)]
struct Interest {
    /// Those of any tenant: whoever waits there is to wake. The node names no tenants, or too many.
    all: bool,
    /// Those of the tenants that a client is assigned to. Only the partition knows them.
    assigned: bool,
    named: BTreeSet<TenantId>,
}

impl Interest {
    fn add(&mut self, tenants: Option<&Tenants>) {
        match tenants {
            None => self.all = true,
            Some(tenants) => match tenants.filter {
                TenantFilter::Assigned => self.assigned = true,
                TenantFilter::Provided => self.named.extend(tenants.iter()),
            },
        }
        if self.all || self.named.len() > MAX_TENANTS {
            *self = Interest {
                all: true,
                ..Interest::default()
            };
        }
    }

    /// What to send for a job of this tenant, if anything. Those whom it wakes register again; the others have not missed anything.
    fn notified(&mut self, job_type: &Arc<str>, tenant: &TenantId) -> Option<NodeMessage> {
        let job_type = job_type.clone();
        if std::mem::take(&mut self.all) {
            return Some(NodeMessage::Available { job_type });
        }
        let assigned = std::mem::take(&mut self.assigned);
        let named = self.named.remove(tenant);
        (assigned || named).then(|| {
            let tenant = tenant.clone();
            NodeMessage::Polls(PollMessage::Available { job_type, tenant })
        })
    }

    fn is_over(&self) -> bool {
        !self.all && !self.assigned && self.named.is_empty()
    }
}

impl Wanted {
    /// `tenants`: whose jobs the node waits for; `None`: those of any tenant.
    pub(super) fn note(&self, node: u32, job_type: Arc<str>, tenants: Option<&Tenants>) {
        let mut wanted = self.0.lock();
        let nodes = wanted.of(job_type);
        nodes.entry(node).or_default().add(tenants);
    }

    /// Another node waits for jobs, or has some. `here`: the clients of this node that wait; `None`: it has just started.
    fn heed(&self, from: u32, message: PollMessage, here: Option<&JobNotifier>) {
        match (message, here) {
            (PollMessage::Wanted { job_type, tenants }, _) => {
                self.note(from, job_type, Some(&tenants));
            }
            (PollMessage::Available { job_type, tenant }, Some(here)) => {
                here.announce(&job_type, Some(&tenant));
            }
            (PollMessage::Available { .. }, None) => {}
        }
    }

    /// The nodes to notify of a job, each with its message.
    fn notified(&self, job_type: &Arc<str>, tenant: &TenantId) -> Vec<(u32, NodeMessage)> {
        let mut wanted = self.0.lock();
        let Some(OfType { nodes, .. }) = wanted.by_name.get_mut(job_type) else {
            return Vec::new();
        };
        let mut notified = Vec::new();
        nodes.retain(|node, interest| {
            let message = interest.notified(job_type, tenant);
            notified.extend(message.map(|message| (*node, message)));
            !interest.is_over()
        });
        if nodes.is_empty() {
            wanted.forget(job_type);
        }
        notified
    }
}

impl Cluster {
    /// A client of this node waits for jobs of these tenants.
    pub fn want(&self, job_type: &Arc<str>, tenants: &Tenants) {
        let job_type = job_type.clone();
        let message = match tenants.filter {
            TenantFilter::Provided if tenants.provided.len() > MAX_TENANTS => {
                NodeMessage::Wanted { job_type }
            }
            TenantFilter::Provided => {
                let tenants = tenants.clone();
                NodeMessage::Polls(PollMessage::Wanted { job_type, tenants })
            }
            TenantFilter::Assigned => {
                let tenants = Tenants::chosen(TenantFilter::Assigned, []);
                NodeMessage::Polls(PollMessage::Wanted { job_type, tenants })
            }
        };
        self.broadcast(&message);
    }

    /// A job of this type and tenant waits here.
    pub fn announce(&self, job_type: &Arc<str>, tenant: &TenantId) {
        for (node, message) in self.peers.wanted.notified(job_type, tenant) {
            self.send(node, &message);
        }
    }

    pub(super) fn poll_message(&self, from: u32, message: PollMessage) {
        let here = self.local().map(|local| &local.notifier);
        self.peers.wanted.heed(from, message, here);
    }

    /// Another node has jobs of this type.
    pub(super) fn available(&self, job_type: &Arc<str>) {
        if let Some(local) = self.local() {
            local.notifier.announce(job_type, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skep_protocol::command::ActivateJobs;
    use skep_protocol::origin::Claims;

    use super::*;

    /// The nodes that are notified of a job, each with the tenant in its message, if any.
    fn notified(wanted: &Wanted, tenant: &str) -> Vec<(u32, Option<String>)> {
        let messages = wanted.notified(&"work".into(), &TenantId::new(tenant));
        let notified = messages.into_iter().map(|(node, message)| match message {
            NodeMessage::Available { .. } => (node, None),
            NodeMessage::Polls(PollMessage::Available { tenant, .. }) => {
                (node, Some(tenant.to_string()))
            }
            other => panic!("{other:?}"),
        });
        notified.collect()
    }

    fn of_tenant(node: u32, tenant: &str) -> (u32, Option<String>) {
        (node, Some(tenant.to_string()))
    }

    #[test]
    fn a_node_is_notified_of_jobs_of_its_clients_tenants_each_time_that_they_ask() {
        let wanted = Wanted::default();
        let note = |node, tenants: Tenants| wanted.note(node, "work".into(), Some(&tenants));
        note(2, Tenants::provided(["acme", "globex"]));
        note(2, Tenants::provided(["globex"]));
        note(3, Tenants::chosen(TenantFilter::Assigned, []));
        wanted.note(4, "work".into(), None);
        assert_eq!(
            notified(&wanted, "initech"),
            [of_tenant(3, "initech"), (4, None)]
        );
        // What was not woken is still waited for.
        assert_eq!(notified(&wanted, "acme"), [of_tenant(2, "acme")]);
        assert!(notified(&wanted, "acme").is_empty());
        note(2, Tenants::provided(["acme", "globex"]));
        assert_eq!(notified(&wanted, "globex"), [of_tenant(2, "globex")]);
        assert_eq!(notified(&wanted, "acme"), [of_tenant(2, "acme")]);
        let types = wanted.0.lock();
        assert!(types.by_name.is_empty() && types.by_age.is_empty());
        drop(types);
        note(5, Tenants::default());
        assert!(notified(&wanted, "acme").is_empty());
        assert_eq!(notified(&wanted, ""), [of_tenant(5, "<default>")]);
    }

    #[test]
    fn a_client_that_waits_for_very_many_types_shuts_out_no_other() {
        let wanted = Wanted::default();
        for number in 0..MAX_TYPES {
            wanted.note(1, format!("type-{number}").into(), None);
        }
        wanted.note(2, "work".into(), None);
        assert_eq!(notified(&wanted, "acme"), [(2, None)]);
        let of = |job_type: &str| wanted.notified(&job_type.into(), &TenantId::new("acme"));
        assert!(of("type-0").is_empty(), "the oldest has made room");
        assert_eq!(of("type-1").len(), 1);
    }

    #[test]
    fn a_node_with_clients_of_very_many_tenants_is_notified_of_any_job() {
        let wanted = Wanted::default();
        for number in 0..=MAX_TENANTS {
            let id = format!("tenant-{number}");
            let tenants = Tenants::provided([id.as_str()]);
            wanted.note(2, "work".into(), Some(&tenants));
        }
        assert_eq!(notified(&wanted, "initech"), [(2, None)]);
        assert!(notified(&wanted, "tenant-1").is_empty());
    }

    #[tokio::test]
    async fn a_job_at_another_node_wakes_no_poll_for_other_tenants() {
        let (wanted, here) = (Wanted::default(), JobNotifier::default());
        let poll = ActivateJobs {
            job_type: "work".into(),
            tenants: Tenants::provided(["acme"]),
            ..ActivateJobs::default()
        };
        let parked = here.park(&poll, &Claims::Anonymous);
        for (tenant, wakes) in [("globex", false), ("acme", true)] {
            let mut wake = parked.wake();
            let mut next = std::pin::pin!(wake.listen());
            wake.register(next.as_mut());
            let available = PollMessage::Available {
                job_type: "work".into(),
                tenant: TenantId::new(tenant),
            };
            wanted.heed(1, available, Some(&here));
            let woken = tokio::time::timeout(Duration::ZERO, next).await.is_ok();
            assert_eq!(woken, wakes, "{tenant}");
        }
    }
}
