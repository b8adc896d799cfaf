//! `skep instance KEY`: one process instance on a page: what happened, where it stands, why it waits.

use clap::Args;
use serde_json::{Value, json};

use super::search::{SearchArgs, items, total, word};
use super::table;

#[derive(Args)]
pub struct InstanceArgs {
    /// Key of the process instance.
    key: i64,
    #[command(flatten)]
    search: SearchArgs,
}

pub async fn run(args: InstanceArgs) -> anyhow::Result<()> {
    let InstanceArgs { key, search } = args;
    let instance = search.get(&format!("process-instances/{key}")).await?;
    let of_instance = json!({"processInstanceKey": key.to_string()});
    let by_start = json!([{"field": "startDate"}, {"field": "elementInstanceKey"}]);
    let elements = search
        .find("element-instances", of_instance.clone(), by_start)
        .await?;
    let open = json!({"processInstanceKey": key.to_string(), "state": "ACTIVE"});
    let incidents = search.find("incidents", open, json!([])).await?;
    let jobs = search.find("jobs", of_instance.clone(), json!([])).await?;
    let by_name = json!([{"field": "name"}]);
    let variables = search.find("variables", of_instance, by_name).await?;
    let page = Page {
        instance,
        elements,
        incidents,
        jobs,
        variables,
    };
    if search.json {
        let all = json!({
            "instance": page.instance,
            "elementInstances": items(&page.elements).collect::<Vec<_>>(),
            "incidents": items(&page.incidents).collect::<Vec<_>>(),
            "jobs": items(&page.jobs).collect::<Vec<_>>(),
            "variables": items(&page.variables).collect::<Vec<_>>(),
        });
        return super::print(&format!("{all:#}\n"));
    }
    super::print(&page.text())
}

struct Page {
    instance: Value,
    elements: Value,
    incidents: Value,
    jobs: Value,
    variables: Value,
}

impl Page {
    fn text(&self) -> String {
        let instance = &self.instance;
        let mut text = format!(
            "Process instance {} of '{}', version {}: {}\nStarted {}",
            word(instance, "processInstanceKey"),
            word(instance, "processDefinitionId"),
            word(instance, "processDefinitionVersion"),
            word(instance, "state"),
            word(instance, "startDate"),
        );
        if !instance["endDate"].is_null() {
            text.push_str(&format!(", ended {}", word(instance, "endDate")));
        }
        if !instance["parentProcessInstanceKey"].is_null() {
            text.push_str(&format!(
                ", called by {}",
                word(instance, "parentProcessInstanceKey")
            ));
        }
        text.push_str("\n\n");
        self.elements(&mut text);
        self.waits(&mut text);
        self.variables(&mut text);
        text
    }

    fn elements(&self, text: &mut String) {
        let mut rows = vec![["ELEMENT", "TYPE", "STATE", "STARTED", "ENDED"].map(String::from)];
        rows.extend(items(&self.elements).map(|element| {
            ["elementId", "type", "state", "startDate", "endDate"].map(|name| word(element, name))
        }));
        text.push_str(&table(&rows));
        more(&self.elements, text);
    }

    /// Every element that has not ended, with what it waits for.
    fn waits(&self, text: &mut String) {
        let active = items(&self.elements).filter(|element| element["state"] == "ACTIVE");
        let mut said = false;
        for element in active {
            if !std::mem::replace(&mut said, true) {
                text.push_str("\nWaits:\n");
            }
            let key = &element["elementInstanceKey"];
            let id = word(element, "elementId");
            let here = |all| items(all).filter(|thing| thing["elementInstanceKey"] == *key);
            let mut known = false;
            for incident in here(&self.incidents) {
                known = true;
                text.push_str(&format!(
                    "  {id}: incident {} ({}) since {}: {}\n    mend the cause, then: curl -X POST \
                     http://localhost:8080/v2/incidents/{0}/resolution\n",
                    word(incident, "incidentKey"),
                    word(incident, "errorType"),
                    word(incident, "creationTime"),
                    word(incident, "errorMessage"),
                ));
            }
            let ended = ["COMPLETED", "CANCELED", "ERROR_THROWN"];
            let open = here(&self.jobs).filter(|job| !ended.contains(&word(job, "state").as_str()));
            for job in open {
                known = true;
                let worker = match word(job, "worker").as_str() {
                    "" | "-" => "no worker has taken it yet".to_string(),
                    worker => format!("last taken by '{worker}', until {}", word(job, "deadline")),
                };
                text.push_str(&format!(
                    "  {id}: job {} of type '{}' since {}, {} retries left; {worker}\n",
                    word(job, "jobKey"),
                    word(job, "type"),
                    word(job, "creationTime"),
                    word(job, "retries"),
                ));
            }
            if !known {
                text.push_str(&format!(
                    "  {id}: for an event or for what is inside of it, since {}\n",
                    word(element, "startDate")
                ));
            }
        }
    }

    fn variables(&self, text: &mut String) {
        let mut variables = items(&self.variables).peekable();
        if variables.peek().is_none() {
            return;
        }
        text.push('\n');
        let mut rows = vec![["VARIABLE", "SCOPE", "VALUE"].map(String::from)];
        rows.extend(variables.map(|variable| {
            let value: String = word(variable, "value").chars().take(100).collect();
            [word(variable, "name"), word(variable, "scopeKey"), value]
        }));
        text.push_str(&table(&rows));
        more(&self.variables, text);
    }
}

fn more(answer: &Value, text: &mut String) {
    let (shown, total) = (items(answer).count() as u64, total(answer));
    if total > shown {
        text.push_str(&format!("({shown} of {total}; see --limit)\n"));
    }
}
