//! Security settings that all nodes must have in common. A node with other ones admits callers that the others refuse, or shows
//! them more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use skep_broker::Broker;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::config::security::Security;

/// Asks a node for its [`Common`] settings.
pub const QUESTION: &str = "security-settings";

/// Delay of the first comparison after the start, and the time between two of them.
const FIRST: Duration = Duration::from_secs(2);
const PACE: Duration = Duration::from_secs(30);

/// Settings by name, without secrets.
type Common = BTreeMap<String, Value>;

/// The comparison of this node's settings with those of the others.
#[derive(Debug, Default)]
pub struct Agreement {
    own: Common,
    differences: Mutex<Vec<String>>,
}

impl Agreement {
    /// Compares the settings for as long as the broker exists. Has to be called in a runtime.
    pub fn start(security: &Security, broker: &Arc<Broker>) -> Arc<Agreement> {
        let agreement = Arc::new(Agreement {
            own: common(security),
            differences: Mutex::default(),
        });
        let (watched, broker) = (Arc::clone(&agreement), Arc::downgrade(broker));
        tokio::spawn(async move {
            let mut pace = interval_at(Instant::now() + FIRST, PACE);
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                pace.tick().await;
                let Some(broker) = broker.upgrade() else {
                    return;
                };
                watched.compare(broker.ask_nodes(QUESTION).await);
            }
        });
        agreement
    }

    /// The answer to [`QUESTION`].
    pub fn answer(&self) -> String {
        json!(self.own).to_string()
    }

    /// The settings that differ, one text for each node that has other ones.
    pub fn differences(&self) -> Vec<String> {
        self.differences.lock().clone()
    }

    fn compare(&self, answers: BTreeMap<u32, Option<String>>) {
        let mut differences = Vec::new();
        for (node, answer) in answers {
            // Nodes of earlier versions do not know the question.
            let other: Option<Common> = answer.and_then(|text| serde_json::from_str(&text).ok());
            let names = other.map(|other| differing(&self.own, &other));
            if let Some(names) = names.filter(|names| !names.is_empty()) {
                differences.push(format!("node {node}: {}", names.join(", ")));
            }
        }
        let mut known = self.differences.lock();
        if *known != differences {
            if differences.is_empty() {
                tracing::info!("all nodes have the same security settings again");
            } else {
                tracing::warn!(
                    code = "CONFIGURATION",
                    differences = differences.join("; "),
                    "other nodes have other security settings than this one: what a caller may do depends on the node that is asked. \
                     Give all nodes the same settings"
                );
            }
            *known = differences;
        }
    }
}

/// Names of the settings with different values. Those that only one node knows are of another version.
fn differing(own: &Common, other: &Common) -> Vec<String> {
    let differs =
        |(name, value): &(&String, &Value)| other.get(*name).is_some_and(|other| other != *value);
    let names = own.iter().filter(differs);
    names.map(|(name, _)| name.clone()).collect()
}

fn common(security: &Security) -> Common {
    let gateway = security.gateway();
    let providers = security.providers.iter().map(|it| {
        json!({
            "issuer-uri": it.issuer_uri,
            "audiences": it.audiences,
            "username-claim": it.username_claim,
            "client-id-claim": it.client_id_claim,
            "groups-claim": it.groups_claim,
            "prefer-username-claim": it.prefer_username_claim,
        })
    });
    let settings = [
        (
            "authentication.method",
            json!(format!("{:?}", gateway.login)),
        ),
        ("authentication.oidc", providers.collect()),
        ("authorizations.enabled", json!(gateway.authorizations)),
        (
            "multi-tenancy.checks-enabled",
            json!(security.tenant_checks),
        ),
        ("multi-tenancy.api-enabled", json!(gateway.tenants_api)),
        ("id-validation-pattern", json!(security.id_pattern)),
    ];
    let named = settings.map(|(name, value)| (format!("camunda.security.{name}"), value));
    named.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement() -> Agreement {
        Agreement {
            own: common(&Security::default()),
            differences: Mutex::default(),
        }
    }

    #[test]
    fn nodes_with_the_same_settings_agree() {
        let agreement = agreement();
        let answers = [(1, Some(agreement.answer())), (2, None)];
        agreement.compare(answers.into_iter().collect());
        assert!(agreement.differences().is_empty());
    }

    #[test]
    fn each_node_with_other_settings_is_named_with_them_until_it_has_the_same() {
        let agreement = agreement();
        let other = Security {
            tenant_checks: true,
            unprotected_api: Some(false),
            ..Security::default()
        };
        let other = json!(common(&other)).to_string();
        agreement.compare([(0, Some(other))].into_iter().collect());
        assert_eq!(
            agreement.differences(),
            [
                "node 0: camunda.security.authentication.method, camunda.security.authorizations.enabled, \
              camunda.security.multi-tenancy.checks-enabled"
            ]
        );
        let same = agreement.answer();
        agreement.compare([(0, Some(same))].into_iter().collect());
        assert!(agreement.differences().is_empty());
    }

    #[test]
    fn settings_of_another_version_and_answers_without_meaning_are_no_difference() {
        let agreement = agreement();
        let later = json!({"camunda.security.new": true}).to_string();
        let answers = [later, String::new(), "[]".to_string()];
        let answers = (0..).zip(answers.map(Some));
        agreement.compare(answers.collect());
        assert!(agreement.differences().is_empty());
    }
}
