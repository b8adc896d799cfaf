//! Other programs that a run calls, each within a time limit.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(5);
/// Maximum bytes that are read of each output.
const MAX_TEXT: u64 = 4 << 20;
/// Time for an output to arrive after the end of the program: another one that it has started may keep the pipe open.
const REST: Duration = Duration::from_secs(1);

/// How a program has ended.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Calls a program and gives it a text to read.
///
/// # Errors
/// It cannot be started, or does not end within the limit: then it is killed. Errors name the command.
pub(crate) fn call(
    program: &str,
    words: &[&str],
    input: &str,
    limit: Duration,
) -> io::Result<Called> {
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| named(program, words, &error.to_string()))?;
    let stdout = read(child.stdout.take());
    let stderr = read(child.stderr.take());
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_string();
        // More than a pipe holds is read only bit by bit, or never.
        std::thread::spawn(move || {
            // A program that does not read it has no need of it, or says why.
            let _ = stdin.write_all(input.as_bytes());
        });
    }
    let waited = ended(&mut child, limit);
    let Ok(Some(status)) = waited else {
        child.kill()?;
        child.wait()?;
        waited?;
        let why = format!("no answer within {} s", limit.as_secs());
        return Err(named(program, words, &why));
    };
    Ok(Called {
        status,
        stdout: text(&stdout),
        stderr: text(&stderr),
    })
}

/// What a command prints.
///
/// # Errors
/// As of [`call`], and what it says when it fails.
pub(crate) fn ask(
    program: &str,
    words: &[&str],
    input: &str,
    limit: Duration,
) -> io::Result<String> {
    let called = call(program, words, input, limit)?;
    if called.status.success() {
        return Ok(called.stdout);
    }
    // Some say why where they would print.
    let is_silent = called.stderr.trim().is_empty();
    let said = if is_silent {
        called.stdout
    } else {
        called.stderr
    };
    Err(named(program, words, &said))
}

fn named(program: &str, words: &[&str], why: &str) -> io::Error {
    let command = words.join(" ");
    io::Error::other(format!("{program} {command}: {}", why.trim()))
}

/// Waits for the end of a program; `None` if it does not end within the limit.
///
/// # Errors
/// The kernel does not know the program.
pub(crate) fn ended(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait()? {
            None if Instant::now() < end => std::thread::sleep(PAUSE),
            status => return Ok(status),
        }
    }
}

/// Reads an output while the program runs, which would wait at a full pipe.
fn read(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, read) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            // What cannot be read is not needed.
            let _ = from.take(MAX_TEXT).read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    read
}

fn text(read: &Receiver<Vec<u8>>) -> String {
    let bytes = read.recv_timeout(REST).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, input: &str, limit: Duration) -> io::Result<String> {
        ask("sh", &["-c", script], input, limit)
    }

    #[test]
    fn a_program_reads_its_input_and_may_print_more_than_a_pipe_holds() {
        assert_eq!(shell("cat", "a\nb", LONG).unwrap(), "a\nb");
        let much = shell("head -c 300000 /dev/zero", "not read", LONG).unwrap();
        assert_eq!(much.len(), 300_000);
    }

    #[test]
    fn errors_name_the_command_and_what_it_says() {
        let error = shell("echo no >&2; exit 3", "", LONG).unwrap_err();
        assert_eq!(error.to_string(), "sh -c echo no >&2; exit 3: no");
        let error = shell("echo no; exit 1", "", LONG).unwrap_err();
        assert_eq!(error.to_string(), "sh -c echo no; exit 1: no");
        let error = ask("/no/such/program", &["version"], "", LONG).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("/no/such/program version: "), "{said}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = shell("exec sleep 600", "", Duration::ZERO).unwrap_err();
        let said = error.to_string();
        assert!(said.ends_with("no answer within 0 s"), "{said}");
    }

    #[test]
    fn a_program_that_does_not_read_its_input_is_not_waited_for() {
        let much = "x".repeat(300_000);
        let error = shell("exec sleep 600", &much, Duration::ZERO).unwrap_err();
        assert!(error.to_string().ends_with("no answer within 0 s"));
        assert_eq!(shell("cat | wc -c", &much, LONG).unwrap().trim(), "300000");
    }

    #[test]
    fn a_program_left_behind_with_the_pipe_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join("pid");
        let script = format!("sleep 600 & echo $! >{}", note.display());
        shell(&script, "", LONG).unwrap();
        let pid = std::fs::read_to_string(note).unwrap();
        // It is still there.
        ask("kill", &[pid.trim()], "", LONG).unwrap();
    }
}
