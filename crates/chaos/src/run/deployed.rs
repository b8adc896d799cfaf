//! What a run deploys. At a cluster of others it is deleted when the run ends, by the run itself or by its guard.

use std::sync::Arc;

use skep_load::process::Process;
use skep_load::{Live, LoadArgs};

use super::Options;
use crate::drivers::SharedGuard;
use crate::guard::{Ticket, Undo};

/// How the guard deletes what was deployed.
pub(super) struct Deletion {
    /// A command to which address and keys are appended.
    command: Vec<String>,
    guard: SharedGuard,
}

impl Deletion {
    /// `None` if the run starts the nodes: they go with all their data.
    pub(super) fn at(options: &Options, guard: &SharedGuard) -> Option<Self> {
        options.is_foreign().then(|| Self {
            command: options.delete.clone(),
            guard: guard.clone(),
        })
    }

    fn promise(&self, live: &Live, addresses: &str) -> std::io::Result<(SharedGuard, Ticket)> {
        let urls = addresses.split(',').map(url);
        let urls: Vec<String> = urls.collect();
        let words = ["--address".to_string(), urls.join(",")];
        let keys = live.process_keys().map(|key| key.to_string());
        let command = self.command.iter().cloned().chain(words).chain(keys);
        let undo = Undo::Run(command.collect());
        let ticket = self.guard.with(|guard| guard.push(undo))?;
        Ok((self.guard.clone(), ticket))
    }
}

fn url(address: &str) -> String {
    if address.contains("://") {
        address.to_string()
    } else {
        format!("http://{address}")
    }
}

/// A deployed process.
pub(super) struct Deployed {
    live: Arc<Live>,
    /// What the guard does if [`Self::delete`] is not called.
    promise: Option<(SharedGuard, Ticket)>,
}

impl Deployed {
    pub(super) async fn new(
        args: LoadArgs,
        process: Process,
        deletion: Option<&Deletion>,
    ) -> anyhow::Result<Self> {
        let addresses = args.rest_address.clone().unwrap_or_default();
        let live = Live::deploy(args, process).await?;
        let promise = deletion.map(|it| it.promise(&live, &addresses));
        Ok(Self {
            promise: promise.transpose()?,
            live: Arc::new(live),
        })
    }

    pub(super) fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live)
    }

    /// Deletes it, if it is at a cluster of others.
    pub(super) async fn delete(self) -> anyhow::Result<()> {
        let Some((guard, ticket)) = self.promise else {
            return Ok(());
        };
        self.live.delete().await?;
        guard.with(|guard| guard.pop(ticket))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::{Receiver, channel};

    use skep_load::args::HttpArg;

    use super::*;
    use crate::guard::Guard;
    use crate::http::fake;
    use crate::run::{load, process};

    const ANSWER: &str = r#"{"deploymentKey":"1","tenantId":"<default>","deployments":[{"processDefinition":{"processDefinitionId":"skep-chaos-a","processDefinitionVersion":1,"resourceName":"p.bpmn","tenantId":"<default>","processDefinitionKey":"2"}}]}"#;

    /// A server where everything is deployed with the key 2, and the first lines of its requests.
    fn server() -> (String, Receiver<String>) {
        let (note, asked) = channel();
        let answer = move |line: &str, _: &[u8]| {
            let _ = note.send(line.to_string());
            ANSWER.to_string()
        };
        (fake::serve(usize::MAX, answer), asked)
    }

    /// A guard that writes each instruction to this file.
    fn guard(file: &Path) -> SharedGuard {
        let words = ["sh", "-c", r#"cat >"$0""#, file.to_str().unwrap()];
        SharedGuard::new(Guard::start(&words.map(String::from)).unwrap())
    }

    /// The instructions to the guard about a process, which the run deletes or not.
    fn told(deletes: bool) -> (String, Vec<String>, String) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("told");
        let (address, asked) = server();
        let deletion = Deletion {
            command: ["skep", "delete"].map(String::from).into(),
            guard: guard(&file),
        };
        let args = LoadArgs {
            http: HttpArg::One,
            ..load(&address)
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let deployed = Deployed::new(args, process("a"), Some(&deletion)).await;
            let deployed = deployed.unwrap();
            if deletes {
                deployed.delete().await.unwrap();
            }
        });
        deletion.guard.with(Guard::end).unwrap();
        let told = std::fs::read_to_string(&file).unwrap();
        (address, asked.try_iter().collect(), told)
    }

    #[test]
    fn the_guard_keeps_to_tls() {
        assert_eq!(url("a:8080"), "http://a:8080");
        assert_eq!(url("https://a:8080"), "https://a:8080");
    }

    #[test]
    fn what_is_deployed_at_a_cluster_of_others_is_deleted_however_the_run_ends() {
        let (address, asked, told_guard) = told(false);
        assert_eq!(asked, ["POST /v2/deployments HTTP/1.1"]);
        let push = format!(
            r#"{{"push":[1,{{"run":["skep","delete","--address","http://{address}","2"]}}]}}"#
        );
        assert_eq!(told_guard, push + "\n");

        let (_, asked, told_guard) = told(true);
        let last = asked.last().map(String::as_str);
        assert_eq!(last, Some("POST /v2/resources/2/deletion HTTP/1.1"));
        assert!(told_guard.ends_with("{\"pop\":1}\n"), "{told_guard}");
    }
}
