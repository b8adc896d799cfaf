//! Works a job with a shell command.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use skep_client::{Job, Outcome};

/// Exit code: the command has reported the outcome itself.
const REPORTED: i32 = 99;
/// Maximum number of bytes read from each output stream of a command.
const MOST: u64 = 4 << 20;
/// Maximum length of an error message, in characters.
const MESSAGE: usize = 2_000;
/// Interval between two checks whether the command has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// Until when commands may run.
#[derive(Clone)]
pub struct Until {
    /// The time that each job has.
    pub limit: Duration,
    /// Whether all commands are to be killed now.
    pub stopped: Arc<AtomicBool>,
}

/// Runs the command for a job; kills it when the job's time is over.
pub async fn run(line: &str, job: Job, until: &Until) -> Outcome {
    let (line, until) = (line.to_string(), until.clone());
    let ended = tokio::task::spawn_blocking(move || outcome(&line, &job, &until)).await;
    ended.unwrap_or_else(|why| Outcome::fail(format!("the command cannot be run: {why}")))
}

fn outcome(line: &str, job: &Job, until: &Until) -> Outcome {
    let spawned = Command::new("sh")
        .args(["-c", line])
        .env("SKEP_JOB_KEY", job.key.to_string())
        .env("SKEP_JOB_TYPE", &job.job_type)
        .env("SKEP_JOB_RETRIES", job.retries.to_string())
        .env("SKEP_JOB_HEADERS", &job.custom_headers)
        .env(
            "SKEP_PROCESS_INSTANCE_KEY",
            job.process_instance_key.to_string(),
        )
        .env("SKEP_PROCESS_ID", &job.process_id)
        .env("SKEP_ELEMENT_ID", &job.element_id)
        .env(
            "SKEP_ELEMENT_INSTANCE_KEY",
            job.element_instance_key.to_string(),
        )
        .env("SKEP_TENANT_ID", &job.tenant_id)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl+C in a terminal reaches the worker alone, and everything that the command starts can be killed with it.
        .process_group(0)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(why) => return Outcome::fail(format!("sh cannot be started: {why}")),
    };
    let variables = job.variables.clone();
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // One thread per pipe: a command blocked on one pipe while we wait for another would never end.
    let writer = std::thread::spawn(move || {
        // A command may ignore its input.
        input.map(|mut input| input.write_all(variables.as_bytes()))
    });
    let output = std::thread::spawn(move || text(output));
    let errors = std::thread::spawn(move || text(errors));
    let all_read = || writer.is_finished() && output.is_finished() && errors.is_finished();
    let code = match wait(&mut child, all_read, until) {
        Ok(code) => code,
        // A process that has left the group may hold the pipes: their threads are not waited for.
        Err(Killed::TooLate) => {
            let limit = until.limit.as_secs();
            return Outcome::fail(format!("the command did not end within {limit} s"));
        }
        Err(Killed::Stopped) => return interrupted(job),
        Err(Killed::Unknown(why)) => {
            return Outcome::fail(format!("waiting for the command failed: {why}"));
        }
    };
    let output = output.join().unwrap_or_default();
    let errors = errors.join().unwrap_or_default();
    match code {
        Some(0) => completed(output.trim()),
        Some(REPORTED) => Outcome::Leave,
        code => {
            let last: String = tail(errors.trim());
            let code = code.map_or("a signal".to_string(), |code| {
                format!("the exit code {code}")
            });
            Outcome::fail(if last.is_empty() {
                format!("the command ended with {code}")
            } else {
                last
            })
        }
    }
}

/// The command is not to blame: another worker gets the job at once, with as many retries.
fn interrupted(job: &Job) -> Outcome {
    Outcome::Fail {
        retries: Some(job.retries),
        message: "the worker was interrupted".into(),
        back_off: Duration::ZERO,
    }
}

/// Why a command was killed.
enum Killed {
    TooLate,
    Stopped,
    Unknown(std::io::Error),
}

/// The exit code, once all output is read too; none after a signal.
fn wait(
    child: &mut Child,
    all_read: impl Fn() -> bool,
    until: &Until,
) -> Result<Option<i32>, Killed> {
    let began = Instant::now();
    loop {
        let why = match child.try_wait() {
            Ok(Some(status)) if all_read() => return Ok(status.code()),
            Ok(_) if until.stopped.load(Ordering::Relaxed) => Killed::Stopped,
            Ok(_) if began.elapsed() >= until.limit => Killed::TooLate,
            Ok(_) => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(why) => Killed::Unknown(why),
        };
        kill(child);
        return Err(why);
    }
}

/// Kills the command and what it has started: a child that lives on would hold its output open.
fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // After a read error, the bytes read so far are used.
        let _ = pipe.take(MOST).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last characters.
fn tail(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(MESSAGE);
    text.chars().skip(skipped).collect()
}

/// The outcome of a command that succeeded: its output must be variables, or empty.
fn completed(output: &str) -> Outcome {
    if output.is_empty() {
        return Outcome::complete();
    }
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(output) {
        Ok(_) => Outcome::complete_with(output),
        Err(why) => Outcome::fail(format!(
            "the output of the command is not a JSON object ({why}): {}",
            tail(output)
        )),
    }
}
