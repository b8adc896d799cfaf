//! The processes that clients deploy.

use std::sync::Arc;

use skep_model::builder::Bpmn;
use skep_protocol::Document;
use skep_protocol::command::{Deploy, PublishMessage, Resource};

use super::super::clients::JOB_TYPE;

/// Type of a job that no worker takes before the end: the instance waits for its pings meanwhile.
pub const HOLD: &str = "hold";
/// Messages for a catch event, for a non-interrupting boundary event, and for a start event.
pub const PAID: &str = "paid";
pub const PING: &str = "ping";
pub const BEGIN: &str = "begin";
pub const SIGNAL: &str = "go";

/// Processes that clients start by their id.
pub const CREATED: [&str; 6] = ["task", "timer", "message", "pings", "signal", "caller"];
/// The process of which each deployment contains a new version.
pub const VERSIONED: &str = "task";
/// The process that is started by messages.
pub const STARTS: &str = "starts";

/// All processes, in the first deployment. One of them varies by this number.
pub fn deployment(number: u32) -> Deploy {
    let process = |id: &str| Bpmn::process(id).start("s");
    let all = [
        process(VERSIONED)
            .service_task("t", JOB_TYPE)
            .named(&format!("number {number}"))
            .end("e"),
        process("timer").catch_duration("t", "PT0.3S").end("e"),
        process("message")
            .catch_message("m", PAID, "=order")
            .end("e"),
        process("pings")
            .service_task("h", HOLD)
            .end("e")
            .boundary_message("b", "h", PING, "=order")
            .non_interrupting()
            .service_task("p", JOB_TYPE)
            .end("f"),
        process("signal").catch_signal("g", SIGNAL).end("e"),
        process("caller").call_activity("c", VERSIONED).end("e"),
        Bpmn::process(STARTS)
            .start_message("s", BEGIN)
            .service_task("t", JOB_TYPE)
            .end("e"),
    ];
    let resource = |(number, bpmn): (usize, Bpmn)| Resource {
        name: format!("{number}.bpmn"),
        content: bpmn.xml().into(),
    };
    let new = if number == 0 { all.len() } else { 1 };
    let resources = all.into_iter().enumerate().take(new);
    let resources = resources.map(resource).collect();
    Deploy { resources }
}

/// A message with unique content.
pub fn message(name: &str, key: &str, time_to_live: i64, content: u64) -> PublishMessage {
    PublishMessage {
        name: name.into(),
        correlation_key: key.into(),
        time_to_live,
        message_id: Arc::default(),
        variables: Document::parse(&format!(r#"{{"content":{content}}}"#)).unwrap(),
    }
}
