//! `skep deploy`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use skep_client::{Deployed, Error, Resource, RetryPolicy};

use crate::args::ServerArgs;
use crate::errors;

#[derive(Args)]
pub struct DeployArgs {
    /// The files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

pub async fn run(args: DeployArgs) -> anyhow::Result<()> {
    let mut resources = Vec::with_capacity(args.files.len());
    for file in &args.files {
        let content =
            std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let name = file.file_name().unwrap_or(file.as_os_str());
        resources.push(Resource {
            name: name.to_string_lossy().into_owned(),
            content: content.into(),
        });
    }
    let client = args.server.client()?;
    // A server at its limit, or one that has just started, takes the request a moment later.
    let deploy = || client.deploy(&resources, None);
    let deployment = match RetryPolicy::default().run(deploy).await {
        Err(Error::Refused(problem)) => {
            let code = errors::of_answer(problem.code);
            let mut text = format!("nothing was deployed.\n{}", problem.detail);
            if text.contains("ERROR[") {
                text.push_str(
                    "\nEach code in brackets has a page: `skep explain ID_MISSING`, for instance.",
                );
            }
            return Err(errors::Coded::new(code, text).into());
        }
        result => result?,
    };
    let mut text = format!("Deployment {}\n", deployment.key);
    for item in &deployment.items {
        text.push_str(&line(item));
    }
    super::print(&text)
}

fn line(item: &Deployed) -> String {
    match item {
        Deployed::Process {
            id,
            version,
            key,
            resource_name,
        } => {
            format!("  process {id}, version {version}, key {key}, from {resource_name}\n")
        }
        Deployed::Decision { id, version, key } => {
            format!("  decision {id}, version {version}, key {key}\n")
        }
        Deployed::DecisionRequirements {
            id, version, key, ..
        } => {
            format!("  decision requirements {id}, version {version}, key {key}\n")
        }
        Deployed::Form {
            id, version, key, ..
        } => {
            format!("  form {id}, version {version}, key {key}\n")
        }
        other => format!("  {other:?}\n"),
    }
}
