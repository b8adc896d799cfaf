//! What an engine writes is what the store finds, whichever it is.
#![allow(clippy::duplicate_mod)] // The suite is compiled for each back end.

#[path = "../backend/mod.rs"]
mod backend;
#[path = "../opening/certificates.rs"]
mod certificates;
#[path = "../opening/one_task.rs"]
mod one_task;
#[path = "../opening/mod.rs"]
mod opening;
#[path = "../../../engine/tests/support/mod.rs"]
mod support;

#[path = "."]
mod embedded {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Embedded;

    mod audit_log;
    mod batch_states;
    mod entities;
    mod fuzz;
    mod history;
    mod identity;
    mod job_statistics;
    mod limits;
    mod property;
    mod spellings;
    mod store;
    mod story;
    mod tenants;
    mod usage;
}

#[path = "."]
mod postgres {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Postgres;

    mod audit_log;
    mod batch_states;
    mod entities;
    mod fuzz;
    mod history;
    mod identity;
    mod job_statistics;
    mod limits;
    mod outage;
    mod outages;
    mod property;
    mod purge;
    mod spellings;
    mod store;
    mod story;
    mod tenants;
    mod usage;
}

#[path = "."]
mod opensearch {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::OpenSearch;

    mod audit_log;
    mod batch_states;
    mod entities;
    mod fuzz;
    mod history;
    mod https;
    mod identity;
    mod job_statistics;
    mod limits;
    mod outage;
    mod property;
    mod purge;
    mod search_server;
    mod spellings;
    mod store;
    mod story;
    mod tenants;
    mod usage;
}

#[path = "."]
mod elasticsearch {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Elasticsearch;

    mod audit_log;
    mod batch_states;
    mod entities;
    mod fuzz;
    mod history;
    mod identity;
    mod job_statistics;
    mod limits;
    mod outage;
    mod property;
    mod purge;
    mod search_server;
    mod spellings;
    mod store;
    mod story;
    mod tenants;
    mod usage;
}
