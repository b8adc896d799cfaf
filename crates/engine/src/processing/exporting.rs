//! EXPORTING CHANGE, and the positions that exporters report.

use std::sync::Arc;

use skep_protocol::command::ExportingChange;
use skep_protocol::intent::ExportingIntent;
use skep_protocol::value::{ExporterPosition, ExporterValue, ExportingValue};
use skep_protocol::{Key, RejectionType, Response};

use super::{Context, Outcome, reject};

/// Maximum number of known exporters, including those that are no longer configured.
const MAX_EXPORTERS: usize = 64;

pub(crate) fn change(cx: &mut Context<'_>, change: &ExportingChange) -> Outcome {
    let mut value = cx.state.exporting.value().clone();
    match change {
        ExportingChange::Phase(phase) => value.phase = *phase,
        ExportingChange::Enable {
            id,
            initialize_from,
            end,
        } => enable(&mut value, id, initialize_from.as_deref(), *end)?,
        ExportingChange::Disable { id } => entry(&mut value, id)?.is_enabled = false,
        ExportingChange::Delete { id } => {
            let known = value.exporters.len();
            value.exporters.retain(|exporter| exporter.id != *id);
            if value.exporters.len() == known {
                let reason = format!("Expected to delete exporter '{id}', but there is none.");
                return Err(reject(RejectionType::NotFound, "CHANGE", reason));
            }
        }
    }
    changed(cx, value);
    Ok(Some(Response::Empty))
}

/// Records the positions of exporters. A position that is not higher than the known one changes nothing.
pub(crate) fn report(cx: &mut Context<'_>, reports: &[ExporterValue]) {
    let mut value = cx.state.exporting.value().clone();
    for report in reports {
        // A report that comes after the exporter's deletion, or that finds no room, is skipped until the next one.
        if let Ok(exporter) = entry(&mut value, &report.id)
            && exporter.is_enabled
            && exporter.position.entry < report.position.entry
        {
            exporter.position = report.position;
            exporter.metadata.clone_from(&report.metadata);
        }
    }
    changed(cx, value);
}

fn changed(cx: &mut Context<'_>, value: ExportingValue) {
    if value != *cx.state.exporting.value() {
        cx.event(Key::NONE, ExportingIntent::Changed, &value);
    }
}

fn enable(
    value: &mut ExportingValue,
    id: &Arc<str>,
    initialize_from: Option<&str>,
    end: ExporterPosition,
) -> Result<(), skep_protocol::Rejection> {
    let (position, metadata) = match initialize_from {
        None => (end, None),
        Some(other) => match value.exporter(other) {
            Some(other) if other.is_enabled => (other.position, Some(other.metadata.clone())),
            _ => {
                let reason = format!(
                    "Expected to enable exporter '{id}' where exporter '{other}' is, but that is not enabled or has not exported \
                     anything yet."
                );
                return Err(reject(RejectionType::InvalidArgument, "CHANGE", reason));
            }
        },
    };
    let exporter = entry(value, id)?;
    if !exporter.is_enabled {
        exporter.is_enabled = true;
        exporter.position = position;
        exporter.metadata = metadata.unwrap_or_else(|| std::mem::take(&mut exporter.metadata));
    }
    Ok(())
}

/// The state of an exporter. An unknown exporter is added as enabled, at the beginning of the log.
fn entry<'v>(
    value: &'v mut ExportingValue,
    id: &Arc<str>,
) -> Result<&'v mut ExporterValue, skep_protocol::Rejection> {
    let found = value.exporters.iter().position(|known| known.id == *id);
    let at = match found {
        Some(at) => at,
        None if value.exporters.len() >= MAX_EXPORTERS => {
            let reason = format!(
                "Expected to add exporter '{id}', but {MAX_EXPORTERS} are known already. Delete those that are not configured any \
                 more."
            );
            return Err(reject(RejectionType::InvalidState, "CHANGE", reason));
        }
        None => {
            value.exporters.push(ExporterValue {
                id: id.clone(),
                is_enabled: true,
                position: ExporterPosition::default(),
                metadata: Vec::new(),
            });
            value.exporters.len() - 1
        }
    };
    value.exporters.get_mut(at).ok_or_else(|| {
        let reason = "Expected to find the exporter that was added, but it is missing.";
        reject(RejectionType::ProcessingError, "CHANGE", reason)
    })
}
