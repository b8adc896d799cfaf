//! SCALE events.

use skep_protocol::Key;
use skep_protocol::intent::ScaleIntent as Intent;
use skep_protocol::value::ScaleValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ScaleValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ScaleValue, _timestamp: i64) {
        let partitions = value.desired_partition_count;
        self.scaling.change(|scaling| {
            scaling.desired = partitions;
            match intent {
                Intent::ScalingUp => scaling.finished = Key::NONE,
                Intent::PartitionPulling => {
                    scaling.pulling.extend(&value.redistributed_partitions);
                }
                Intent::PartitionBootstrapped => {
                    scaling.bootstrapped.extend(&value.redistributed_partitions);
                }
                Intent::ScaledUp => {
                    scaling.whole = partitions;
                    scaling.finished = key;
                }
                Intent::ScaleUp
                | Intent::Status
                | Intent::StatusResponse
                | Intent::MarkPartitionBootstrapped => {}
            }
        });
    }
}
