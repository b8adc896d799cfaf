//! Settings of the reference that clients or operators rely on once they are switched on, and that this version does not have: they
//! prevent the start instead of having no effect.

use super::security::Answer;
use super::source::Given;

struct NotBuilt {
    /// Everything below them is meant, too.
    names: &'static [&'static str],
    /// The values that ask for what this version does.
    fine: &'static [&'static str],
    /// As in "name: …".
    reason: &'static str,
}

const OFF: &[&str] = &["false", "no", "off", "0"];

const NOT_BUILT: &[NotBuilt] = &[
    NotBuilt {
        names: &["camunda.process-instance-creation.business-id-uniqueness-enabled"],
        fine: OFF,
        reason: "this version does not check that business ids are unique. Remove it or set it to false, and let clients make sure that \
                 they create one instance for each business id",
    },
    NotBuilt {
        names: &["camunda.security.saas"],
        fine: &[],
        reason: "this version does not compare the organization and the cluster that tokens name, so it would accept those of others. \
                 Remove it, and let the identity provider issue tokens for an audience of this cluster \
                 (camunda.security.authentication.oidc.audiences)",
    },
    NotBuilt {
        names: &["camunda.security.session.heartbeat.enabled"],
        fine: OFF,
        reason: "this version has no heartbeat: each request keeps a session alive. Remove it",
    },
    NotBuilt {
        names: &["camunda.security.session.max-inactive-interval"],
        fine: &["30m", "pt30m", "1800s", "pt1800s", "1800000"],
        reason: "a session ends after 30 minutes without a request, and that cannot be changed. Remove it",
    },
    NotBuilt {
        names: &["camunda.insecure"],
        fine: OFF,
        reason: "whether callers log in is set with camunda.security.authentication.unprotected-api: true lets everyone who reaches the \
                 port do everything",
    },
    NotBuilt {
        names: &[
            "camunda.api.rest.filters",
            "camunda.api.grpc.interceptors",
            "zeebe.broker.gateway.filters",
            "zeebe.broker.gateway.interceptors",
            "zeebe.gateway.filters",
            "zeebe.gateway.interceptors",
        ],
        fine: &[],
        reason: "this version runs no Java classes, and requests that such a class refuses would be carried out. Remove it, and check \
                 callers with camunda.security.authentication or in a proxy",
    },
];

/// `None`: the name is about something else.
pub fn answer(given: &Given) -> Option<Answer> {
    let is = |name: &&str| given.matches(name) || given.is_below(name);
    let setting = NOT_BUILT.iter().find(|it| it.names.iter().any(is))?;
    let text = given.text.trim().to_ascii_lowercase();
    // An empty environment variable means "not set".
    let is_fine = text.is_empty() || setting.fine.contains(&&*text);
    Some(if is_fine {
        Answer::Fine
    } else {
        let NotBuilt { reason, .. } = setting;
        Answer::Refused(format!("{} ({}): {reason}", given.name, given.source))
    })
}

#[cfg(test)]
mod tests {
    use super::super::resolve;
    use super::*;
    use crate::config::source::Source;

    fn variable(name: &str, text: &str) -> Given {
        Given {
            name: name.to_string(),
            text: text.to_string(),
            source: Source::Environment(name.to_string()),
        }
    }

    #[test]
    fn the_start_fails_if_one_is_switched_on() {
        for (name, on, said, fine) in [
            (
                "CAMUNDA_PROCESSINSTANCECREATION_BUSINESSIDUNIQUENESSENABLED",
                "true",
                "does not check",
                &["false", "off", ""][..],
            ),
            (
                "CAMUNDA_SECURITY_SAAS_ORGANIZATIONID",
                "acme",
                "tokens name",
                &[""],
            ),
            ("CAMUNDA_SECURITY_SAAS_CLUSTERID", "7", "tokens name", &[""]),
            (
                "CAMUNDA_SECURITY_SESSION_HEARTBEAT_ENABLED",
                "true",
                "no heartbeat",
                &["false", ""],
            ),
            (
                "CAMUNDA_SECURITY_SESSION_MAXINACTIVEINTERVAL",
                "5m",
                "30 minutes",
                &["30m", "PT30M", ""],
            ),
            ("CAMUNDA_INSECURE", "true", "unprotected-api", &["false"]),
            (
                "CAMUNDA_API_REST_FILTERS_0_CLASSNAME",
                "org.example.Filter",
                "Java",
                &[""],
            ),
            (
                "ZEEBE_BROKER_GATEWAY_INTERCEPTORS_0_JARPATH",
                "/filter.jar",
                "Java",
                &[""],
            ),
        ] {
            let problem = resolve(&[variable(name, on)]).unwrap_err().to_string();
            assert!(
                problem.contains(name) && problem.contains(said),
                "{problem}"
            );
            for fine in fine {
                let warnings = resolve(&[variable(name, fine)]).unwrap().warnings;
                assert!(warnings.is_empty(), "{name} {fine}: {warnings:?}");
            }
        }
        let in_file = Given::flag(
            "--set",
            "camunda.api.grpc.interceptors[0].class-name",
            "org.example.Interceptor",
        );
        assert!(resolve(&[in_file]).is_err());
    }
}
