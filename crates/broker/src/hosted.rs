//! The partitions that have a replica on this node. They come and go while the node runs.

use std::ops::Deref;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::partition::PartitionHandle;

/// A snapshot of the list of partitions, by number.
#[derive(Clone)]
pub struct Partitions(Arc<[Arc<PartitionHandle>]>);

impl Deref for Partitions {
    type Target = [Arc<PartitionHandle>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for Partitions {
    type Item = Arc<PartitionHandle>;
    type IntoIter = std::vec::IntoIter<Arc<PartitionHandle>>;

    fn into_iter(self) -> Self::IntoIter {
        let all: Vec<_> = self.0.iter().cloned().collect();
        all.into_iter()
    }
}

/// The current list.
pub(crate) struct Hosted(RwLock<Partitions>);

impl Default for Hosted {
    fn default() -> Hosted {
        Hosted(RwLock::new(Partitions(Arc::from([]))))
    }
}

impl Hosted {
    pub(crate) fn all(&self) -> Partitions {
        self.0.read().clone()
    }

    pub(crate) fn get(&self, partition: u32) -> Option<Arc<PartitionHandle>> {
        let all = self.0.read();
        // Usually all of them are here.
        let at = (partition as usize).checked_sub(1)?;
        let it = all.get(at).filter(|it| it.status.partition == partition);
        it.or_else(|| all.iter().find(|it| it.status.partition == partition))
            .cloned()
    }

    /// Adds the partition, replacing the one that had its number.
    pub(crate) fn put(&self, handle: Arc<PartitionHandle>) {
        let number = handle.status.partition;
        self.change(|all| {
            all.retain(|it| it.status.partition != number);
            all.push(handle);
            all.sort_by_key(|it| it.status.partition);
        });
    }

    pub(crate) fn remove(&self, partition: u32) -> Option<Arc<PartitionHandle>> {
        let removed = self.get(partition);
        self.change(|all| all.retain(|it| it.status.partition != partition));
        removed
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<PartitionHandle>>)) {
        let mut partitions = self.0.write();
        let mut all = partitions.0.to_vec();
        change(&mut all);
        debug_assert!(
            all.is_sorted_by(|one, next| one.status.partition < next.status.partition),
            "each partition is here once, in the order of the numbers"
        );
        *partitions = Partitions(all.into());
    }
}
