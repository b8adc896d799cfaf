//! `/actuator/jobstreams`: clients that receive jobs by push.

use http::StatusCode;
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_broker::job_streams::Stream;

use super::clock::duration;
use super::reply::{Handled, json as answer, ok};

pub fn handle(broker: &Broker, part: Option<&str>) -> Handled {
    let streams = broker.streams().streams();
    match part {
        None => Ok(ok(&json!({
            "remote": remote(broker, &streams),
            "client": client(broker, &streams),
        }))),
        Some("remote") => Ok(ok(&remote(broker, &streams))),
        Some("client") => Ok(ok(&client(broker, &streams))),
        Some(other) => {
            let text = format!("'{other}' is unknown; use remote or client");
            Err(answer(StatusCode::BAD_REQUEST, &json!({ "error": text })))
        }
    }
}

/// Streams from the broker's view: streams of the same kind are one with several consumers.
fn remote(broker: &Broker, streams: &[std::sync::Arc<Stream>]) -> Value {
    let mut groups: Map<String, Value> = Map::new();
    for stream in streams {
        let metadata = metadata(stream);
        let kind = format!("{}\n{metadata}", stream.spec.job_type);
        let group = groups.entry(kind).or_insert_with(|| {
            json!({
                "jobType": &*stream.spec.job_type,
                "metadata": metadata,
                "consumers": [],
            })
        });
        if let Some(consumers) = group["consumers"].as_array_mut() {
            consumers.push(json!({ "id": id(stream), "receiver": member(broker) }));
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Streams from the gateway's view.
fn client(broker: &Broker, streams: &[std::sync::Arc<Stream>]) -> Value {
    let one = |stream: &std::sync::Arc<Stream>| {
        json!({
            "jobType": &*stream.spec.job_type,
            "id": id(stream),
            "metadata": metadata(stream),
            "connectedTo": [member(broker)],
        })
    };
    streams.iter().map(one).collect()
}

fn metadata(stream: &Stream) -> Value {
    let spec = &stream.spec;
    let variables: Vec<&str> = spec.fetch_variables.iter().map(|name| &**name).collect();
    let tenants: Vec<String> = spec.tenants.iter().map(|id| id.to_string()).collect();
    json!({
        "worker": &*spec.worker,
        "timeout": duration(spec.timeout),
        "fetchVariables": variables,
        "tenantIds": tenants,
        "tenantFilter": spec.tenants.filter.name(),
    })
}

/// The name of a member: its node number.
fn member(broker: &Broker) -> String {
    broker.config().node_id.to_string()
}

/// The stream's number formatted as a UUID.
fn id(stream: &Stream) -> String {
    format!("00000000-0000-4000-8000-{:012x}", stream.id)
}
