//! The pulse of the cluster: a page that searches again only when the pulse has changed misses nothing, on any node and with any store.

use super::*;

/// A page served by a node.
struct Page<'r> {
    rig: &'r Rig,
    /// Version of process instances at the last search.
    version: Option<u64>,
    found: u64,
}

fn version(pulse: &skep_query::Pulse, kind: &str) -> u64 {
    let found = pulse.versions().find(|(name, _)| *name == kind);
    found.expect("a kind").1
}

impl<'r> Page<'r> {
    fn at(rig: &'r Rig) -> Page<'r> {
        Page {
            rig,
            version: None,
            found: 0,
        }
    }

    /// Fetches the pulse, and the instances if their version has changed. Does not wait for the store to catch up.
    async fn look(&mut self) {
        let pulse = self.rig.broker.pulse().await;
        let version = Some(version(&pulse, "processInstance"));
        if version == self.version {
            return;
        }
        let all = Query::Search(Search::all(&PROCESS_INSTANCE, Vec::new(), 1));
        // A failed question is asked again.
        if let Ok((Answer::Page(found), _)) =
            self.rig.broker.query(all, Consistency::Eventual).await
        {
            (self.version, self.found) = (version, found.total);
        }
    }

    async fn until_it_finds(&mut self, expected: u64) {
        let began = Instant::now();
        while self.found < expected {
            let found = self.found;
            assert!(
                began.elapsed() < DEADLINE,
                "{found} of {expected} are shown"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.look().await;
        }
    }

    /// Waits until the pulse stays unchanged for longer than nodes cache it.
    async fn until_it_rests(&self) {
        let began = Instant::now();
        loop {
            let before = self.rig.broker.pulse().await;
            tokio::time::sleep(Duration::from_millis(1_200)).await;
            if self.rig.broker.pulse().await == before {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "the pulse does not rest");
        }
    }
}

async fn pages_miss_nothing(nodes: &Nodes) {
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = 0;
    for _ in 0..2 {
        let mut pages: Vec<Page<'_>> = rigs.iter().map(Page::at).collect();
        for n in 0..6 {
            create_one(&rigs[n % rigs.len()]).await;
            created += 1;
            for page in &mut pages {
                page.until_it_finds(created).await;
            }
        }
        for page in &pages {
            page.until_it_rests().await;
        }
        drop(pages);
        // The same without one of the nodes.
        if let Some(away) = (rigs.len() == 3).then(|| rigs.remove(0)) {
            stop(away).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_any_node_misses_no_changes_of_the_others() {
    pages_miss_nothing(&Nodes::new(3, 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_from_a_shared_database_misses_no_changes() {
    let Some(nodes) = Nodes::new(3, 2).with_database() else {
        return;
    };
    pages_miss_nothing(&nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_from_a_shared_search_server_misses_no_changes() {
    let Some(nodes) = Nodes::new(3, 2).with_search_server() else {
        return;
    };
    pages_miss_nothing(&nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_again_has_no_version_that_it_had_before() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    let before = rig.broker.pulse().await;
    let rig = rig.restart(|_| {}).await;
    let after = rig.broker.pulse().await;
    for ((kind, before), (_, after)) in before.versions().zip(after.versions()) {
        assert_ne!(before, after, "{kind}");
    }
}
