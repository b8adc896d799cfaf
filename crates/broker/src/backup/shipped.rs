//! A partition's log after a backup, as the store has it.

use std::sync::atomic::Ordering;

use skep_backup::{Chain, Cut, Link, Manifest, Store};

use super::unmarked::Unmarked;
use crate::cluster::Cluster;

pub struct Shipped {
    pub partition: u32,
    /// The cut of the newest restorable moment.
    pub cut: Cut,
    /// Where the backup is cut.
    base: Cut,
    chain: Chain,
    links: Vec<Link>,
    /// The last entry of the last object, once it was read.
    end: Option<u64>,
}

impl Shipped {
    /// The logs of all partitions.
    pub fn behind<'m>(
        store: &'m Store,
        manifest: &'m Manifest,
    ) -> impl Iterator<Item = Shipped> + 'm {
        let partitions = manifest.partitions.iter();
        partitions.map(|of| Shipped {
            partition: of.partition,
            cut: of.cut,
            base: of.cut,
            chain: Chain::new(store, manifest.backup_id, of.partition, of.cut),
            links: Vec::new(),
            end: None,
        })
    }

    /// Reads new objects from the store.
    pub fn look(&mut self) -> Result<(), Unmarked> {
        let last = self.links.last().map(|link| link.first);
        let new = self.chain.links(last.unwrap_or(self.base.index))?;
        if !new.is_empty() {
            debug_assert!(
                new.iter()
                    .all(|link| last.is_none_or(|last| link.first > last)),
                "objects are listed once, in their order"
            );
            self.end = None;
            self.links.extend(new);
        }
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        self.links.iter().map(|link| link.bytes).sum()
    }

    /// Whether the entry at the partition's cut is there, unchanged.
    ///
    /// # Errors
    /// Another leader's entry is there, an object is damaged, or the store cannot be used.
    pub fn has(&mut self, cut: Cut) -> Result<bool, Unmarked> {
        if cut.index <= self.base.index {
            return if cut.index == self.base.index && cut.term == self.base.term {
                Ok(true)
            } else {
                Err(self.differs(cut))
            };
        }
        let at = self.links.partition_point(|link| link.first <= cut.index);
        let Some(link) = at.checked_sub(1).and_then(|at| self.links.get(at)) else {
            return Ok(false);
        };
        let is_last = at == self.links.len();
        if is_last && self.end.is_some_and(|end| end < cut.index) {
            return Ok(false);
        }
        let entries = self.chain.read(link.first)?;
        if is_last {
            self.end = entries.last().map(|entry| entry.index);
        }
        match entries.iter().find(|entry| entry.index == cut.index) {
            Some(entry) if entry.term == cut.term => Ok(true),
            Some(_) => Err(self.differs(cut)),
            None if is_last => Ok(false),
            None => Err(Unmarked::Lacks {
                partition: self.partition,
                entry: cut.index,
            }),
        }
    }

    fn differs(&self, cut: Cut) -> Unmarked {
        Unmarked::OtherLeader {
            partition: self.partition,
            entry: cut.index,
        }
    }

    /// Checks that the log of the partition, which ends there now, has only grown since the newest moment.
    ///
    /// # Errors
    /// It is another log.
    pub fn expect_grown(&self, end: Option<&Cut>) -> Result<(), Unmarked> {
        let (partition, entry) = (self.partition, self.cut.index);
        match end {
            Some(end) if end.index < self.base.index => Err(Unmarked::OtherCluster {
                partition,
                entry: self.base.index,
                end: end.index,
            }),
            Some(end) if end.index < entry => Err(Unmarked::Shorter {
                partition,
                entry,
                end: end.index,
            }),
            Some(end) if end.index == entry && end.term != self.cut.term => {
                Err(Unmarked::OtherHistory { partition, entry })
            }
            _ => Ok(()),
        }
    }

    /// Whether the log ends at the cut, with nothing after it.
    pub fn ends_with(&self, cut: Cut) -> bool {
        match self.links.last() {
            Some(link) => link.first <= cut.index && self.end == Some(cut.index),
            None => cut.index == self.base.index,
        }
    }

    /// Whether anything was done since the newest moment, as far as this node and the store know.
    pub fn has_more(&self, cluster: &Cluster) -> bool {
        let last = self.links.last().map(|link| link.first);
        let here = cluster.replica_here(self.partition);
        let applied = here.map(|handle| handle.status.applied.load(Ordering::Acquire));
        let behind = |index: u64| index > self.cut.index;
        last.is_some_and(behind) || applied.is_some_and(behind)
    }
}
