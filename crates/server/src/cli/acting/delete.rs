//! `skep delete`: deletes deployed resources, or the history of ended instances.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::rest::{Body, RestArgs};
use crate::cli::{given, keys};
use crate::errors::code_of;

#[derive(Args)]
pub struct DeleteArgs {
    /// Keys of process definitions, decision requirements, forms or other resources, or of ended process instances.
    #[arg(required = true, value_name = "KEY", value_parser = given::key)]
    keys: Vec<i64>,
    /// With a process definition or decision requirements: also delete the history of their instances.
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: DeleteArgs) -> anyhow::Result<()> {
    let rest = &args.rest;
    for key in args.keys {
        let resource = if args.history {
            Body::default().with("deleteHistory", true)
        } else {
            Body::default()
        };
        match rest
            .post(&format!("resources/{key}/deletion"), resource)
            .await
        {
            Ok(answer) => {
                let deleted = json!({"resourceKey": key.to_string()});
                let batch = answer.pointer("/batchOperation/batchOperationKey");
                let (history, done) = match batch.and_then(Value::as_str) {
                    Some(batch) => (
                        format!(
                            " Its history is being deleted: `skep batch {batch}` shows the progress."
                        ),
                        json!({"deleted": deleted, "batchOperationKey": batch}),
                    ),
                    None => (String::new(), json!({"deleted": deleted})),
                };
                rest.say(&format!("Deleted the resource {key}.{history}"), &done)?;
            }
            // If it is not the key of a resource, it may be that of an instance.
            Err(error) if code_of(&error) == "NOT_FOUND" => {
                let path = format!("process-instances/{key}/deletion");
                if let Err(second) = rest.post(&path, Body::default()).await {
                    let error = if code_of(&second) == "NOT_FOUND" {
                        error
                    } else {
                        second
                    };
                    let wanted = &["a resource", "a process instance that has ended"];
                    return Err(keys::explain(rest, key, wanted, error).await);
                }
                let done = json!({"deleted": {"processInstanceKey": key.to_string()}});
                rest.say(
                    &format!("Deleted the process instance {key} from history."),
                    &done,
                )?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
