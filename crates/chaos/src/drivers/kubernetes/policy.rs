//! Ways between brokers are cut by network policies, which have an effect only where the network of the cluster enforces them.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{ANSWER, Allowed, Pods};
use crate::drivers::links::Said;
use crate::guard::Ticket;
use crate::http::{Kept, Rest};

/// Time limit for a pod that tries to reach a broker.
const TRY: Duration = Duration::from_secs(120);
/// Time limit for the metrics of a broker.
const METRICS: Duration = Duration::from_secs(2);
const MISSES: &str = "atomix_heartbeat_miss_count_total";
const PAUSE: Duration = Duration::from_millis(500);
/// The label of everything that a run makes.
const LABEL: &str = "skep-chaos";

/// A cut whose effect is still to be seen.
#[derive(Debug)]
pub(in crate::drivers) struct Cut {
    pub(in crate::drivers) number: u32,
    policy: String,
    /// Connections to the management ports of the brokers that are reached.
    brokers: BTreeMap<u32, Kept>,
    /// Heartbeats that they had missed before.
    before: BTreeMap<u32, f64>,
    /// Time limit for the effect.
    limit: Duration,
}

impl Cut {
    /// Waits until a broker misses more heartbeats than before.
    pub(in crate::drivers) fn has_effect(&mut self) -> bool {
        let end = Instant::now() + self.limit;
        loop {
            let mut now = misses(&mut self.brokers).into_iter();
            let has_grown = |(number, missed): (u32, f64)| {
                let before = self.before.get(&number);
                before.is_some_and(|before| missed > *before)
            };
            if now.any(has_grown) {
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Heartbeats that each broker has missed so far; a leader misses none.
fn misses(brokers: &mut BTreeMap<u32, Kept>) -> BTreeMap<u32, f64> {
    let each = brokers.iter_mut().filter_map(|(number, broker)| {
        let answer = broker.ask("GET", "/actuator/prometheus", "", METRICS);
        let (_, text) = answer.ok()?;
        Some((*number, text.lines().filter_map(missed).sum::<f64>()))
    });
    each.collect()
}

impl Pods {
    /// From now on nobody reaches the broker at the port that brokers have for each other, or it reaches no other there. A policy permits
    /// connections: answers over those that others may open still pass, and networks may leave those that are open alone. So only a cut by
    /// which brokers miss heartbeats is one.
    pub(in crate::drivers) fn begin_cut(&mut self, number: u32, said: &[Said]) -> io::Result<Cut> {
        if let Some(why) = &self.not_enforced {
            return Err(io::Error::other(why.clone()));
        }
        self.permit(number, Allowed::Cut)?;
        self.is_alone()?;
        let mut brokers = self.reached();
        let before = misses(&mut brokers);
        let pod = self.name(number)?;
        let policy = format!("{}-{number}", self.run);
        let (mut all, ticket) = match self.cut.remove(&number) {
            Some(cut) => cut,
            None => (Vec::new(), self.undone("networkpolicy", &policy)?),
        };
        for said in said {
            if !all.contains(said) {
                all.push(*said);
            }
        }
        let selector = json!({ "statefulset.kubernetes.io/pod-name": pod });
        let [.., internal, _] = self.pod(number)?.found.ports;
        let object = self.policy(&policy, &selector, &rules(&all, internal));
        self.cut.insert(number, (all, ticket));
        self.apply(&object)?;
        Ok(Cut {
            number,
            policy,
            brokers,
            before,
            limit: self.effect,
        })
    }

    /// Takes a cut back that has no effect, which is an error.
    pub(in crate::drivers) fn end_cut(&mut self, cut: &Cut, has_effect: bool) -> io::Result<()> {
        if has_effect {
            return Ok(());
        }
        if let Some((_, ticket)) = self.cut.remove(&cut.number) {
            self.delete("networkpolicy", &cut.policy, ticket)?;
        }
        let seconds = cut.limit.as_secs();
        Err(io::Error::other(format!(
            "no broker misses heartbeats within {seconds} s: the network leaves open connections alone, or they are of the other direction; the policy is taken back"
        )))
    }

    /// Checks that no other policy selects a broker: what any of them permits is permitted, whatever that of the run says.
    fn is_alone(&self) -> io::Result<()> {
        let words = ["get", "networkpolicies", "-o", "json"];
        let policies: Value = serde_json::from_str(&self.kubernetes.ask(&words, "", ANSWER)?)?;
        let policies = policies.get("items").and_then(Value::as_array);
        for policy in policies.into_iter().flatten() {
            let labels = policy.pointer("/metadata/labels");
            let of_run = labels.and_then(|labels| labels.get(LABEL)?.as_str());
            let chosen = policy.pointer("/spec/podSelector");
            let Some(chosen) = chosen.filter(|_| of_run != Some(&self.run)) else {
                continue;
            };
            let mut pods = self.pods.values();
            if let Some(pod) = pods.find(|pod| may_select(chosen, &pod.found.labels)) {
                let name = policy.pointer("/metadata/name").and_then(Value::as_str);
                let name = name.unwrap_or_default();
                return Err(io::Error::other(format!(
                    "the NetworkPolicy {name} is about {} too, and what it permits cannot be cut by another one",
                    pod.found.name
                )));
            }
        }
        Ok(())
    }

    /// The management ports of the brokers that are reached.
    fn reached(&self) -> BTreeMap<u32, Kept> {
        let reached = self.pods.iter().filter(|(_, pod)| pod.forward.is_some());
        let each = reached.map(|(number, pod)| {
            let [.., management] = pod.local;
            let address = format!("127.0.0.1:{management}");
            (*number, Kept::to(Rest::open(&address)))
        });
        each.collect()
    }

    /// Takes all cuts back.
    pub(in crate::drivers) fn heal(&mut self) -> io::Result<()> {
        while let Some((number, (_, ticket))) = self.cut.pop_first() {
            self.delete("networkpolicy", &format!("{}-{number}", self.run), ticket)?;
        }
        Ok(())
    }

    /// Tries whether a policy has an effect: a pod reaches a broker, and one that a policy keeps from everything does not.
    pub(super) fn try_policies(&self) -> io::Result<()> {
        let none = || io::Error::other("there are no brokers");
        let first = self.pods.values().next().ok_or_else(none)?;
        let management = {
            let [.., port] = first.found.ports;
            format!("http://{}:{port}", first.found.address)
        };
        let image = first.found.image.clone();
        let image = self.kubernetes.image.clone().unwrap_or(image);
        let policy = format!("{}-try", self.run);
        let ticket = self.undone("networkpolicy", &policy)?;
        let selector = json!({ LABEL: policy });
        let nothing = [("policyTypes", json!(["Egress"])), ("egress", json!([]))];
        let nothing = nothing.map(|(name, value)| (name.to_string(), value));
        let nothing = Map::from_iter(nothing);
        self.apply(&self.policy(&policy, &selector, &nothing))?;
        let reached = [("allowed", "allowed"), ("denied", &policy)].map(|(name, label)| {
            let name = format!("{policy}-{name}");
            self.reaches(&name, label, (&image, &management))
        });
        self.delete("networkpolicy", &policy, ticket)?;
        let [allowed, denied] = reached;
        match (allowed?, denied?) {
            (true, false) => Ok(()),
            (true, true) => Err(io::Error::other(
                "the network of this cluster does not enforce policies: nothing can be cut",
            )),
            (false, _) => Err(io::Error::other(format!(
                "a pod of the image {image} does not reach {management}, so that it is unknown whether policies are enforced; --image names another one"
            ))),
        }
    }

    /// Whether a pod with this label reaches the management port of a broker.
    fn reaches(
        &self,
        name: &str,
        label: &str,
        (image, management): (&str, &str),
    ) -> io::Result<bool> {
        let ticket = self.undone("pod", name)?;
        self.apply(&trying(name, label, (image, management)))?;
        let end = Instant::now() + TRY;
        let phase = ["get", "pod", name, "-o", "jsonpath={.status.phase}"];
        let reached = loop {
            match self.kubernetes.ask(&phase, "", ANSWER)?.trim() {
                "Succeeded" => break Ok(true),
                "Failed" => break Ok(false),
                other if Instant::now() >= end => {
                    let seconds = TRY.as_secs();
                    break Err(io::Error::other(format!(
                        "the pod {name} is still {other} after {seconds} s"
                    )));
                }
                _ => std::thread::sleep(PAUSE),
            }
        };
        self.delete("pod", name, ticket)?;
        reached
    }

    fn policy(&self, name: &str, selector: &Value, rules: &Map<String, Value>) -> Value {
        let mut spec = rules.clone();
        let pods = json!({ "matchLabels": selector });
        spec.insert("podSelector".to_string(), pods);
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": { "name": name, "labels": { LABEL: self.run } },
            "spec": spec,
        })
    }

    fn apply(&self, object: &Value) -> io::Result<()> {
        let words = ["apply", "-f", "-"];
        let input = object.to_string();
        self.kubernetes.ask(&words, &input, ANSWER).map(|_| ())
    }

    /// Lets the guard delete an object of the run.
    fn undone(&self, kind: &str, name: &str) -> io::Result<Ticket> {
        let undo = self.kubernetes.undo(&deletion(kind, name));
        self.guard.with(|guard| guard.push(undo))
    }

    fn delete(&self, kind: &str, name: &str, ticket: Ticket) -> io::Result<()> {
        self.kubernetes.ask(&deletion(kind, name), "", ANSWER)?;
        self.guard.with(|guard| guard.pop(ticket))
    }
}

/// Whether a selector may be about a pod with these labels: its expressions are not looked at.
fn may_select(selector: &Value, labels: &Value) -> bool {
    let needed = selector["matchLabels"].as_object();
    let mut needed = needed.into_iter().flatten();
    needed.all(|(name, value)| labels.get(name) == Some(value))
}

/// The number of missed heartbeats in a line of metrics.
fn missed(line: &str) -> Option<f64> {
    let rest = line.strip_prefix(MISSES)?;
    let value = rest.rsplit('}').next()?;
    value.split_whitespace().next()?.parse().ok()
}

fn deletion<'w>(kind: &'w str, name: &'w str) -> [&'w str; 5] {
    let wait = "--wait=false";
    ["delete", kind, name, "--ignore-not-found", wait]
}

/// All that is permitted in these directions: every port but the internal one.
fn rules(said: &[Said], internal: u16) -> Map<String, Value> {
    let others = json!([{ "ports": [
        { "protocol": "TCP", "port": 1, "endPort": internal - 1 },
        { "protocol": "TCP", "port": internal + 1, "endPort": 65535 },
        { "protocol": "UDP", "port": 1, "endPort": 65535 },
    ] }]);
    let mut rules = Map::new();
    let mut types = Vec::new();
    for (direction, kind, name) in [
        (Said::Into, "Ingress", "ingress"),
        (Said::OutOf, "Egress", "egress"),
    ] {
        if said.contains(&direction) {
            types.push(kind);
            rules.insert(name.to_string(), others.clone());
        }
    }
    rules.insert("policyTypes".to_string(), json!(types));
    rules
}

/// A pod that ends well if it reaches this address.
fn trying(name: &str, label: &str, (image, management): (&str, &str)) -> Value {
    let container = json!({
        "name": "try",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["status", "--ready", "--management", management],
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "resources": {
            "requests": { "cpu": "10m", "memory": "16Mi" },
            "limits": { "memory": "64Mi" },
        },
    });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "labels": { LABEL: label } },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": 1001,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [container],
        },
    })
}
