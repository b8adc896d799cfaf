//! A plan with its faults at other times and on other leaders, as a seed decides: the same seed gives the same plan on every machine.

use skep_random::Random;

use super::{Action, Plan, Who};

impl Plan {
    /// The plan as this seed varies it: nodes that are killed, stopped, paused or replaced, and workers that are taken away. The order of
    /// the steps stays. Each fault comes after 0.5 to 1.5 times its time, plus up to a second. It hits the leader of any partition, unless
    /// other steps are about the leader of a certain one.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut share = |thousandths: u64| {
            let drawn = u32::try_from(random.below(thousandths + 1));
            f64::from(drawn.unwrap_or(0)) / 1_000.0
        };
        let partitions = f64::from(self.nodes.partitions);
        let is_bound = self
            .steps
            .iter()
            .any(|step| is_about_a_leader(&step.action));
        for step in &mut self.steps {
            let who = match &mut step.action {
                Action::Kill(who)
                | Action::Stop(who)
                | Action::Pause(who)
                | Action::Replace(who) => Some(who),
                Action::Workers(false) => None,
                _ => continue,
            };
            let after = step.after_s * (0.5 + share(1_000)) + share(1_000);
            step.after_s = (after * 1_000.0).round() / 1_000.0;
            // Drawn in any case, so that times do not depend on it.
            let drawn = share(999) * partitions;
            if let Some(Who::LeaderOf(partition)) = who.filter(|_| !is_bound) {
                *partition = (1..self.nodes.partitions)
                    .find(|number| drawn < f64::from(*number))
                    .unwrap_or(self.nodes.partitions);
            }
        }
        self
    }
}

/// Whether a step that a seed does not vary names the leader of a partition.
fn is_about_a_leader(action: &Action) -> bool {
    let is_varied = matches!(
        action,
        Action::Kill(_) | Action::Stop(_) | Action::Pause(_) | Action::Replace(_)
    );
    !is_varied && matches!(action.who(), Some(Who::LeaderOf(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;
    use crate::plan::Through;

    fn plan(name: &str) -> Plan {
        (experiments::find(name).unwrap().plan)(false)
    }

    fn kinds(plan: &Plan) -> Vec<(String, std::mem::Discriminant<Action>)> {
        let steps = plan.steps.iter();
        let steps = steps.map(|step| (step.name.clone(), std::mem::discriminant(&step.action)));
        steps.collect()
    }

    #[test]
    fn a_seed_gives_the_same_faults_in_the_same_order() {
        for experiment in experiments::ALL {
            let plan = (experiment.plan)(false);
            let seeded = plan.clone().seeded(7);
            assert_eq!(seeded, plan.clone().seeded(7), "{}", experiment.name);
            assert_eq!(kinds(&seeded), kinds(&plan), "{}", experiment.name);
            // It can be shown, copied and run.
            let read = Plan::from_yaml(&seeded.to_yaml());
            assert_eq!(read, Ok(seeded), "{}", experiment.name);
        }
    }

    #[test]
    fn another_seed_hits_other_leaders_at_other_times() {
        let loss = plan("broker-loss");
        let times = |plan: &Plan| -> Vec<f64> {
            let kills = plan.steps.iter().filter(|step| step.name == "kill");
            kills.map(|step| step.after_s).collect()
        };
        let (one, two) = (loss.clone().seeded(1), loss.clone().seeded(2));
        assert_ne!(times(&one), times(&two));
        assert!(times(&one).iter().all(|after| (4.0..=13.0).contains(after)));
        let mut hit = Vec::new();
        for seed in 0..20 {
            let seeded = loss.clone().seeded(seed);
            hit.extend(seeded.steps.into_iter().map(|step| step.action));
        }
        for partition in 1..=loss.nodes.partitions {
            assert!(hit.contains(&Action::Kill(Who::LeaderOf(partition))));
        }
        let beyond = Action::Kill(Who::LeaderOf(loss.nodes.partitions + 1));
        assert!(!hit.contains(&beyond));
    }

    #[test]
    fn a_leader_that_clients_use_stays_the_same() {
        let mut loss = plan("broker-loss");
        loss.nodes.partitions = 9;
        let mut through = loss.steps[0].clone();
        through.action = Action::Through(Through::Who(Who::LeaderOf(1)));
        loss.steps.insert(0, through);
        for seed in 0..20 {
            let seeded = loss.clone().seeded(seed).steps;
            let mut kills = seeded.iter().filter(|step| step.name == "kill");
            assert!(kills.all(|kill| kill.action == Action::Kill(Who::LeaderOf(1))));
        }
    }

    #[test]
    fn a_leader_that_other_steps_name_stays_the_same() {
        let mut cut = plan("network-cut");
        let mut kill = cut.steps[0].clone();
        kill.action = Action::Kill(Who::LeaderOf(1));
        cut.steps.push(kill.clone());
        cut.nodes.partitions = 9;
        for seed in 0..20 {
            let seeded = cut.clone().seeded(seed);
            assert_eq!(
                seeded.steps.last().map(|step| &step.action),
                Some(&kill.action)
            );
        }
    }
}
