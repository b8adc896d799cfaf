//! Steps of scaling up that are taken by the node which leads the first partition. Each is repeated until the state says that it is done,
//! so it does not matter who leads meanwhile.

use std::sync::atomic::Ordering;

use skep_cluster::Operation;
use skep_protocol::Routing;
use skep_protocol::command::Command;

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
    let Scaling {
        desired,
        whole,
        relocated,
        ..
    } = &first.status.scaling;
    if operation.relocates_to().is_some() {
        return relocated.load(Ordering::Relaxed) == shared.routing().version();
    }
    let Some(partitions) = operation.scales_up_to() else {
        return false;
    };
    let is_desired = desired.load(Ordering::Relaxed) == partitions;
    // A deposed leader may have noted the desired number, and nobody else knows it: whoever waits for it asks again.
    if !is_desired {
        // The outcome is seen the next time.
        let command = Command::ScaleUp { partitions };
        shared.local.command(Routing::FIRST, command);
    }
    if matches!(operation, Operation::AwaitRedistribution { .. }) {
        return whole.load(Ordering::Relaxed) >= partitions;
    }
    is_desired
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use skep_cluster::Operation;

    use super::carry_out;
    use crate::hosting::alone_tests::open;

    /// It comes to the request long after that was sent.
    #[test]
    fn a_busy_partition_learns_the_desired_number_from_one_request() {
        let directory = tempfile::tempdir().unwrap();
        let broker = open(directory.path(), 1).unwrap();
        let first = broker.shared().local.partition(1).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let until = |is_so: &dyn Fn() -> bool| {
            while !is_so() {
                assert!(Instant::now() < deadline);
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        until(&|| first.leads());
        let pause = &first.status.processing_paused;
        pause.store(true, Ordering::Relaxed);
        let operation = Operation::StartPartitionScaleUp { partition_count: 3 };
        assert!(!carry_out(broker.shared(), &operation));
        pause.store(false, Ordering::Relaxed);
        until(&|| first.status.scaling.desired.load(Ordering::Relaxed) == 3);
        drop(first);
        assert!(broker.stop());
    }
}
