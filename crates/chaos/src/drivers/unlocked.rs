//! Changes that take seconds or minutes where nodes are pods. Meanwhile the cluster is not locked: samples need it each second.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::kubernetes::{Pods, START};
use super::{Change, Cluster, ways};
use crate::plan::Way;

fn locked(cluster: &Mutex<Cluster>) -> MutexGuard<'_, Cluster> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills a node (`kill -9`), or asks it to end and waits for its end.
///
/// # Errors
/// It was not up, or does not end.
pub fn end(cluster: &Mutex<Cluster>, number: u32, gently: bool) -> io::Result<()> {
    let deletion = {
        let mut locked = locked(cluster);
        let cluster = &mut *locked;
        let Some(pods) = &mut cluster.pods else {
            return cluster.end(number, gently);
        };
        pods.begin_end(number, gently)?
    };
    let deleted = deletion.carry_out();
    let mut locked = locked(cluster);
    let cluster = &mut *locked;
    if let Some(pods) = &mut cluster.pods {
        pods.ended(number, deleted)?;
    }
    cluster.node(number)?.set_reached(false);
    Ok(())
}

/// Starts all nodes that are down and returns their number.
///
/// # Errors
/// The program cannot be started, or a pod is not started again.
pub fn start_again(cluster: &Mutex<Cluster>) -> io::Result<usize> {
    if locked(cluster).pods.is_none() {
        return locked(cluster).start_again();
    }
    let (until, mut count) = (Instant::now() + START, 0);
    loop {
        let awaited = locked(cluster).pods.as_ref().and_then(Pods::next_down);
        let Some(awaited) = awaited else {
            return Ok(count);
        };
        let started = awaited.wait(until)?;
        let mut locked = locked(cluster);
        let cluster = &mut *locked;
        if let Some(pods) = &mut cluster.pods {
            let number = pods.started(started)?;
            cluster.node(number)?.set_reached(true);
            count += 1;
        }
    }
}

/// Changes a way. Returns the node at its end, if there is one.
///
/// # Errors
/// There is no such way, or no such node, or the change has no effect.
pub fn change_way(cluster: &Mutex<Cluster>, way: Way, change: Change) -> io::Result<Option<u32>> {
    let mut cut = {
        let mut locked = locked(cluster);
        let cluster = &mut *locked;
        let node = cluster.at_the_end(way)?;
        match (&mut cluster.pods, node) {
            (Some(pods), Some(number)) if change == Change::Cut => {
                pods.begin_cut(number, ways::said(way))?
            }
            _ => {
                cluster.ways.change(way, node, change)?;
                return Ok(node);
            }
        }
    };
    let has_effect = cut.has_effect();
    let node = cut.number;
    if let Some(pods) = &mut locked(cluster).pods {
        pods.end_cut(&cut, has_effect)?;
    }
    Ok(Some(node))
}
