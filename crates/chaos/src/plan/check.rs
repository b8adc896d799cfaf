//! Validation of a plan before it begins.

use super::{Action, Plan, Stall, StoreKind, StoreState, Through, Until, Way, Who};

impl Plan {
    /// Checks the plan for contradictions.
    pub(super) fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(format!(
                "name: {:?} must be lower-case letters, digits and hyphens",
                self.name
            ));
        }
        if self.steps.is_empty() {
            return Err("there are no steps".into());
        }
        if self.criteria.is_empty() {
            return Err("there are no criteria: nothing would be judged".into());
        }
        if self.nodes.count == 0 || self.nodes.all() > 9 || self.nodes.partitions == 0 {
            return Err(
                "nodes: a cluster has 1 to 9 nodes, spare ones and gateways included, and at least one partition"
                    .into(),
            );
        }
        let has_gateways = self.nodes.gateways > 0;
        if has_gateways && (self.nodes.count == 1 || self.nodes.leases || self.nodes.backups) {
            return Err(
                "nodes: gateways: they need two other nodes at least, lease no number and are not restored"
                    .into(),
            );
        }
        if self.nodes.leases && (self.nodes.backups || self.nodes.disk_mib.is_some()) {
            return Err(
                "nodes: leases: the nodes share a data directory, so neither disk-mib nor backups can be set"
                    .into(),
            );
        }
        if self.nodes.spare > 0 && self.nodes.backups {
            return Err(
                "nodes: spare: a backup is restored by all nodes, and spare nodes are no members"
                    .into(),
            );
        }
        if !self.nodes.quota.is_none_or(is_part_of_machine) {
            return Err("nodes: quota: from 0.01 to 1024 cores".into());
        }
        if !self
            .nodes
            .tokens_s
            .is_none_or(|it| (2..=86_400).contains(&it))
        {
            return Err("nodes: tokens-s: from 2 to 86400".into());
        }
        if self.nodes.cores == Some(0) {
            return Err("nodes: cores: a node needs at least one".into());
        }
        for step in &self.steps {
            self.check_step(&step.action)
                .map_err(|why| format!("step {}: {why}", step.name))?;
            if !(0.0..=1e6).contains(&step.after_s) {
                return Err(format!("step {}: after-s: {}", step.name, step.after_s));
            }
        }
        self.check_windows()
    }

    /// Why the action is impossible with a disk in memory, or without one.
    fn wrong_disk(&self, action: &Action) -> Option<&'static str> {
        let ends = matches!(
            action,
            Action::Kill(_)
                | Action::Stop(_)
                | Action::Replace(_)
                | Action::Erase
                | Action::Settings { .. }
                | Action::Memory { .. }
                | Action::Disk { .. }
        );
        match self.nodes.disk_mib {
            Some(_) if ends => {
                Some("a disk in memory goes with its node: no node may end where disk-mib is set")
            }
            None if matches!(action, Action::Fill { .. }) => {
                Some("only a disk of a node's own can be filled: set nodes.disk-mib")
            }
            _ => None,
        }
    }

    /// Why the amount in the action is impossible.
    fn wrong_amount(&self, action: &Action) -> Option<&'static str> {
        match action {
            Action::Limit { cores, .. } if !is_part_of_machine(*cores) => {
                Some("limit: cores: from 0.01 to 1024")
            }
            Action::Memory { mib, .. } if !(16..=1 << 20).contains(mib) => {
                Some("memory: mib: from 16 to 1048576")
            }
            Action::Disk { late_ms, .. } if !(0.0..=10_000.0).contains(late_ms) => {
                Some("disk: late-ms: from 0 to 10000")
            }
            Action::Hog(65..) => Some("hog: at most 64"),
            Action::SaturateWith { instances, .. } if !(1..=65_536).contains(instances) => {
                Some("saturate-with: instances: from 1 to 65536")
            }
            Action::Ramp { over_s, .. } if !(0.001..=1e6).contains(over_s) => {
                Some("ramp: over-s: from 0.001 to 1000000")
            }
            Action::Slow {
                delay_ms,
                kib_per_s,
                stall,
                ..
            } => wrong_slowness(*delay_ms, *kib_per_s, *stall),
            _ => None,
        }
    }

    /// What the nodes lack for the action.
    fn lack(&self, action: &Action) -> Option<&'static str> {
        let nodes = &self.nodes;
        match action {
            Action::Store(_) if nodes.store.is_none() => Some(
                "there is no database: set nodes.store to postgres, opensearch or elasticsearch",
            ),
            Action::Store(StoreState::WrongPassword)
                if nodes.store != Some(StoreKind::Postgres) =>
            {
                Some("store: wrong-password: search servers of a run have no passwords")
            }
            Action::Issuer(_) if nodes.tokens_s.is_none() => {
                Some("there is no identity provider: set nodes.tokens-s")
            }
            Action::Backup { .. } | Action::Restore { .. } if !nodes.backups => {
                Some("the nodes take no backups: set nodes.backups to true")
            }
            Action::Bucket(_)
            | Action::Wait {
                until: Until::Owned,
                ..
            } if !nodes.leases => Some("there is no bucket with leases: set nodes.leases to true"),
            Action::Replace(_) | Action::Erase | Action::FailDisk { .. } if nodes.leases => Some(
                "nodes with leases share their data: it is not erased, and no disk is that of one of them",
            ),
            _ => None,
        }
    }

    fn check_step(&self, action: &Action) -> Result<(), String> {
        let wrong = self.wrong_disk(action);
        let wrong = wrong.or_else(|| self.wrong_amount(action));
        if let Some(why) = wrong.or_else(|| self.lack(action)) {
            return Err(why.into());
        }
        let node = match action {
            Action::Kill(who)
            | Action::Stop(who)
            | Action::Replace(who)
            | Action::Pause(who)
            | Action::Fill { who, .. }
            | Action::FailDisk { who, .. }
            | Action::Through(Through::Who(who))
            | Action::Limit { who, .. } => node_of(*who),
            Action::Slow { way, .. } | Action::Cut(way) => match way {
                Way::ToWorkers => None,
                Way::Into(who) | Way::OutOf(who) | Way::Around(who) if self.nodes.all() > 1 => {
                    node_of(*who)
                }
                Way::Into(_) | Way::OutOf(_) | Way::Around(_) => {
                    return Err("there is one node: no way leads to another".into());
                }
            },
            Action::Settings { node, .. }
            | Action::Memory { node, .. }
            | Action::Disk { node, .. } => Some(*node),
            Action::Through(Through::Nodes(nodes)) => {
                let most = nodes.iter().max();
                Some(*most.ok_or("through: nodes: at least one")?)
            }
            Action::Scale { nodes: Some(0), .. } => {
                return Err("scale: nodes: at least one".into());
            }
            Action::Scale { nodes, .. } => nodes.map(|count| count - 1),
            Action::Request(request) => Some(request.node),
            Action::Wait { until, .. } => node_asked(until),
            Action::Load(_)
            | Action::Ramp { .. }
            | Action::Flood(_)
            | Action::Saturate(_)
            | Action::SaturateWith { .. }
            | Action::StopLoad
            | Action::Workers(_)
            | Action::Delivery(_)
            | Action::HungWorker(_)
            | Action::Through(_)
            | Action::Resume
            | Action::Start
            | Action::Free
            | Action::MendDisks
            | Action::Hog(_)
            | Action::Heal
            | Action::Store(_)
            | Action::Issuer(_)
            | Action::Bucket(_)
            | Action::CancelChange
            | Action::Backup { .. }
            | Action::Erase
            | Action::Restore { .. } => None,
        };
        match node.filter(|node| *node >= self.nodes.all()) {
            Some(node) => Err(format!(
                "there is no node {node}: the nodes are 0 to {}",
                self.nodes.all() - 1
            )),
            None => Ok(()),
        }
    }

    /// Checks windows: one that no step begins would never be measured.
    fn check_windows(&self) -> Result<(), String> {
        let known = |name: &String| self.steps.iter().any(|step| step.name == *name);
        let measures = self.criteria.iter().flat_map(|criterion| {
            let provided = criterion.provided.iter().map(|it| &it.measure);
            let all = std::iter::once(&criterion.measure).chain(provided);
            all.map(move |measure| (criterion, measure))
        });
        for (criterion, measure) in measures {
            let mut measure = Some(measure);
            while let Some(of) = measure {
                let named = of.window.iter();
                let mut named = named.flat_map(|window| [Some(&window.from), window.to.as_ref()]);
                if let Some(name) = named.find_map(|name| name.filter(|name| !known(name))) {
                    return Err(format!(
                        "criterion {}: no step is named {name}",
                        criterion.name
                    ));
                }
                if of.pairs && (of.over.is_none() || of.window.is_none()) {
                    return Err(format!(
                        "criterion {}: pairs: each window is divided by one of another measure: set window and over",
                        criterion.name
                    ));
                }
                measure = of.over.as_deref();
            }
        }
        Ok(())
    }
}

fn is_part_of_machine(cores: f64) -> bool {
    (0.01..=1024.0).contains(&cores)
}

/// Why a way cannot be slowed down like this.
fn wrong_slowness(
    delay_ms: f64,
    kib_per_s: Option<f64>,
    stall: Option<Stall>,
) -> Option<&'static str> {
    const LONGEST_MS: f64 = 600_000.0;
    let is_odd = |stall: Stall| {
        let is_part = stall.for_ms > 0.0 && stall.for_ms < stall.every_ms;
        !is_part || stall.every_ms > LONGEST_MS
    };
    if !(0.0..=LONGEST_MS).contains(&delay_ms) {
        Some("slow: delay-ms: from 0 to 600000")
    } else if kib_per_s.is_some_and(|kib| !(1.0..=1e6).contains(&kib)) {
        Some("slow: kib-per-s: from 1 to 1000000")
    } else if stall.is_some_and(is_odd) {
        Some("slow: stall: for-ms above 0 and below every-ms, which is at most 600000")
    } else if delay_ms == 0.0 && kib_per_s.is_none() && stall.is_none() {
        Some("slow: at least one of delay-ms, kib-per-s and stall")
    } else {
        None
    }
}

fn node_asked(until: &Until) -> Option<u32> {
    match until {
        Until::Answer(request) => Some(request.node),
        Until::Status { who, .. } => node_of(*who),
        Until::Log { node, .. } => Some(*node),
        Until::Even
        | Until::Owned
        | Until::Relieved
        | Until::OpenAtMost(_)
        | Until::Partitions(_)
        | Until::Created(_)
        | Until::RateIs(_)
        | Until::CompletionIs(_) => None,
    }
}

fn node_of(who: Who) -> Option<u32> {
    match who {
        Who::Node(node) => Some(node),
        Who::LeaderOf(_) | Who::Follower => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::experiments;
    use crate::plan::Plan;

    const PLAN: &str = "name: a\nhypothesis: b\nsteps:\n- {name: base, do: {load: {per-second: 5}}}\n- {name: f, after-s: 1, do: FAULT}\n\
        criteria:\n- {name: c, measure: {of: open, window: {from: base}}, limit: {at-most: 1}}\n";

    #[test]
    fn invalid_plans_are_refused_with_the_reason() {
        for (fault, said) in [
            ("{backup: {limit-s: 9}}", "set nodes.backups to true"),
            ("{restore: {limit-s: 9}}", "set nodes.backups to true"),
            ("{limit: {who: {node: 0}, cores: 0}}", "from 0.01 to 1024"),
            ("{limit: {who: {node: 2}, cores: 1}}", "there is no node 2"),
            ("{memory: {node: 0, mib: 1}}", "from 16 to 1048576"),
            ("{disk: {node: 0, late-ms: 1e6}}", "from 0 to 10000"),
            ("{cut: {into: {node: 0}}}", "no way leads to another"),
            ("{slow: {way: to-workers}}", "at least one of delay-ms"),
            (
                "{slow: {way: to-workers, kib-per-s: 0}}",
                "kib-per-s: from 1",
            ),
            (
                "{slow: {way: to-workers, stall: {for-ms: 9, every-ms: 9}}}",
                "below every-ms",
            ),
            (
                "{ramp: {from: {per-second: 1}, to: {per-second: 9}, over-s: 0}}",
                "over-s: from 0.001",
            ),
            ("{scale: {nodes: 2}}", "missing field `partitions`"),
            ("{scale: {partitions: 2, nodes: 2}}", "there is no node 1"),
            ("{scale: {partitions: 2, nodes: 0}}", "at least one"),
            ("{hog: 65}", "at most 64"),
            (
                "{saturate-with: {wire: grpc, instances: 0}}",
                "instances: from 1 to 65536",
            ),
            ("{explode: 1}", "unknown variant `explode`"),
            ("{kill: {node: 1}}", "step f: there is no node 1"),
            ("{through: {nodes: [0, 3]}}", "there is no node 3"),
            ("{through: {nodes: []}}", "at least one"),
            ("{through: {who: {node: 1}}}", "there is no node 1"),
            (
                "{fill: {who: {node: 0}, leave-mib: 1}}",
                "set nodes.disk-mib",
            ),
            (
                "{wait: {until: {log: {node: 1, says: x}}, limit-s: 1}}",
                "there is no node 1",
            ),
            ("{issuer: away}", "set nodes.tokens-s"),
            ("{store: stopped}", "set nodes.store to postgres"),
            ("{bucket: away}", "set nodes.leases to true"),
            (
                "{fail-disk: {who: {node: 1}, how: hangs}}",
                "there is no node 1",
            ),
            (
                "{fail-disk: {who: {node: 0}, how: burns}}",
                "unknown variant `burns`",
            ),
            (
                "{wait: {until: owned, limit-s: 1}}",
                "set nodes.leases to true",
            ),
        ] {
            let error = Plan::from_yaml(&PLAN.replace("FAULT", fault)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn plans_that_contradict_themselves_are_refused_with_the_reason() {
        let good = PLAN.replace("FAULT", "{kill: {node: 0}}");
        Plan::from_yaml(&good).unwrap();
        let searched = PLAN.replace("FAULT", "{store: wrong-password}");
        let searched = searched.replace("steps:", "nodes: {store: opensearch}\nsteps:");
        let error = Plan::from_yaml(&searched).unwrap_err();
        assert!(error.contains("have no passwords"), "{error}");
        for (from, to, said) in [
            ("from: base", "from: bse", "no step is named bse"),
            ("name: a\n", "name: A b\n", "lower-case"),
            (
                "hypothesis: b",
                "hypothesis: b\nnodes: {disk-mib: 64}",
                "goes with its node",
            ),
            (
                "hypothesis: b",
                "hypothesis: b\nnodes: {count: 5, spare: 5}",
                "1 to 9 nodes",
            ),
            (
                "hypothesis: b",
                "hypothesis: b\nnodes: {spare: 1, backups: true}",
                "spare nodes are no members",
            ),
            (
                "hypothesis: b",
                "hypothesis: b\nnodes: {gateways: 1}",
                "two other nodes at least",
            ),
            (
                "hypothesis: b",
                "hypothesis: b\nnodes: {count: 5, gateways: 5}",
                "gateways included",
            ),
            (
                "hypothesis: b",
                "hypothesis: b\nnodes: {leases: true, disk-mib: 64}",
                "share a data directory",
            ),
            ("hypothesis", "hypotheses", "unknown field"),
            ("{kill: ", "{kil: ", "step 2 (f): unknown variant `kil`"),
            ("at-most: 1", "at-mots: 1", "criterion 1 (c): unknown"),
        ] {
            let error = Plan::from_yaml(&good.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let alone = good.replace("of: open,", "of: open, pairs: true,");
        let error = Plan::from_yaml(&alone).unwrap_err();
        assert!(error.contains("set window and over"), "{error}");
        let provided = "limit: {at-most: 1}, provided: [{measure: {of: open, window: {from: bse}}, limit: {at-most: 1}, otherwise: x}]}";
        let error = Plan::from_yaml(&good.replace("limit: {at-most: 1}}", provided)).unwrap_err();
        assert!(error.contains("no step is named bse"), "{error}");
        let nothing = &good[..good.find("criteria").unwrap()];
        let error = Plan::from_yaml(&format!("{nothing}criteria: []\n")).unwrap_err();
        assert!(error.contains("nothing would be judged"), "{error}");
    }

    #[test]
    fn every_experiment_is_read_as_it_is_shown() {
        for experiment in experiments::ALL {
            for full in [false, true] {
                let plan = (experiment.plan)(full);
                let text = plan.to_yaml();
                assert_eq!(Plan::from_yaml(&text), Ok(plan), "{text}");
            }
        }
    }
}
