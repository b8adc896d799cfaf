//! Jobs that workers receive: those of each activation, with their variables and headers.

use serde_json::{Value, json};
use skep_protocol::ActivatedJob;

/// Differences between the recorded activations and the jobs handed out, as lines.
pub fn differences(records: &str, activated: &[(usize, ActivatedJob)]) -> Vec<String> {
    let expected: Vec<String> = records.lines().flat_map(recorded).collect();
    let got: Vec<String> = activated
        .iter()
        .map(|(step, job)| handed_out(*step, job))
        .collect();
    crate::compare::differences(&expected, &got)
}

/// The jobs of a recorded line, if it has any.
fn recorded(line: &str) -> Vec<String> {
    let record: Value = serde_json::from_str(line).expect("a line is a record");
    if record["valueType"] != "JOB_BATCH" || record["intent"] != "ACTIVATED" {
        return Vec::new();
    }
    let jobs = record["value"]["jobs"].as_array().cloned();
    let step = record["step"].as_u64().unwrap_or(0) as usize;
    let line = |job: Value| {
        let or = |name: &str, default: Value| match &job[name] {
            Value::Null => default,
            value => value.clone(),
        };
        let job = json!({
            "type": job["type"],
            "worker": job["worker"],
            "retries": job["retries"],
            "elementId": job["elementId"],
            "customHeaders": without_keys(or("customHeaders", json!({}))),
            "variables": or("variables", json!({})),
            "tags": or("tags", json!([])),
        });
        format!("{step} activated {job}")
    };
    jobs.unwrap_or_default().into_iter().map(line).collect()
}

fn handed_out(step: usize, job: &ActivatedJob) -> String {
    let document = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    let job = json!({
        "type": &*job.job_type,
        "worker": &*job.worker,
        "retries": job.retries,
        "elementId": &*job.element_id,
        "customHeaders": without_keys(document(&job.custom_headers)),
        "variables": document(&job.variables),
        "tags": job.tags.iter().map(|tag| tag.to_string()).collect::<Vec<_>>(),
    });
    format!("{step} activated {job}")
}

/// Keys differ in each run; they are compared in the job's own records.
fn without_keys(mut headers: Value) -> Value {
    if let Some(fields) = headers.as_object_mut() {
        fields.remove("io.camunda.zeebe:userTaskKey");
    }
    headers
}
