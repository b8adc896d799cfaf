//! Pods of an existing cluster, by the command line of `kubectl`: those of one selector in one namespace. They get load through forwarded
//! ports, and only the faults that the caller has allowed.
//!
//! Its StatefulSet starts a deleted pod again, so that kills need no undoing. The guard takes back limits and network policies, and ends
//! the forwarding.

mod absent;
mod allowed;
mod fits;
mod forward;
mod found;
mod limits;
mod policy;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::links::Said;
use super::{Node, SharedGuard};
use crate::guard::{Ticket, Undo};
use crate::plan::{Action, Plan, Way};
use crate::program;
pub use allowed::Allowed;
use forward::Forward;
use found::Found;

/// Time limit for a command.
const ANSWER: Duration = Duration::from_secs(30);
/// Time limit for the StatefulSet to start a pod again.
pub(super) const START: Duration = Duration::from_secs(180);
/// Time limit for brokers to miss heartbeats over a way that was cut.
const EFFECT: Duration = Duration::from_secs(15);
/// Maximum number of pods, as of nodes in a plan.
const MOST: usize = 9;

/// The pods of a run, and what may be done to them.
#[derive(Clone, Debug)]
pub struct Kubernetes {
    /// The `kubectl` program.
    pub kubectl: String,
    pub context: String,
    pub namespace: String,
    /// Labels of the brokers' pods.
    pub selector: String,
    /// The image of the pod that tries whether policies are enforced; by default that of the brokers.
    pub image: Option<String>,
    pub allow: BTreeSet<Allowed>,
    /// Flags with which other commands of the program log in.
    pub login: Vec<String>,
}

impl Kubernetes {
    /// The command line in front of a command.
    fn words(&self) -> [&str; 4] {
        ["--context", &self.context, "--namespace", &self.namespace]
    }

    /// What a command prints.
    fn ask(&self, words: &[&str], input: &str, limit: Duration) -> io::Result<String> {
        let words = [&self.words()[..], words].concat();
        program::ask(&self.kubectl, &words, input, limit)
    }

    /// The same command, to be carried out by the guard.
    fn undo(&self, words: &[&str]) -> Undo {
        let words = [&[self.kubectl.as_str()][..], &self.words(), words].concat();
        Undo::Run(words.into_iter().map(String::from).collect())
    }

    /// The brokers, by the number at the end of the pod's name.
    fn find(&self) -> io::Result<BTreeMap<u32, Found>> {
        let words = ["get", "pods", "--selector", &self.selector, "-o", "json"];
        found::read(&self.ask(&words, "", ANSWER)?)
    }

    /// Why a plan cannot be carried out on these pods now.
    pub fn lack(&self, plan: &Plan) -> Option<String> {
        let found = match self.find() {
            Ok(found) => found,
            Err(why) => return Some(format!("the pods cannot be looked at: {why}")),
        };
        let wanted = usize::try_from(plan.nodes.count).unwrap_or(usize::MAX);
        if !(wanted..=MOST).contains(&found.len()) {
            return Some(format!(
                "the plan is for {wanted} to {MOST} brokers, and there are {} with the labels {} in the namespace {}",
                found.len(),
                self.selector,
                self.namespace
            ));
        }
        let of = |is: fn(&Action) -> bool| plan.steps.iter().any(|step| is(&step.action));
        let needed = [
            (
                of(|it| matches!(it, Action::Kill(_) | Action::Stop(_))),
                &["delete", "pods"][..],
            ),
            (
                of(|it| matches!(it, Action::Limit { .. })),
                &["patch", "pods", "--subresource=resize"],
            ),
            (cuts(plan), &["create", "networkpolicies.networking.k8s.io"]),
            (cuts(plan), &["delete", "networkpolicies.networking.k8s.io"]),
            // Two of them try whether policies have an effect.
            (cuts(plan), &["create", "pods"]),
            (cuts(plan), &["delete", "pods"]),
            (cuts(plan), &["get", "networkpolicies.networking.k8s.io"]),
            (cuts(plan), &["list", "networkpolicies.networking.k8s.io"]),
            (cuts(plan), &["patch", "networkpolicies.networking.k8s.io"]),
            (true, &["get", "pods"]),
            (true, &["create", "pods", "--subresource=portforward"]),
        ];
        let mut needed = needed.into_iter().filter(|(is_needed, _)| *is_needed);
        needed.find_map(|(_, what)| {
            let words = [&["auth", "can-i"][..], what].concat();
            let refused = self.ask(&words, "", ANSWER).err()?;
            Some(format!("the account may not {}: {refused}", what.join(" ")))
        })
    }
}

/// Whether the plan cuts ways between brokers.
fn cuts(plan: &Plan) -> bool {
    let mut steps = plan.steps.iter();
    steps.any(|step| matches!(step.action, Action::Cut(way) if way != Way::ToWorkers))
}

/// A broker's pod.
#[derive(Debug)]
struct Pod {
    found: Found,
    /// Local ports of REST, gRPC and management.
    local: [u16; 3],
    /// `None` while the run has ended the pod.
    forward: Option<Forward>,
    /// The run is ending the pod.
    ends: bool,
}

/// The pods of a run.
#[derive(Debug)]
pub(super) struct Pods {
    kubernetes: Kubernetes,
    pods: BTreeMap<u32, Pod>,
    /// Unique in the cluster of Kubernetes.
    run: String,
    /// Which messages of each broker are cut off, and the undoing of that.
    cut: BTreeMap<u32, (Vec<Said>, Ticket)>,
    /// Brokers with less CPU, and the undoing of that.
    limited: BTreeMap<u32, Ticket>,
    /// How many brokers have a copy of a partition; one until that is known.
    copies: usize,
    /// Time limit for a cut to have an effect.
    effect: Duration,
    /// Why network policies have no effect here.
    not_enforced: Option<String>,
    log: PathBuf,
    guard: SharedGuard,
}

impl Pods {
    /// Forwards ports of all pods. If the plan cuts ways, tries whether that has an effect.
    pub(super) fn attach(
        kubernetes: &Kubernetes,
        plan: &Plan,
        directory: &Path,
        guard: &SharedGuard,
    ) -> io::Result<Self> {
        let found = kubernetes.find()?;
        let ports = skep_testbed::free_ports(found.len() * 3)?;
        let ports = ports.chunks_exact(3).filter_map(|ports| match ports {
            [rest, grpc, management] => Some([*rest, *grpc, *management]),
            _ => None,
        });
        let each = found.into_iter().zip(ports);
        let pods = each.map(|((number, found), local)| {
            let pod = Pod {
                found,
                local,
                forward: None,
                ends: false,
            };
            (number, pod)
        });
        let begun = SystemTime::now().duration_since(UNIX_EPOCH);
        let begun = begun.map_or(0, |since| since.as_secs());
        let mut pods = Self {
            kubernetes: kubernetes.clone(),
            pods: pods.collect(),
            run: format!("skep-chaos-{begun:x}-{}", std::process::id()),
            cut: BTreeMap::new(),
            limited: BTreeMap::new(),
            copies: 1,
            effect: EFFECT,
            not_enforced: None,
            log: directory.join("kubectl.log"),
            guard: guard.clone(),
        };
        if cuts(plan) {
            let tried = pods.try_policies();
            pods.not_enforced = tried.err().map(|why| why.to_string());
        }
        for number in pods.numbers() {
            pods.forward(number)?;
        }
        Ok(pods)
    }

    fn numbers(&self) -> Vec<u32> {
        self.pods.keys().copied().collect()
    }

    /// Flags with which `skep status` logs in.
    pub(super) fn login(&self) -> &[String] {
        &self.kubernetes.login
    }

    /// The pods as nodes of the run; `program` is that of `skep status`.
    pub(super) fn nodes(&self, program: &Path) -> Vec<Node> {
        let pods = self.pods.iter();
        pods.map(|(number, pod)| Node::of_pod(*number, pod.local, program))
            .collect()
    }

    fn pod(&mut self, number: u32) -> io::Result<&mut Pod> {
        let pod = self.pods.get_mut(&number);
        pod.ok_or_else(|| io::Error::other(format!("there is no pod of broker {number}")))
    }

    fn name(&mut self, number: u32) -> io::Result<String> {
        Ok(self.pod(number)?.found.name.clone())
    }

    /// Forwards the ports of a pod.
    fn forward(&mut self, number: u32) -> io::Result<()> {
        let (kubernetes, guard, log) = (
            self.kubernetes.clone(),
            self.guard.clone(),
            self.log.clone(),
        );
        let pod = self.pod(number)?;
        let forward = Forward::start(&kubernetes, &pod.found, pod.local, (&log, &guard))?;
        match pod.forward.replace(forward) {
            Some(before) => before.end(&guard),
            None => Ok(()),
        }
    }

    /// Whether this broker may be hit too. A minority of the copies of a partition at most is away at once, unless the caller has allowed
    /// more: any brokers may have all of them.
    fn permit(&self, number: u32, what: Allowed) -> io::Result<()> {
        let allow = &self.kubernetes.allow;
        if !allow.contains(&what) {
            return Err(io::Error::other(format!("--allow does not say {what}")));
        }
        if allow.contains(&Allowed::Majority) {
            return Ok(());
        }
        let seen = self.kubernetes.find()?;
        let is_hit = |other: &u32| {
            let is_away = seen.get(other).is_none_or(|found| !found.is_ready);
            *other == number
                || is_away
                || self.cut.contains_key(other)
                || self.limited.contains_key(other)
        };
        let all = self.pods.len();
        let hit = self.pods.keys().filter(|other| is_hit(other)).count();
        let copies = all.min(self.copies);
        if hit > copies.saturating_sub(1) / 2 {
            return Err(io::Error::other(format!(
                "{hit} of {all} brokers would be away at once or slowed down, which is no minority of the {copies} that have a partition: --allow majority permits it"
            )));
        }
        Ok(())
    }

    /// Pods that have ended by themselves since the last call. Forwarding that has ended without its pod begins again: it goes through the
    /// API server, and ends with it.
    pub(super) fn died(&mut self) -> Vec<(u32, ExitStatus)> {
        let pods = self.pods.iter_mut();
        let cut_off = pods.filter_map(|(number, pod)| Some((*number, pod.is_cut_off()?)));
        let cut_off: Vec<(u32, ExitStatus)> = cut_off.collect();
        let mut died = Vec::new();
        if cut_off.is_empty() {
            return died;
        }
        // Without an answer it is unknown whether a pod has ended: the next sample asks again.
        let Ok(seen) = self.kubernetes.find() else {
            return died;
        };
        for (number, status) in cut_off {
            let Some(pod) = self.pods.get_mut(&number) else {
                continue;
            };
            let is_there = |seen: &Found| seen.is_same(&pod.found) && seen.is_running;
            if seen.get(&number).is_some_and(is_there) {
                // What fails now is tried again with the next sample.
                let _ = self.forward(number);
            } else {
                pod.forward = None;
                died.push((number, status));
            }
        }
        died
    }
}

impl Pod {
    /// How the forwarding of its ports has ended by itself.
    fn is_cut_off(&mut self) -> Option<ExitStatus> {
        if self.ends {
            return None;
        }
        self.forward.as_mut()?.has_ended()
    }
}

#[cfg(test)]
mod tests;
