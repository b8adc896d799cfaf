//! `skep init`: writes an example process and a worker for it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::errors::Coded;

#[derive(Args)]
pub struct InitArgs {
    /// Directory for the files; created if it does not exist.
    #[arg(default_value = ".", value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const FILES: [(&str, &str); 3] = [
    (
        "order.bpmn",
        include_str!("../../../../../examples/first-process.bpmn"),
    ),
    ("charge-card.sh", include_str!("init/charge-card.sh")),
    ("README.md", include_str!("init/README.md")),
];

pub fn run(args: &InitArgs) -> anyhow::Result<()> {
    let directory = &args.directory;
    let there: Vec<&str> = FILES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| directory.join(name).exists())
        .collect();
    if !there.is_empty() {
        let text = format!(
            "nothing was written: {} already has {}",
            directory.display(),
            there.join(", ")
        );
        return Err(Coded::new("ALREADY_EXISTS", text).into());
    }
    std::fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be created", directory.display()))?;
    for (name, content) in FILES {
        write(&directory.join(name), content)?;
    }
    if args.json {
        let files = FILES.map(|(name, _)| directory.join(name).display().to_string());
        let done = serde_json::json!({ "files": files });
        return crate::cli::print(&format!("{done:#}\n"));
    }
    crate::cli::print(&next(directory))
}

fn write(path: &Path, content: &str) -> anyhow::Result<()> {
    std::fs::write(path, content).with_context(|| format!("{} cannot be written", path.display()))
}

fn next(directory: &Path) -> String {
    let cd = if directory == Path::new(".") {
        String::new()
    } else {
        format!("  cd {}\n", directory.display())
    };
    format!(
        "Wrote a process (order.bpmn), a worker (charge-card.sh) and the next steps (README.md).\n\n\
         A server that deploys what changes here:\n{cd}  skep dev .\n\
         Then, in other terminals:\n{cd}  skep worker charge-card --exec 'sh charge-card.sh'\n  \
         skep start order --var orderId=o-1 --var amount=99 --await\n"
    )
}
