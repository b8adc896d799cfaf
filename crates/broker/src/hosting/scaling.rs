//! Steps of scaling up that are taken by the node which leads the first partition. Each is repeated until the state says that it is done,
//! so it does not matter who leads meanwhile.

use std::sync::atomic::Ordering;
use std::time::Instant;

use skep_cluster::Operation;
use skep_protocol::Routing;
use skep_protocol::command::{Command, Request};

use crate::partition::status::Scaling;
use crate::shared::Shared;

/// Carries the operation out. True once it has taken effect.
pub(crate) fn carry_out(shared: &Shared, operation: &Operation) -> bool {
    let Some(first) = shared
        .local
        .partition(Routing::FIRST)
        .filter(|it| it.leads())
    else {
        return false;
    };
    let (Some(partitions), Scaling { desired, whole }) =
        (operation.scales_up_to(), &first.status.scaling)
    else {
        return false;
    };
    let is_desired = desired.load(Ordering::Relaxed) == partitions;
    // A deposed leader may have noted the desired number, and nobody else knows it: whoever waits for it asks again.
    if !is_desired {
        let request = Request::internal(Command::ScaleUp { partitions });
        // The outcome is seen the next time.
        drop(shared.local.submit(Routing::FIRST, request, Instant::now()));
    }
    if matches!(operation, Operation::AwaitRedistribution { .. }) {
        return whole.load(Ordering::Relaxed) >= partitions;
    }
    is_desired
}
