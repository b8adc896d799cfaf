//! Settings of the reference without meaning here, each with the reason: whoever sets one should know why nothing changes.

use super::source::Given;

pub struct WithoutEffect {
    /// The latest name, and older ones.
    pub names: &'static [&'static str],
    /// As in "has no effect: …".
    pub reason: &'static str,
}

pub static WITHOUT_EFFECT: &[WithoutEffect] = &[
    WithoutEffect {
        names: &[
            "camunda.data.primary-storage.backup.s3.force-path-style-access",
            "camunda.data.backup.s3.force-path-style-access",
            "zeebe.broker.data.backup.s3.force-path-style-access",
            "camunda.data.primary-storage.backup.s3.compression",
            "camunda.data.backup.s3.compression",
            "zeebe.broker.data.backup.s3.compression",
            "camunda.data.primary-storage.backup.s3.support-legacy-md5",
            "camunda.data.backup.s3.support-legacy-md5",
            "zeebe.broker.data.backup.s3.support-legacy-md5",
            "camunda.data.primary-storage.backup.s3.max-concurrent-connections",
            "camunda.data.backup.s3.max-concurrent-connections",
            "zeebe.broker.data.backup.s3.max-concurrent-connections",
            "camunda.data.primary-storage.backup.s3.connection-acquisition-timeout",
            "camunda.data.backup.s3.connection-acquisition-timeout",
            "zeebe.broker.data.backup.s3.connection-acquisition-timeout",
        ],
        reason: "objects are written one at a time and compressed, and services other than Amazon's always have the bucket in the path",
    },
    WithoutEffect {
        names: &["camunda.data.primary-storage.backup.retention.cleanup-schedule"],
        reason: "old backups are deleted before each scheduled backup and every ten minutes",
    },
    WithoutEffect {
        names: &["camunda.security.authentication.authentication-refresh-interval"],
        reason: "permissions are looked up for each request",
    },
    WithoutEffect {
        names: &[
            "camunda.persistent.sessions.enabled",
            "camunda.security.session.persistent.enabled",
        ],
        reason: "sessions always outlive restarts, and every node serves them",
    },
    WithoutEffect {
        names: &[
            "camunda.security.csrf.enabled",
            "camunda.security.csrf.cookie-http-only",
            "camunda.security.csrf.ignored-path-patterns",
        ],
        reason: "a change in the name of a session always needs the token of that session, which pages read from its cookie",
    },
    WithoutEffect {
        names: &[
            "camunda.security.http-headers.cache-control.enabled",
            "camunda.security.http-headers.content-security-policy.enabled",
            "camunda.security.http-headers.content-security-policy.policy-directives",
            "camunda.security.http-headers.content-security-policy.report-only",
            "camunda.security.http-headers.content-type-options.enabled",
            "camunda.security.http-headers.cross-origin-embedder-policy.value",
            "camunda.security.http-headers.cross-origin-opener-policy.value",
            "camunda.security.http-headers.cross-origin-resource-policy.value",
            "camunda.security.http-headers.frame-options.enabled",
            "camunda.security.http-headers.frame-options.mode",
            "camunda.security.http-headers.hsts.enabled",
            "camunda.security.http-headers.hsts.include-sub-domains",
            "camunda.security.http-headers.hsts.max-age-in-seconds",
            "camunda.security.http-headers.hsts.preload",
            "camunda.security.http-headers.permissions-policy.value",
            "camunda.security.http-headers.referrer-policy.value",
        ],
        reason: "the pages have a content security policy that permits no other site and no frame; let a proxy add other headers, such \
                 as Strict-Transport-Security",
    },
    WithoutEffect {
        names: &[
            "camunda.api.rest.executor.core-pool-size-multiplier",
            "camunda.rest.api-executor.core-pool-size-multiplier",
            "camunda.api.rest.executor.keep-alive",
            "camunda.rest.api-executor.keep-alive",
        ],
        reason: "requests do not have threads of their own, so no pool grows and shrinks; \
                 max-pool-size-multiplier limits how many are processed at a time",
    },
    WithoutEffect {
        names: &[
            "camunda.api.long-polling.min-empty-responses",
            "zeebe.broker.gateway.longPolling.minEmptyResponses",
        ],
        reason: "a request that finds no job is parked at once and woken by the next job, so there are no empty responses to count",
    },
    WithoutEffect {
        names: &[
            "camunda.api.grpc.management-threads",
            "zeebe.broker.gateway.threads.managementThreads",
        ],
        reason: "the threads of the gateways serve everything; skep.runtime.worker-threads sets their number",
    },
    WithoutEffect {
        names: &[
            "camunda.system.cpu-thread-count",
            "zeebe.broker.threads.cpuThreadCount",
            "zeebe.broker.threads.ioThreadCount",
        ],
        reason: "each partition has one thread for processing and one for its log",
    },
    WithoutEffect {
        names: &[
            "camunda.data.primary-storage.log-stream.log-index-density",
            "zeebe.broker.data.logIndexDensity",
        ],
        reason: "the index of the log holds every entry",
    },
    WithoutEffect {
        names: &[
            "camunda.data.secondary-storage.rdbms.queue-size",
            "camunda.data.secondary-storage.rdbms.queue-memory-limit",
            "camunda.data.secondary-storage.rdbms.batch-operation-item-insert-block-size",
            "camunda.data.secondary-storage.rdbms.history.history-cleanup-batch-size",
            "camunda.data.secondary-storage.rdbms.history.history-cleanup-process-instance-batch-size",
            "camunda.data.secondary-storage.rdbms.history.min-history-cleanup-interval",
            "camunda.data.secondary-storage.rdbms.history.max-history-cleanup-interval",
        ],
        reason: "the log itself is the queue; windows of at most 20,000 rows or 8 MiB are stored together, and history \
                 is deleted 200 instances at a time whenever there is nothing to store",
    },
    WithoutEffect {
        names: &[
            "camunda.data.secondary-storage.elasticsearch.cluster-name",
            "camunda.data.secondary-storage.elasticsearch.security.enabled",
            "camunda.data.secondary-storage.opensearch.cluster-name",
            "camunda.data.secondary-storage.opensearch.security.enabled",
        ],
        reason: "a server is identified by its address, which says whether TLS is used (https); the indices record the Skep cluster that they belong to",
    },
    WithoutEffect {
        names: &[
            "camunda.data.secondary-storage.elasticsearch.variable-size-threshold",
            "camunda.data.secondary-storage.opensearch.variable-size-threshold",
        ],
        reason: "values are stored in full, and lists show their first 8,191 characters",
    },
    WithoutEffect {
        names: &[
            "camunda.processing.max-commands-in-batch",
            "zeebe.broker.processing.maxCommandsInBatch",
        ],
        reason: "a batch takes what has arrived, at most 256 commands or 1 MB",
    },
    WithoutEffect {
        names: &[
            "camunda.processing.enable-async-scheduled-tasks",
            "camunda.processing.enable-yielding-due-date-checker",
            "camunda.processing.enable-async-message-ttl-checker",
            "camunda.processing.enable-async-timer-duedate-checker",
        ],
        reason: "timers, time-outs and message expiry are found by their due date and handled in small batches",
    },
];

/// Why a setting has no effect, if it is one of these.
pub fn reason(given: &Given) -> Option<&'static str> {
    let found = WITHOUT_EFFECT
        .iter()
        .find(|setting| setting.names.iter().any(|name| given.matches(name)));
    found.map(|setting| setting.reason)
}
