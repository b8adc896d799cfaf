//! Unknown names of settings that protect something: a server that ignored one would be believed to be safe.

use super::super::source::Given;

const UNPROTECTED_API: &str = "camunda.security.authentication.unprotected-api";

const UNKNOWN: &str = "there is no such setting; ignoring it could leave open what it is meant to protect. Correct its name, or remove it";

const LOGIN: &str = "camunda.security.authentication";

/// Prefixes below which every setting protects something.
const PROTECTING: [&str; 9] = [
    LOGIN,
    "camunda.security",
    "camunda.api.grpc.ssl",
    "camunda.cluster.network.transport-layer-security",
    "management.server.ssl",
    "server.ssl",
    "zeebe.broker.gateway.security",
    "zeebe.broker.network.security",
    "zeebe.gateway.security",
];

/// The verdict on a name.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It needs nothing that is missing here.
    Fine,
    /// The start is refused, with this text.
    Refused(String),
}

/// `None`: the name is about something else.
pub fn answer(given: &Given, all: &[Given]) -> Option<Answer> {
    let area = PROTECTING.iter().find(|area| given.is_below(area))?;
    let is = |given: &Given, name: &str, value: &str| {
        given.matches(name) && given.text.trim().eq_ignore_ascii_case(value)
    };
    let open = all.iter().any(|other| is(other, UNPROTECTED_API, "true"));
    // An empty environment variable means "not set"; whoever chose to have no login may still configure one.
    let fine = given.text.is_empty() || (open && *area == LOGIN);
    Some(if fine {
        Answer::Fine
    } else {
        Answer::Refused(format!("{} ({}): {UNKNOWN}", given.name, given.source))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::Source;

    fn variable(name: &str, text: &str) -> Given {
        Given {
            name: name.to_string(),
            text: text.to_string(),
            source: Source::Environment(name.to_string()),
        }
    }

    fn alone(name: &str, text: &str) -> Option<Answer> {
        let given = variable(name, text);
        answer(&given, std::slice::from_ref(&given))
    }

    #[test]
    fn unknown_security_settings_are_refused_unless_they_ask_for_nothing() {
        for (name, text, said) in [
            (
                "CAMUNDA_SECURITY_AUTHENTICATION_PROVIDERS_LDAP_A_URL",
                "ldap://example.org",
                "no such setting",
            ),
            (
                "CAMUNDA_SECURITY_MULTITENANCY_CHECKSENABELD",
                "true",
                "no such setting",
            ),
            (
                "CAMUNDA_SECURITY_AUTHORIZATIONS_ENABELD",
                "true",
                "no such setting",
            ),
            ("CAMUNDA_SECURITY_CSRF_ENABELD", "true", "no such setting"),
            ("SERVER_SSL_ENABLEDPROTOCOLS", "TLSv1.3", "no such setting"),
            ("MANAGEMENT_SERVER_SSL_BUNDLE", "web", "no such setting"),
            ("ZEEBE_GATEWAY_SECURITY_ENABLED", "true", "no such setting"),
        ] {
            let Some(Answer::Refused(text)) = alone(name, text) else {
                panic!("{name} is taken");
            };
            assert!(text.contains(name) && text.contains(said), "{text}");
        }
        let unset = alone("CAMUNDA_SECURITY_AUTHENTICATION_LDAP_URL", "");
        assert_eq!(unset, Some(Answer::Fine));
        assert_eq!(alone("CAMUNDA_CLUSTER_SIZ", "3"), None);
    }

    #[test]
    fn settings_of_a_login_are_accepted_on_an_unprotected_api() {
        let all = [
            variable("CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI", "true"),
            variable("CAMUNDA_SECURITY_AUTHENTICATION_LDAP_URL", "ldap://x"),
            variable("CAMUNDA_SECURITY_MULTITENANCY_CHECKSENABELD", "true"),
        ];
        assert_eq!(answer(&all[1], &all), Some(Answer::Fine));
        assert!(matches!(answer(&all[2], &all), Some(Answer::Refused(_))));
    }
}
