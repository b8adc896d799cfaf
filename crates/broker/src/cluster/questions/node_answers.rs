//! This node's answers to the broker's own questions: the counts of its stores, and the work of its partitions.

use std::time::Duration;

use skep_query::StorePulse;
use skep_service::work::{NodeWork, PartitionWork};

use crate::cluster::Cluster;
use crate::local::Local;
use crate::partition::Report;
use crate::workers::{self, Noted};

/// The question that nodes ask each other; the answer is a JSON list of [`StorePulse`]s. Earlier versions do not know it and answer
/// nothing.
pub(crate) const PULSE_QUESTION: &str = "pulse";
/// The question that nodes ask each other; the answer is the JSON of a [`NodeWork`]. Earlier versions do not know it and answer nothing.
pub(crate) const WORK_QUESTION: &str = "work";
/// How long a partition may take to answer; another node may take longer.
const PATIENCE: Duration = Duration::from_secs(1);

impl Local {
    /// The pulses of the local stores.
    pub(crate) fn store_pulses(&self) -> Vec<StorePulse> {
        let partitions = self.partitions().into_iter();
        let stores = partitions.filter_map(|handle| handle.secondary.get().opened());
        stores.map(|store| store.pulse()).collect()
    }

    /// The answer to [`PULSE_QUESTION`].
    pub(in crate::cluster) fn own_part(&self) -> String {
        // Lists of numbers can always be serialized.
        serde_json::to_string(&self.store_pulses()).unwrap_or_default()
    }

    /// The jobs of the partitions that are led here.
    async fn partition_works(&self) -> (Vec<PartitionWork>, bool) {
        let led = self.partitions().into_iter().filter(|it| it.leads());
        let asked: Vec<_> = led
            .map(|handle| {
                let (answer, answered) = tokio::sync::oneshot::channel();
                handle.inbox.send(Report::DescribeWork(answer));
                answered
            })
            .collect();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let (mut works, mut lacks) = (Vec::new(), false);
        for answer in asked {
            match tokio::time::timeout_at(deadline, answer).await {
                Ok(Ok(work)) => works.push(work),
                // The partition is too busy, or has just stopped.
                Ok(Err(_)) | Err(_) => lacks = true,
            }
        }
        (works, lacks)
    }
}

impl Cluster {
    /// The jobs and workers known to this node.
    pub(crate) async fn own_work(&self, local: &Local) -> NodeWork {
        let now = crate::clock::real_time();
        let directory = local.directory.get();
        let checks = self.config.engine.identity.tenant_checks;
        let mut askers = local.workers.all(now);
        let own = local.streams.streams().into_iter();
        let streams = own.map(|stream| (self.node(), stream));
        for (node, stream) in streams.chain(self.streams_of_gateways()) {
            let whose = (&stream.claims, &*directory);
            let noted = Noted { node, now };
            askers.push(workers::stream(&stream.spec, whose, checks, noted));
        }
        let (partitions, is_incomplete) = local.partition_works().await;
        NodeWork {
            since: local.began,
            askers,
            partitions,
            is_incomplete,
        }
    }
}
