//! `skep batch resolve|cancel|migrate`: acts on every process instance that a filter matches.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::cli::given::{self, VariableArgs};
use crate::cli::migrate::{PlanArgs, active};
use crate::cli::rest::{Body, RestArgs};
use crate::cli::search::{items, time, total, word};
use crate::cli::{Usage, print, table};

/// Number of instances shown by a dry run.
const SHOWN: u64 = 10;

#[derive(Subcommand)]
pub enum Act {
    /// Resolve the incidents of process instances.
    Resolve(ActArgs),
    /// Cancel process instances.
    Cancel(ActArgs),
    /// Migrate running process instances to another definition.
    Migrate(MigrateArgs),
}

#[derive(Args)]
pub struct MigrateArgs {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    act: ActArgs,
}

#[derive(Args)]
pub struct ActArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Print the number of affected process instances, without doing anything.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    rest: RestArgs,
}

/// Which process instances: those that are all of this.
#[derive(Args)]
struct FilterArgs {
    /// Only instances of this process (BPMN process id).
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    process: Option<String>,
    /// Only instances of this version of the process.
    #[arg(long, value_name = "N", requires = "process")]
    version: Option<i32>,
    /// Only instances with an active element of this id.
    #[arg(long, value_name = "ELEMENT", value_parser = NonEmptyStringValueParser::new())]
    element: Option<String>,
    /// Only instances with an incident with this message; * stands for any text.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    error: Option<String>,
    /// Only instances that started within this time, as in 30m, 2h or 7d.
    #[arg(long, value_name = "TIME", value_parser = given::time)]
    since: Option<Duration>,
    /// Only instances that started before this time.
    #[arg(long, value_name = "TIME", value_parser = given::time)]
    older: Option<Duration>,
    /// Only instances of this tenant.
    #[arg(long, value_name = "TENANT", value_parser = NonEmptyStringValueParser::new())]
    tenant: Option<String>,
    /// Only the instance with this key; may be given several times.
    #[arg(long = "instance", value_name = "INSTANCE", value_parser = given::key)]
    instances: Vec<i64>,
    #[command(flatten)]
    variables: VariableArgs,
}

impl FilterArgs {
    /// The filter in the format of the search API.
    ///
    /// # Errors
    /// The filter is empty: an omitted flag must not cancel everything.
    fn json(&self) -> anyhow::Result<Map<String, Value>> {
        let mut filter = Map::new();
        let mut add = |name: &str, value: Option<Value>| {
            filter.extend(value.map(|value| (name.to_string(), value)));
        };
        add(
            "processDefinitionId",
            self.process.as_ref().map(|id| json!(id)),
        );
        add(
            "processDefinitionVersion",
            self.version.map(|number| json!(number)),
        );
        add("elementId", self.element.as_ref().map(|id| json!(id)));
        let is_active = self.element.as_ref().map(|_| json!("ACTIVE"));
        add("elementInstanceState", is_active);
        add(
            "errorMessage",
            self.error.as_ref().map(|text| json!({"$like": text})),
        );
        add("tenantId", self.tenant.as_ref().map(|id| json!(id)));
        let mut began = Map::new();
        for (op, time) in [("$gte", self.since), ("$lt", self.older)] {
            if let Some(time) = time {
                let at = Timestamp::now() - SignedDuration::try_from(time)?;
                began.insert(op.into(), json!(at.to_string()));
            }
        }
        add("startDate", (!began.is_empty()).then(|| began.into()));
        let keys: Vec<String> = self.instances.iter().map(i64::to_string).collect();
        add(
            "processInstanceKey",
            (!keys.is_empty()).then(|| json!({"$in": keys})),
        );
        if let Some(variables) = self.variables.json()? {
            let all: Map<String, Value> = serde_json::from_str(variables.get())?;
            let one =
                |(name, value): (String, Value)| json!({"name": name, "value": value.to_string()});
            add("variables", Some(all.into_iter().map(one).collect()));
        }
        if filter.is_empty() {
            let why = "no filter is given, which would select every process instance: choose with --process, --element, --error, \
                       --since, --older, --tenant, --var or --instance";
            return Err(Usage(why.into()).into());
        }
        Ok(filter)
    }
}

/// A batch operation: its path below `/v2/process-instances`, the phrase that reports it, and its parameters.
struct Deed {
    path: &'static str,
    done: &'static str,
    /// Conditions that the server adds to the filter.
    besides: Value,
    /// The migration plan, for a migration.
    plan: Option<Value>,
}

pub async fn run(act: Act) -> anyhow::Result<()> {
    let (args, deed) = match act {
        Act::Resolve(args) => (
            args,
            Deed {
                path: "incident-resolution",
                done: "have their incidents resolved",
                besides: json!({"state": "ACTIVE", "hasIncident": true}),
                plan: None,
            },
        ),
        Act::Cancel(args) => (
            args,
            Deed {
                path: "cancellation",
                done: "be cancelled",
                // A called instance ends together with its caller.
                besides: json!({"state": "ACTIVE", "parentProcessInstanceKey": {"$exists": false}}),
                plan: None,
            },
        ),
        Act::Migrate(MigrateArgs { plan, act }) => {
            // Checked before any request to the server.
            let filter = act.filter.json()?;
            let target = plan.target(&act.rest).await?;
            let mapping = plan.instructions(elements(&act.rest, filter).await?);
            let plan =
                json!({"targetProcessDefinitionKey": target, "mappingInstructions": mapping});
            let deed = Deed {
                path: "migration",
                done: "be migrated to the other definition",
                besides: json!({"state": "ACTIVE"}),
                plan: Some(plan),
            };
            (act, deed)
        }
    };
    if args.dry_run {
        would(&args, &deed).await
    } else {
        create(&args, deed).await
    }
}

/// Ids of the elements active in the definitions that the filter names by process and version, or by instance.
async fn elements(rest: &RestArgs, mut filter: Map<String, Value>) -> anyhow::Result<Vec<String>> {
    filter.insert("state".into(), json!("ACTIVE"));
    let body = Body::default()
        .with("filter", filter)
        .with("page", json!({"limit": 1000}));
    let found = rest.post("process-instances/search", body).await?;
    let mut definitions: Vec<String> = items(&found)
        .map(|instance| word(instance, "processDefinitionKey"))
        .collect();
    definitions.sort();
    definitions.dedup();
    let mut elements = Vec::new();
    for definition in definitions {
        elements.extend(active(rest, json!({"processDefinitionKey": definition})).await?);
    }
    Ok(elements)
}

/// Reports what a real run would do.
async fn would(args: &ActArgs, deed: &Deed) -> anyhow::Result<()> {
    let mut filter = args.filter.json()?;
    if let Value::Object(besides) = &deed.besides {
        filter.extend(besides.clone());
    }
    let body = Body::default()
        .with("filter", filter)
        .with("sort", json!([{"field": "startDate"}]))
        .with("page", json!({"limit": SHOWN}));
    let found = args.rest.post("process-instances/search", body).await?;
    let count = total(&found);
    if args.rest.json {
        let whole = json!({"dryRun": true, "processInstances": count, "migrationPlan": deed.plan});
        return print(&format!("{whole:#}\n"));
    }
    let mut text = match count {
        0 => "Nothing would be done: no running process instance was found.\n".to_string(),
        1 => format!("1 process instance would {}.\n", deed.done),
        _ => format!("{count} process instances would {}.\n", deed.done),
    };
    if count > 0 {
        let mut rows = vec![["INSTANCE", "PROCESS", "VERSION", "STARTED"].map(String::from)];
        rows.extend(items(&found).map(|item| {
            [
                word(item, "processInstanceKey"),
                word(item, "processDefinitionId"),
                word(item, "processDefinitionVersion"),
                time(item, "startDate"),
            ]
        }));
        text.push('\n');
        text.push_str(&table(&rows));
        if count > SHOWN {
            text.push_str("…\n");
        }
    }
    for mapped in deed
        .plan
        .iter()
        .flat_map(|plan| plan["mappingInstructions"].as_array())
        .flatten()
    {
        let (from, to) = (
            word(mapped, "sourceElementId"),
            word(mapped, "targetElementId"),
        );
        text.push_str(&format!("Element {from} maps to {to}.\n"));
    }
    print(&text)
}

async fn create(args: &ActArgs, deed: Deed) -> anyhow::Result<()> {
    let body = Body::default()
        .with("filter", args.filter.json()?)
        .with_some("migrationPlan", deed.plan);
    let path = format!("process-instances/{}", deed.path);
    let created = args.rest.post(&path, body).await?;
    let key = word(&created, "batchOperationKey");
    let sentence = format!(
        "Batch operation {key} has started; `skep batch {key}{}` shows its progress.",
        args.rest.flag()
    );
    args.rest.say(&sentence, &created)
}
