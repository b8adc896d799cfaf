//! What a caller allows to be done to pods, and which plans need what.

use std::fmt;
use std::str::FromStr;

use super::Kubernetes;
use crate::drivers::foreign::{Refused, of_own_nodes};
use crate::plan::{Action, Plan, Step, Way};

const NO_PAUSE: &str =
    "pods cannot be paused: the kernel ignores SIGSTOP to the first process of a container";

const NO_CHANGE: &str =
    "the request may change a cluster of others: only GET and searches of the REST API are sent";

/// A kind of fault that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allowed {
    /// Pods are deleted.
    Kill,
    /// Pods get less CPU.
    Limit,
    /// Network policies cut ways between brokers.
    Cut,
    /// More than a minority of the brokers is hit at once.
    Majority,
}

const ALL: [(Allowed, &str); 4] = [
    (Allowed::Kill, "kill"),
    (Allowed::Limit, "limit"),
    (Allowed::Cut, "cut"),
    (Allowed::Majority, "majority"),
];

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(known, _)| known == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Allowed {
    type Err = Refused;

    fn from_str(name: &str) -> Result<Self, Refused> {
        if name == "pause" {
            return Err(Refused(NO_PAUSE.into()));
        }
        let known = ALL.iter().find(|(_, known)| *known == name);
        known
            .map(|(allowed, _)| *allowed)
            .ok_or_else(|| Refused("expected kill, limit, cut or majority".into()))
    }
}

impl Kubernetes {
    /// Checks that the plan asks for nothing of its cluster that pods cannot have, and does nothing that is not allowed.
    ///
    /// # Errors
    /// The step or the property of the nodes, and why.
    pub fn check(&self, plan: &Plan) -> Result<(), Refused> {
        if let Some(what) = of_own_nodes(plan) {
            return Err(Refused(format!(
                "{}: {what} of the plan is for nodes that the run starts, and the driver kubernetes finds them",
                plan.name
            )));
        }
        for step in &plan.steps {
            if let Some(why) = self.refusal(step) {
                let (name, action) = (&step.name, &step.action);
                let text = format!("{}: step {name} ({action}): {why}", plan.name);
                return Err(Refused(text));
            }
        }
        Ok(())
    }

    /// Why a step cannot be carried out.
    fn refusal(&self, step: &Step) -> Option<String> {
        let needed = match &step.action {
            Action::Kill(_) | Action::Stop(_) => Allowed::Kill,
            Action::Limit { .. } => Allowed::Limit,
            Action::Cut(Way::ToWorkers)
            | Action::Slow {
                way: Way::ToWorkers,
                ..
            }
            | Action::Start
            | Action::Heal => return None,
            Action::Cut(_) => Allowed::Cut,
            Action::Pause(_) | Action::Resume => {
                return Some(NO_PAUSE.into());
            }
            fault if fault.is_fault() => {
                return Some("the driver kubernetes does not do this to pods".into());
            }
            request if request.may_change() => return Some(NO_CHANGE.into()),
            _ => return None,
        };
        let is_allowed = self.allow.contains(&needed);
        (!is_allowed).then(|| format!("it is not allowed; --allow {needed} permits it"))
    }
}
