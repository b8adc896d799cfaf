//! Memory of a directory with 10,000 users and 100,000 memberships, which every node holds, and of the permissions of 1,000 callers, which
//! every partition remembers. Bytes are counted, not measured: they are the same on every machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use skep_identity::{Directory, Entry, Grants, Parent, Shared};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentType, ParentValue, PasswordHash,
    ResourceMatcher, UserValue,
};
use skep_protocol::{Key, grants};

/// Counts allocated and unfreed bytes.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)] // A counting allocator cannot be written without.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USERS: usize = 10_000;
const GROUPS: usize = 1_000;
const GROUPS_OF_A_USER: usize = 10;

/// An Argon2id hash in the directory's format.
const HASH: &str = "{argon2id}$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g";

/// Rows as read from the log, each with its own texts. `own`: also the authorization that each user gets, to read their own entry.
fn filled(own: bool) -> Directory {
    let mut directory = Directory::default();
    let mut next = 0;
    let mut add = |entry: Entry| {
        next += 1;
        directory.add(Key(next), &entry);
    };
    for number in 0..USERS {
        add(Entry::User(UserValue {
            user_key: Key(number as i64),
            username: user(number).into(),
            name: format!("Somebody {number}").into(),
            email: format!("{}@example.org", user(number)).into(),
            password: PasswordHash::new(HASH),
        }));
        if own {
            add(Entry::Authorization(AuthorizationValue {
                authorization_key: Key(number as i64),
                owner_type: OwnerType::User,
                owner_id: user(number).into(),
                resource_type: ResourceType::User,
                matcher: ResourceMatcher::Id(user(number).into()),
                permissions: vec![PermissionType::Read],
            }));
        }
    }
    for number in 0..GROUPS {
        add(Entry::Group(ParentValue {
            key: Key(number as i64),
            id: group(number).into(),
            name: format!("Group {number}").into(),
            description: "".into(),
            member: None,
        }));
    }
    for number in 0..USERS * GROUPS_OF_A_USER {
        let parent = Parent::new(ParentType::Group, &group(number * 7 % GROUPS));
        let member = Member::new(EntityType::User, &user(number / GROUPS_OF_A_USER));
        add(Entry::membership(&parent, member));
    }
    directory
}

fn user(number: usize) -> String {
    format!("somebody.{number:05}")
}

fn group(number: usize) -> String {
    format!("department-{number:04}")
}

/// One after the other: both count the bytes of the whole process.
#[test]
fn directories_and_permissions_take_little_memory() {
    ten_thousand_users_with_a_hundred_thousand_memberships_take_little(false);
    ten_thousand_users_with_a_hundred_thousand_memberships_take_little(true);
    a_thousand_callers_with_a_role_of_twenty_thousand_authorizations_take_little();
}

fn ten_thousand_users_with_a_hundred_thousand_memberships_take_little(own: bool) {
    let before = HELD.load(Ordering::Relaxed);
    let directory = filled(own);
    let held = HELD.load(Ordering::Relaxed) - before;
    let mib = held as f64 / f64::from(1 << 20);
    println!("{mib:.1} MiB, with an authorization of each user: {own}");
    // A copy shares everything.
    let copy = directory.clone();
    assert!(HELD.load(Ordering::Relaxed) - before < held + 4_096);
    drop(directory);
    let grants = Grants::of(&copy, &claims(4_711)).unwrap();
    assert_eq!(grants.groups().len(), GROUPS_OF_A_USER);
    assert_eq!(grants.allows(grants![User: Read][0], &user(4_711)), own);
    assert!(mib < 16.0, "{mib:.1} MiB");
}

fn claims(number: usize) -> Claims {
    Claims::User(std::sync::Arc::new(Principal {
        id: user(number).into(),
        groups: None,
        token: "".into(),
    }))
}

fn a_thousand_callers_with_a_role_of_twenty_thousand_authorizations_take_little() {
    const CALLERS: usize = 1_000;
    const AUTHORIZATIONS: usize = 20_000;
    let mut directory = Directory::default();
    let mut next = 0;
    let mut add = |entry: Entry| {
        next += 1;
        directory.add(Key(next), &entry);
    };
    for number in 0..AUTHORIZATIONS {
        add(Entry::Authorization(AuthorizationValue {
            authorization_key: Key(number as i64),
            owner_type: OwnerType::Role,
            owner_id: "clerk".into(),
            resource_type: ResourceType::ProcessDefinition,
            matcher: ResourceMatcher::Id(format!("process-{number}").into()),
            permissions: vec![PermissionType::CreateProcessInstance],
        }));
    }
    let role = Parent::new(ParentType::Role, "clerk");
    for number in 0..CALLERS {
        let member = Member::new(EntityType::User, &user(number));
        add(Entry::membership(&role, member));
    }
    let before = HELD.load(Ordering::Relaxed);
    let mut shared = Shared::default();
    let of = |number| Grants::sharing(&directory, &claims(number), &mut shared).unwrap();
    let callers: Vec<Grants> = (0..CALLERS).map(of).collect();
    let held = HELD.load(Ordering::Relaxed) - before;
    let mib = held as f64 / f64::from(1 << 20);
    println!("{mib:.1} MiB for the permissions of {CALLERS} callers");
    let create = grants![ProcessDefinition: CreateProcessInstance][0];
    assert!(callers.iter().all(|it| it.allows(create, "process-19999")));
    assert!(mib < 8.0, "{mib:.1} MiB");
}
