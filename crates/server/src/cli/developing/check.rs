//! `skep check FILE`: reports the findings of a deployment, without a server.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use skep_engine::Prepared;
use skep_protocol::Rejection;
use skep_protocol::command::{Command, Deploy, Resource};

use crate::cli::deploy::{CODES_HAVE_PAGES, resources};
use crate::errors::Coded;

#[derive(Args)]
pub struct CheckArgs {
    /// BPMN, DMN, form and RPA files, or directories: all such files below them; they are checked together as one deployment.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let resources = resources(&args.files)?;
    let count = resources.len();
    let resource = |file: skep_client::Resource| Resource {
        name: file.name,
        content: file.content,
    };
    let deploy = Command::Deploy(Deploy {
        resources: resources.into_iter().map(resource).collect(),
    });
    let prepared = Prepared::of_command(&deploy);
    let refusal = prepared.as_ref().and_then(Prepared::refusal);
    if args.json {
        crate::cli::print(&format!("{:#}\n", findings(refusal)))?;
    }
    match refusal {
        Some(refusal) => {
            let text = format!(
                "it cannot be deployed.\n{}{CODES_HAVE_PAGES}",
                refusal.reason
            );
            Err(Coded::new("INVALID_ARGUMENT", text).into())
        }
        None if args.json => Ok(()),
        None => crate::cli::print(&match count {
            1 => "No findings: it can be deployed.\n".to_string(),
            _ => format!("No findings: the {count} files can be deployed.\n"),
        }),
    }
}

fn findings(refusal: Option<&Rejection>) -> serde_json::Value {
    let files = refusal.map_or(&[][..], |refusal| &refusal.findings);
    let files = files.iter().map(|file| {
        let findings = file.findings.iter().map(|finding| {
            json!({
                "code": finding.rule.code(),
                "elementId": finding.element_id,
                "line": finding.line,
                "message": finding.message,
            })
        });
        json!({"file": file.resource_name, "findings": findings.collect::<Vec<_>>()})
    });
    json!({"files": files.collect::<Vec<_>>()})
}
