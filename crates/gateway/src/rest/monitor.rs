//! `GET /skep/v1/monitor`: what all nodes have measured within the last hour, joined at any of them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use skep_query::render_time;
use skep_service::NodeStates;

use super::parameters::parameter;
use super::problem::Problem;
use super::queries::job_statistics::time_parameter;
use crate::call::FrontEnd;

/// Nodes measure every five seconds, at the same moments, and keep an hour of it.
const STEP: i64 = 5_000;
const POINTS: usize = 720;

/// The node itself stands where partitions stand, which are numbered from 1.
const NODE: u32 = 0;

/// The answer of one node.
#[derive(Deserialize)]
struct NodeMeasured {
    from: i64,
    series: Vec<Measured>,
}

#[derive(Deserialize)]
struct Measured {
    name: String,
    partition: u32,
    unit: String,
    points: Vec<Option<f32>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    from: String,
    step_ms: i64,
    /// Nodes that did not answer.
    missing: Vec<u32>,
    series: Vec<Series>,
}

#[derive(Serialize)]
struct Series {
    name: String,
    node: u32,
    partition: Option<u32>,
    unit: String,
    points: Vec<Option<f32>>,
}

/// `query`: of the request.
pub async fn answer(front: &FrontEnd, query: Option<&str>) -> Result<String, Problem> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
    let hour_ago = now.saturating_sub(STEP * POINTS as i64);
    let from = match parameter(query, "from") {
        Some(_) => time_parameter(query, "from")?.max(hour_ago),
        None => hour_ago,
    };
    // The first step that begins then or later.
    let from = from.saturating_add(STEP - 1).div_euclid(STEP) * STEP;
    let answers = front.broker.measured(from).await;
    let page = joined(from, &answers);
    serde_json::to_string(&page).map_err(|error| {
        skep_protocol::Failure::Internal(format!("The answer cannot be written as JSON: {error}"))
            .into()
    })
}

/// All series with equal length, empty where a node measured nothing.
fn joined(from: i64, answers: &NodeStates) -> Page {
    let (mut missing, mut series) = (Vec::new(), Vec::new());
    for (node, answer) in answers {
        let answer = answer.as_deref();
        let read = answer.and_then(|text| serde_json::from_str::<NodeMeasured>(text).ok());
        let Some(measured) = read else {
            missing.push(*node);
            continue;
        };
        // A node that was just started, or whose clock is ahead, begins later.
        let later = measured.from.saturating_sub(from).div_euclid(STEP);
        let lacking = usize::try_from(later).unwrap_or_default().min(POINTS);
        series.extend(measured.series.into_iter().map(|one| {
            let mut points = vec![None; lacking];
            points.extend(one.points);
            points.truncate(POINTS + 1);
            Series {
                name: one.name,
                node: *node,
                partition: (one.partition != NODE).then_some(one.partition),
                unit: one.unit,
                points,
            }
        }));
    }
    let longest = series.iter().map(|one| one.points.len()).max();
    let longest = longest.unwrap_or_default();
    series
        .iter_mut()
        .for_each(|one| one.points.resize(longest, None));
    Page {
        from: render_time(from),
        step_ms: STEP,
        missing,
        series,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(from: i64, points: &[Option<f32>]) -> Option<String> {
        let series = json!([{"name": "records", "partition": 1, "unit": "1/s", "points": points}]);
        Some(json!({"from": from, "series": series}).to_string())
    }

    #[test]
    fn points_of_all_nodes_stand_at_the_same_moments() {
        let answers = NodeStates::from([
            (0, node(10 * STEP, &[Some(1.5), None, Some(2.0)])),
            (1, node(12 * STEP, &[Some(3.0)])),
            (2, None),
            (3, Some("what?".to_string())),
            (4, Some(String::new())),
        ]);
        let page = joined(10 * STEP, &answers);
        assert_eq!(page.missing, [2, 3, 4]);
        let points = page.series.iter().map(|one| one.points.as_slice());
        let expected = [[Some(1.5), None, Some(2.0)], [None, None, Some(3.0)]];
        assert!(points.eq(expected.iter().map(|points| points.as_slice())));
        assert_eq!(
            (page.series[1].node, page.series[1].partition),
            (1, Some(1))
        );
    }

    #[test]
    fn a_node_with_a_strange_clock_takes_no_more_room_than_others() {
        for from in [i64::MIN, -5, i64::MAX] {
            let answers = NodeStates::from([(0, node(from, &[Some(1.0); 3]))]);
            let longest = joined(10 * STEP, &answers).series[0].points.len();
            assert!(longest <= POINTS + 1, "{longest}");
        }
    }
}
