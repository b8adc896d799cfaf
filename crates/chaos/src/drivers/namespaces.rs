//! A network of the run's own (`--net namespace`, as root): each node has a namespace with one address, and all are linked by a bridge of this
//! machine. Packets are lost there as in a real network, where a proxy holds back what was sent: nobody gets an acknowledgement, the kernel
//! sends again, and connections may time out. `ip` makes it, and `nsenter` starts nodes in it: unlike `ip netns exec` it leaves them the machine's
//! `/sys`, where they find their limits. A node to which nothing is to arrive has a wrong link address at the others.

use std::fs::metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::SharedGuard;
use super::links::Said;
use crate::guard::Undo;
use crate::plan::{Action, Plan, Through, Way};
use crate::program;

/// No interface has this address: it is administered locally, and the run gives none.
const NOBODY: &str = "02:00:00:00:00:01";
const INTERFACE: &str = "eth0";
/// The program that starts nodes in their namespaces.
const ENTER: &str = "nsenter";
/// Time limit for a command.
const ANSWER: Duration = Duration::from_secs(30);

/// The namespaces of a run.
#[derive(Debug)]
pub(super) struct Namespaces {
    run: u32,
    /// The third number of all addresses.
    third: u32,
    count: u32,
}

/// Carries out a command of `ip`; returns what it prints.
fn ip(words: &[&str]) -> io::Result<String> {
    program::ask("ip", words, "", ANSWER)
}

/// The flag of `nsenter` for a namespace.
fn place(name: &str) -> String {
    format!("--net=/var/run/netns/{name}")
}

/// Why a plan cannot have a network of its own here.
pub(super) fn lack(plan: &Plan) -> Option<String> {
    if let Some(what) = unreachable(plan) {
        return Some(format!("{what}: use --net loopback"));
    }
    let is_root = metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return Some("--net namespace needs root".into());
    }
    let name = format!("skep-chaos-{}-try", std::process::id());
    let why = tried(&name, ENTER).err()?;
    Some(format!(
        "this machine does not let programs run in a network namespace ({why}); `ip` is part of iproute2, `nsenter` of util-linux"
    ))
}

/// Makes a namespace, runs a program in it and deletes it.
fn tried(name: &str, enter: &str) -> io::Result<()> {
    ip(&["netns", "add", name])?;
    let entered = program::ask(enter, &[&place(name), "true"], "", ANSWER);
    ip(&["netns", "delete", name])?;
    entered.map(|_| ())
}

/// A part of the plan that is only there on the loopback interface.
fn unreachable(plan: &Plan) -> Option<String> {
    let nodes = &plan.nodes;
    let servers = [
        (nodes.store.is_some(), "the database"),
        (nodes.sink, "the sink of an exporter"),
        (nodes.tokens_s.is_some(), "the identity provider"),
        (nodes.leases, "the bucket with the leases"),
    ];
    let server = servers.into_iter().find(|(is_there, _)| *is_there);
    if let Some((_, name)) = server {
        return Some(format!(
            "nodes in namespaces do not reach {name} of the run"
        ));
    }
    let step = plan.steps.iter().find(|step| {
        let action = &step.action;
        let is_slow = matches!(action, Action::Slow { .. });
        is_slow
            || matches!(
                action,
                Action::Cut(Way::ToWorkers) | Action::Through(Through::Service)
            )
    })?;
    Some(format!(
        "step {} needs a proxy ({}), which there is none of between namespaces",
        step.name, step.action
    ))
}

impl Namespaces {
    /// Makes the network for nodes with the numbers below `count`.
    ///
    /// # Errors
    /// The machine does not permit it; the guard then removes what there is.
    pub(super) fn make(count: u32, guard: &SharedGuard) -> io::Result<Self> {
        let taken = ip(&["-4", "-o", "address", "show"])?;
        let run = std::process::id();
        let own = |third: &u32| !taken.contains(&format!(" 10.213.{third}."));
        let third = (0..256).map(|more| (run + more) % 256).find(own);
        let third = third.ok_or_else(|| io::Error::other("10.213.0.0/16 is in use"))?;
        let network = Self { run, third, count };
        network.add_bridge(guard)?;
        for number in 0..count {
            network.add(number, guard)?;
        }
        Ok(network)
    }

    fn bridge(&self) -> String {
        // The kernel takes 15 characters at most.
        format!("skc{}b", self.run)
    }

    fn name(&self, node: u32) -> String {
        format!("skep-chaos-{}-{node}", self.run)
    }

    /// The address of a node.
    pub(super) fn address(&self, node: u32) -> String {
        format!("10.213.{}.{}", self.third, node + 1)
    }

    /// The command prefix of a program in the namespace of a node.
    pub(super) fn words(&self, node: u32) -> [String; 2] {
        [ENTER.into(), place(&self.name(node))]
    }

    fn add_bridge(&self, guard: &SharedGuard) -> io::Result<()> {
        let bridge = self.bridge();
        undone_by(guard, &["link", "delete", &bridge])?;
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        // By it the clients of the run reach the nodes.
        let own = format!("10.213.{}.254/24", self.third);
        ip(&["address", "add", &own, "dev", &bridge])?;
        ip(&["link", "set", "dev", &bridge, "up"])?;
        Ok(())
    }

    fn add(&self, node: u32, guard: &SharedGuard) -> io::Result<()> {
        let (name, bridge) = (self.name(node), self.bridge());
        let outer = format!("skc{}n{node}", self.run);
        let address = format!("{}/24", self.address(node));
        // Both ends of its link go with it.
        undone_by(guard, &["netns", "delete", &name])?;
        ip(&["netns", "add", &name])?;
        let link = ["link", "add", &outer, "type", "veth", "peer", "name"];
        ip(&[&link[..], &[INTERFACE, "netns", &name]].concat())?;
        ip(&["link", "set", "dev", &outer, "master", &bridge, "up"])?;
        ip(&["-n", &name, "address", "add", &address, "dev", INTERFACE])?;
        for interface in [INTERFACE, "lo"] {
            ip(&["-n", &name, "link", "set", "dev", interface, "up"])?;
        }
        Ok(())
    }

    /// From now on nothing arrives that is said to the node, or by it to other nodes.
    pub(super) fn cut(&self, node: u32, said: Said) -> io::Result<()> {
        for other in (0..self.count).filter(|other| *other != node) {
            let (from, to) = match said {
                Said::Into => (other, node),
                Said::OutOf => (node, other),
            };
            let (name, address) = (self.name(from), self.address(to));
            let wrong = ["neighbour", "replace", &address, "lladdr", NOBODY];
            let place = ["dev", INTERFACE, "nud", "permanent"];
            ip(&[&["-n", &name][..], &wrong, &place].concat())?;
        }
        Ok(())
    }

    /// Takes all cuts back.
    pub(super) fn heal(&self) -> io::Result<()> {
        for node in 0..self.count {
            let name = self.name(node);
            let flush = ["neighbour", "flush", "dev", INTERFACE, "nud", "permanent"];
            ip(&[&["-n", &name][..], &flush].concat())?;
        }
        Ok(())
    }
}

/// Lets the guard carry out this command of `ip` at the end.
fn undone_by(guard: &SharedGuard, words: &[&str]) -> io::Result<()> {
    let words = ["ip"].iter().chain(words).map(ToString::to_string);
    let undo = Undo::Run(words.collect());
    guard.with(|guard| guard.push(undo)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Command;

    use super::*;
    use crate::experiments;
    use crate::guard::Guard;

    fn plan(name: &str) -> Plan {
        (experiments::find(name).unwrap().plan)(false)
    }

    #[test]
    fn what_is_on_the_loopback_interface_is_named() {
        for (name, said) in [
            ("cold-start", "do not reach the database"),
            ("token-expiry", "do not reach the identity provider"),
            ("lease-loss", "do not reach the bucket"),
            ("slow-completion", "needs a proxy"),
            ("gateway-skew", "needs a proxy"),
        ] {
            let lack = lack(&plan(name)).unwrap();
            assert!(
                lack.contains(said) && lack.ends_with("use --net loopback"),
                "{name}: {lack}"
            );
        }
        assert_eq!(unreachable(&plan("network-cut")), None);
    }

    #[test]
    fn names_are_short_enough_for_the_kernel() {
        let network = Namespaces {
            // The greatest process number.
            run: 4_194_304,
            third: 255,
            count: 9,
        };
        assert!(network.bridge().len() <= 15);
        assert_eq!(network.address(2), "10.213.255.3");
        assert_eq!(
            network.words(2)[1],
            "--net=/var/run/netns/skep-chaos-4194304-2"
        );
    }

    /// Whether a message of a node arrives at another one: `ip` knows if its link address answers.
    fn reaches(network: &Namespaces, from: u32, to: u32) -> bool {
        let [program, place] = network.words(from);
        let script = "import socket,sys; s=socket.socket(); s.settimeout(1); sys.exit(s.connect_ex((sys.argv[1], 9)) != 111)";
        // The other kernel refuses the connection: nobody listens there.
        let done = Command::new(program)
            .args([&place, "python3", "-c", script, &network.address(to)])
            .status();
        done.unwrap().success()
    }

    #[test]
    fn a_cut_way_loses_packets_until_the_network_is_healed() {
        if let Some(why) = lack(&plan("network-cut")) {
            // Past the capture of the test harness: readers of the log must see it.
            let line = format!("NOT RUN (sandbox): {why}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
        let own = format!("skep-chaos-{}-none", std::process::id());
        let why = tried(&own, "no-such-enter").unwrap_err().to_string();
        assert!(why.starts_with("no-such-enter --net="), "{why}");
        assert!(!ip(&["netns", "list"]).unwrap().contains(&own));
        // A guard that does nothing: the namespaces are removed here.
        let guard = SharedGuard::new(Guard::start(&["cat".to_string()]).unwrap());
        let network = Namespaces::make(3, &guard).unwrap();
        let begin = std::time::Instant::now();
        while !(reaches(&network, 0, 1) && reaches(&network, 0, 2)) {
            assert!(begin.elapsed() < Duration::from_secs(60));
        }
        network.cut(1, Said::Into).unwrap();
        let while_cut = (reaches(&network, 0, 1), reaches(&network, 0, 2));
        network.heal().unwrap();
        let healed = reaches(&network, 0, 1);
        for node in 0..3 {
            ip(&["netns", "delete", &network.name(node)]).unwrap();
        }
        ip(&["link", "delete", &network.bridge()]).unwrap();
        assert_eq!((while_cut, healed), ((false, true), true));
    }
}
