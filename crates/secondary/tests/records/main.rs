//! Every kind of store finds everything that an engine writes.
#![allow(clippy::duplicate_mod)] // The suite is compiled for each back end.

#[path = "."]
mod embedded {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::Embedded;

    mod active_elements;
    mod active_instances;
    mod audit_log;
    mod batch_states;
    mod element_durations;
    mod entities;
    mod fuzz;
    mod history;
    mod identity;
    mod job_statistics;
    mod kept_counts;
    mod limits;
    mod marked_rows;
    mod property;
    mod several_incidents;
    mod spellings;
    mod start_timers;
    mod tenants;
    mod usage;
}

#[path = "."]
mod postgres {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::Postgres;

    mod active_elements;
    mod active_instances;
    mod audit_log;
    mod batch_states;
    mod element_durations;
    mod entities;
    mod fuzz;
    mod history;
    mod identity;
    mod job_statistics;
    mod kept_counts;
    mod limits;
    mod marked_rows;
    mod outage;
    mod outages;
    mod property;
    mod purge;
    mod several_incidents;
    mod spellings;
    mod start_timers;
    mod stored_rows;
    mod tenants;
    mod usage;
}

#[path = "."]
mod opensearch {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::OpenSearch;

    mod active_elements;
    mod active_instances;
    mod audit_log;
    mod batch_states;
    mod element_durations;
    mod entities;
    mod fuzz;
    mod history;
    mod https;
    mod identity;
    mod job_statistics;
    mod limits;
    mod marked_rows;
    mod outage;
    mod property;
    mod purge;
    mod search_server;
    mod several_incidents;
    mod spellings;
    mod start_timers;
    mod stored_rows;
    mod tenants;
    mod usage;
}

#[path = "."]
mod elasticsearch {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::Elasticsearch;

    mod active_elements;
    mod active_instances;
    mod audit_log;
    mod batch_states;
    mod element_durations;
    mod entities;
    mod fuzz;
    mod history;
    mod identity;
    mod job_statistics;
    mod limits;
    mod marked_rows;
    mod outage;
    mod property;
    mod purge;
    mod search_server;
    mod several_incidents;
    mod spellings;
    mod start_timers;
    mod stored_rows;
    mod tenants;
    mod usage;
}
