//! `skep migrate`: running instances continue with another definition.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::modify::from_to;
use crate::cli::rest::{Body, RestArgs};
use crate::cli::search::{items, word};
use crate::cli::{given, keys};
use crate::errors::Coded;

#[derive(Args)]
pub struct MigrateArgs {
    /// Keys of process instances.
    #[arg(required = true, value_name = "INSTANCE", value_parser = given::key)]
    instances: Vec<i64>,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    rest: RestArgs,
}

/// Where instances go.
#[derive(Args)]
pub struct PlanArgs {
    /// Target definition: its key, a process id for its latest version, or ID:VERSION.
    #[arg(long = "to", value_name = "DEFINITION")]
    target: String,
    /// Maps an element to another one, as in --map pay:charge; other active elements keep their ids.
    #[arg(long = "map", value_name = "FROM:TO", value_parser = from_to)]
    mapped: Vec<(String, String)>,
}

pub async fn run(args: MigrateArgs) -> anyhow::Result<()> {
    let rest = &args.rest;
    let target = args.plan.target(rest).await?;
    for key in args.instances {
        let active = active(rest, json!({"processInstanceKey": key.to_string()})).await?;
        let body = Body::default()
            .with("targetProcessDefinitionKey", &target)
            .with("mappingInstructions", args.plan.instructions(active));
        if let Err(error) = rest
            .post(&format!("process-instances/{key}/migration"), body)
            .await
        {
            return Err(keys::explain(rest, key, &["a process instance"], error).await);
        }
        let done = json!({"migrated": {"processInstanceKey": key.to_string(), "processDefinitionKey": target}});
        rest.say(
            &format!("Migrated process instance {key} to the definition {target}."),
            &done,
        )?;
    }
    Ok(())
}

/// Ids of active elements; the process itself needs no mapping.
pub async fn active(rest: &RestArgs, mut filter: Value) -> anyhow::Result<Vec<String>> {
    if let Value::Object(filter) = &mut filter {
        filter.insert("state".to_string(), json!("ACTIVE"));
    }
    let body = Body::default()
        .with("filter", filter)
        .with("page", json!({"limit": 10_000}));
    let found = rest.post("element-instances/search", body).await?;
    let elements = items(&found).filter(|element| element["type"] != "PROCESS");
    Ok(elements.map(|element| word(element, "elementId")).collect())
}

impl PlanArgs {
    /// Key of the target definition.
    pub async fn target(&self, rest: &RestArgs) -> anyhow::Result<String> {
        if given::key(&self.target).is_ok() {
            return Ok(self.target.clone());
        }
        let filter = match self.target.rsplit_once(':') {
            Some((id, version)) if version.parse::<i32>().is_ok() => {
                json!({"processDefinitionId": id, "version": version.parse::<i32>()?})
            }
            _ => json!({"processDefinitionId": self.target, "isLatestVersion": true}),
        };
        let body = Body::default().with("filter", filter);
        let found = rest.post("process-definitions/search", body).await?;
        let key = items(&found)
            .next()
            .map(|found| word(found, "processDefinitionKey"));
        key.ok_or_else(|| {
            let text = format!(
                "there is no process definition '{}': `skep processes` lists the deployed ones",
                self.target
            );
            Coded::new("NOT_FOUND", text).into()
        })
    }

    /// The mapping instructions: the given ones, and the other active elements, which keep their ids.
    pub fn instructions(&self, active: Vec<String>) -> Vec<Value> {
        let mut mapped: BTreeMap<String, String> =
            active.into_iter().map(|id| (id.clone(), id)).collect();
        mapped.extend(self.mapped.iter().cloned());
        let instruction = |(from, to)| json!({"sourceElementId": from, "targetElementId": to});
        mapped.into_iter().map(instruction).collect()
    }
}
