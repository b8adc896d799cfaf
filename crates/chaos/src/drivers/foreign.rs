//! What plans may ask of a cluster that the run has not started.

use std::fmt;

use crate::plan::{Action, Plan};

/// Why something is not done to a cluster of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub(super) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Checks that the plan changes nothing of the cluster at this host, of which only the ports are known, and is not about properties that
/// its nodes may lack.
///
/// # Errors
/// The host, the step or the property of the nodes, and why.
pub fn check_against(plan: &Plan, host: &str) -> Result<(), Refused> {
    let (name, last) = (&plan.name, host.rsplit(':').next().unwrap_or_default());
    let has_port = last.len() < host.len() && !host.ends_with(']');
    if host.is_empty() || host.contains('/') || has_port {
        return Err(Refused(format!(
            "--against takes the name or the address of a host, and {host:?} is none: REST is asked at its port 8080, gRPC at 26500 and the \
             management at 9600"
        )));
    }
    let changes = |action: &Action| action.is_fault() || action.may_change();
    let mut faults = plan.steps.iter().filter(|step| changes(&step.action));
    if let Some(step) = faults.next() {
        return Err(Refused(format!(
            "{name} changes something (step {}: {}), and --against changes nothing on a cluster of others ({host}); --driver kubernetes does what --allow permits, and without both a run starts a cluster of its own",
            step.name, step.action
        )));
    }
    match of_own_nodes(plan) {
        None => Ok(()),
        Some(what) => Err(Refused(format!(
            "{name}: {what} of the plan is for nodes that the run starts, and --against loads those of {host}"
        ))),
    }
}

/// A property that only nodes of the run's own can have.
pub(super) fn of_own_nodes(plan: &Plan) -> Option<&'static str> {
    let nodes = &plan.nodes;
    let properties = [
        (nodes.spare > 0, "spare"),
        (nodes.disk_mib.is_some(), "disk-mib"),
        (nodes.cores.is_some(), "cores"),
        (nodes.quota.is_some(), "quota"),
        (nodes.store.is_some(), "store"),
        (nodes.sink, "sink"),
        (nodes.tokens_s.is_some(), "tokens-s"),
        (nodes.backups, "backups"),
        (nodes.leases, "leases"),
    ];
    let mut set = properties.into_iter().filter(|(is_set, _)| *is_set);
    set.next().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;
    use crate::plan::Who;

    /// Load alone, and nothing that only nodes of the run's own have.
    fn load() -> Plan {
        let mut plan = (experiments::find("worker-outage").unwrap().plan)(false);
        assert_eq!(check_against(&plan, "example.org"), Ok(()));
        plan.name = "mine".into();
        plan
    }

    fn refused(plan: &Plan, host: &str) -> String {
        check_against(plan, host).unwrap_err().to_string()
    }

    #[test]
    fn a_cluster_of_others_gets_load_alone() {
        let mut plan = load();
        plan.steps[0].action = Action::Kill(Who::Node(0));
        let said = refused(&plan, "example.org");
        assert!(said.starts_with("mine changes something"), "{said}");
    }

    /// A limit for nodes of half a core says nothing of those that are there.
    #[test]
    fn a_plan_about_nodes_of_its_own_is_not_for_a_cluster_of_others() {
        let mut plan = load();
        plan.nodes.quota = Some(0.5);
        let said = refused(&plan, "example.org");
        assert!(said.starts_with("mine: quota of the plan is for"), "{said}");
    }

    #[test]
    fn what_is_no_host_is_refused_before_anything_waits_for_it() {
        for host in [
            "",
            "example.org:8081",
            "http://example.org",
            "10.0.0.1:8080",
        ] {
            let said = refused(&load(), host);
            assert!(said.contains("at its port 8080"), "{said}");
        }
        for host in ["10.0.0.1", "[::1]", "localhost"] {
            assert_eq!(check_against(&load(), host), Ok(()), "{host}");
        }
    }
}
