//! The figures of a build in a turn.

use serde::{Deserialize, Serialize};

/// The figures of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Figures {
    /// Completed instances per second.
    pub throughput: f64,
    pub create_p99_ms: f64,
    /// CPU time of the server.
    pub cpu_us_per_instance: f64,
    /// KiB that the server caused to be written, from its start to its end, ÷ all instances.
    pub written_kib_per_instance: f64,
    /// Peak memory of the server.
    pub peak_rss_mib: f64,
    /// Time from its start until it takes work.
    pub start_ms: f64,
}

/// Two turns to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub this: Figures,
    pub other: Figures,
}

/// One of the figures.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its human-readable name.
    pub name: &'static str,
    /// Its key in JSON.
    pub key: &'static str,
    pub of: fn(&Figures) -> f64,
}

/// All of them; the first one is judged.
pub const ALL: [Figure; 6] = [
    Figure {
        name: "instances/s",
        key: "throughput",
        of: |it| it.throughput,
    },
    Figure {
        name: "p99 of creations, ms",
        key: "create-p99",
        of: |it| it.create_p99_ms,
    },
    Figure {
        name: "server CPU per instance, µs",
        key: "cpu-per-instance",
        of: |it| it.cpu_us_per_instance,
    },
    Figure {
        name: "written per instance, KiB",
        key: "written-per-instance",
        of: |it| it.written_kib_per_instance,
    },
    Figure {
        name: "most memory, MiB",
        key: "peak-rss",
        of: |it| it.peak_rss_mib,
    },
    Figure {
        name: "start, ms",
        key: "start",
        of: |it| it.start_ms,
    },
];
