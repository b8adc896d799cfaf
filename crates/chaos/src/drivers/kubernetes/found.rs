//! Brokers' pods, as `kubectl get pods` shows them.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;

/// Ports of REST, gRPC, the other nodes and the management, with their names in the Helm chart.
const PORTS: [(u16, &str); 4] = [
    (8080, "http"),
    (26500, "grpc"),
    (26502, "internal"),
    (9600, "management"),
];

/// A pod, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) labels: Value,
    pub(super) uid: String,
    /// How often its container was started again.
    pub(super) restarts: u64,
    pub(super) is_running: bool,
    pub(super) is_ready: bool,
    pub(super) address: String,
    /// The container with the broker, and its image.
    pub(super) container: String,
    pub(super) image: String,
    pub(super) ports: [u16; 4],
    /// Requested and maximum CPU of the container, as written in the pod.
    pub(super) cpu: [Option<String>; 2],
}

impl Found {
    /// Whether it is the same container that runs.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.uid == other.uid && self.restarts == other.restarts
    }
}

/// Pods by the number at the end of their names.
pub(super) fn read(list: &str) -> io::Result<BTreeMap<u32, Found>> {
    let list: Value = serde_json::from_str(list)?;
    let mut found = BTreeMap::new();
    let mut owner = None;
    for pod in array(&list, "/items") {
        let name = text(pod, "/metadata/name");
        let number = name
            .rsplit('-')
            .next()
            .and_then(|it| it.parse::<u32>().ok());
        let owners = array(pod, "/metadata/ownerReferences");
        let set = owners
            .iter()
            .find(|it| text(it, "/kind") == "StatefulSet")
            .map(|it| text(it, "/name"));
        let (Some(number), Some(set)) = (number, set) else {
            let text =
                format!("the pod {name} is not of a StatefulSet, so nobody would start it again");
            return Err(io::Error::other(text));
        };
        if owner.get_or_insert_with(|| set.clone()) != &set {
            return Err(io::Error::other(format!(
                "the pods are of several StatefulSets, among them {set}: --selector chooses those of one, as with \
                 app.kubernetes.io/instance=NAME,app.kubernetes.io/component=broker"
            )));
        }
        found.insert(number, one(pod, name)?);
    }
    Ok(found)
}

fn one(pod: &Value, name: String) -> io::Result<Found> {
    let containers = array(pod, "/spec/containers");
    let mut serving = containers.iter().filter_map(|it| Some((it, ports(it)?)));
    let (container, ports) = serving.next().ok_or_else(|| {
        let ports = PORTS.map(|(port, name)| format!("{port} or {name:?}"));
        let ports = ports.join(", ");
        io::Error::other(format!(
            "the pod {name} has no container with the ports {ports}"
        ))
    })?;
    let of_broker = text(container, "/name");
    let statuses = array(pod, "/status/containerStatuses");
    let status = statuses.iter().find(|it| text(it, "/name") == of_broker);
    let conditions = array(pod, "/status/conditions");
    let is_ready = conditions
        .iter()
        .any(|it| text(it, "/type") == "Ready" && text(it, "/status") == "True");
    let is_ending = pod.pointer("/metadata/deletionTimestamp").is_some();
    let cpu = ["requests", "limits"].map(|kind| {
        let value = container.pointer(&format!("/resources/{kind}/cpu"));
        value.and_then(Value::as_str).map(String::from)
    });
    Ok(Found {
        labels: pod.pointer("/metadata/labels").cloned().unwrap_or_default(),
        uid: text(pod, "/metadata/uid"),
        restarts: status.map_or(0, |it| it["restartCount"].as_u64().unwrap_or(0)),
        is_running: !is_ending && status.is_some_and(|it| it.pointer("/state/running").is_some()),
        is_ready: is_ready && !is_ending,
        address: text(pod, "/status/podIP"),
        image: text(container, "/image"),
        container: of_broker,
        ports,
        cpu,
        name,
    })
}

/// The ports of a container with a broker, by their names or else by their usual numbers.
fn ports(container: &Value) -> Option<[u16; 4]> {
    let all = array(container, "/ports");
    let [rest, grpc, internal, management] = PORTS.map(|(usual, name)| {
        let named = all.iter().find(|port| text(port, "/name") == name);
        let is_usual = |port: &&Value| number(port) == Some(usual);
        number(named.or_else(|| all.iter().find(is_usual))?)
    });
    Some([rest?, grpc?, internal?, management?])
}

fn number(port: &Value) -> Option<u16> {
    u16::try_from(port["containerPort"].as_u64()?).ok()
}

fn array<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    let array = value.pointer(pointer).and_then(Value::as_array);
    array.map_or(&[], Vec::as_slice)
}

fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_string()
}
