//! The steps of scaling up that the node takes which leads the first partition. Each is repeated until the state says that it is
//! done, so it does not matter who leads meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use skep_protocol::Routing;
use skep_protocol::command::{Command, Request};

use crate::partition::PartitionHandle;
use crate::shared::Shared;

/// True once the first partition sends to so many partitions what all carry out.
pub(crate) fn start(shared: &Shared, partitions: u32) -> bool {
    let Some(first) = first(shared) else {
        return false;
    };
    let begun = first.status.scaling.targets.load(Ordering::Relaxed) >= partitions;
    if !begun {
        ask(shared, partitions);
    }
    begun
}

/// True once so many partitions have what every partition has, and all of them know of each other.
pub(crate) fn await_redistribution(shared: &Shared, partitions: u32) -> bool {
    let Some(first) = first(shared) else {
        return false;
    };
    let whole = first.status.scaling.whole.load(Ordering::Relaxed) >= partitions;
    if !whole {
        // A leader that was deposed may have said that it had begun, and nobody else knows.
        start(shared, partitions);
    }
    whole
}

fn first(shared: &Shared) -> Option<Arc<PartitionHandle>> {
    let first = shared.local.partition(Routing::FIRST);
    first.filter(|first| first.leads())
}

/// What comes of it is seen the next time.
fn ask(shared: &Shared, partitions: u32) {
    let request = Request::internal(Command::ScaleUp { partitions });
    drop(shared.local.submit(Routing::FIRST, request, Instant::now()));
}
