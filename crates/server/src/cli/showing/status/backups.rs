//! The newest backup, and until when the cluster can be restored.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::reported::Reason;
use crate::cli::fetch;
use crate::cli::moments::BackupsState;

/// The server asks the store for it, which may be slow.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The state of backups as the management port reports it; null if backups have no store.
///
/// # Errors
/// The reason why it is unknown.
pub async fn state(management: &str) -> Result<Value, Reason> {
    let path = "/actuator/backupRuntime/state";
    let (status, body) = fetch::get(management, path, TIMEOUT).await?;
    match status {
        status if status.is_success() => serde_json::from_slice(&body)
            .map_err(|_| Reason("the state of backups is not JSON".to_string())),
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND => Ok(Value::Null),
        status => Err(Reason::refusal(status, &body)),
    }
}

/// One line; empty if backups have no store.
pub fn line(state: &Value) -> String {
    let Ok(state) = BackupsState::parse(state) else {
        return String::new();
    };
    let Some((id, at)) = state.newest() else {
        return "\nBackups: none yet\n".to_string();
    };
    let range = state.ranges().next_back();
    let moments = range.filter(|(start, end)| start != end);
    let moments = moments.map_or_else(String::new, |(start, end)| {
        format!("; every moment from {start} to {end} can be restored")
    });
    format!("\nBackups: the newest is {id} of {at}{moments}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::line;

    #[test]
    fn the_newest_backup_and_the_newest_range_are_shown() {
        assert_eq!(line(&Value::Null), "");
        let none = json!({ "checkpointStates": [], "backupStates": [], "ranges": [] });
        assert_eq!(line(&none), "\nBackups: none yet\n");
        let at = |id: u64, time: &str| json!({ "checkpointId": id, "checkpointTimestamp": format!("2026-11-28T{time}Z"), "partitionId": 1 });
        let mut state = json!({ "backupStates": [at(7, "10:00:00")], "ranges": [] });
        assert_eq!(
            line(&state),
            "\nBackups: the newest is 7 of 2026-11-28T10:00:00Z\n"
        );
        state["ranges"] = json!([
            { "partitionId": 1, "start": at(5, "08:00:00"), "end": at(6, "09:00:00") },
            { "partitionId": 1, "start": at(7, "10:00:00"), "end": at(8, "10:05:00") },
            { "partitionId": 2, "start": at(7, "10:00:00"), "end": at(8, "10:05:00") },
        ]);
        assert_eq!(
            line(&state),
            "\nBackups: the newest is 7 of 2026-11-28T10:00:00Z; every moment from 2026-11-28T10:00:00Z to 2026-11-28T10:05:00Z can be restored\n"
        );
    }
}
