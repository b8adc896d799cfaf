//! The source of a node's number: a setting, or a lease in a bucket.

use std::time::Duration;

use skep_objects::{Location, S3};

use super::settings::{Field, Settings};
use super::source::Given;
use super::value::{Value, squeeze};

const TYPE: &str = "camunda.cluster.node-id-provider.type";
/// Settings with a fixed number.
const FIXED: [&str; 4] = [
    "camunda.cluster.node-id",
    "camunda.cluster.node-id-provider.fixed.node-id",
    "zeebe.broker.cluster.nodeId",
    "skep.cluster.node-id-from-hostname",
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    #[default]
    Fixed,
    S3,
}

impl Field for Provider {
    fn put(&mut self, value: Value) {
        if let Value::Text(text) = value {
            *self = match squeeze(&text).as_str() {
                "s3" => Provider::S3,
                _ => Provider::Fixed,
            };
        }
    }

    fn value(&self) -> Value {
        Value::Text(match self {
            Provider::Fixed => "FIXED".to_string(),
            Provider::S3 => "S3".to_string(),
        })
    }
}

/// `camunda.cluster.node-id-provider`.
#[derive(Clone, Debug)]
pub struct NodeIds {
    pub provider: Provider,
    pub bucket: String,
    pub prefix: String,
    pub lease_duration: Duration,
    pub task: String,
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key: Option<String>,
    pub secret_key: Option<String>,
    pub call_timeout: Duration,
    /// `skep.cluster.replace-lost-nodes`.
    pub replaces: bool,
}

impl Default for NodeIds {
    fn default() -> NodeIds {
        NodeIds {
            provider: Provider::Fixed,
            bucket: String::new(),
            prefix: String::new(),
            lease_duration: Duration::from_secs(15),
            task: String::new(),
            endpoint: None,
            region: None,
            access_key: None,
            secret_key: None,
            call_timeout: Duration::from_secs(10),
            replaces: false,
        }
    }
}

impl NodeIds {
    pub fn is_leased(&self) -> bool {
        self.provider == Provider::S3
    }

    /// The location of the leases. A request is sent once: whether it arrived is found out by reading.
    pub fn location(&self) -> Location {
        Location::S3 {
            bucket: S3 {
                bucket: self.bucket.clone(),
                endpoint: self.endpoint.clone(),
                region: self.region.clone(),
                access_key: self.access_key.clone(),
                secret_key: self.secret_key.clone(),
            },
            prefix: self.prefix.trim_matches('/').to_string(),
            limit: Duration::ZERO,
        }
    }

    /// Time limit of one request. It leaves time for two more before the lease expires.
    pub fn call_limit(&self) -> Duration {
        self.call_timeout.min(self.lease_duration / 3)
    }

    /// Contradictory settings, each with its keys.
    pub fn contradictions(&self, settings: &Settings) -> Vec<String> {
        let mut found = Vec::new();
        if !self.is_leased() {
            if self.replaces {
                found.push(format!(
                    "skep.cluster.replace-lost-nodes is true, and {TYPE} is not S3: it applies to nodes that take their numbers from a \
                     bucket"
                ));
            }
            return found;
        }
        if settings.is_gateway() {
            found.push(format!(
                "{TYPE} is S3, and this is a gateway (camunda.mode): gateways have numbers of their own, from camunda.cluster.node-id"
            ));
        }
        if self.bucket.is_empty() {
            found.push(format!(
                "{TYPE} is S3, and camunda.cluster.node-id-provider.s3.bucket-name is not set"
            ));
        }
        if self.access_key.is_some() != self.secret_key.is_some() {
            found.push(
                "only one of camunda.cluster.node-id-provider.s3.access-key and .secret-key is set"
                    .to_string(),
            );
        }
        if self.replaces && settings.cluster.size == 1 {
            found.push(
                "skep.cluster.replace-lost-nodes is true, and camunda.cluster.size is 1: there is no other node that has the data"
                    .to_string(),
            );
        }
        found
    }
}

/// Reports a fixed number, if one was given although it is to come from a bucket.
pub fn conflict(all: &[Given]) -> Option<String> {
    let last = all.iter().rev().find(|given| given.matches(TYPE))?;
    if squeeze(&last.text) != "s3" {
        return None;
    }
    let is_number = |given: &&Given| {
        let is_false = given.text.is_empty() || given.text.eq_ignore_ascii_case("false");
        !is_false && FIXED.iter().any(|name| given.matches(name))
    };
    let number = all.iter().find(is_number)?;
    Some(format!(
        "{TYPE} is S3 ({}), and {} = '{}' ({}): the number of this node comes from the bucket or from the setting; remove one",
        last.source, number.name, number.text, number.source
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{resolve, source::Given};
    use super::*;

    const S3_KEYS: &str = "camunda.cluster.node-id-provider.s3";

    fn given(settings: &[(&str, &str)]) -> Vec<Given> {
        let flags = settings.iter();
        flags
            .map(|(name, text)| Given::flag("--set", name, *text))
            .collect()
    }

    fn problem(settings: &[(&str, &str)]) -> String {
        resolve(&given(settings)).unwrap_err().to_string()
    }

    #[test]
    fn a_node_leases_its_number_from_a_bucket() {
        let bucket = format!("{S3_KEYS}.bucket-name");
        let secret = format!("{S3_KEYS}.secret-key");
        let access = format!("{S3_KEYS}.access-key");
        let loaded = resolve(&given(&[
            (TYPE, "s3"),
            (&bucket, "numbers"),
            (&access, "who"),
            (&secret, "hidden-key"),
        ]))
        .unwrap();
        let ids = &loaded.settings.cluster.node_ids;
        assert!(ids.is_leased());
        assert_eq!(
            ids.call_limit(),
            Duration::from_secs(5),
            "a third of the lease"
        );
        assert_eq!(ids.location().to_string(), "s3://numbers");
        let shown = format!("{:?}", loaded.effective);
        assert!(!shown.contains("hidden-key"), "{shown}");
    }

    #[test]
    fn settings_of_leases_that_contradict_each_other_stop_the_start() {
        let bucket = format!("{S3_KEYS}.bucket-name");
        let access = format!("{S3_KEYS}.access-key");
        assert!(problem(&[(TYPE, "S3")]).contains(".bucket-name is not set"));
        assert!(problem(&[(TYPE, "S3"), (&bucket, "b"), (&access, "k")]).contains("only one of"));
        let replaces = ("skep.cluster.replace-lost-nodes", "true");
        assert!(problem(&[replaces]).contains("is not S3"));
        assert!(problem(&[(TYPE, "S3"), (&bucket, "b"), replaces]).contains("size is 1"));
        assert!(problem(&[(TYPE, "ZooKeeper")]).contains("FIXED"));
        let gateway = ("camunda.mode", "gateway");
        assert!(problem(&[(TYPE, "S3"), (&bucket, "b"), gateway]).contains("gateways have"));
    }

    #[test]
    fn a_number_that_is_given_besides_stops_the_start() {
        for name in [
            "camunda.cluster.node-id",
            "camunda.cluster.node-id-provider.fixed.node-id",
            "zeebe.broker.cluster.nodeId",
        ] {
            let problem = conflict(&given(&[(TYPE, "S3"), (name, "1")])).unwrap();
            assert!(problem.contains(&format!("{name} = '1'")), "{problem}");
        }
        let hostname = ("skep.cluster.node-id-from-hostname", "true");
        assert!(conflict(&given(&[(TYPE, "S3"), hostname])).is_some());
        assert_eq!(conflict(&given(&[(TYPE, "FIXED"), hostname])), None);
        assert_eq!(conflict(&given(&[(TYPE, "S3")])), None);
    }
}
