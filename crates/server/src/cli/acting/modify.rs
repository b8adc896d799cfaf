//! `skep modify`: activates, terminates or moves elements of a running instance.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::given::VariableArgs;
use crate::cli::rest::{Body, RestArgs};
use crate::cli::{Usage, given, keys};

#[derive(Args)]
pub struct ModifyArgs {
    /// Key of a process instance.
    #[arg(value_name = "INSTANCE", value_parser = given::key)]
    instance: i64,
    /// Element to activate.
    #[arg(long, value_name = "ELEMENT")]
    activate: Vec<String>,
    /// Element to terminate: its id, or the key of one element instance.
    #[arg(long, value_name = "ELEMENT|KEY")]
    terminate: Vec<String>,
    /// Terminate one element and activate another in its place, as in --move pay:ship.
    #[arg(long = "move", value_name = "FROM:TO", value_parser = from_to)]
    moves: Vec<(String, String)>,
    #[command(flatten)]
    variables: VariableArgs,
    #[command(flatten)]
    rest: RestArgs,
}

/// Parses two element ids.
pub fn from_to(text: &str) -> Result<(String, String), String> {
    given::pair(text, ':')
}

pub async fn run(args: ModifyArgs) -> anyhow::Result<()> {
    let (rest, key) = (&args.rest, args.instance);
    let begins = args.activate.len() + args.moves.len();
    if begins + args.terminate.len() == 0 {
        let why = "nothing to modify: give --activate, --terminate or --move";
        return Err(Usage(why.into()).into());
    }
    let variables = args.variables.json()?;
    if variables.is_some() && begins == 0 {
        let why =
            "variables require elements to activate (--activate, --move); `skep set` sets others";
        return Err(Usage(why.into()).into());
    }
    // In the process scope, where all elements see them.
    let set: Option<Vec<_>> =
        variables.map(|variables| vec![Body::default().with("variables", variables)]);
    let activate: Vec<Body> = args
        .activate
        .iter()
        .map(|element| {
            Body::default()
                .with("elementId", element)
                .with_some("variableInstructions", set.as_ref())
        })
        .collect();
    let moves: Vec<Body> = args
        .moves
        .iter()
        .map(|(from, to)| {
            Body::default()
                .with(
                    "sourceElementInstruction",
                    json!({"sourceType": "byId", "sourceElementId": from}),
                )
                .with("targetElementId", to)
                .with_some("variableInstructions", set.as_ref())
        })
        .collect();
    let terminate: Vec<Value> = args
        .terminate
        .iter()
        .map(|element| match given::key(element) {
            Ok(key) => json!({"elementInstanceKey": key.to_string()}),
            Err(_) => json!({"elementId": element}),
        })
        .collect();
    let body = Body::default()
        .with("activateInstructions", activate)
        .with("moveInstructions", moves)
        .with("terminateInstructions", terminate);
    if let Err(error) = rest
        .post(&format!("process-instances/{key}/modification"), body)
        .await
    {
        return Err(keys::explain(rest, key, &["a process instance"], error).await);
    }
    let done = json!({"modified": {"processInstanceKey": key.to_string()}});
    rest.say(&format!("Modified process instance {key}."), &done)
}
