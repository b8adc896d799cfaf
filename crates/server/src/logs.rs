//! Logging to standard error, with levels that can be changed while the server runs.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

use crate::config::LogFormat;

/// The logger that all others inherit from.
pub const ROOT: &str = "ROOT";
/// Maximum number of loggers with a level of their own.
const MAX_LOGGERS: usize = 1000;
/// Prefix of the names of our crates.
const OURS: &str = "skep";
/// Libraries whose INFO lines interest only their developers. At INFO they are limited to WARN.
const CHATTY: [&str; 2] = ["fjall", "lsm_tree"];

/// A default level, and exceptions by module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    pub root: LevelFilter,
    pub modules: BTreeMap<String, LevelFilter>,
}

impl Levels {
    fn targets(&self) -> Targets {
        let chatty = CHATTY.map(|name| (name, self.inherited(name)));
        let modules = self.modules.iter().map(|(name, level)| (name, *level));
        // The later of two levels for one name wins.
        Targets::new()
            .with_default(self.root)
            .with_targets(chatty)
            .with_targets(modules)
    }

    /// The level of a module for which neither it nor a parent has one.
    fn inherited(&self, module: &str) -> LevelFilter {
        let chatty = CHATTY.iter().any(|name| module.starts_with(name));
        if chatty && self.root == LevelFilter::INFO {
            LevelFilter::WARN
        } else {
            self.root
        }
    }

    /// The level of a module: its own, or that of its nearest parent.
    pub fn effective(&self, module: &str) -> LevelFilter {
        let above = self
            .modules
            .iter()
            .filter(|(name, _)| module.starts_with(name.as_str()));
        let nearest = above.max_by_key(|(name, _)| name.len());
        nearest.map_or_else(|| self.inherited(module), |(_, level)| *level)
    }
}

/// Parses `info`, or `info,skep_broker=debug`.
pub fn levels(text: &str) -> Result<Levels, String> {
    let mut levels = Levels {
        root: LevelFilter::INFO,
        modules: BTreeMap::new(),
    };
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        match part.split_once('=') {
            Some((module, name)) => {
                levels.modules.insert(module_of(module), level(name)?);
            }
            None => levels.root = level(part)?,
        }
    }
    Ok(levels)
}

/// Parses the name of a level.
pub fn level(name: &str) -> Result<LevelFilter, String> {
    match name.trim().to_ascii_uppercase().as_str() {
        "OFF" => Ok(LevelFilter::OFF),
        "ERROR" | "FATAL" => Ok(LevelFilter::ERROR),
        "WARN" | "WARNING" => Ok(LevelFilter::WARN),
        "INFO" => Ok(LevelFilter::INFO),
        "DEBUG" => Ok(LevelFilter::DEBUG),
        "TRACE" | "ALL" => Ok(LevelFilter::TRACE),
        other => Err(format!(
            "'{other}' is not a log level; levels are OFF, ERROR, WARN, INFO, DEBUG and TRACE"
        )),
    }
}

/// The module that a logger's name stands for. Scripts of operators name loggers as in Java.
pub fn module_of(logger: &str) -> String {
    let logger = logger.trim();
    if logger == "io.camunda" || logger.starts_with("io.camunda.") {
        OURS.to_string()
    } else {
        logger.replace('.', "::")
    }
}

/// The levels in force.
pub struct Logs {
    handle: Option<reload::Handle<Targets, Registry>>,
    levels: Mutex<Levels>,
}

impl Logs {
    /// Starts logging. Once per process.
    ///
    /// # Errors
    /// The levels cannot be read, or the process logs already.
    pub fn init(level: &str, format: LogFormat) -> Result<Arc<Logs>, String> {
        let levels = levels(level)?;
        let (filter, handle) = reload::Layer::new(levels.targets());
        let lines = match format {
            LogFormat::Text => fmt::layer()
                .with_ansi(std::io::stderr().is_terminal())
                .with_writer(std::io::stderr)
                .boxed(),
            LogFormat::Json => fmt::layer()
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .with_writer(std::io::stderr)
                .boxed(),
        };
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .try_init()
            .map_err(|e| e.to_string())?;
        log_panics();
        Ok(Arc::new(Logs {
            handle: Some(handle),
            levels: Mutex::new(levels),
        }))
    }

    /// Levels without effect on any logger: for tests of the code that changes them.
    #[cfg(test)]
    pub fn detached() -> Arc<Logs> {
        Arc::new(Logs {
            handle: None,
            levels: Mutex::new(levels("info").unwrap()),
        })
    }

    pub fn levels(&self) -> Levels {
        self.levels.lock().clone()
    }

    /// Gives a logger a level; none makes it inherit again (the root logger goes back to INFO).
    ///
    /// # Errors
    /// There are too many loggers with levels of their own.
    pub fn set(&self, logger: &str, level: Option<LevelFilter>) -> Result<(), String> {
        let mut levels = self.levels.lock();
        if logger.eq_ignore_ascii_case(ROOT) {
            levels.root = level.unwrap_or(LevelFilter::INFO);
        } else {
            let module = module_of(logger);
            match level {
                Some(_)
                    if levels.modules.len() >= MAX_LOGGERS
                        && !levels.modules.contains_key(&module) =>
                {
                    return Err(format!(
                        "{MAX_LOGGERS} loggers have a level of their own; reset some of them first"
                    ));
                }
                Some(level) => {
                    levels.modules.insert(module, level);
                }
                None => {
                    levels.modules.remove(&module);
                }
            }
        }
        let targets = levels.targets();
        match &self.handle {
            Some(handle) => handle
                .modify(|filter| *filter = targets)
                .map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }
}

/// Logs panics like any other event, so that they are found in the log.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let place = panic.location().map(ToString::to_string);
        let thread = std::thread::current();
        tracing::error!(
            code = "PANIC",
            thread = thread.name().unwrap_or("?"),
            at = place.unwrap_or_default(),
            backtrace = %std::backtrace::Backtrace::capture(),
            "panic: {message}. This is a defect of Skep; please report it with this line."
        );
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_by_module() {
        let read = levels("warn, skep_broker=debug,io.camunda.zeebe=trace").unwrap();
        assert_eq!(read.root, LevelFilter::WARN);
        for (module, level) in [
            ("hyper::client", LevelFilter::WARN),
            ("skep_broker::partition", LevelFilter::DEBUG),
            ("skep_gateway", LevelFilter::TRACE),
        ] {
            assert_eq!(read.effective(module), level, "{module}");
        }
        for text in ["loud", "skep_broker=", "info,x"] {
            assert!(levels(text).is_err(), "{text}");
        }
    }

    #[test]
    fn chatty_libraries_are_kept_to_warnings_unless_asked_for() {
        for (text, level) in [
            ("info", LevelFilter::WARN),
            ("debug", LevelFilter::DEBUG),
            ("error", LevelFilter::ERROR),
            ("info,fjall=info", LevelFilter::INFO),
        ] {
            let levels = levels(text).unwrap();
            assert_eq!(levels.effective("fjall::db"), level, "{text}");
            assert!(
                levels
                    .targets()
                    .would_enable("skep", &tracing::Level::ERROR)
            );
            let info = levels
                .targets()
                .would_enable("fjall::db", &tracing::Level::INFO);
            assert_eq!(info, level >= LevelFilter::INFO, "{text}");
        }
    }

    #[test]
    fn a_logger_can_be_set_and_reset() {
        let logs = Logs::detached();
        logs.set("skep_broker.partition", Some(LevelFilter::TRACE))
            .unwrap();
        let effective = |module: &str| logs.levels().effective(module);
        assert_eq!(
            effective("skep_broker::partition::thread"),
            LevelFilter::TRACE
        );
        logs.set("skep_broker.partition", None).unwrap();
        assert_eq!(
            effective("skep_broker::partition::thread"),
            LevelFilter::INFO
        );
        logs.set("ROOT", Some(LevelFilter::ERROR)).unwrap();
        assert_eq!(effective("anything"), LevelFilter::ERROR);
        for i in 0..MAX_LOGGERS {
            logs.set(&format!("m{i}"), Some(LevelFilter::INFO)).unwrap();
        }
        assert!(logs.set("one.more", Some(LevelFilter::INFO)).is_err());
        assert!(logs.set("m1", Some(LevelFilter::WARN)).is_ok());
    }
}
