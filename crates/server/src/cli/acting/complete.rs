//! `skep complete`: completes a job or a user task.

use clap::Args;
use serde_json::json;

use crate::cli::given::VariableArgs;
use crate::cli::rest::{Body, RestArgs};
use crate::cli::{given, keys};
use crate::errors::code_of;

#[derive(Args)]
pub struct CompleteArgs {
    /// Key of a job or of a user task; `skep jobs` and `skep tasks` list them.
    #[arg(value_name = "KEY", value_parser = given::key)]
    key: i64,
    #[command(flatten)]
    variables: VariableArgs,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: CompleteArgs) -> anyhow::Result<()> {
    let (rest, key) = (&args.rest, args.key);
    let variables = args.variables.json()?;
    let body = || Body::default().with_some("variables", variables.as_deref());
    let kinds = [
        ("jobs", "job", "jobKey"),
        ("user-tasks", "user task", "userTaskKey"),
    ];
    let mut refused = None;
    for (place, what, field) in kinds {
        match rest
            .post(&format!("{place}/{key}/completion"), body())
            .await
        {
            Ok(_) => {
                let done = json!({"completed": {field: key.to_string()}});
                return rest.say(&format!("Completed {what} {key}."), &done);
            }
            // If it is not the key of a job, it may be that of a user task.
            Err(error) if code_of(&error) == "NOT_FOUND" => refused = refused.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(error) => Err(keys::explain(rest, key, &["a job", "a user task"], error).await),
        None => Ok(()),
    }
}
