//! Settings of the reference that clients rely on once they are switched on, and that this version does not have: they prevent
//! the start instead of having no effect.

use super::security::Answer;
use super::source::Given;

struct NotBuilt {
    name: &'static str,
    /// As in "name: …".
    reason: &'static str,
}

const NOT_BUILT: &[NotBuilt] = &[NotBuilt {
    name: "camunda.process-instance-creation.business-id-uniqueness-enabled",
    reason: "this version does not check that business ids are unique. Remove it or set it to false, and let clients make sure that they \
             create one instance for each business id",
}];

/// `None`: the name is about something else.
pub fn answer(given: &Given) -> Option<Answer> {
    let setting = NOT_BUILT.iter().find(|it| given.matches(it.name))?;
    // An empty environment variable means "not set".
    let off = ["", "false", "no", "off", "0"];
    let text = given.text.trim().to_ascii_lowercase();
    Some(if off.contains(&&*text) {
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

    fn variable(text: &str) -> Given {
        let name = "CAMUNDA_PROCESSINSTANCECREATION_BUSINESSIDUNIQUENESSENABLED";
        Given {
            name: name.to_string(),
            text: text.to_string(),
            source: Source::Environment(name.to_string()),
        }
    }

    #[test]
    fn the_start_fails_if_one_is_switched_on() {
        let problem = resolve(&[variable("true")]).unwrap_err().to_string();
        assert!(problem.contains("BUSINESSIDUNIQUENESSENABLED"), "{problem}");
        assert!(problem.contains("does not check"), "{problem}");
        for off in ["false", "off", ""] {
            let warnings = resolve(&[variable(off)]).unwrap().warnings;
            assert!(warnings.is_empty(), "{off}: {warnings:?}");
        }
    }
}
