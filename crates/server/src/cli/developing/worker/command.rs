//! Works a job with a shell command.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use skep_client::{Job, Outcome};

/// Exit code: the command has reported the outcome itself.
const REPORTED: i32 = 99;
/// Maximum number of bytes read from each output stream of a command.
const MOST: u64 = 4 << 20;
/// Maximum length of an error message, in characters.
const MESSAGE: usize = 2_000;
/// Interval between two checks whether the command has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs the command for a job; kills it when the job's time is over.
pub async fn run(line: &str, job: Job, limit: Duration) -> Outcome {
    let line = line.to_string();
    let ended = tokio::task::spawn_blocking(move || outcome(&line, &job, limit)).await;
    ended.unwrap_or_else(|why| Outcome::fail(format!("the command cannot be run: {why}")))
}

fn outcome(line: &str, job: &Job, limit: Duration) -> Outcome {
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
    let code = wait(&mut child, limit);
    let _ = writer.join();
    let output = output.join().unwrap_or_default();
    let errors = errors.join().unwrap_or_default();
    match code {
        Ok(Some(0)) => completed(output.trim()),
        Ok(Some(REPORTED)) => Outcome::Leave,
        Ok(code) => {
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
        Err(why) => Outcome::fail(why),
    }
}

/// The exit code; none after a signal.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<i32>, String> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) if began.elapsed() < limit => std::thread::sleep(PAUSE),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "the command did not end within {} s",
                    limit.as_secs()
                ));
            }
            Err(why) => return Err(format!("waiting for the command failed: {why}")),
        }
    }
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
