//! Leases of node numbers in a bucket of an S3 server that belongs to the run, and the processes that have them.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use skep_testbed::S3Server;

use super::SharedGuard;
use crate::guard::Undo;
use crate::http;
use crate::plan::BucketState;

const BUCKET: &str = "numbers";
/// A process that does not answer within this time does not serve.
const LIMIT: Duration = Duration::from_millis(800);
/// The metric that each process with a number has, labelled with it.
const AGE: &str = "skep_lease_age_seconds{";

/// The bucket with the leases.
#[derive(Debug)]
pub(super) struct Leases {
    server: S3Server,
}

impl Leases {
    /// Starts a server with an empty bucket.
    pub(super) fn start(guard: &SharedGuard) -> io::Result<Self> {
        let mut server = S3Server::make().map_err(io::Error::other)?;
        let directory = Undo::Remove(server.directory().to_path_buf());
        guard.with(|guard| guard.push(directory))?;
        server.make_bucket(BUCKET)?;
        // It also ends with this program by itself: its shell watches for that.
        server.start().map_err(io::Error::other)?;
        Ok(Self { server })
    }

    /// Settings that make nodes lease their numbers from it.
    pub(super) fn settings(&self) -> [(String, String); 6] {
        [
            ("type", "S3".to_string()),
            ("s3.bucket-name", BUCKET.to_string()),
            ("s3.endpoint", self.server.endpoint()),
            ("s3.region", S3Server::REGION.to_string()),
            ("s3.access-key", S3Server::ACCESS_KEY.to_string()),
            ("s3.secret-key", S3Server::SECRET_KEY.to_string()),
        ]
        .map(|(name, value)| (format!("camunda.cluster.node-id-provider.{name}"), value))
    }

    pub(super) fn set(&mut self, state: BucketState) -> io::Result<()> {
        self.server.kill();
        match state {
            BucketState::Away => Ok(()),
            BucketState::Serves => self.server.start().map_err(io::Error::other),
        }
    }
}

/// The numbers with which a process acts, each with the age of its lease in seconds, from the process's metrics.
pub fn leased_numbers(metrics: &str) -> Vec<(u32, f64)> {
    let lines = metrics.lines().filter_map(|line| line.strip_prefix(AGE));
    let each = lines.filter_map(|line| {
        let (_, rest) = line.split_once("node=\"")?;
        let (number, rest) = rest.split_once('"')?;
        let (_, age) = rest.split_once('}')?;
        let age = age.split_whitespace().next()?;
        Some((number.parse().ok()?, age.parse().ok()?))
    });
    each.collect()
}

/// The processes that act with each number. `addresses` are their management ports. Blocks for a moment at most.
pub fn owners(addresses: &BTreeMap<u32, String>) -> BTreeMap<u32, Vec<u32>> {
    let answers: Vec<(u32, Option<String>)> = std::thread::scope(|scope| {
        let asked: Vec<_> = addresses
            .iter()
            .map(|(process, address)| (*process, scope.spawn(move || metrics(address))))
            .collect();
        let answers = asked.into_iter();
        answers
            .map(|(process, asked)| (process, asked.join().ok().flatten()))
            .collect()
    });
    let mut owners: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (process, metrics) in answers {
        for (number, _) in metrics.iter().flat_map(|text| leased_numbers(text)) {
            owners.entry(number).or_default().push(process);
        }
    }
    owners
}

fn metrics(address: &str) -> Option<String> {
    let answer = http::ask(address, "GET", "/actuator/prometheus", "", LIMIT);
    let (status, text) = answer.ok()?;
    (status == 200).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_process_says_with_which_number_it_acts() {
        let text = "# HELP skep_lease_age_seconds x\nskep_lease_age_seconds{node=\"2\"} 3\nother{node=\"1\"} 4\n";
        assert_eq!(leased_numbers(text), [(2, 3.0)]);
        assert!(leased_numbers("skep_lease_age_seconds 3\n").is_empty());
    }

    /// Answers each request with these metrics.
    fn process(metrics: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 4096];
                assert!(stream.read(&mut request).unwrap() > 0);
                let length = metrics.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{metrics}"
                );
            }
        });
        address
    }

    #[test]
    fn two_processes_that_act_with_one_number_are_both_its_owners() {
        let two = "skep_lease_age_seconds{node=\"2\"} 3\n";
        let one = "skep_lease_age_seconds{node=\"1\"} 3\n";
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
        let nobody = nobody.local_addr().unwrap().to_string();
        let addresses = [
            (0, process(two)),
            (1, process(one)),
            (2, nobody),
            (3, process(two)),
        ];
        let found = owners(&BTreeMap::from(addresses));
        assert_eq!(found, [(1, vec![1]), (2, vec![0, 3])].into());
    }
}
