//! The commands besides `skep serve`.

mod acting;
mod change;
mod colour;
pub mod completion;
mod developing;
#[cfg(test)]
mod documented;
pub mod explain;
pub mod fetch;
mod files;
mod fitting;
mod follow;
pub mod given;
mod keys;
mod list;
pub mod login;
mod moments;
mod near;
mod operating;
pub mod profile;
pub mod profiles;
mod rest;
mod search;
mod showing;

pub use acting::{
    batch, cancel, complete, delete, deploy, evaluate, fail, migrate, modify, publish, resolve,
    run, set, signal, start,
};
pub use developing::{check, dev, feel, init, test, worker};
pub use operating::{backup, bench, chaos, cluster, config, restore};
pub use showing::{incidents, instance, instances, jobs, log, processes, status, tasks};

use std::io::{IsTerminal, Write, stdout};
use std::process::ExitCode;

use tokio::signal::unix::{self, Signal, SignalKind};

/// Wrong usage that only the command itself can detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Runs a command that talks to a server.
pub fn block_on(command: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(command)
}

/// Requests to end the command: Ctrl-C, a signal, or a closed terminal. One that comes while nobody waits for it is kept.
struct Interrupts([Option<Signal>; 3]);

impl Interrupts {
    fn listen() -> Interrupts {
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        // Without one of them, the others still work.
        Interrupts(kinds.map(|kind| unix::signal(kind).ok()))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            () = received(interrupt) => {}
            () = received(terminate) => {}
            () = received(hangup) => {}
        }
    }
}

async fn received(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => {
            signals.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Returns when the command is asked to end.
async fn interrupted() {
    Interrupts::listen().next().await;
}

pub fn load(mut args: skep_load::LoadArgs) -> anyhow::Result<()> {
    args.authorities = fetch::authorities().map(Into::into);
    if args.authorization.is_none() {
        let named = args.rest_address.as_ref().or(args.grpc_address.as_ref());
        args.authorization = login::at(named.unwrap_or(&args.address))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(args.threads.max(1) as usize)
        .enable_all()
        .build()?;
    let report = runtime.block_on(skep_load::run(args))?;
    print(&format!("{}\n", report.to_text()))
}

/// Prints to standard output. A reader that has gone away (`skep log | head`) is no failure.
pub fn print(text: &str) -> anyhow::Result<()> {
    match stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => Ok(result?),
    }
}

/// See the macro of this name.
pub fn complain(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Formats rows as a table with columns as wide as needed; the first row is the heading. On a terminal, a column without a value in any row
/// is left out; programs that read the table find each column at its place.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    table_of(rows, stdout().is_terminal())
}

/// The table with all columns, or with those that have a value.
fn table_of<const N: usize>(rows: &[[String; N]], only_with_values: bool) -> String {
    let columns = columns(rows, only_with_values);
    let last = columns.last().map(|(column, _)| *column);
    let coloured = colour::wanted(&stdout());
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = columns.iter().filter_map(|&(column, width)| {
            let cell = row.get(column)?;
            let padded = if Some(column) == last {
                cell.clone()
            } else {
                format!("{cell:<width$}")
            };
            Some(match (coloured, number) {
                (false, _) => padded,
                (true, 0) => colour::heading(&padded),
                (true, _) => colour::cell(&padded),
            })
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The columns, or those with a value, each with its width.
fn columns<const N: usize>(rows: &[[String; N]], only_with_values: bool) -> Vec<(usize, usize)> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let has_value = |column: usize| {
        let mut cells = rows.iter().skip(1).filter_map(|row| row.get(column));
        rows.len() == 1 || cells.any(|cell| !matches!(cell.as_str(), "" | "-"))
    };
    let columns = (0..N).filter(|column| !only_with_values || has_value(*column));
    columns.map(|column| (column, width(column))).collect()
}

/// Removes a leading error code from the text, since both the client and the server's own message name it.
fn once(text: &str, code: &str) -> String {
    let text = text.replacen(&format!("{code}: "), "", 1);
    let rejected = text.split_once("' rejected with code '");
    let plain = rejected.and_then(|(before, after)| {
        let (before, _) = before.rsplit_once("Command '")?;
        // REST and rejections have names of their own for some codes.
        let (_, after) = after.split_once("': ")?;
        Some(format!("{before}{after}"))
    });
    plain.unwrap_or(text)
}

/// The error and its causes, each once: many errors name their cause themselves.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        if text.is_empty() {
            cause
        } else if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// Prints the error and chooses the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let code = crate::errors::code_of(error);
    let mut word = format!("error[{code}]");
    if colour::wanted(&std::io::stderr()) {
        word = colour::alarm(&word);
    }
    complain!("{word}: {}", once(&with_causes(error), code));
    if let Some(skep_client::Error::Connect { .. }) = error.downcast_ref() {
        complain!(
            "Start a server with `skep serve`, or give the address of a running one with --address."
        );
    }
    if code == "UNAUTHENTICATED" {
        complain!("{}", login::advice());
    }
    complain!("`skep explain {code}` explains the error and what to do.");
    ExitCode::from(if matches!(code, "USAGE" | "CONFIGURATION") {
        2
    } else {
        1
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    #[test]
    fn a_column_without_any_value_is_left_out_on_a_terminal_alone() {
        let row = |cells: [&str; 4]| cells.map(String::from);
        let rows = [
            row(["JOB", "WORKER", "NOTE", "TYPE"]),
            row(["7", "-", "", "pay"]),
            row(["12", "-", "-", "-"]),
        ];
        let shown = |rows: &[[String; 4]]| super::table_of(rows, true);
        assert_eq!(shown(&rows), "JOB  TYPE\n7    pay\n12   -\n");
        let held = [rows[0].clone(), row(["7", "w", "", "-"])];
        assert_eq!(shown(&held), "JOB  WORKER\n7    w\n");
        assert_eq!(shown(&rows[..1]), "JOB  WORKER  NOTE  TYPE\n");
        let piped = super::table_of(&rows, false);
        let heading = piped.lines().next();
        assert_eq!(heading, Some("JOB  WORKER  NOTE  TYPE"));
    }

    #[test]
    fn the_code_of_a_rejection_is_not_said_twice() {
        for code in ["FORBIDDEN", "NOT_FOUND"] {
            let text =
                format!("nothing was deployed.\nCommand 'CREATE' rejected with code '{code}': no");
            assert_eq!(
                super::once(&text, "PERMISSION_DENIED"),
                "nothing was deployed.\nno"
            );
        }
        assert_eq!(super::once("NOT_FOUND: no", "NOT_FOUND"), "no");
    }

    #[test]
    fn an_error_names_each_cause_once() {
        let taken = std::io::Error::other("address in use");
        let port = anyhow::Error::new(taken).context("port 8080 cannot be had: address in use");
        let whole = port.context("the server cannot start");
        assert_eq!(
            super::with_causes(&whole),
            "the server cannot start: port 8080 cannot be had: address in use"
        );
        let plain = anyhow!("no key").context("a.pem");
        assert_eq!(super::with_causes(&plain), "a.pem: no key");
    }
}
