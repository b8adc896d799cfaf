//! Documents of a YAML file that apply to certain profiles only, as in Spring.

use super::source::Given;
use super::value::squeeze;

const ACTIVE: &str = "spring.profiles.active";
const CONDITION: &str = "spring.config.activate.on-profile";

/// The settings of the documents that apply, in order, without those that only select profiles. `outside`: settings of the environment and
/// the flags; `spring.profiles.active` there is stronger than in a file.
pub fn select(documents: Vec<Vec<Given>>, outside: &mut Vec<Given>) -> Vec<Given> {
    let chosen = |given: &[Given]| values(given, ACTIVE);
    let in_files = documents
        .iter()
        .filter(|document| values(document, CONDITION).is_empty())
        .map(|document| chosen(document));
    let mut active = Some(chosen(outside))
        .into_iter()
        .chain(in_files.rev())
        .find(|profiles| !profiles.is_empty())
        .unwrap_or_default();
    if active.is_empty() {
        active.push("default".to_string());
    }
    let holds = |document: &Vec<Given>| {
        let conditions = values(document, CONDITION);
        conditions.is_empty() || conditions.iter().any(|text| matches(text, &active))
    };
    let mut given: Vec<Given> = documents.into_iter().filter(holds).flatten().collect();
    for list in [&mut given, outside] {
        list.retain(|one| !is(one, ACTIVE) && !is(one, CONDITION));
    }
    given
}

pub(super) fn is(given: &Given, name: &str) -> bool {
    let plain = given.name.split('[').next().unwrap_or_default();
    let given = Given {
        name: plain.to_string(),
        ..given.clone()
    };
    given.matches(name)
}

/// A list of texts: `a, b`, or a YAML list. The last source wins.
pub(super) fn values(given: &[Given], name: &str) -> Vec<String> {
    let Some(last) = given.iter().rev().find(|one| is(one, name)) else {
        return Vec::new();
    };
    let of_same_list =
        |one: &&Given| is(one, name) && (last.name.contains('[') == one.name.contains('['));
    let texts: Vec<&str> = if last.name.contains('[') {
        given
            .iter()
            .filter(of_same_list)
            .map(|one| one.text.as_str())
            .collect()
    } else {
        last.text.split(',').collect()
    };
    let trimmed = texts.into_iter().map(|text| text.trim().to_string());
    trimmed.filter(|text| !text.is_empty()).collect()
}

/// `name`, `!name`, `a & b`, `a | b`; `&` binds closer.
fn matches(condition: &str, active: &[String]) -> bool {
    let has = |name: &str| {
        active
            .iter()
            .any(|profile| squeeze(profile) == squeeze(name))
    };
    let holds = |term: &str| match term.trim().strip_prefix('!') {
        Some(name) => !has(name.trim()),
        None => has(term.trim()),
    };
    condition.split('|').any(|all| all.split('&').all(holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(settings: &[(&str, &str)]) -> Vec<Given> {
        let given = |(name, text): &(&str, &str)| Given::flag("file", name, text);
        settings.iter().map(given).collect()
    }

    fn ports(documents: &[&[(&str, &str)]], outside: &[(&str, &str)]) -> Vec<String> {
        let documents = documents
            .iter()
            .map(|settings| document(settings))
            .collect();
        let given = select(documents, &mut document(outside));
        assert!(
            given.iter().all(|one| one.name == "server.port"),
            "{given:?}"
        );
        given.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_document_without_condition_holds_and_one_with_it_where_the_profile_is_active() {
        let common: &[_] = &[("server.port", "1")];
        let dev: &[_] = &[
            ("spring.config.activate.on-profile", "dev"),
            ("server.port", "2"),
        ];
        let not_dev: &[_] = &[
            ("spring.config.activate.onProfile", "!dev"),
            ("server.port", "3"),
        ];
        let documents = [common, dev, not_dev];
        assert_eq!(ports(&documents, &[]), ["1", "3"]);
        assert_eq!(
            ports(&documents, &[("spring.profiles.active", "broker, dev")]),
            ["1", "2"]
        );
    }

    #[test]
    fn a_file_may_choose_profiles_and_the_outside_overrules_it() {
        let chooses: &[_] = &[
            ("spring.profiles.active[0]", "a"),
            ("spring.profiles.active[1]", "b"),
        ];
        let both: &[_] = &[
            ("spring.config.activate.on-profile", "a & b"),
            ("server.port", "2"),
        ];
        let either: &[_] = &[
            ("spring.config.activate.on-profile", "b | c"),
            ("server.port", "3"),
        ];
        let documents = [chooses, both, either];
        assert_eq!(ports(&documents, &[]), ["2", "3"]);
        assert_eq!(ports(&documents, &[("spring.profiles.active", "c")]), ["3"]);
        assert_eq!(
            ports(&documents, &[("spring.profiles.active", "d")]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn without_a_choice_the_profile_is_default() {
        let only: &[_] = &[
            ("spring.config.activate.on-profile", "default"),
            ("server.port", "2"),
        ];
        assert_eq!(ports(&[only], &[]), ["2"]);
    }
}
