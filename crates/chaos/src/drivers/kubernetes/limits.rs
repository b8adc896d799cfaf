//! Less CPU for a running pod: its resources are changed in place, which Kubernetes does from 1.33 on.

use std::io;

use serde_json::{Value, json};

use super::found::Found;
use super::{ANSWER, Allowed, Pods};

impl Pods {
    /// Limits a pod to this many cores from now on, until it is another pod.
    pub(in crate::drivers) fn limit(&mut self, number: u32, cores: f64) -> io::Result<()> {
        let found = self.pod(number)?.found.clone();
        let before = of(&found)?;
        let is_less = cores < before;
        if is_less {
            self.permit(number, Allowed::Limit)?;
        }
        if is_less && !self.limited.contains_key(&number) {
            let undo = self
                .kubernetes
                .undo(&resize(&found.name, &original(&found)));
            let ticket = self.guard.with(|guard| guard.push(undo))?;
            self.limited.insert(number, ticket);
        }
        let change = patch(&found.container, &limited(&found, cores));
        let change = if is_less { change } else { original(&found) };
        self.kubernetes
            .ask(&resize(&found.name, &change), "", ANSWER)?;
        if is_less {
            return Ok(());
        }
        self.unlimited(number)
    }

    /// Notes that a pod is limited no more: whoever changes it later is not overruled by the guard.
    pub(super) fn unlimited(&mut self, number: u32) -> io::Result<()> {
        match self.limited.remove(&number) {
            Some(ticket) => self.guard.with(|guard| guard.pop(ticket)),
            None => Ok(()),
        }
    }
}

fn resize<'w>(pod: &'w str, patch: &'w str) -> [&'w str; 6] {
    let subresource = "--subresource=resize";
    ["patch", "pod", pod, subresource, "--patch", patch]
}

/// The cores that a pod may use.
fn of(found: &Found) -> io::Result<f64> {
    let [_, limit] = &found.cpu;
    limit.as_deref().and_then(cores).ok_or_else(|| {
        let name = &found.name;
        io::Error::other(format!(
            "the container of {name} has no limit of CPU, and one that is added cannot be taken away again"
        ))
    })
}

/// `1500m` and `1.5` are 1.5 cores.
fn cores(quantity: &str) -> Option<f64> {
    match quantity.strip_suffix('m') {
        Some(thousandths) => Some(thousandths.parse::<f64>().ok()? / 1e3),
        None => quantity.parse().ok(),
    }
}

/// A request above the limit would be refused, and so would one that becomes equal to it: that may change the class of the pod.
fn limited(found: &Found, limit: f64) -> Value {
    let written = |cores: f64| format!("{:.0}m", cores * 1e3);
    let [request, before] = &found.cpu;
    let both = request.as_deref().zip(before.as_deref());
    let both = both.and_then(|(request, before)| cores(request).zip(cores(before)));
    let is_equal = both.is_some_and(|(request, before)| request >= before);
    // Kubernetes knows thousandths of a core, and no request of none.
    let below = (limit - 1e-3).max(1e-3);
    let most = if is_equal { limit } else { below };
    let lowered = written(most);
    let stays = request
        .as_deref()
        .filter(|it| cores(it).is_some_and(|it| it <= most));
    let request = request.as_ref().map(|_| stays.unwrap_or(&lowered));
    resources(request, Some(&written(limit)))
}

/// The resources that the pod has without the run.
fn original(found: &Found) -> String {
    let [request, limit] = &found.cpu;
    let resources = resources(request.as_deref(), limit.as_deref());
    patch(&found.container, &resources)
}

fn resources(request: Option<&str>, limit: Option<&str>) -> Value {
    let kinds = [("requests", request), ("limits", limit)].into_iter();
    let given = kinds.filter_map(|(kind, cpu)| Some((kind.to_string(), json!({ "cpu": cpu? }))));
    Value::Object(given.collect())
}

fn patch(container: &str, resources: &Value) -> String {
    let container = json!({ "name": container, "resources": resources });
    json!({ "spec": { "containers": [container] } }).to_string()
}
