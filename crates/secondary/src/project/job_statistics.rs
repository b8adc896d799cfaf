//! Job statistics: counts of created, completed and failed jobs.

use std::fmt::Write as _;

use skep_protocol::intent::JobIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::JobValue;
use skep_protocol::{Key, TenantId};
use skep_query::Value;
use skep_query::entities::{self, JOB_STATISTICS, JOB_STATISTICS_SPAN};

use super::Projection;
use crate::changes::{merge, set};

const NUMBER: usize = entities::number(&JOB_STATISTICS);
const START: usize = JOB_STATISTICS.column("startTime");
const JOB_TYPE: usize = JOB_STATISTICS.column("jobType");
const WORKER: usize = JOB_STATISTICS.column("worker");
const TENANT: usize = JOB_STATISTICS.column("tenantId");

/// Counts an event of a job whose body has been read already.
pub fn count(to: &mut Projection<'_>, record: &Record<'_>, intent: Intent, value: &JobValue) {
    let tenant = value.tenant();
    add(
        to,
        record,
        intent,
        (&value.job_type, &value.worker, &tenant),
    );
}

/// Counts a completed job. Reads only the fields that are counted.
pub fn completed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let mut fields = record.fields();
    let job_type = fields.text()?;
    let (_definition, _instance, _root) = (fields.key()?, fields.key()?, fields.key()?);
    let (_element, _element_instance) = (fields.u32()?, fields.key()?);
    let _retries = fields.i32()?;
    if fields.is_some()? {
        count(to, record, Intent::Completed, &record.value()?);
        return Ok(());
    }
    let worker = fields.text()?;
    let about = (job_type, worker, &TenantId::default());
    add(to, record, Intent::Completed, about);
    Ok(())
}

fn add(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    intent: Intent,
    (job_type, worker, tenant): (&str, &str, &TenantId),
) {
    let at = record.timestamp;
    let start = at - at.rem_euclid(JOB_STATISTICS_SPAN);
    let row = row(to, (start, job_type, worker, tenant.as_str()));
    let (one, at) = (Value::Int(1), Value::Int(at));
    match intent {
        Intent::Created => {
            merge!(to.changes, JOB_STATISTICS, row, { "created": one, "lastCreated": at });
        }
        Intent::Completed => {
            merge!(to.changes, JOB_STATISTICS, row, { "completed": one, "lastCompleted": at });
        }
        _ => merge!(to.changes, JOB_STATISTICS, row, { "failed": one, "lastFailed": at }),
    }
}

fn row(to: &mut Projection<'_>, (start, job_type, worker, tenant): (i64, &str, &str, &str)) -> Key {
    let is_it = |values: &[Value]| {
        let has =
            |column: usize, text: &str| values.get(column).and_then(Value::as_text) == Some(text);
        values.get(START).and_then(Value::as_int) == Some(start)
            && has(JOB_TYPE, job_type)
            && has(WORKER, worker)
            && has(TENANT, tenant)
    };
    if let Some(row) = to.changes.recent_row(NUMBER, is_it) {
        return row;
    }
    to.text.clear();
    // The lengths make the ID unambiguous. Each partition has rows of its own.
    let _ = write!(
        to.text,
        "{start}:{}:{}:{}:{job_type}:{worker}:{tenant}",
        to.partition,
        job_type.len(),
        worker.len()
    );
    let (row, id) = to.changes.text_row(NUMBER, to.text);
    if let Some(id) = id {
        set!(to.changes, JOB_STATISTICS, row, {
            "id": Value::Text(id),
            "startTime": Value::Int(start),
            "jobType": Value::text(job_type),
            "worker": Value::text(worker),
            "tenantId": Value::text(tenant),
        });
    }
    row
}
