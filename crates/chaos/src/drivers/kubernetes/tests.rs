//! Pods of a `kubectl` that notes what it is asked.

use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use super::*;
use crate::drivers::{Cluster, Died, end, start_again};
use crate::experiments;
use crate::guard::Guard;
use crate::plan::{Request, Until, Who};

/// Answers from files beside the program, and listens where it is to forward ports.
const ANSWERS: &str = r#"here=${0%/*}
case "$*" in
*"get pods"*) cat "$here/pods.json" ;;
*"get pod "*-denied*) cat "$here/denied" ;;
*"get pod "*) echo Succeeded ;;
*"get networkpolicies"*) cat "$here/policies.json" ;;
*apply*)
    cat >>"$here/applied" && echo >>"$here/applied"
    [ -e "$here/open" ] || echo "atomix_heartbeat_miss_count_total{a=\"b\"} $(wc -l <"$here/applied")" >"$here/metrics" ;;
*port-forward*) exec python3 -c '
import http.server, sys, threading, time
class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(open(sys.argv[1] + "/metrics", "rb").read())
for pair in sys.argv[2:]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(pair.split(":")[0])), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
time.sleep(600)' "$here" $(echo "$*" | grep -oE "[0-9]+:[0-9]+") ;;
esac
"#;

fn kubernetes(directory: &Path, allow: &[Allowed]) -> Kubernetes {
    let program = directory.join("kubectl");
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine");
    std::os::unix::fs::symlink(fake, &program).unwrap();
    std::fs::write(directory.join("answers"), ANSWERS).unwrap();
    std::fs::write(directory.join("denied"), "Failed").unwrap();
    std::fs::write(directory.join("metrics"), "").unwrap();
    std::fs::write(directory.join("policies.json"), list(&[])).unwrap();
    Kubernetes {
        kubectl: program.display().to_string(),
        context: "here".into(),
        namespace: "orders".into(),
        selector: "a=b".into(),
        image: None,
        allow: allow.iter().copied().collect(),
        login: Vec::new(),
    }
}

fn pod(number: u32, uid: &str, is_ready: bool) -> Value {
    let ports = [8080, 26500, 26502, 9600].map(|port| json!({ "containerPort": port }));
    let cpu = json!({ "requests": { "cpu": "250m" }, "limits": { "cpu": "2" } });
    let ready = if is_ready { "True" } else { "False" };
    json!({
        "metadata": {
            "name": format!("skep-{number}"),
            "uid": format!("{uid}-{number}"),
            "labels": { "a": "b" },
            "ownerReferences": [{ "kind": "StatefulSet", "name": "skep" }],
        },
        "spec": { "containers": [
            { "name": "sidecar" },
            { "name": "skep", "image": "skep:1", "ports": ports, "resources": cpu },
        ] },
        "status": {
            "podIP": format!("10.0.0.{number}"),
            "conditions": [{ "type": "Ready", "status": ready }],
            "containerStatuses": [
                { "name": "skep", "restartCount": 0, "state": { "running": {} } },
            ],
        },
    })
}

fn list(pods: &[Value]) -> String {
    json!({ "items": pods }).to_string()
}

/// What the brokers look like from now on.
fn show(directory: &Path, pods: &[Value]) {
    std::fs::write(directory.join("pods.json"), list(pods)).unwrap();
}

fn three(uid: &str) -> Vec<Value> {
    (0..3).map(|number| pod(number, uid, true)).collect()
}

/// The commands that `kubectl` was asked for, without the flags that all of them have.
fn asked(directory: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(directory.join("asked")).unwrap();
    let lines = log.lines();
    let own = lines.filter_map(|line| line.strip_prefix("--context here --namespace orders "));
    own.map(String::from).collect()
}

fn count(directory: &Path, text: &str) -> usize {
    let asked = asked(directory).into_iter();
    asked.filter(|line| line.contains(text)).count()
}

fn plan(name: &str) -> Plan {
    (experiments::find(name).unwrap().plan)(false)
}

/// Pods under test, whose forwarding ends with them.
struct Attached(Pods);

fn ends(pods: &mut Pods, number: u32, gently: bool) -> io::Result<()> {
    let deleted = pods.begin_end(number, gently)?.carry_out();
    pods.ended(number, deleted)
}

fn cut(pods: &mut Pods, number: u32, said: &[Said]) -> io::Result<()> {
    let mut cut = pods.begin_cut(number, said)?;
    let has_effect = cut.has_effect();
    pods.end_cut(&cut, has_effect)
}

fn starts(pods: &mut Pods) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    while let Some(awaited) = pods.next_down() {
        let started = awaited.wait(Instant::now() + START)?;
        numbers.push(pods.started(started)?);
    }
    Ok(numbers)
}

impl Attached {
    fn new(directory: &Path, allow: &[Allowed], plan: &Plan) -> Self {
        Self(attach(directory, allow, plan))
    }
}

fn attach(directory: &Path, allow: &[Allowed], plan: &Plan) -> Pods {
    // A guard that does nothing.
    let guard = SharedGuard::new(Guard::start(&["cat".to_string()]).unwrap());
    let kubernetes = kubernetes(directory, allow);
    let mut pods = Pods::attach(&kubernetes, plan, directory, &guard).unwrap();
    pods.copies = 3;
    pods
}

impl Drop for Attached {
    fn drop(&mut self) {
        let pods = self.0.pods.values_mut();
        for forward in pods.filter_map(|pod| pod.forward.take()) {
            forward.end(&self.0.guard).unwrap();
        }
    }
}

#[test]
fn brokers_are_the_pods_of_one_stateful_set() {
    let found = found::read(&list(&three("a"))).unwrap();
    assert_eq!(found.keys().copied().collect::<Vec<u32>>(), [0, 1, 2]);
    let second = &found[&1];
    assert_eq!((&*second.name, &*second.container), ("skep-1", "skep"));
    assert!(second.is_ready && second.is_running);
    let mut other = pod(1, "a", true);
    other["metadata"]["ownerReferences"][0]["name"] = "another".into();
    let mut alone = pod(1, "a", true);
    alone["metadata"]["ownerReferences"] = json!([]);
    let mut closed = pod(1, "a", true);
    closed["spec"]["containers"] = json!([{ "name": "web" }]);
    for (second, said) in [
        (other, "--selector chooses those of one"),
        (alone, "nobody would start it again"),
        (
            closed,
            "skep-1 has no container with the ports 8080 or \"http\", 26500 or \"grpc\",",
        ),
    ] {
        let error = found::read(&list(&[pod(0, "a", true), second])).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// A chart with other ports of its service has them in its pods too.
#[test]
fn ports_of_a_broker_are_found_by_their_names_and_else_by_their_numbers() {
    let ports = |ports: Value| {
        let mut pod = pod(0, "a", true);
        pod["spec"]["containers"][1]["ports"] = ports;
        let found = found::read(&list(&[pod]));
        found
            .map(|found| found[&0].ports)
            .map_err(|why| why.to_string())
    };
    let port = |name: &str, number: u32| json!({ "name": name, "containerPort": number });
    let named = json!([
        port("http", 80),
        port("grpc", 443),
        port("internal", 7000),
        port("management", 7001),
        port("other", 8080),
    ]);
    assert_eq!(ports(named), Ok([80, 443, 7000, 7001]));
    let numbered = json!([
        port("rest", 8080),
        port("gateway", 26500),
        port("internal", 26502),
        port("server", 9600),
    ]);
    assert_eq!(ports(numbered), Ok([8080, 26500, 26502, 9600]));
    let without = json!([port("http", 80), port("grpc", 443), port("internal", 7000)]);
    assert!(ports(without).is_err());
}

#[test]
fn plans_that_need_more_than_is_allowed_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let mut kubernetes = kubernetes(directory.path(), &[]);
    let refused =
        |kubernetes: &Kubernetes, name| kubernetes.check(&plan(name)).unwrap_err().to_string();
    let said = refused(&kubernetes, "broker-loss");
    assert!(said.contains("--allow kill permits it"), "{said}");
    kubernetes.allow.insert(Allowed::Kill);
    assert_eq!(kubernetes.check(&plan("broker-loss")), Ok(()));
    let said = refused(&kubernetes, "network-cut");
    assert!(said.contains("--allow cut permits it"), "{said}");
    for (name, said) in [
        (
            "cold-start",
            "store of the plan is for nodes that the run starts",
        ),
        ("disk-full", "disk-mib of the plan"),
        ("scale-up", "does not do this to pods"),
    ] {
        let refused = refused(&kubernetes, name);
        assert!(refused.contains(said), "{refused}");
    }
    let mut paused = plan("broker-loss");
    paused.steps[2].action = Action::Pause(Who::Node(0));
    let refused = kubernetes.check(&paused).unwrap_err().to_string();
    assert!(refused.contains("pods cannot be paused"), "{refused}");
}

#[test]
fn requests_that_may_change_pods_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let kubernetes = kubernetes(directory.path(), &[Allowed::Kill]);
    let asking = |management: bool, method: &str, path: &str| {
        let request = Request {
            node: 0,
            management,
            method: method.into(),
            path: path.into(),
            body: String::new(),
            status: 200,
            says: String::new(),
        };
        let mut plan = plan("broker-loss");
        plan.steps[2].action = Action::Request(request.clone());
        let asked = kubernetes.check(&plan);
        plan.steps[2].action = Action::Wait {
            until: Until::Answer(request),
            limit_s: 1.0,
        };
        // A wait asks for the same again and again.
        assert_eq!(kubernetes.check(&plan).is_err(), asked.is_err());
        asked.map_err(|refused| refused.to_string())
    };
    for (management, method, path) in [
        (true, "POST", "/actuator/partitions/pauseProcessing"),
        (true, "POST", "/actuator/search"),
        (false, "DELETE", "/v2/resources/1"),
    ] {
        let refused = asking(management, method, path).unwrap_err();
        assert!(
            refused.contains("may change a cluster of others"),
            "{refused}"
        );
    }
    assert_eq!(asking(true, "GET", "/ready"), Ok(()));
    let search = asking(false, "POST", "/v2/process-instances/search");
    assert_eq!(search, Ok(()));
}

#[test]
fn what_the_cluster_lacks_is_said_before_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let kubernetes = kubernetes(here, &[Allowed::Kill]);
    let loss = plan("broker-loss");
    show(here, &three("a"));
    assert_eq!(kubernetes.lack(&loss), None);
    assert_eq!(count(here, "auth can-i delete pods"), 1);
    show(here, &three("a")[..2]);
    let lack = kubernetes.lack(&loss).unwrap();
    assert!(lack.contains("3 to 9 brokers, and there are 2"), "{lack}");
    let answers = format!("case \"$*\" in *can-i*) exit 1 ;; esac\n{ANSWERS}");
    std::fs::write(here.join("answers"), answers).unwrap();
    show(here, &three("a"));
    let lack = kubernetes.lack(&loss).unwrap();
    assert!(lack.contains("may not delete pods"), "{lack}");
}

#[test]
fn the_guard_works_in_the_same_namespace_of_the_same_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let kubernetes = kubernetes(directory.path(), &[]);
    let undo = kubernetes.undo(&["delete", "networkpolicy", "a"]);
    let words = "--context here --namespace orders delete networkpolicy a";
    let words = words.split(' ').map(String::from);
    let all = std::iter::once(kubernetes.kubectl.clone()).chain(words);
    assert_eq!(undo, Undo::Run(all.collect()));
}

#[test]
fn a_killed_pod_is_reached_again_once_it_is_another_one() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[Allowed::Kill], &plan("broker-loss"));
    let pods = &mut attached.0;
    ends(pods, 1, false).unwrap();
    let killed = "delete pod skep-1 --grace-period=0 --force --wait=false";
    assert_eq!(asked(here).last().map(String::as_str), Some(killed));
    assert!(ends(pods, 1, false).is_err(), "it is not there any more");
    let mut seen = three("a");
    seen[1] = pod(1, "b", true);
    show(here, &seen);
    assert_eq!(starts(pods).unwrap(), [1]);
    assert_eq!(count(here, "pod/skep-1 "), 2);
    assert!(pods.died().is_empty());
    ends(pods, 2, true).unwrap();
    assert_eq!(count(here, "delete pod skep-2 --wait=true"), 1);
}

/// A cluster of pods, as steps and samples use it.
struct Shared(Mutex<Cluster>);

impl Drop for Shared {
    fn drop(&mut self) {
        let pods = self.0.get_mut().unwrap().pods.take();
        drop(pods.map(Attached));
    }
}

/// `kubectl` ends a pod when the test says so.
const ENDS_LATE: &str = r#"case "$*" in
*"delete pod"*) until [ -e "${0%/*}/ends" ]; do sleep 0.01; done ;;
esac
"#;

/// Looks at the cluster once `kubectl` has been asked so often. `None`: the cluster is locked meanwhile.
fn looks<T>(
    cluster: &Mutex<Cluster>,
    is_time: impl Fn() -> bool,
    mut look: impl FnMut(&mut Cluster) -> T,
) -> Option<T> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if is_time()
            && let Ok(mut cluster) = cluster.try_lock()
        {
            return Some(look(&mut cluster));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// The sampler waited for `kubectl`: nothing was measured while a pod was away.
#[test]
fn samples_are_taken_while_a_pod_ends_and_while_it_starts() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let pods = attach(here, &[Allowed::Kill], &plan("broker-loss"));
    let nodes = pods.nodes(Path::new("skep"));
    let cluster = Cluster {
        pods: Some(pods),
        ..Cluster::foreign(nodes)
    };
    let shared = Shared(Mutex::new(cluster));
    let cluster = &shared.0;
    let is_up = |cluster: &Cluster| cluster.nodes()[1].is_up();
    std::fs::write(here.join("answers"), [ENDS_LATE, ANSWERS].concat()).unwrap();
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| end(cluster, 1, true));
        let died = looks(
            cluster,
            || count(here, "delete pod skep-1") == 1,
            |cluster| {
                let pods = &mut cluster.pods.as_mut().unwrap().pods;
                let forward = pods.get_mut(&1).unwrap().forward.as_mut().unwrap();
                forward.kill();
                cluster.died()
            },
        );
        std::fs::write(here.join("ends"), "").unwrap();
        ending.join().unwrap().unwrap();
        assert_eq!(died, Some(Died::default()), "the run has ended it");
        assert!(!is_up(&cluster.lock().unwrap()));

        let before = count(here, "get pods");
        let starting = scope.spawn(|| start_again(cluster));
        let seen = looks(
            cluster,
            || count(here, "get pods") > before,
            |cluster| is_up(cluster),
        );
        let mut all = three("a");
        all[1] = pod(1, "b", true);
        show(here, &all);
        assert_eq!(starting.join().unwrap().unwrap(), 1);
        assert_eq!(seen, Some(false));
        assert!(is_up(&cluster.lock().unwrap()));
    });
}

#[test]
fn forwarding_that_ends_alone_begins_again_and_a_container_that_ends_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[], &plan("broker-loss"));
    let pods = &mut attached.0;
    let end = |pods: &mut Pods| {
        let forward = pods.pods.get_mut(&0).unwrap().forward.as_mut().unwrap();
        forward.kill();
    };
    end(pods);
    assert!(pods.died().is_empty());
    assert!(pods.pods[&0].forward.is_some());
    let mut seen = three("a");
    seen[0]["status"]["containerStatuses"][0]["restartCount"] = 1.into();
    show(here, &seen);
    end(pods);
    let died = pods.died();
    assert_eq!(died.len(), 1);
    assert_eq!(died[0].0, 0);
    assert!(pods.died().is_empty(), "it is counted once");
    assert_eq!(starts(pods).unwrap(), [0]);
}

#[test]
fn a_moment_without_the_api_server_is_no_end_of_a_pod() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[], &plan("broker-loss"));
    let pods = &mut attached.0;
    let forward = pods.pods.get_mut(&0).unwrap().forward.as_mut().unwrap();
    forward.kill();
    for fails in ["get pods", "port-forward"] {
        let answers = format!("case \"$*\" in *\"{fails}\"*) exit 1 ;; esac\n{ANSWERS}");
        std::fs::write(here.join("answers"), answers).unwrap();
        assert!(pods.died().is_empty(), "{fails}");
        assert!(pods.pods[&0].forward.is_some(), "{fails}");
    }
    std::fs::write(here.join("answers"), ANSWERS).unwrap();
    assert!(pods.died().is_empty());
    let pod = pods.pods.get_mut(&0).unwrap();
    assert!(pod.is_cut_off().is_none(), "it is reached again");
}

#[test]
fn a_minority_of_the_brokers_is_hit_at_most_unless_more_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[Allowed::Kill], &plan("broker-loss"));
    let pods = &mut attached.0;
    assert!(pods.permit(0, Allowed::Kill).is_ok());
    let refused = pods.permit(0, Allowed::Limit).unwrap_err().to_string();
    assert!(refused.contains("--allow does not say limit"), "{refused}");
    // Another one is away already, for whatever reason.
    let mut seen = three("a");
    seen[2] = pod(2, "a", false);
    show(here, &seen);
    let refused = ends(pods, 0, false).unwrap_err().to_string();
    assert!(refused.contains("2 of 3 brokers"), "{refused}");
    assert_eq!(count(here, "delete pod"), 0);
    assert!(pods.permit(2, Allowed::Kill).is_ok(), "the same one");
    pods.kubernetes.allow.insert(Allowed::Majority);
    ends(pods, 0, false).unwrap();
}

#[test]
fn a_minority_is_one_of_the_copies_of_a_partition() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let five = |away: u32| -> Vec<Value> {
        let each = 0..5_u32;
        each.map(|number| pod(number, "a", number != away))
            .collect()
    };
    show(here, &five(9));
    let mut attached = Attached::new(here, &[Allowed::Kill], &plan("broker-loss"));
    let pods = &mut attached.0;
    assert!(pods.permit(0, Allowed::Kill).is_ok());
    show(here, &five(2));
    let refused = pods.permit(0, Allowed::Kill).unwrap_err().to_string();
    assert!(refused.contains("2 of 5 brokers"), "{refused}");
    pods.copies = 5;
    assert!(pods.permit(0, Allowed::Kill).is_ok());
    pods.copies = 1;
    assert!(pods.permit(2, Allowed::Kill).is_err(), "the only copy");
}

#[test]
fn a_plan_fits_where_the_nodes_that_it_is_about_can_be() {
    let loss = plan("broker-loss");
    assert_eq!(fits::lack(&loss, 2, 3), None);
    let lack = fits::lack(&loss, 3, 3).unwrap();
    assert!(lack.contains("3 brokers lead 3 partitions"), "{lack}");
    let cut = plan("network-cut");
    assert_eq!(fits::lack(&cut, 3, 3), None);
    assert!(fits::lack(&cut, 0, 3).is_some());
}

#[test]
fn cuts_are_policies_for_the_port_between_brokers_alone() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[Allowed::Cut], &plan("network-cut"));
    let pods = &mut attached.0;
    cut(pods, 1, &[Said::Into]).unwrap();
    cut(pods, 1, &[Said::OutOf]).unwrap();
    let refused = cut(pods, 0, &[Said::Into]).unwrap_err().to_string();
    assert!(refused.contains("2 of 3 brokers"), "{refused}");
    let applied = std::fs::read_to_string(here.join("applied")).unwrap();
    let last: Value = serde_json::from_str(applied.lines().last().unwrap()).unwrap();
    let spec = &last["spec"];
    assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
    let chosen = &spec["podSelector"]["matchLabels"];
    assert_eq!(chosen["statefulset.kubernetes.io/pod-name"], "skep-1");
    for way in ["ingress", "egress"] {
        let ports = &spec[way][0]["ports"];
        assert_eq!(
            (&ports[0]["endPort"], &ports[1]["port"]),
            (&json!(26501), &json!(26503))
        );
    }
    pods.heal().unwrap();
    let name = last["metadata"]["name"].as_str().unwrap();
    let deleted = format!("delete networkpolicy {name} --ignore-not-found --wait=false");
    assert_eq!(asked(here).last(), Some(&deleted));
    assert!(pods.cut.is_empty());
    // The pods and the policy of the trial are gone too.
    assert_eq!(count(here, "-try-allowed --ignore-not-found"), 1);
    assert_eq!(count(here, "-try-denied --ignore-not-found"), 1);
    assert_eq!(count(here, "-try --ignore-not-found"), 1);
}

#[test]
fn a_cut_without_an_effect_is_taken_back_and_none() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[Allowed::Cut], &plan("network-cut"));
    let pods = &mut attached.0;
    std::fs::write(here.join("open"), "").unwrap();
    pods.effect = Duration::ZERO;
    let refused = cut(pods, 1, &[Said::Into]).unwrap_err().to_string();
    assert!(refused.contains("no broker misses heartbeats"), "{refused}");
    let last = asked(here).pop().unwrap();
    assert!(last.starts_with("delete networkpolicy"), "{last}");
    assert!(pods.cut.is_empty());
}

#[test]
fn nothing_is_cut_that_another_policy_permits() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[Allowed::Cut], &plan("network-cut"));
    let pods = &mut attached.0;
    let policy = |label: &str| {
        let selector = json!({ "matchLabels": { "a": label } });
        json!({ "metadata": { "name": "own" }, "spec": { "podSelector": selector } })
    };
    std::fs::write(here.join("policies.json"), list(&[policy("b")])).unwrap();
    let refused = cut(pods, 1, &[Said::Into]).unwrap_err().to_string();
    let said = "the NetworkPolicy own is about skep-0 too";
    assert!(refused.contains(said), "{refused}");
    assert!(pods.cut.is_empty());
    std::fs::write(here.join("policies.json"), list(&[policy("c")])).unwrap();
    cut(pods, 1, &[Said::Into]).unwrap();
}

#[test]
fn nothing_is_cut_where_policies_have_no_effect() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let guard = SharedGuard::new(Guard::start(&["cat".to_string()]).unwrap());
    let kubernetes = kubernetes(here, &[Allowed::Cut]);
    std::fs::write(here.join("denied"), "Succeeded").unwrap();
    let pods = Pods::attach(&kubernetes, &plan("network-cut"), here, &guard).unwrap();
    let mut attached = Attached(pods);
    let refused = cut(&mut attached.0, 1, &[Said::Into])
        .unwrap_err()
        .to_string();
    assert!(refused.contains("does not enforce policies"), "{refused}");
    // That of the trial alone.
    assert_eq!(count(here, "delete networkpolicy"), 1);
}

#[test]
fn less_cpu_is_a_change_of_the_running_pod_and_can_be_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    show(here, &three("a"));
    let mut attached = Attached::new(here, &[Allowed::Limit], &plan("broker-loss"));
    let pods = &mut attached.0;
    pods.limit(1, 0.1).unwrap();
    let patched = |pod: &str| -> Value {
        let last = asked(here).pop().unwrap();
        let command = format!("patch pod {pod} --subresource=resize --patch ");
        let patch: Value = serde_json::from_str(last.strip_prefix(&command).unwrap()).unwrap();
        let container = &patch["spec"]["containers"][0];
        assert_eq!(container["name"], "skep");
        container["resources"].clone()
    };
    let cpu = |request: &str, limit: &str| json!({ "requests": { "cpu": request }, "limits": { "cpu": limit } });
    // A request above the limit would be refused, and one equal to it may change the class of the pod.
    assert_eq!(patched("skep-1"), cpu("99m", "100m"));
    let refused = pods.limit(0, 0.1).unwrap_err().to_string();
    assert!(refused.contains("2 of 3 brokers"), "{refused}");
    pods.limit(1, 2.0).unwrap();
    assert_eq!(patched("skep-1"), cpu("250m", "2"));
    assert!(pods.limited.is_empty(), "nothing of it is left to undo");
    pods.limit(0, 1.0).unwrap();
    assert_eq!(patched("skep-0"), cpu("250m", "1000m"));
}
