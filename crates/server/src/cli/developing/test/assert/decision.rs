//! Assertions on evaluated decisions: their output and the matched rules.

use serde_json::Value;

use super::variables::short;
use crate::cli::search::word;
use crate::cli::test::instruction::AssertDecision;
use crate::cli::test::selector::Selector;
use crate::cli::test::value::parsed;
use crate::cli::test::wait::{Look, Wrong, until};
use crate::cli::test::world::World;

pub async fn assert(world: &World, of: &AssertDecision) -> Result<(), Wrong> {
    let selector = &of.decision_selector;
    let expected = format!("{selector} was evaluated{}", said(of));
    let search = world.search();
    until(world.timeout, &expected, async || {
        let (what, key) = ("decision-instances/search", "decisionEvaluationInstanceKey");
        let found = search.ours(what, key, selector.filter()).await?;
        let Some(found) = found.first() else {
            return Ok(Look::NotYet("it was not evaluated".into()));
        };
        let path = format!("decision-instances/{}", word(found, key));
        let evaluated = search.rest.get(&path).await?;
        let differs = differs(of, &evaluated);
        Ok(Look::at(differs.is_empty(), false, || differs.join(", ")))
    })
    .await
}

fn said(of: &AssertDecision) -> String {
    let mut text = String::new();
    if let Some(output) = &of.output {
        text.push_str(&format!(", output {}", short(output.get())));
    }
    if let Some(rules) = &of.matched_rules {
        text.push_str(&format!(", matched rules {rules:?}"));
    }
    if let Some(rules) = &of.not_matched_rules {
        text.push_str(&format!(", rules {rules:?} not matched"));
    }
    if of.no_matched_rules == Some(true) {
        text.push_str(", no rule matched");
    }
    text
}

/// The differences from the expected decision.
fn differs(of: &AssertDecision, evaluated: &Value) -> Vec<String> {
    let mut differs = Vec::new();
    if evaluated["state"] != "EVALUATED" {
        let why = word(evaluated, "evaluationFailure");
        differs.push(format!("its evaluation failed: {}", short(&why)));
    }
    if let Some(output) = &of.output {
        let found = word(evaluated, "result");
        if parsed(output.get()) != parsed(&found) {
            differs.push(format!("output {}", short(&found)));
        }
    }
    let rules = evaluated["matchedRules"].as_array().into_iter().flatten();
    let matched: Vec<i64> = rules
        .filter_map(|rule| rule["ruleIndex"].as_i64())
        .collect();
    let has = |rule: &i64| matched.contains(rule);
    let as_wanted = of.matched_rules.iter().flatten().all(has)
        && !of.not_matched_rules.iter().flatten().any(has)
        && (of.no_matched_rules != Some(true) || matched.is_empty());
    if !as_wanted {
        differs.push(format!("matched rules {matched:?}"));
    }
    differs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn output_and_rules_are_compared() {
        let evaluated = json!({"state": "EVALUATED", "result": "{\"a\": 1}",
            "matchedRules": [{"ruleIndex": 1}, {"ruleIndex": 3}]});
        for (fields, expected) in [
            (r#""output": {"a": 1}"#, ""),
            (r#""output": {"a": 2}"#, "output {\"a\": 1}"),
            (r#""output": null"#, "output {\"a\": 1}"),
            (r#""matchedRules": [3]"#, ""),
            (r#""matchedRules": [2]"#, "matched rules [1, 3]"),
            (r#""notMatchedRules": [2, 4]"#, ""),
            (r#""notMatchedRules": [1]"#, "matched rules [1, 3]"),
            (r#""noMatchedRules": true"#, "matched rules [1, 3]"),
            (r#""noMatchedRules": false"#, ""),
        ] {
            let text = format!(
                r#"{{"type": "ASSERT_DECISION", "decisionSelector": {{"decisionDefinitionId": "d"}}, {fields}}}"#
            );
            let of: AssertDecision = serde_json::from_str(&text).unwrap();
            assert_eq!(differs(&of, &evaluated).join(", "), expected, "{fields}");
        }
        let failed = json!({"state": "FAILED", "evaluationFailure": "no input"});
        let text =
            r#"{"type": "ASSERT_DECISION", "decisionSelector": {"decisionDefinitionId": "d"}}"#;
        let of: AssertDecision = serde_json::from_str(text).unwrap();
        assert_eq!(differs(&of, &failed), ["its evaluation failed: no input"]);
    }
}
