//! Settings that protect, and cannot yet: a server that took one without effect would be believed to be safe.

use super::source::Given;

const UNPROTECTED_API: &str = "camunda.security.authentication.unprotected-api";

/// What is asked for under these is not there, and what to do without it.
const NOT_THERE: [(&str, &str); 4] = [
    ("camunda.security.authentication", "there is no login yet"),
    (
        "camunda.security.authorizations",
        "permissions are not checked yet",
    ),
    (
        "camunda.security.multi-tenancy",
        "there is one tenant, <default>",
    ),
    (
        "camunda.security.initialization",
        "there are no users, roles and tenants yet",
    ),
];

/// Values that ask for what is so anyway.
const SO_ANYWAY: [(&str, &str); 4] = [
    (UNPROTECTED_API, "true"),
    ("camunda.security.authorizations.enabled", "false"),
    ("camunda.security.multi-tenancy.checks-enabled", "false"),
    ("camunda.security.multi-tenancy.api-enabled", "false"),
];

/// What becomes of a setting.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It asks for nothing that is not there.
    Fine,
    /// The start is refused, with this text.
    Refused(String),
}

/// `None`: it is about something else.
pub fn answer(given: &Given, all: &[Given]) -> Option<Answer> {
    let (area, why) = NOT_THERE.iter().find(|(area, _)| given.is_below(area))?;
    let is = |given: &Given, (name, value): (&str, &str)| {
        given.matches(name) && given.text.trim().eq_ignore_ascii_case(value)
    };
    let open = all.iter().any(|other| is(other, (UNPROTECTED_API, "true")));
    // An environment says "not set" by an empty text; who chose to have no login may still say which one it would be.
    let fine = given.text.is_empty()
        || SO_ANYWAY.iter().any(|so| is(given, *so))
        || (open && area.ends_with("authentication"));
    Some(match fine {
        true => Answer::Fine,
        false => Answer::Refused(format!(
            "{} ({}): {why}. Remove the setting, and let a proxy or a firewall decide who reaches the ports",
            given.name, given.source
        )),
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
    fn what_asks_for_protection_is_refused_and_what_asks_for_none_is_fine() {
        for (name, text) in [
            ("CAMUNDA_SECURITY_AUTHENTICATION_METHOD", "basic"),
            ("CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI", "false"),
            ("CAMUNDA_SECURITY_AUTHORIZATIONS_ENABLED", "true"),
            ("CAMUNDA_SECURITY_MULTITENANCY_CHECKSENABLED", "true"),
            ("CAMUNDA_SECURITY_INITIALIZATION_USERS_0_USERNAME", "demo"),
        ] {
            let Some(Answer::Refused(text)) = alone(name, text) else {
                panic!("{name} is taken");
            };
            assert!(text.contains(name) && text.contains("proxy"), "{text}");
        }
        for (name, text) in [
            ("CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI", "TRUE"),
            ("CAMUNDA_SECURITY_AUTHORIZATIONS_ENABLED", "false"),
            ("CAMUNDA_SECURITY_AUTHENTICATION_METHOD", ""),
        ] {
            assert_eq!(alone(name, text), Some(Answer::Fine), "{name}");
        }
        assert_eq!(alone("CAMUNDA_SECURITY_CSRF_ENABLED", "true"), None);
    }

    #[test]
    fn who_chose_to_have_no_login_may_say_which_one_it_would_be() {
        let all = [
            variable("CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI", "true"),
            variable("CAMUNDA_SECURITY_AUTHENTICATION_METHOD", "oidc"),
            variable("CAMUNDA_SECURITY_AUTHORIZATIONS_ENABLED", "true"),
        ];
        assert_eq!(answer(&all[1], &all), Some(Answer::Fine));
        assert!(matches!(answer(&all[2], &all), Some(Answer::Refused(_))));
    }
}
