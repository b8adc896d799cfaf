//! Backups and the moments between them that can be restored, as the management port reports them.

use serde::Deserialize;
use serde_json::Value;

/// The answer to GET `/actuator/backupRuntime/state`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupsState {
    ranges: Vec<Range>,
    backup_states: Vec<Checkpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    partition_id: u32,
    start: Checkpoint,
    end: Checkpoint,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checkpoint {
    checkpoint_id: u64,
    checkpoint_timestamp: String,
}

impl BackupsState {
    pub fn parse(answer: &Value) -> serde_json::Result<BackupsState> {
        BackupsState::deserialize(answer)
    }

    /// The id and the time of the newest complete backup.
    pub fn newest(&self) -> Option<(u64, &str)> {
        let newest = self.backup_states.first()?;
        Some((newest.checkpoint_id, &newest.checkpoint_timestamp))
    }

    /// The first and the last moment of each range.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        // The checkpoints of a range are the same for all partitions.
        let of_one = self.ranges.iter().filter(|it| it.partition_id == 1);
        of_one.map(|range| {
            let (start, end) = (&range.start, &range.end);
            (
                start.checkpoint_timestamp.as_str(),
                end.checkpoint_timestamp.as_str(),
            )
        })
    }
}
