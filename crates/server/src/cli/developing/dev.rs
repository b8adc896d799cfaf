//! `skep dev DIR`: runs a server that keeps no data, deploys changed files of a directory, and shows events.

mod events;
mod files;
pub mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use skep_engine::RecordNames;

use self::files::Files;
use self::server::Server;
use crate::cli::Usage;
use crate::cli::deploy::{deploy, resources};
use crate::cli::log::each;
use crate::cli::log::reading::Reading;
use crate::errors::code_of;

/// Interval between two checks of files and records.
const PAUSE: Duration = Duration::from_millis(300);

/// The likeliest reason: a server runs already.
const PORTS: &str = "nothing is deployed or shown (if a port is taken, choose others with --rest-port, --grpc-port and --management-port; 0 takes a \
                     free one)";

#[derive(Args)]
pub struct DevArgs {
    /// Directory with BPMN, DMN, form and RPA files.
    #[arg(default_value = ".", value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Port of REST and of the web interface; 0 picks a free port.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    rest_port: u16,
    /// Port of gRPC; 0 picks a free port.
    #[arg(long, value_name = "PORT", default_value_t = 26500)]
    grpc_port: u16,
    /// Port of health, metrics and management; 0 picks a free port.
    #[arg(long, value_name = "PORT", default_value_t = 9600)]
    management_port: u16,
}

pub async fn run(args: DevArgs) -> anyhow::Result<()> {
    if !args.directory.is_dir() {
        let text = format!("{} is not a directory", args.directory.display());
        return Err(Usage(text).into());
    }
    let ports = [args.rest_port, args.grpc_port, args.management_port];
    let mut server = Server::start(ports, "warn", &[]).context(PORTS)?;
    crate::cli::print(&format!(
        "REST and web interface on {}, gRPC on {}; no data is kept.\nDeploying changed files of {}. Press Ctrl-C to stop.\n\n",
        server.rest,
        server.grpc,
        args.directory.display()
    ))?;
    let mut end = std::pin::pin!(crate::cli::interrupted());
    let mut work = Work::begin(&args.directory, &server)?;
    loop {
        work.look(&server).await?;
        server.still_runs()?;
        tokio::select! {
            () = &mut end => return Ok(()),
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// The files deployed so far and the log records already printed.
struct Work {
    files: Files,
    log: Reading,
    names: RecordNames,
}

impl Work {
    fn begin(directory: &Path, server: &Server) -> anyhow::Result<Work> {
        Ok(Work {
            files: Files::of(directory),
            log: Reading::begin(&server.log())?,
            names: RecordNames::new(1),
        })
    }

    async fn look(&mut self, server: &Server) -> anyhow::Result<()> {
        let changed = self.files.changed()?;
        // Deploy them together, as they may need each other; if that fails, each by itself, so that one faulty file does not hold back the
        // others.
        if !changed.is_empty()
            && (changed.len() == 1 || self.deploy(&changed, server).await.is_err())
        {
            for file in &changed {
                // A finding, or a file that has disappeared, is no reason to stop: the next change may fix it.
                if let Err(why) = self.deploy(std::slice::from_ref(file), server).await {
                    let text = format!("{why:#}\n");
                    crate::cli::print(&crate::cli::once(&text, code_of(&why)))?;
                }
            }
        }
        self.log.renew()?;
        each(&mut self.log, &mut self.names, |records| {
            let lines: String = records.iter().filter_map(events::line).collect();
            crate::cli::print(&lines)
        })
    }

    async fn deploy(&self, changed: &[PathBuf], server: &Server) -> anyhow::Result<()> {
        let client = server.client()?;
        deploy(&client, &resources(changed)?, None).await?;
        Ok(())
    }
}
