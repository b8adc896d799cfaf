//! A shared store that is new.

use super::*;

/// Creates instances and waits until a node finds them: the indices of a search server that other tests fill at the same time can take
/// minutes to come, longer than a query waits.
pub async fn store_is_there(rig: &Rig) -> HashSet<Key> {
    let mut created = HashSet::new();
    const INDICES: Duration = Duration::from_secs(600);
    let began = Instant::now();
    for _ in 0..8 {
        let key = create_one(rig).await;
        let query = Query::Get {
            entity: &PROCESS_INSTANCE,
            key,
        };
        loop {
            let asked = rig.broker.query(query.clone(), Consistency::ReadYourWrites);
            let answer = asked.await;
            if matches!(answer, Ok((Answer::Row(Some(_)), 0))) {
                break;
            }
            assert!(began.elapsed() < INDICES, "{key}: {answer:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        created.insert(key);
    }
    created
}
