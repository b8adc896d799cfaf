//! `/actuator/flowControl`: the request limit of each partition, read and changed while the server runs.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_broker::flow_control::{Algorithm, FlowControlConfig};

use super::reply::{self, Answer, Handled, Incoming, allow, bad_request, ok};
use crate::config::milliseconds;

pub async fn handle(broker: &Broker, method: &Method, body: Incoming) -> Handled {
    allow(method, &[Method::GET, Method::POST])?;
    if *method == Method::POST {
        let mut body = reply::body(body).await?;
        let write = body.remove("write").unwrap_or_default();
        let request = body.remove("request").unwrap_or_default();
        if let Some(unknown) = body.keys().next() {
            return Err(bad_request(format!(
                "unknown field '{unknown}'; there are request and write"
            )));
        }
        check_write(&write)?;
        if let Value::Object(request) = request {
            change(broker, &request)?;
        } else if !request.is_null() {
            return Err(bad_request("request must be an object"));
        }
    }
    Ok(all(broker))
}

/// Limits of the write rate are not implemented: enabling one must not appear to work.
fn check_write(write: &Value) -> Result<(), Answer> {
    let on = |value: &Value| value.get("enabled").and_then(Value::as_bool) == Some(true);
    let throttling = write.get("throttling").cloned().unwrap_or_default();
    if on(write) || on(&throttling) {
        return Err(reply::message(
            StatusCode::NOT_IMPLEMENTED,
            "limits of the write rate are not supported by this version; send \"write\": null",
        ));
    }
    Ok(())
}

/// Changes the named values and keeps the others. All partitions or none.
fn change(broker: &Broker, request: &Map<String, Value>) -> Result<(), Answer> {
    let mut changed = Vec::new();
    for partition in broker.partitions() {
        let config = merged(&partition.status.limit.config(), request).map_err(bad_request)?;
        changed.push((partition, config));
    }
    for (partition, config) in changed {
        tracing::info!(
            partition = partition.status.partition,
            ?config,
            "the request limit was changed by an operator"
        );
        partition.status.limit.reconfigure(&config);
    }
    Ok(())
}

pub fn merged(
    now: &FlowControlConfig,
    request: &Map<String, Value>,
) -> Result<FlowControlConfig, String> {
    let mut config = serde_json::to_value(now).map_err(|e| e.to_string())?;
    for (name, value) in request {
        let name = match name.as_str() {
            "useWindowed" => "windowed",
            name => name,
        };
        let field = config
            .get_mut(name)
            .ok_or_else(|| format!("unknown field '{name}' of request"))?;
        match (&mut *field, value) {
            (_, Value::Null) => {}
            (Value::Object(limits), Value::Object(changes)) => {
                for (limit, value) in changes {
                    let field = limits
                        .get_mut(limit)
                        .ok_or_else(|| format!("unknown field '{limit}' of request.{name}"))?;
                    *field = match (limit.as_str(), value) {
                        ("requestTimeout", Value::String(text)) => {
                            let millis = milliseconds(text).ok_or_else(|| {
                                format!("request.{name}.requestTimeout: '{text}' is not a time span; write 200ms or PT0.2S")
                            })?;
                            json!(millis)
                        }
                        _ => value.clone(),
                    };
                }
            }
            (_, Value::String(text)) if name == "algorithm" => {
                *field = json!(text.to_ascii_uppercase().replace('-', "_"));
            }
            _ => *field = value.clone(),
        }
    }
    let config: FlowControlConfig =
        serde_json::from_value(config).map_err(|e| format!("request: {e}"))?;
    config.check().map_err(|e| format!("request: {e}"))?;
    Ok(config)
}

fn all(broker: &Broker) -> Answer {
    let partitions: Map<String, Value> = broker
        .partitions()
        .iter()
        .map(|handle| {
            let limit = &handle.status.limit;
            let config = limit.config();
            let algorithm = serde_json::to_value(config.algorithm).unwrap_or_default();
            let settings = settings(&config);
            let state = json!({
                "requestLimiter": {
                    "enabled": config.enabled,
                    "windowed": config.windowed,
                    "algorithm": algorithm,
                    "limit": limit.limit(),
                    "inflight": limit.inflight(),
                    "settings": settings,
                },
                "writeRateLimit": {
                    "enabled": false,
                    "limit": 0,
                    "rampUp": "PT0S",
                    "throttling": {
                        "enabled": false,
                        "acceptableBacklog": 100_000,
                        "minRate": 100,
                        "resolution": "PT15S",
                    },
                },
            });
            (handle.status.partition.to_string(), state)
        })
        .collect();
    ok(&Value::Object(partitions))
}

/// The settings of the algorithm in use.
fn settings(config: &FlowControlConfig) -> Value {
    let settings = match config.algorithm {
        Algorithm::Aimd => serde_json::to_value(&config.aimd),
        Algorithm::Fixed => serde_json::to_value(&config.fixed),
        Algorithm::Vegas => serde_json::to_value(&config.vegas),
        Algorithm::Gradient => serde_json::to_value(&config.gradient),
        Algorithm::Gradient2 => serde_json::to_value(&config.gradient2),
        Algorithm::LegacyVegas => serde_json::to_value(&config.legacy_vegas),
    };
    settings.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_settings_change() {
        let request = json!({
            "useWindowed": false,
            "algorithm": "legacy-vegas",
            "aimd": { "requestTimeout": "PT0.5S", "maxLimit": 500 },
            "vegas": null,
        });
        let config = merged(&FlowControlConfig::default(), request.as_object().unwrap()).unwrap();
        assert!(!config.windowed);
        assert_eq!(config.algorithm, Algorithm::LegacyVegas);
        assert_eq!(
            (config.aimd.request_timeout, config.aimd.max_limit),
            (500, 500)
        );
        assert_eq!(config.aimd.initial_limit, 100);
    }

    #[test]
    fn invalid_flow_control_settings_are_refused_with_the_reason() {
        for (request, reason) in [
            (json!({ "aimd": { "backoffRatio": 1.0 } }), "backoff-ratio"),
            (json!({ "aimd": { "minLimit": 2000 } }), "min-limit"),
            (json!({ "fixed": { "limit": 0 } }), "fixed.limit"),
            (json!({ "algorithm": "BEST" }), "BEST"),
            (json!({ "limit": 5 }), "unknown field 'limit'"),
            (json!({ "fixed": { "size": 5 } }), "unknown field 'size'"),
            (
                json!({ "aimd": { "requestTimeout": "soon" } }),
                "not a time span",
            ),
            (json!({ "aimd": 5 }), "request"),
        ] {
            let error = merged(&FlowControlConfig::default(), request.as_object().unwrap());
            let error = error.unwrap_err();
            assert!(error.contains(reason), "{reason} not in {error}");
        }
    }
}
