//! The same searches by a caller with grants on single processes.

use std::sync::Arc;

use skep_identity::{Directory, Entry, Grants, Tenancy};
use skep_protocol::Key;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};
use skep_query::access::Sight;

use super::PROCESSES;
use super::kinds::Asking;

/// A caller who may read the instances of this many processes: half of those that there are, and others.
fn granted(count: usize) -> Sight {
    let mut directory = Directory::default();
    let there = (0..PROCESSES / 2).map(|n| format!("one-task-{n}"));
    let others = (0..).map(|n| format!("another-{n}"));
    for (number, process) in (1..).zip(there.chain(others).take(count)) {
        let authorization = Entry::Authorization(AuthorizationValue {
            authorization_key: Key(number),
            owner_type: OwnerType::User,
            owner_id: "anna".into(),
            resource_type: ResourceType::ProcessDefinition,
            matcher: ResourceMatcher::Id(process.as_str().into()),
            permissions: vec![PermissionType::ReadProcessInstance],
        });
        directory.add(Key(number), &authorization);
    }
    let anna = Principal {
        id: "anna".into(),
        ..Principal::default()
    };
    Sight {
        grants: Grants::of(&directory, &Claims::User(anna.into())).map(Arc::new),
        tenancy: Tenancy::All,
    }
}

/// Repeats the searches with grants, and prints their times as ratios of those without.
pub fn compare(asking: Asking<'_>, count: usize) {
    let without = asking.measured.take();
    println!("\nthe same with {count} grants on single processes");
    let asking = asking.seeing(granted(count));
    asking.searches();
    println!("\nwith {count} grants ÷ without:");
    for (what, [p50, p99]) in asking.measured.take() {
        let Some((_, before)) = without.iter().find(|(other, _)| *other == what) else {
            continue;
        };
        let ratio = |now: std::time::Duration, before: std::time::Duration| {
            now.as_secs_f64() / before.as_secs_f64()
        };
        println!(
            "{what:<58} p50 {:>5.2}  p99 {:>5.2}",
            ratio(p50, before[0]),
            ratio(p99, before[1])
        );
    }
}
