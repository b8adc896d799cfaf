//! Locations of the rows, and the measurements of their servers.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use skep_secondary::StoreLocation;
use skep_testbed::{Postgres, Product, SearchServer};

use skep_testkit::stores;

const PREFIX: &str = "figures";
/// Unit of CPU time in the kernel.
const TICK: Duration = Duration::from_millis(10);

pub enum Where {
    Embedded,
    Postgres(Postgres),
    Indices(SearchServer),
}

impl Where {
    /// Starts the back end with this name.
    pub fn named(name: &str) -> Where {
        match name {
            "embedded" => Where::Embedded,
            "postgres" => Where::Postgres(Postgres::start_new().expect("PostgreSQL")),
            "opensearch" => Where::Indices(search_server(Product::OpenSearch)),
            "elasticsearch" => Where::Indices(search_server(Product::Elasticsearch)),
            other => {
                panic!("'{other}': expected embedded, postgres, opensearch or elasticsearch")
            }
        }
    }

    pub fn place(&self) -> StoreLocation {
        match self {
            Where::Embedded => StoreLocation::Embedded,
            Where::Postgres(server) => stores::rdbms(server, &format!("{PREFIX}_")),
            Where::Indices(server) => stores::documents(server, PREFIX),
        }
    }

    /// The answering thread.
    pub fn answers(&self) -> &'static str {
        match self {
            Where::Embedded => "query-1",
            Where::Postgres(_) | Where::Indices(_) => "query",
        }
    }

    /// Runs the server's background maintenance now, so that it does not interfere.
    pub fn settle(&self) {
        match self {
            Where::Embedded => {}
            Where::Postgres(server) => {
                server.sql("VACUUM ANALYZE").expect("a vacuum");
            }
            Where::Indices(server) => {
                server.ask("POST", "/_refresh", "").expect("a refresh");
            }
        }
    }

    /// Bytes on disk.
    pub fn bytes(&self, directory: &Path) -> u64 {
        match self {
            Where::Embedded => {
                let file = std::fs::metadata(directory.join("query.sqlite"));
                file.map_or(0, |file| file.len())
            }
            Where::Postgres(server) => {
                let sum = format!(
                    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE '{PREFIX}%'"
                );
                let bytes = server.sql(&sum).expect("the sizes of tables");
                bytes.parse().expect("a number")
            }
            Where::Indices(server) => {
                server.ask("POST", "/_flush", "").expect("a flush");
                let stats = server.ask("GET", "/_stats/store", "").expect("statistics");
                let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
                let bytes = stats.pointer("/_all/total/store/size_in_bytes");
                bytes.and_then(serde_json::Value::as_u64).expect("a number")
            }
        }
    }
}

fn search_server(product: Product) -> SearchServer {
    SearchServer::start_new(product).expect("a search server")
}

/// CPU time of all running child processes, and of the descendants that they have waited for.
pub fn cpu_of_servers() -> Duration {
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    let mut known: HashMap<u32, (u32, u32)> = HashMap::new();
    for process in processes {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else {
            continue;
        };
        // The name of the program may contain blanks.
        let Some((begin, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let own = begin.split(' ').next().and_then(|id| id.parse().ok());
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|text| text.parse().ok());
        let ticks = (11..=14).filter_map(number).sum();
        if let (Some(own), Some(parent)) = (own, number(1)) {
            known.insert(own, (parent, ticks));
        }
    }
    let (mut ticks, mut parents) = (0, vec![std::process::id()]);
    while let Some(parent) = parents.pop() {
        for (id, (_, own)) in known.iter().filter(|(_, (of, _))| *of == parent) {
            ticks += own;
            parents.push(*id);
        }
    }
    TICK * ticks
}
