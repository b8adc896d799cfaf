//! `authorize-request.additional-parameters`: what browsers tell the provider beyond the protocol when they log in.

use skep_oidc::OWN_PARAMETERS;

use super::super::super::source::{Given, Source};
use super::bare;

/// Each name below it is a parameter; the second is how a manual of the reference spells it.
const PARAMETERS: [&str; 2] = [
    "authorize-request.additional-parameters",
    "authorize-request-configuration.additional-parameters",
];
const MAX_PARAMETERS: usize = 32;

/// The parameter that this setting is named after, as its operator spells it.
pub fn name(field: &str, given: &Given) -> Option<String> {
    let below = |area: &&str| field.strip_prefix(&bare(area));
    let rest = PARAMETERS.iter().find_map(below)?;
    let is_item = rest.trim_matches(['[', ']']).parse::<usize>().is_ok();
    if rest.is_empty() || is_item {
        return None;
    }
    let lower = given.name.to_ascii_lowercase();
    match given.source {
        Source::Environment(_) => {
            let (_, name) = lower.split_once("parameters_")?;
            Some(name.to_string())
        }
        _ => {
            const END: &str = "parameters.";
            let name = given.name.get(lower.find(END)? + END.len()..)?;
            Some(name.trim_matches(['[', ']']).to_string())
        }
    }
}

/// The parameters of a provider, by name. Faults are added to `problems`.
pub fn read(of: &str, pairs: &[String], problems: &mut Vec<String>) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for pair in pairs {
        let name = pair.split_once('=').map_or("", |(name, _)| name.trim());
        if name.is_empty() {
            problems.push(format!(
                "{of}: authorize-request.additional-parameters has '{pair}': expected NAME=VALUE"
            ));
        } else if OWN_PARAMETERS.contains(&name) {
            problems.push(format!(
                "{of}: authorize-request.additional-parameters may not set '{name}': logins set it themselves"
            ));
        } else if let Some((_, value)) = pair.split_once('=') {
            all.retain(|(other, _)| other != name);
            all.push((name.to_string(), value.trim().to_string()));
        }
    }
    if all.len() > MAX_PARAMETERS {
        problems.push(format!(
            "{of}: authorize-request.additional-parameters has {} parameters, and may have {MAX_PARAMETERS}",
            all.len()
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(name: &str, source: Source) -> Option<String> {
        let given = Given {
            text: "login".to_string(),
            source,
            name: name.to_string(),
        };
        let (_, field) = super::super::split(&given).unwrap();
        super::name(&field, &given)
    }

    #[test]
    fn a_parameter_keeps_the_spelling_of_its_operator() {
        let setting = |rest: &str| {
            let name = format!("camunda.security.authentication.oidc.{rest}");
            let given = Given::flag("--set", &name, "x");
            name_of(&name, given.source)
        };
        for (name, parameter) in [
            (
                "authorize-request.additional-parameters.kc_idp_hint",
                Some("kc_idp_hint"),
            ),
            (
                "authorizeRequest.additionalParameters.maxAge",
                Some("maxAge"),
            ),
            (
                "authorize-request.additional-parameters.[ui.locales]",
                Some("ui.locales"),
            ),
            (
                "authorize-request-configuration.additional-parameters.prompt",
                Some("prompt"),
            ),
            ("authorize-request.additional-parameters", None),
            ("authorize-request.additional-parameters[0]", None),
            ("scope", None),
        ] {
            assert_eq!(setting(name).as_deref(), parameter, "{name}");
        }
        let name = "CAMUNDA_SECURITY_AUTHENTICATION_OIDC_AUTHORIZEREQUEST_ADDITIONALPARAMETERS_KC_IDP_HINT";
        let variable = Source::Environment(name.to_string());
        assert_eq!(name_of(name, variable).as_deref(), Some("kc_idp_hint"));
    }

    #[test]
    fn parameters_of_the_protocol_and_texts_without_a_name_are_refused() {
        let read = |pairs: &[&str]| {
            let pairs: Vec<String> = pairs.iter().map(|pair| pair.to_string()).collect();
            let mut problems = Vec::new();
            let read = super::read("p", &pairs, &mut problems);
            (read, problems)
        };
        let owned = |name: &str, value: &str| (name.to_string(), value.to_string());
        let (all, problems) = read(&["prompt=login", "audience = https://api?a=b", "prompt=none"]);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            all,
            [
                owned("audience", "https://api?a=b"),
                owned("prompt", "none")
            ]
        );
        for (pair, said) in [
            ("state=fixed", "may not set 'state'"),
            ("redirect_uri=https://evil", "may not set 'redirect_uri'"),
            ("login", "expected NAME=VALUE"),
            ("=login", "expected NAME=VALUE"),
        ] {
            let (all, problems) = read(&[pair]);
            assert!(
                all.is_empty() && problems.concat().contains(said),
                "{problems:?}"
            );
        }
        let many: Vec<String> = (0..33).map(|n| format!("p{n}=1")).collect();
        let mut problems = Vec::new();
        super::read("p", &many, &mut problems);
        assert!(
            problems.concat().contains("has 33 parameters"),
            "{problems:?}"
        );
    }
}
