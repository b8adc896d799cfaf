//! Selectors, which identify the process instance, element, job or other item that an instruction is about.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Declares a selector: strings by name, of which at least one identifying string is required.
macro_rules! selectors {
    ($($name:ident $what:literal [$($field:literal)+] needs [$($needed:literal)+];)+) => {
        $(
            #[derive(Clone, Debug, Deserialize)]
            #[serde(try_from = "Map<String, Value>")]
            pub struct $name(Vec<(&'static str, String)>);

            impl TryFrom<Map<String, Value>> for $name {
                type Error = String;

                fn try_from(given: Map<String, Value>) -> Result<$name, String> {
                    fields(given, &[$($field),+], &[$($needed),+]).map($name)
                }
            }

            impl Selector for $name {
                const WHAT: &'static str = $what;

                fn fields(&self) -> &[(&'static str, String)] {
                    &self.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.describe(f)
                }
            }
        )+
    };
}

selectors! {
    ProcessDefinitionSelector "process" ["processDefinitionId"] needs ["processDefinitionId"];
    ProcessInstanceSelector "process instance" ["processDefinitionId"] needs ["processDefinitionId"];
    DecisionDefinitionSelector "decision" ["decisionDefinitionId"] needs ["decisionDefinitionId"];
    DecisionSelector "decision" ["decisionDefinitionId" "decisionDefinitionName"]
        needs ["decisionDefinitionId" "decisionDefinitionName"];
    ElementSelector "element" ["elementId" "elementName"] needs ["elementId" "elementName"];
    JobSelector "job" ["jobType" "elementId" "processDefinitionId"]
        needs ["jobType" "elementId" "processDefinitionId"];
    UserTaskSelector "user task" ["elementId" "taskName" "processDefinitionId"]
        needs ["elementId" "taskName" "processDefinitionId"];
    IncidentSelector "incident" ["elementId" "processDefinitionId"] needs ["elementId" "processDefinitionId"];
    MessageSelector "message" ["messageName" "correlationKey"] needs ["messageName"];
}

fn fields(
    given: Map<String, Value>,
    known: &[&'static str],
    needed: &[&str],
) -> Result<Vec<(&'static str, String)>, String> {
    let mut fields = Vec::new();
    for (name, value) in given {
        let Some(name) = known.iter().find(|known| **known == name) else {
            return Err(format!(
                "unknown field `{name}`, expected {}",
                any_of(known)
            ));
        };
        match value {
            Value::String(text) => fields.push((*name, text)),
            other => return Err(format!("`{name}` must be a string, but is {other}")),
        }
    }
    // In the order of declaration, not alphabetically.
    fields.sort_by_key(|(name, _)| known.iter().position(|known| known == name));
    if fields.iter().any(|(name, _)| needed.contains(name)) {
        Ok(fields)
    } else {
        Err(format!("missing field {}", any_of(needed)))
    }
}

fn any_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" or ")
}

pub trait Selector {
    /// The kind of thing it selects.
    const WHAT: &'static str;

    fn fields(&self) -> &[(&'static str, String)];

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.fields().iter().find(|(field, _)| *field == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The same as the filter of a search.
    fn filter(&self) -> Map<String, Value> {
        let fields = self.fields().iter();
        let fields = fields.map(|(name, value)| {
            let name = match *name {
                "jobType" => "type",
                "taskName" => "name",
                other => other,
            };
            (name.to_string(), Value::from(value.as_str()))
        });
        fields.collect()
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = Self::WHAT;
        for (name, value) in self.fields() {
            match *name {
                "processDefinitionId" if before != "process" => {
                    write!(f, "{before} of process '{value}'")?;
                }
                "jobType" => write!(f, "{before} of type '{value}'")?,
                "elementId" if Self::WHAT != "element" => {
                    write!(f, "{before} of element '{value}'")?;
                }
                "correlationKey" => write!(f, "{before}, correlation key '{value}'")?,
                _ => write!(f, "{before} '{value}'")?,
            }
            before = "";
        }
        Ok(())
    }
}
