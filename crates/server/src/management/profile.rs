//! A CPU profile of the running server as a flame graph.

use std::time::Duration;

use http::{Method, StatusCode};

use super::reply::{Handled, allow, bad_request, message, query, respond};

const DEFAULT_SECONDS: u64 = 10;
const MAX_SECONDS: u64 = 300;
/// Samples per second. Not a divisor of common timer frequencies, to avoid sampling in step with timers.
const FREQUENCY: i32 = 199;

const IDLE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"40\">\
    <text x=\"10\" y=\"25\">The server used no processor time while the profile was taken.</text></svg>";

/// One profile at a time.
static RUNNING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub async fn flame_graph(method: &Method, parameters: Option<&str>) -> Handled {
    allow(method, &[Method::GET])?;
    let seconds = match query(parameters, "seconds") {
        None => DEFAULT_SECONDS,
        Some(text) => match text.parse() {
            Ok(seconds @ 1..=MAX_SECONDS) => seconds,
            _ => {
                return Err(bad_request(format!(
                    "seconds must be a number from 1 to {MAX_SECONDS}"
                )));
            }
        },
    };
    let failed = |reason: String| {
        message(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("no profile: {reason}"),
        )
    };
    let _alone = RUNNING.try_lock().map_err(|_| {
        message(
            StatusCode::CONFLICT,
            "a profile is being taken; try again when it is done",
        )
    })?;
    let guard = pprof::ProfilerGuardBuilder::default()
        .frequency(FREQUENCY)
        // Unwinding through these from a signal handler can hang.
        .blocklist(&["libc", "libgcc", "pthread", "vdso"])
        .build()
        .map_err(|e| failed(e.to_string()))?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    // Resolving symbols takes a while.
    let drawn = tokio::task::spawn_blocking(move || {
        let report = guard.report().build().map_err(|e| e.to_string())?;
        let mut svg = Vec::new();
        report.flamegraph(&mut svg).map_err(|e| e.to_string())?;
        // Without samples nothing is drawn.
        Ok::<_, String>(if svg.is_empty() { IDLE.into() } else { svg })
    });
    match drawn.await {
        Ok(Ok(svg)) => Ok(respond(StatusCode::OK, "image/svg+xml", svg)),
        Ok(Err(reason)) => Err(failed(reason)),
        Err(error) => Err(failed(error.to_string())),
    }
}
