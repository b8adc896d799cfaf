//! The single table of all settings: name, old names, valid values, target field and documentation.

use super::settings::{Field, Settings};
use super::value::{Kind, Value};

/// A setting.
pub struct Key {
    /// Its name in the latest release.
    pub name: &'static str,
    /// Names in older releases. The start fails if one is given with a value other than that of the new name.
    pub old: &'static [&'static str],
    /// Names that other programs use for the same setting; they count only if no other name is given.
    pub also: &'static [&'static str],
    pub kind: Kind,
    pub doc: &'static str,
    pub set: fn(&mut Settings, Value),
    pub get: fn(&Settings) -> Value,
}

macro_rules! keys {
    ($($name:literal [$($old:literal),*] [$($also:literal),*] $kind:expr => $($field:ident).+; $doc:literal)*) => {
        /// In the order in which they are documented.
        pub static KEYS: &[Key] = &[$(Key {
            name: $name,
            old: &[$($old),*],
            also: &[$($also),*],
            kind: $kind,
            doc: $doc,
            set: |settings, value| settings.$($field).+.put(value),
            get: |settings| settings.$($field).+.value(),
        }),*];
    };
}

const PORT: Kind = Kind::Number(0, 65_535);
const COUNT: Kind = Kind::Number(1, 1_000_000);
const MANY: u64 = u64::MAX;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const CATEGORIES: Kind = Kind::Words(skep_query::entities::AUDIT_CATEGORIES);
const ENTITIES: Kind = Kind::Words(skep_query::entities::AUDITED_ENTITIES);
const ALGORITHMS: Kind = Kind::Choice(&[
    "aimd",
    "fixed",
    "vegas",
    "gradient",
    "gradient2",
    "legacy-vegas",
]);

keys! {
    "server.port" [] [] PORT => rest.port;
        "Port of the REST API. 0 picks a free port."
    "server.address" [] [] Kind::Ip => rest.address;
        "Listen address of the REST API. 0.0.0.0 accepts connections from other machines; the settings below `camunda.security.authentication` must then say whether callers log in."
    "server.ssl.enabled" [] [] Kind::Flag => tls.rest.enabled;
        "Enables TLS 1.2 and 1.3 for REST and the web interface. Default: enabled if a certificate is configured. A changed certificate applies to new connections a few seconds later."
    "server.ssl.certificate" [] [] Kind::Text => tls.rest.certificate;
        "PEM file with the certificate of this server, followed by the intermediate certificates."
    "server.ssl.certificate-private-key" [] [] Kind::Text => tls.rest.private_key;
        "PEM file with the private key of the certificate, not encrypted."
    "server.ssl.client-auth" [] [] Kind::Choice(&["none", "want", "need"]) => tls.rest.client_auth;
        "`need`: a client without a certificate is refused; `want`: a certificate is optional, but must be valid if presented. A certificate decides who may connect; it does not identify the caller."
    "server.ssl.trust-certificate" [] [] Kind::Text => tls.rest.trust;
        "PEM file with the authorities trusted to sign client certificates."
    "server.ssl.trust-store" [] [] Kind::Text => tls.rest.trust_store.path;
        "PKCS#12 file with these authorities, instead of the PEM file."
    "server.ssl.trust-store-password" [] [] Kind::Secret => tls.rest.trust_store.password;
        "Password of the trust store."
    "server.ssl.trust-store-type" [] [] Kind::Text => tls.rest.trust_store.kind;
        "Type of the store. Only `PKCS12` is supported; other types are refused."
    "server.ssl.key-store" [] [] Kind::Text => tls.rest.key_store.path;
        "PKCS#12 file with certificate and private key, instead of the two PEM files. A changed file is read again. Java key stores (JKS) are refused; the error names the command that converts them."
    "server.ssl.key-store-password" [] [] Kind::Secret => tls.rest.key_store.password;
        "Password of the key store."
    "server.ssl.key-store-type" [] [] Kind::Text => tls.rest.key_store.kind;
        "Type of the store. Only `PKCS12` is supported; other types are refused."
    "server.ssl.key-alias" [] [] Kind::Text => tls.rest.key_store.alias;
        "Name of the key in the key store, if it holds several."
    "server.ssl.key-password" [] [] Kind::Secret => tls.rest.key_store.key_password;
        "Password of the key. In PKCS#12 format it is the password of the store; a different one is refused."
    "camunda.api.grpc.port" ["zeebe.broker.gateway.network.port"] [] PORT => grpc.port;
        "Port of the gRPC API. 0 picks a free port."
    "camunda.api.grpc.address" ["zeebe.broker.gateway.network.host"] [] Kind::Ip => grpc.address;
        "Listen address of the gRPC API. 0.0.0.0 accepts connections from other machines; the settings below `camunda.security.authentication` must then say whether callers log in."
    "camunda.api.grpc.ssl.enabled" ["zeebe.broker.gateway.security.enabled"] [] Kind::Flag => tls.grpc.enabled;
        "Enables TLS 1.2 and 1.3 for gRPC. Default: enabled if a certificate is configured. A changed certificate applies to new connections a few seconds later."
    "camunda.api.grpc.ssl.certificate" ["zeebe.broker.gateway.security.certificateChainPath"] [] Kind::Text => tls.grpc.certificate;
        "PEM file with the certificate of this server, followed by the intermediate certificates."
    "camunda.api.grpc.ssl.certificate-private-key" ["zeebe.broker.gateway.security.privateKeyPath"] [] Kind::Text => tls.grpc.private_key;
        "PEM file with the private key of the certificate, not encrypted."
    "camunda.api.grpc.ssl.key-store.file-path" ["zeebe.broker.gateway.security.keyStore.filePath"] [] Kind::Text => tls.grpc.key_store.path;
        "PKCS#12 file with certificate and private key, instead of the two PEM files. A changed file is read again. Java key stores (JKS) are refused; the error names the command that converts them."
    "camunda.api.grpc.ssl.key-store.password" ["zeebe.broker.gateway.security.keyStore.password"] [] Kind::Secret => tls.grpc.key_store.password;
        "Password of the key store."
    "camunda.security.authentication.method" [] [] Kind::Choice(&["basic", "oidc"]) => security.method;
        "How callers authenticate: by name and password (`basic`), or by tokens of an identity provider (`oidc`), which [must be configured](#identity-providers). Setting it protects REST, gRPC and the web interface, unless `unprotected-api` is true. See [security.md](security.md)."
    "camunda.security.authentication.unprotected-api" ["camunda.security.authentication.basic.allow-unauthenticated-api-access"] [] Kind::Flag => security.unprotected_api;
        "Callers are not authenticated. Default: `true` unless a method is set. If REST or gRPC listens on a non-loopback address, this setting or the method must be set."
    "camunda.security.authorizations.enabled" [] [] Kind::Flag => security.authorizations;
        "Callers may do only what they were granted. Default: enabled if the API is protected. Without a login callers have no identity, and a caller without an identity may do everything."
    "camunda.security.id-validation-pattern" [] [] Kind::Text => security.id_pattern;
        "Valid ids of users, groups, roles, tenants, mapping rules and clients, and of resources in authorizations: a regular expression that must match the whole id. The syntax is that of the Rust crate `regex`: `\\w`, `\\d` and `\\s` match letters, digits and spaces of all scripts; look-arounds and back references are not supported."
    "camunda.security.multi-tenancy.api-enabled" [] [] Kind::Flag => security.tenants_api;
        "Enables the operations on tenants. If disabled, tenants and their members come from the configuration alone."
    "camunda.security.multi-tenancy.checks-enabled" [] [] Kind::Flag => security.tenant_checks;
        "Callers see and change only what belongs to their tenants, and name the tenant of what they create. The API must be protected. If disabled, `<default>` is the only tenant, and data of other tenants is not accessible. See [security.md](security.md#tenants)."
    "management.server.port" [] [] PORT => management.port;
        "Port of health, metrics and management. 0 picks a free port."
    "management.server.address" [] [] Kind::Ip => management.address;
        "Listen address of the management port. 0.0.0.0 accepts connections from other machines. Without `skep.management.authentication` the port has no login: protect it by network."
    "management.server.ssl.enabled" [] [] Kind::Flag => tls.management.enabled;
        "Enables TLS 1.2 and 1.3 for the management port. Default: enabled if a certificate is configured. A changed certificate applies to new connections a few seconds later."
    "management.server.ssl.certificate" [] [] Kind::Text => tls.management.certificate;
        "PEM file with the certificate of this server, followed by the intermediate certificates."
    "management.server.ssl.certificate-private-key" [] [] Kind::Text => tls.management.private_key;
        "PEM file with the private key of the certificate, not encrypted."
    "management.server.ssl.client-auth" [] [] Kind::Choice(&["none", "want", "need"]) => tls.management.client_auth;
        "`need`: a client without a certificate is refused; `want`: a certificate is optional, but must be valid if presented. A certificate decides who may connect; it does not identify the caller."
    "management.server.ssl.trust-certificate" [] [] Kind::Text => tls.management.trust;
        "PEM file with the authorities trusted to sign client certificates."
    "management.server.ssl.trust-store" [] [] Kind::Text => tls.management.trust_store.path;
        "PKCS#12 file with these authorities, instead of the PEM file."
    "management.server.ssl.trust-store-password" [] [] Kind::Secret => tls.management.trust_store.password;
        "Password of the trust store."
    "management.server.ssl.trust-store-type" [] [] Kind::Text => tls.management.trust_store.kind;
        "Type of the store. Only `PKCS12` is supported; other types are refused."
    "management.server.ssl.key-store" [] [] Kind::Text => tls.management.key_store.path;
        "PKCS#12 file with certificate and private key, instead of the two PEM files. A changed file is read again. Java key stores (JKS) are refused; the error names the command that converts them."
    "management.server.ssl.key-store-password" [] [] Kind::Secret => tls.management.key_store.password;
        "Password of the key store."
    "management.server.ssl.key-store-type" [] [] Kind::Text => tls.management.key_store.kind;
        "Type of the store. Only `PKCS12` is supported; other types are refused."
    "management.server.ssl.key-alias" [] [] Kind::Text => tls.management.key_store.alias;
        "Name of the key in the key store, if it holds several."
    "management.server.ssl.key-password" [] [] Kind::Secret => tls.management.key_store.key_password;
        "Password of the key. In PKCS#12 format it is the password of the store; a different one is refused."
    "skep.management.authentication" [] [] Kind::Choice(&["none", "api"]) => security.management;
        "Login of the management port. `none`: no login; protect the port by network. `api`: callers log in as for the API and, if authorizations are enabled, need `SYSTEM:READ` to read and `SYSTEM:UPDATE` for everything else; health, readiness, startup and metrics stay open. See [security.md](security.md)."
    "skep.security.max-view-age" [] [] Kind::Time(0) => security.max_view_age;
        "Longest time for which a node answers callers without hearing the leader of partition 1, which decides about users and permissions. After that, requests that need a login get 503 at this node. At least `camunda.cluster.raft.election-timeout`. 0: no limit, so a node that is cut off keeps using the permissions that it knew last."
    "skep.security.wrong-passwords.per-name" [] [] COUNT => security.guesses.of_name;
        "Wrong passwords for one name from one address that are allowed at any pace."
    "skep.security.wrong-passwords.pause" [] [] Kind::Time(0) => security.guesses.pause;
        "Time between two attempts for the name from the address after those. Attempts in between get 401 without a look at the password."
    "skep.security.wrong-passwords.per-address" [] [] COUNT => security.guesses.of_address;
        "Wrong passwords from one address in a minute, over all names; further attempts get 401. Raise it where a proxy gives all callers one address."
    "management.endpoints.web.base-path" [] [] Kind::UrlPath => base_path;
        "Path prefix of the management endpoints."

    "camunda.mode" [] [] Kind::Choice(&["all-in-one", "gateway"]) => mode;
        "`gateway`: the node has no partitions and no data; it serves clients and finds the cluster through its contact points. `--role gateway` is the same."
    "camunda.cluster.node-id" ["zeebe.broker.cluster.nodeId"] ["camunda.cluster.node-id-provider.fixed.node-id"] Kind::Number(0, 1023) => broker.node_id;
        "Number of this node. Gateways are numbered separately."
    "skep.cluster.node-id-from-hostname" [] [] Kind::Flag => cluster.node_id_from_hostname;
        "Takes the number of this node from the part of its host name after the last dash, as in a Kubernetes StatefulSet: skep-2 is node 2. camunda.cluster.node-id must not be set then."
    "camunda.cluster.node-id-provider.type" [] [] Kind::Choice(&["FIXED", "S3"]) => cluster.node_ids.provider;
        "`S3`: the node leases a free number in a bucket and keeps its data below `node-N` in the data directory; see [lease-node-ids.md](how-to/lease-node-ids.md). camunda.cluster.node-id must not be set then."
    "camunda.cluster.node-id-provider.s3.bucket-name" [] [] Kind::Text => cluster.node_ids.bucket;
        "Bucket, with `S3`. It must support conditional writes (`If-Match`, `If-None-Match`), which is checked at startup."
    "skep.cluster.node-id-provider.s3.prefix" [] [] Kind::Text => cluster.node_ids.prefix;
        "Prefix of all object names. Each cluster needs its own bucket or prefix."
    "camunda.cluster.node-id-provider.s3.lease-duration" [] [] Kind::Time(9_000) => cluster.node_ids.lease_duration;
        "Duration of a lease, the same on all nodes. It is renewed every third of this time, and may be taken over when it has not been renewed for this time plus a fifth."
    "camunda.cluster.node-id-provider.s3.task-id" [] [] Kind::Text => cluster.node_ids.task;
        "Human-readable name of this process in the lease. Default: the host name."
    "camunda.cluster.node-id-provider.s3.endpoint" [] [] Kind::Url => cluster.node_ids.endpoint;
        "Address of an S3-compatible service other than Amazon's, with buckets in the path; `http` or `https`. Also from `AWS_ENDPOINT_URL`."
    "camunda.cluster.node-id-provider.s3.region" [] [] Kind::Text => cluster.node_ids.region;
        "Region of the service. Also from `AWS_REGION`."
    "camunda.cluster.node-id-provider.s3.access-key" [] [] Kind::Text => cluster.node_ids.access_key;
        "Access key, together with `secret-key`. Credentials also come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, a web identity, or the role of the container or machine."
    "camunda.cluster.node-id-provider.s3.secret-key" [] [] Kind::Secret => cluster.node_ids.secret_key;
        "Secret key, together with `access-key`."
    "camunda.cluster.node-id-provider.s3.api-call-timeout" [] [] Kind::Time(100) => cluster.node_ids.call_timeout;
        "Timeout of a request to the bucket, capped at a third of the lease duration."
    "skep.cluster.replace-lost-nodes" [] [] Kind::Flag => cluster.node_ids.replaces;
        "With `S3`: a process may take a number whose data is not in its data directory, as a new node that waits to be added to the cluster. If disabled, it waits until the data or another number is available."
    "skep.cluster.revision" [] [] Kind::Text => cluster.revision;
        "Name of this node's specification at the orchestrator that replaces nodes one at a time (on Kubernetes the label `controller-revision-hash`, see [kubernetes.md](how-to/kubernetes.md#upgrade)). With it, a node that has started is ready once its copies have caught up or, if it was ready last under another name, all copies of the cluster; after 15 min in any case."
    "camunda.cluster.cluster-id" ["zeebe.broker.cluster.clusterId"] [] Kind::Text => broker.cluster_id;
        "Id of the cluster. If empty, it is generated at the first start and kept in the data directory."
    "camunda.cluster.size" ["zeebe.broker.cluster.clusterSize"] [] Kind::Number(1, 7) => cluster.size;
        "Number of nodes. More than one form a cluster: see [cluster.md](cluster.md)."
    "camunda.cluster.replication-factor" ["zeebe.broker.cluster.replicationFactor"] [] Kind::Number(1, 7) => cluster.replication_factor;
        "Copies of each partition, each on a different node; at most the number of nodes."
    "camunda.cluster.partition-count" ["zeebe.broker.cluster.partitionsCount"] [] Kind::Number(1, skep_cluster::MAX_PARTITIONS as u64) => broker.partitions;
        "Number of partitions of a new data directory; `skep cluster apply` adds more later."
    "camunda.cluster.initial-contact-points" ["zeebe.broker.cluster.initialContactPoints"] [] Kind::List => cluster.contact_points;
        "Nodes of the cluster, each as `host:port` of its internal API; also as a YAML list. Nodes that are not listed are found through the others."
    "camunda.cluster.raft.election-timeout" ["zeebe.broker.cluster.electionTimeout"] [] Kind::Time(200) => cluster.election_timeout;
        "A leader that the other replicas do not hear from for this time, up to twice as long, is replaced."
    "camunda.cluster.network.internal-api.host" ["zeebe.broker.network.internalApi.host"] ["camunda.cluster.network.host", "zeebe.broker.network.host"] Kind::Ip => internal.address;
        "Listen address for other nodes. 0.0.0.0 accepts connections from other machines. It has no login: enable TLS, or protect it by network."
    "camunda.cluster.network.internal-api.port" ["zeebe.broker.network.internalApi.port"] [] PORT => internal.port;
        "Port for other nodes. It is not opened if the cluster size is 1."
    "camunda.cluster.network.internal-api.advertised-host" ["zeebe.broker.network.internalApi.advertisedHost"] [] Kind::Text => cluster.advertised_host;
        "Host that this node announces to nodes that did not find it through a contact point. Default: the advertised host."
    "camunda.cluster.network.internal-api.advertised-port" ["zeebe.broker.network.internalApi.advertisedPort"] [] PORT => cluster.advertised_port;
        "Port that this node announces to them. 0: its port for other nodes."
    "camunda.cluster.network.transport-layer-security.cluster.enabled" ["zeebe.broker.network.security.enabled"] ["camunda.security.transport-layer-security.cluster.enabled"] Kind::Flag => internal_tls.enabled;
        "Enables TLS 1.3 between nodes. Both sides present a certificate; a node without one of the cluster's authority is refused."
    "camunda.cluster.network.transport-layer-security.cluster.certificate-chain-path" ["zeebe.broker.network.security.certificateChainPath"] ["camunda.security.transport-layer-security.cluster.certificate-chain-path"] Kind::Text => internal_tls.certificate_chain;
        "PEM file with the certificate of this node, followed by the intermediate certificates. It must be valid for clients and servers, as a node is both."
    "camunda.cluster.network.transport-layer-security.cluster.certificate-private-key-path" ["zeebe.broker.network.security.privateKeyPath"] ["camunda.security.transport-layer-security.cluster.certificate-private-key-path"] Kind::Text => internal_tls.private_key;
        "PEM file with the private key of the certificate."
    "camunda.cluster.network.transport-layer-security.cluster.key-store.file-path" ["zeebe.broker.network.security.keyStore.filePath"] ["camunda.security.transport-layer-security.cluster.key-store.file-path"] Kind::Text => internal_tls.key_store.path;
        "PKCS#12 file with certificate and private key, instead of the two PEM files. Java key stores (JKS) are refused; the error names the command that converts them."
    "camunda.cluster.network.transport-layer-security.cluster.key-store.password" ["zeebe.broker.network.security.keyStore.password"] ["camunda.security.transport-layer-security.cluster.key-store.password"] Kind::Secret => internal_tls.key_store.password;
        "Password of the key store."
    "skep.cluster.tls.certificate-authority-path" [] [] Kind::Text => internal_tls.authority;
        "File with the certificate of the authority that signs for the nodes of this cluster and nothing else: names in certificates are not checked. If empty, the certificates in the chain file or the key store are trusted."
    "camunda.cluster.network.advertised-host" ["zeebe.broker.network.advertisedHost"] [] Kind::Text => broker.advertised.host;
        "Host that the topology reports for this node, and that it announces to other nodes. Default where other machines reach its port for nodes, or those for clients of a node that is alone: the name of its own host."
    "camunda.cluster.network.command-api.advertised-port" ["zeebe.broker.network.commandApi.advertisedPort"] [] PORT => broker.advertised.port;
        "Port that the topology reports for this node."

    "camunda.cluster.network.port-offset" ["zeebe.broker.network.portOffset"] [] Kind::Number(0, 6553) => port_offset;
        "Ten times this value is added to every port, so that several servers on one machine differ in one setting."
    "camunda.cluster.network.max-message-size" ["zeebe.broker.network.maxMessageSize"] [] Kind::Bytes(1024, GIB) => network_message_size;
        "Limit of every request, in addition to `camunda.api.grpc.max-message-size`. Below its default it limits deployments over REST as well."

    "camunda.data.primary-storage.directory" ["zeebe.broker.data.directory"] [] Kind::Text => broker.directory;
        "Directory of all data. Only one server may use it at a time."
    "camunda.data.snapshot-period" ["zeebe.broker.data.snapshotPeriod"] [] Kind::Time(1000) => broker.snapshot_period;
        "Maximum time between checkpoints while there is new work."
    "skep.data.snapshot-log-size" [] [] Kind::Bytes(MIB, MANY) => broker.snapshot_log_bytes;
        "Amount of log after which a checkpoint is also made, so that recovery reads no more than about this much."
    "camunda.data.primary-storage.log-stream.log-segment-size" ["zeebe.broker.data.logSegmentSize"] [] Kind::Bytes(MIB, GIB) => broker.log_segment_bytes;
        "Size of a log file."
    "camunda.data.primary-storage.rocks-db.memory-limit" ["zeebe.broker.experimental.rocksdb.memoryLimit"] [] Kind::Bytes(MIB, MANY) => broker.state_memory_bytes;
        "Memory for the state of all partitions of the node; colder state is read back from disk on demand."
    "camunda.data.secondary-storage.type" [] [] Kind::Choice(&["embedded", "rdbms", "elasticsearch", "opensearch", "none"]) => secondary_storage;
        "Store of the searchable history: a SQLite file beside each partition, a PostgreSQL database (rdbms), indices of Elasticsearch or OpenSearch, or none."
    "camunda.data.secondary-storage.rdbms.url" [] [] Kind::Url => rdbms.url;
        "Database for type rdbms, as `jdbc:postgresql://HOST:PORT/DATABASE` or `postgresql://…`. It need not be reachable when the server starts. Only PostgreSQL is supported. `sslmode` in the URL controls encryption, see docs/search.md."
    "camunda.data.secondary-storage.rdbms.username" [] [] Kind::Text => rdbms.username;
        "User of the database. Empty: the one in the URL."
    "camunda.data.secondary-storage.rdbms.password" [] [] Kind::Secret => rdbms.password;
        "Password of the user. Empty: the one in the URL."
    "camunda.data.secondary-storage.rdbms.prefix" [] [] Kind::Text => rdbms.prefix;
        "Prefix of table names, so that several clusters can share a database: letters, digits and `_`, at most 20 characters."
    "camunda.data.secondary-storage.rdbms.auto-ddl" [] [] Kind::Flag => rdbms.auto_ddl;
        "Creates tables and adds the columns that a new version needs. If disabled, a database that lacks them is not written to."
    "camunda.data.secondary-storage.rdbms.history.default-history-ttl" [] [] Kind::Time(1000) => secondary.history_ttl;
        "How long ended process instances remain searchable."
    "camunda.data.secondary-storage.rdbms.flush-interval" [] [] Kind::Time(1) => secondary.window;
        "How long changes are collected before they are stored together; a search does not wait for it."
    "camunda.data.secondary-storage.elasticsearch.url" [] [] Kind::Url => elasticsearch.url;
        "Server for type elasticsearch, as `http://HOST:PORT` or `https://…`. It need not be reachable when Skep starts."
    "camunda.data.secondary-storage.elasticsearch.urls" [] [] Kind::List => elasticsearch.urls;
        "Several nodes of the server, instead of one URL; if one does not answer, the next one is tried."
    "camunda.data.secondary-storage.elasticsearch.username" [] [] Kind::Text => elasticsearch.username;
        "User of the server. Empty: no login."
    "camunda.data.secondary-storage.elasticsearch.password" [] [] Kind::Secret => elasticsearch.password;
        "Password of the user."
    "camunda.data.secondary-storage.elasticsearch.security.certificate-path" [] [] Kind::Text => elasticsearch.certificates;
        "For https: PEM file with the authority that signs the server's certificate, or with that certificate. Default: the authorities that the machine trusts."
    "camunda.data.secondary-storage.elasticsearch.security.verify-hostname" [] [] Kind::Flag => elasticsearch.verify_hostname;
        "For https: the certificate must match the name of the server."
    "camunda.data.secondary-storage.elasticsearch.index-prefix" [] [] Kind::Text => elasticsearch.index_prefix;
        "Prefix of index names, so that several clusters can share a server: lower-case letters, digits, `-` and `_`."
    "camunda.data.secondary-storage.elasticsearch.number-of-shards" [] [] Kind::Number(1, 1_024) => elasticsearch.number_of_shards;
        "Shards of new indices."
    "camunda.data.secondary-storage.elasticsearch.number-of-replicas" [] [] Kind::Number(0, 100) => elasticsearch.number_of_replicas;
        "Replicas of each shard of new indices."
    "camunda.data.secondary-storage.opensearch.url" [] [] Kind::Url => opensearch.url;
        "Server for type opensearch, as `http://HOST:PORT` or `https://…`. It need not be reachable when Skep starts."
    "camunda.data.secondary-storage.opensearch.urls" [] [] Kind::List => opensearch.urls;
        "Several nodes of the server, instead of one URL; if one does not answer, the next one is tried."
    "camunda.data.secondary-storage.opensearch.username" [] [] Kind::Text => opensearch.username;
        "User of the server. Empty: no login."
    "camunda.data.secondary-storage.opensearch.password" [] [] Kind::Secret => opensearch.password;
        "Password of the user."
    "camunda.data.secondary-storage.opensearch.security.certificate-path" [] [] Kind::Text => opensearch.certificates;
        "For https: PEM file with the authority that signs the server's certificate, or with that certificate. Default: the authorities that the machine trusts."
    "camunda.data.secondary-storage.opensearch.security.verify-hostname" [] [] Kind::Flag => opensearch.verify_hostname;
        "For https: the certificate must match the name of the server."
    "camunda.data.secondary-storage.opensearch.index-prefix" [] [] Kind::Text => opensearch.index_prefix;
        "Prefix of index names, so that several clusters can share a server: lower-case letters, digits, `-` and `_`."
    "camunda.data.secondary-storage.opensearch.number-of-shards" [] [] Kind::Number(1, 1_024) => opensearch.number_of_shards;
        "Shards of new indices."
    "camunda.data.secondary-storage.opensearch.number-of-replicas" [] [] Kind::Number(0, 100) => opensearch.number_of_replicas;
        "Replicas of each shard of new indices."
    "camunda.data.audit-log.enabled" [] [] Kind::Flag => secondary.audit.enabled;
        "Keeps an audit log of what users and clients did."
    "camunda.data.audit-log.user.categories" [] [] CATEGORIES => secondary.audit.user.categories;
        "Categories of actions of users that the audit log records."
    "camunda.data.audit-log.user.excludes" [] [] ENTITIES => secondary.audit.user.excludes;
        "Kinds of entities whose changes by users are not recorded."
    "camunda.data.audit-log.client.categories" [] [] CATEGORIES => secondary.audit.client.categories;
        "Categories of actions of clients that the audit log records."
    "camunda.data.audit-log.client.excludes" [] [] ENTITIES => secondary.audit.client.excludes;
        "Kinds of entities whose changes by clients are not recorded."
    "camunda.data.audit-log.unknown.categories" [] [] CATEGORIES => secondary.audit.unknown.categories;
        "Categories of actions of unauthenticated callers that the audit log records. Without a login, all callers are unauthenticated."
    "camunda.data.audit-log.unknown.excludes" [] [] ENTITIES => secondary.audit.unknown.excludes;
        "Kinds of entities whose changes by unauthenticated callers are not recorded."
    "skep.query.max-wait" [] [] Kind::Time(0) => secondary.max_wait;
        "Maximum time that a search waits to see everything that was acknowledged before it. If it does not see everything, the header `skep-behind-ms` of the response says how far it is behind."
    "skep.query.threads" [] [] Kind::Number(1, 64) => secondary.readers;
        "Threads per partition that execute searches. With type rdbms, elasticsearch or opensearch all partitions share them, and each thread has a connection."
    "camunda.document.default-store-id" ["document.default-store-id"] [] Kind::Text => default_document_store;
        "Document store for requests that name none. Empty: the first one by name; without any, `local`."
    "camunda.document.thread-pool-size" ["document.thread-pool-size"] [] COUNT => documents_at_a_time;
        "Maximum number of concurrent operations on document stores; further ones wait."
    "camunda.data.export.distribution-interval" ["zeebe.broker.exporting.distributionInterval"] [] Kind::Time(10) => broker.export_interval;
        "How often the positions of the record exporters are saved; after a crash, later records are exported again."
    "camunda.data.primary-storage.backup.store" ["camunda.data.backup.store", "zeebe.broker.data.backup.store"] [] Kind::Choice(&["none", "filesystem", "s3", "gcs", "azure"]) => backup.store;
        "Store of the backups, the same on all nodes. See [backup.md](backup.md)."
    "camunda.data.primary-storage.backup.filesystem.base-path" ["camunda.data.backup.filesystem.base-path", "zeebe.broker.data.backup.filesystem.base-path"] [] Kind::Text => backup.directory;
        "Directory, with `filesystem`. All nodes must have it mounted."
    "camunda.data.primary-storage.backup.s3.bucket-name" ["camunda.data.backup.s3.bucket-name", "zeebe.broker.data.backup.s3.bucket-name"] [] Kind::Text => backup.s3.name;
        "Bucket, with `s3`."
    "camunda.data.primary-storage.backup.s3.base-path" ["camunda.data.backup.s3.base-path", "zeebe.broker.data.backup.s3.base-path"] [] Kind::Text => backup.s3.base_path;
        "Prefix of all object names."
    "camunda.data.primary-storage.backup.s3.endpoint" ["camunda.data.backup.s3.endpoint", "zeebe.broker.data.backup.s3.endpoint"] [] Kind::Url => backup.s3.endpoint;
        "Address of an S3-compatible service other than Amazon's, with buckets in the path; `http` or `https`. Also from `AWS_ENDPOINT_URL`."
    "camunda.data.primary-storage.backup.s3.region" ["camunda.data.backup.s3.region", "zeebe.broker.data.backup.s3.region"] [] Kind::Text => backup.s3.region;
        "Region of the service. Also from `AWS_REGION`."
    "camunda.data.primary-storage.backup.s3.access-key" ["camunda.data.backup.s3.access-key", "zeebe.broker.data.backup.s3.access-key"] [] Kind::Text => backup.s3.access_key;
        "Access key, together with `secret-key`. Credentials also come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, a web identity, or the role of the container or machine."
    "camunda.data.primary-storage.backup.s3.secret-key" ["camunda.data.backup.s3.secret-key", "zeebe.broker.data.backup.s3.secret-key"] [] Kind::Secret => backup.s3.secret_key;
        "Secret key, together with `access-key`."
    "camunda.data.primary-storage.backup.s3.api-call-timeout" ["camunda.data.backup.s3.api-call-timeout", "zeebe.broker.data.backup.s3.api-call-timeout"] [] Kind::Time(1_000) => backup.s3.call_timeout;
        "How long a failed request is retried."
    "camunda.data.primary-storage.backup.s3.ssec-key" [] [] Kind::Secret => backup.s3.ssec_key;
        "Refused: this version does not support encryption of objects with customer-provided keys."
    "camunda.data.primary-storage.backup.gcs.bucket-name" ["camunda.data.backup.gcs.bucket-name", "zeebe.broker.data.backup.gcs.bucket-name"] [] Kind::Text => backup.gcs.name;
        "Bucket, with `gcs`. Credentials come from the environment (`GOOGLE_APPLICATION_CREDENTIALS`) or the machine."
    "camunda.data.primary-storage.backup.gcs.base-path" ["camunda.data.backup.gcs.base-path", "zeebe.broker.data.backup.gcs.base-path"] [] Kind::Text => backup.gcs.base_path;
        "Prefix of all object names."
    "camunda.data.primary-storage.backup.gcs.host" ["camunda.data.backup.gcs.host", "zeebe.broker.data.backup.gcs.host"] [] Kind::Url => backup.gcs.host;
        "Address of a service other than Google's."
    "camunda.data.primary-storage.backup.gcs.auth" ["camunda.data.backup.gcs.auth", "zeebe.broker.data.backup.gcs.auth"] [] Kind::Choice(&["auto", "none"]) => backup.gcs.auth;
        "`none`: requests carry no credentials."
    "camunda.data.primary-storage.backup.azure.base-path" ["camunda.data.backup.azure.base-path", "zeebe.broker.data.backup.azure.base-path"] [] Kind::Text => backup.azure.container;
        "Container, with `azure`."
    "camunda.data.primary-storage.backup.azure.account-name" ["camunda.data.backup.azure.account-name", "zeebe.broker.data.backup.azure.account-name"] [] Kind::Text => backup.azure.account;
        "Storage account."
    "camunda.data.primary-storage.backup.azure.account-key" ["camunda.data.backup.azure.account-key", "zeebe.broker.data.backup.azure.account-key"] [] Kind::Secret => backup.azure.key;
        "Key of the storage account. Without a key or token, credentials come from the environment (`AZURE_…`) or the machine."
    "camunda.data.primary-storage.backup.azure.sas-token.value" ["camunda.data.backup.azure.sas-token.value", "zeebe.broker.data.backup.azure.sas-token.value"] [] Kind::Secret => backup.azure.sas;
        "Shared access signature, instead of a key."
    "camunda.data.primary-storage.backup.azure.connection-string" ["camunda.data.backup.azure.connection-string", "zeebe.broker.data.backup.azure.connection-string"] [] Kind::Secret => backup.azure.connection_string;
        "Account, key or signature, and address in one text. The separate settings take precedence."
    "camunda.data.primary-storage.backup.azure.endpoint" ["camunda.data.backup.azure.endpoint", "zeebe.broker.data.backup.azure.endpoint"] [] Kind::Url => backup.azure.endpoint;
        "Address of the account, if it is not `https://ACCOUNT.blob.core.windows.net`."
    "camunda.data.primary-storage.backup.azure.create-container" ["camunda.data.backup.azure.create-container", "zeebe.broker.data.backup.azure.create-container"] [] Kind::Flag => backup.azure.create;
        "Creates the container with the first object if it is missing."
    "camunda.data.primary-storage.backup.continuous" ["zeebe.broker.experimental.continuousBackups"] [] Kind::Flag => backup.continuous;
        "Ships the log to the store continuously, so that moments between backups can be restored. Backups that can be continued are taken automatically."
    "camunda.data.primary-storage.backup.required" [] [] Kind::Flag => backup.required;
        "With `continuous`: while the store cannot be reached and the disk is nearly full, new work is refused instead of deleting the log that is still to be shipped."
    "camunda.data.primary-storage.backup.schedule" [] [] Kind::Text => backup.schedule;
        "Schedule of automatic backups: a time span after the previous one, such as `PT1H`, or a cron expression of six fields (the first: seconds), in UTC, such as `0 0 3 * * *`. Default: `none`."
    "camunda.data.primary-storage.backup.offset" [] [] Kind::Number(0, MANY) => backup.offset;
        "Added to backup ids that are generated from the time (milliseconds since 1970)."
    "camunda.data.primary-storage.backup.checkpoint-interval" [] [] Kind::Time(0) => backup.checkpoint_interval;
        "Interval between two moments that can be restored, with `continuous`: 1 s or more. 0: 10 s."
    "camunda.data.primary-storage.backup.retention.window" [] [] Kind::Time(0) => backup.retention_window;
        "Age at which a backup is deleted, except for the newest complete one. With `continuous`, every moment within the window can be restored: the newest backup from before the window is kept. 0: never."
    "skep.backup.max-rate" [] [] Kind::Bytes(1 << 10, MANY) => backup.max_rate;
        "Maximum bytes per second that a node reads and sends for a backup, so that work comes first. Skep's own."
    "camunda.data.backup.repository-name" [] [] Kind::Text => backup.repository;
        "Repository for snapshots of secondary storage in Elasticsearch or OpenSearch (`/actuator/backupHistory`), as it is registered with that server."
    "camunda.data.primary-storage.disk.monitoring-enabled" ["zeebe.broker.data.disk.enableMonitoring"] [] Kind::Flag => broker.disk.monitoring_enabled;
        "Monitors the free space of the data directory."
    "camunda.data.primary-storage.disk.monitoring-interval" ["zeebe.broker.data.disk.monitoringInterval"] [] Kind::Time(10) => broker.disk.monitoring_interval;
        "How often the free space is checked."
    "camunda.data.primary-storage.disk.free-space.processing" ["zeebe.broker.data.disk.freeSpace.processing"] [] Kind::Bytes(0, MANY) => broker.disk.processing;
        "Free space below which new work is refused; jobs can still be completed."
    "camunda.data.primary-storage.disk.free-space.replication" ["zeebe.broker.data.disk.freeSpace.replication"] [] Kind::Bytes(0, MANY) => broker.disk.replication;
        "Free space below which the node takes no entries from other leaders, as long as these have a majority without it. Must be less than `free-space.processing`."

    "camunda.processing.scheduled-tasks-check-interval" ["zeebe.broker.processing.scheduledTaskCheckInterval"] [] Kind::Time(10) => broker.check_interval;
        "How often job time-outs and message expiry are checked. Timers are exact."
    "camunda.processing.engine.distribution.redistribution-interval" ["zeebe.broker.experimental.engine.distribution.redistributionInterval"] [] Kind::Time(10) => broker.retry_interval;
        "How often commands that other partitions have not acknowledged are sent again."
    "camunda.processing.engine.max-process-depth" ["zeebe.broker.experimental.engine.maxProcessDepth"] [] COUNT => broker.engine.max_process_depth;
        "Nesting depth of called processes at which an incident is raised."
    "skep.engine.max-element-instances" [] [] Kind::Number(100, 100_000_000) => broker.engine.max_element_instances;
        "Number of active element instances of one process instance at which an incident is raised."
    "camunda.expression.timeout" ["zeebe.broker.experimental.engine.expression.timeout"] [] Kind::Time(1) => broker.engine.expression_timeout;
        "Limit of one evaluation of an expression, in steps that stand for time. Other work of the partition waits meanwhile."

    "camunda.processing.flow-control.request.enabled" ["zeebe.broker.flowControl.request.enabled", "zeebe.broker.backpressure.enabled"] [] Kind::Flag => broker.flow_control.enabled;
        "Limits the commands that a partition works on at a time (back-pressure)."
    "camunda.processing.flow-control.request.windowed" ["zeebe.broker.flowControl.request.useWindowed", "zeebe.broker.backpressure.useWindowed"] [] Kind::Flag => broker.flow_control.windowed;
        "Adapts the limit once per window of responses, not at each response."
    "camunda.processing.flow-control.request.algorithm" ["zeebe.broker.flowControl.request.algorithm", "zeebe.broker.backpressure.algorithm"] [] ALGORITHMS => broker.flow_control.algorithm;
        "Algorithm that adapts the limit."
    "camunda.processing.flow-control.request.aimd.request-timeout" ["zeebe.broker.flowControl.request.aimd.requestTimeout", "zeebe.broker.backpressure.aimd.requestTimeout"] [] Kind::Time(1) => broker.flow_control.aimd.request_timeout;
        "Response time above which the limit is reduced."
    "camunda.processing.flow-control.request.aimd.initial-limit" ["zeebe.broker.flowControl.request.aimd.initialLimit", "zeebe.broker.backpressure.aimd.initialLimit"] [] COUNT => broker.flow_control.aimd.initial_limit;
        "Initial number of commands at a time."
    "camunda.processing.flow-control.request.aimd.min-limit" ["zeebe.broker.flowControl.request.aimd.minLimit", "zeebe.broker.backpressure.aimd.minLimit"] [] COUNT => broker.flow_control.aimd.min_limit;
        "Minimum number of commands at a time."
    "camunda.processing.flow-control.request.aimd.max-limit" ["zeebe.broker.flowControl.request.aimd.maxLimit", "zeebe.broker.backpressure.aimd.maxLimit"] [] COUNT => broker.flow_control.aimd.max_limit;
        "Maximum number of commands at a time."
    "camunda.processing.flow-control.request.aimd.backoff-ratio" ["zeebe.broker.flowControl.request.aimd.backoffRatio", "zeebe.broker.backpressure.aimd.backoffRatio"] [] Kind::Real(0.5, 0.999) => broker.flow_control.aimd.backoff_ratio;
        "Factor by which the limit is multiplied when it is reduced."
    "camunda.processing.flow-control.request.fixed.limit" ["zeebe.broker.flowControl.request.fixed.limit", "zeebe.broker.backpressure.fixed.limit"] [] COUNT => broker.flow_control.fixed.limit;
        "Number of commands at a time."
    "camunda.processing.flow-control.request.vegas.alpha" ["zeebe.broker.flowControl.request.vegas.alpha", "zeebe.broker.backpressure.vegas.alpha"] [] COUNT => broker.flow_control.vegas.alpha;
        "Queue length below which the limit grows."
    "camunda.processing.flow-control.request.vegas.beta" ["zeebe.broker.flowControl.request.vegas.beta", "zeebe.broker.backpressure.vegas.beta"] [] COUNT => broker.flow_control.vegas.beta;
        "Queue length above which the limit shrinks."
    "camunda.processing.flow-control.request.vegas.initial-limit" ["zeebe.broker.flowControl.request.vegas.initialLimit", "zeebe.broker.backpressure.vegas.initialLimit"] [] COUNT => broker.flow_control.vegas.initial_limit;
        "Initial number of commands at a time."
    "camunda.processing.flow-control.request.gradient.min-limit" ["zeebe.broker.flowControl.request.gradient.minLimit", "zeebe.broker.backpressure.gradient.minLimit"] [] COUNT => broker.flow_control.gradient.min_limit;
        "Minimum number of commands at a time."
    "camunda.processing.flow-control.request.gradient.initial-limit" ["zeebe.broker.flowControl.request.gradient.initialLimit", "zeebe.broker.backpressure.gradient.initialLimit"] [] COUNT => broker.flow_control.gradient.initial_limit;
        "Initial number of commands at a time."
    "camunda.processing.flow-control.request.gradient.rtt-tolerance" ["zeebe.broker.flowControl.request.gradient.rttTolerance", "zeebe.broker.backpressure.gradient.rttTolerance"] [] Kind::Real(1.0, 100.0) => broker.flow_control.gradient.rtt_tolerance;
        "How many times slower than usual responses may become before the limit shrinks."
    "camunda.processing.flow-control.request.gradient2.min-limit" ["zeebe.broker.flowControl.request.gradient2.minLimit", "zeebe.broker.backpressure.gradient2.minLimit"] [] COUNT => broker.flow_control.gradient2.min_limit;
        "Minimum number of commands at a time."
    "camunda.processing.flow-control.request.gradient2.initial-limit" ["zeebe.broker.flowControl.request.gradient2.initialLimit", "zeebe.broker.backpressure.gradient2.initialLimit"] [] COUNT => broker.flow_control.gradient2.initial_limit;
        "Initial number of commands at a time."
    "camunda.processing.flow-control.request.gradient2.rtt-tolerance" ["zeebe.broker.flowControl.request.gradient2.rttTolerance", "zeebe.broker.backpressure.gradient2.rttTolerance"] [] Kind::Real(1.0, 100.0) => broker.flow_control.gradient2.rtt_tolerance;
        "How many times slower than usual responses may become before the limit shrinks."
    "camunda.processing.flow-control.request.gradient2.long-window" ["zeebe.broker.flowControl.request.gradient2.longWindow", "zeebe.broker.backpressure.gradient2.longWindow"] [] COUNT => broker.flow_control.gradient2.long_window;
        "Number of responses that determine the usual response time."
    "camunda.processing.flow-control.request.legacy-vegas.initial-limit" ["zeebe.broker.flowControl.request.legacyVegas.initialLimit", "zeebe.broker.backpressure.legacyVegas.initialLimit"] [] COUNT => broker.flow_control.legacy_vegas.initial_limit;
        "Initial number of commands at a time."
    "camunda.processing.flow-control.request.legacy-vegas.max-concurrency" ["zeebe.broker.flowControl.request.legacyVegas.maxConcurrency", "zeebe.broker.backpressure.legacyVegas.maxConcurrency"] [] COUNT => broker.flow_control.legacy_vegas.max_concurrency;
        "Maximum number of commands at a time."
    "camunda.processing.flow-control.request.legacy-vegas.alpha-limit" ["zeebe.broker.flowControl.request.legacyVegas.alphaLimit", "zeebe.broker.backpressure.legacyVegas.alphaLimit"] [] Kind::Real(0.0, 1.0) => broker.flow_control.legacy_vegas.alpha_limit;
        "Queue length, as a share of the limit, below which the limit grows."
    "camunda.processing.flow-control.request.legacy-vegas.beta-limit" ["zeebe.broker.flowControl.request.legacyVegas.betaLimit", "zeebe.broker.backpressure.legacyVegas.betaLimit"] [] Kind::Real(0.0, 1.0) => broker.flow_control.legacy_vegas.beta_limit;
        "Queue length, as a share of the limit, above which the limit shrinks."

    "skep.tenants.in-flight-share" [] [] Kind::Real(0.01, 1.0) => broker.flow_control.tenant_share;
        "Share of a partition's limit of requests in flight that one tenant may use; one request is always allowed. Beyond it the tenant gets RESOURCE_EXHAUSTED, and others do not. Requests that name a tenant are counted, and requests about a key by callers assigned to one tenant. 1: a tenant may use all of it. Lower values require `camunda.security.multi-tenancy.checks-enabled`."
    "camunda.processing.flow-control.write.enabled" ["zeebe.broker.flowControl.write.enabled"] [] Kind::Flag => broker.write_limit.enabled;
        "Limits the records that a partition writes per second."
    "camunda.processing.flow-control.write.limit" ["zeebe.broker.flowControl.write.limit"] [] Kind::Number(0, 100_000_000) => broker.write_limit.limit;
        "Records per second; 0: no limit. Records that finish work are written at any rate."
    "camunda.processing.flow-control.write.ramp-up" ["zeebe.broker.flowControl.write.rampUp"] [] Kind::Time(0) => broker.write_limit.ramp_up;
        "Time after a start within which the limit is reached step by step."
    "camunda.processing.flow-control.write.throttle.enabled" ["zeebe.broker.flowControl.write.throttling.enabled"] [] Kind::Flag => broker.write_limit.throttle.enabled;
        "Reduces the write rate while exporters lag. Regardless of this setting, an exporter for which the log is kept slows writing down when the free disk space approaches `free-space.processing`."
    "camunda.processing.flow-control.write.throttle.acceptable-backlog" ["zeebe.broker.flowControl.write.throttling.acceptableBacklog"] [] Kind::Number(1, MANY) => broker.write_limit.throttle.acceptable_backlog;
        "Records that may wait for an exporter before the write rate is reduced."
    "camunda.processing.flow-control.write.throttle.minimum-limit" ["zeebe.broker.flowControl.write.throttling.minimumLimit"] [] Kind::Number(1, 100_000_000) => broker.write_limit.throttle.minimum_limit;
        "Records per second that may be written at any backlog."
    "camunda.processing.flow-control.write.throttle.resolution" ["zeebe.broker.flowControl.write.throttling.resolution"] [] Kind::Time(100) => broker.write_limit.throttle.resolution;
        "Time over which the exporting rate is measured."

    "camunda.api.grpc.max-message-size" ["zeebe.broker.gateway.network.maxMessageSize"] [] Kind::Bytes(1024, GIB) => gateway.max_message_size;
        "Maximum size of a request over REST or gRPC."
    "camunda.api.grpc.min-keep-alive-interval" ["zeebe.broker.gateway.network.minKeepAliveInterval"] [] Kind::Time(0) => min_ping_interval;
        "Minimum interval between pings of a gRPC client. One that pings more often is disconnected (`ENHANCE_YOUR_CALM`, `too_many_pings`) at the third such ping in a row without a response in between. 0: no limit."
    "camunda.api.grpc.max-connection-age" [] [] Kind::Time(0) => gateway.lifetime.grpc;
        "Age, give or take a tenth, at which a gRPC connection is asked to end (GOAWAY): requests in flight are finished, job streams end, and the client opens a new connection, which a load balancer may give to another gateway. 0: never."
    "spring.servlet.multipart.max-request-size" [] [] Kind::Bytes(1024, GIB) => gateway.multipart.max_size;
        "Maximum size of a deployment over REST."
    "spring.servlet.multipart.max-file-size" [] [] Kind::Bytes(1024, GIB) => max_file_size;
        "Maximum size of a file of a deployment over REST; limits the whole deployment as well."
    "server.tomcat.max-part-count" [] [] COUNT => gateway.multipart.max_parts;
        "Maximum number of parts (files and fields) of one deployment over REST."
    "camunda.api.long-polling.enabled" ["zeebe.broker.gateway.longPolling.enabled"] [] Kind::Flag => gateway.long_polling.enabled;
        "Job activations wait for a job. If disabled, they are answered at once."
    "camunda.api.long-polling.timeout" ["zeebe.broker.gateway.longPolling.timeout"] [] Kind::Time(1) => gateway.long_polling.timeout;
        "How long job activations wait if the client gives no time. A plain number is milliseconds."
    "camunda.api.long-polling.probe-timeout" ["zeebe.broker.gateway.longPolling.probeTimeout"] [] Kind::Time(1) => broker.probe_interval;
        "How often a waiting activation looks for jobs; new jobs wake it anyway. A plain number is milliseconds."
    "camunda.api.rest.executor.max-pool-size-multiplier" [] ["camunda.rest.api-executor.max-pool-size-multiplier"] Kind::Number(1, 10_000) => gateway.executor.max_pool_size_multiplier;
        "Number of workers of each gateway, as a multiple of the available processors."
    "camunda.api.rest.executor.queue-capacity" [] ["camunda.rest.api-executor.queue-capacity"] Kind::Number(0, 1_000_000) => gateway.executor.queue_capacity;
        "Requests that may wait for a worker under the policy `abort`."
    "skep.api.executor.requests-per-worker" [] [] Kind::Number(1, 100_000) => gateway.executor.requests_per_worker;
        "Requests per worker that may wait for their commit."
    "skep.api.executor.policy" [] [] Kind::Choice(&["caller-runs", "abort"]) => gateway.executor.policy;
        "What happens to a request at the limit of the workers: it waits, and its connection with it (`caller-runs`), or gets 503 (`abort`)."
    "skep.api.version" [] [] Kind::Release => gateway.api_version;
        "API release that the topology reports, for clients that adapt their requests to it; also used as `brokerVersion` of exported records and in the names of their indices. Skep's own version is `skepVersion` in the topology and in `/actuator/info`."
    "skep.api.request-timeout" ["zeebe.broker.gateway.cluster.requestTimeout"] [] Kind::Time(1) => gateway.request_timeout;
        "How long a request waits for its response if the client gives no time."
    "skep.api.body-timeout" [] [] Kind::Time(1) => gateway.body_timeout;
        "Maximum time for the body of a request to arrive."
    "skep.api.max-buffered-size" [] [] Kind::Bytes(MIB, MANY) => gateway.max_buffered_bytes;
        "Memory of one gateway for request bodies above 16 KB, as far as they have arrived; at the limit it stops reading."
    "skep.api.max-connections" [] ["server.tomcat.max-connections"] COUNT => gateway.max_connections;
        "Maximum number of connections of one gateway; further ones wait until one ends, and idle ones are then closed after `skep.api.head-timeout`."
    "skep.api.head-timeout" [] ["server.tomcat.connection-timeout"] Kind::Time(10) => gateway.head_timeout;
        "Maximum time for the head of a request or an HTTP/2 frame to arrive, and for a new connection to begin."
    "skep.api.idle-timeout" [] ["server.tomcat.keep-alive-timeout"] Kind::Time(10) => gateway.lifetime.idle;
        "Time after which a connection without requests is closed; HTTP/2 clients are notified (GOAWAY)."
    "skep.api.max-connection-age" [] [] Kind::Time(0) => gateway.lifetime.rest;
        "Same as `camunda.api.grpc.max-connection-age`, for REST; over HTTP/1.1 the next response has `Connection: close`. 0: never."
    "skep.api.job-stream-credit" [] [] Kind::Number(1, 100_000) => gateway.job_stream_credit;
        "Maximum number of jobs in transit to one job stream, not yet taken by its connection."
    "skep.api.stream-keep-alive" [] [] Kind::Time(100) => gateway.stream_keep_alive;
        "Time without data after which a job stream gets a blank line (REST) or a ping (gRPC)."
    "skep.ui.base-path" [] [] Kind::UrlPath => ui.base_path;
        "Path under which a proxy offers this server to browsers, and which the proxy strips from requests. `/`: none. See [web-interface.md](web-interface.md)."
    "skep.ui.trust-forwarded-prefix" [] [] Kind::Flag => ui.trust_forwarded_prefix;
        "Takes the path under which a proxy offers this server from the header `X-Forwarded-Prefix` of a request, where the header has a valid one, and `skep.ui.base-path` otherwise. Only for proxies that set the header themselves. See [web-interface.md](web-interface.md)."
    "skep.ui.grafana-url" [] [] Kind::WebUrl => ui.grafana_url;
        "Address of Grafana, or of one of its dashboards, to which the page *Monitor* links. Browsers open it; the server does not. See [web-interface.md](web-interface.md)."
    "skep.shutdown-grace" [] [] Kind::Time(0) => gateway.shutdown_grace;
        "Time for requests in flight to finish when the server stops."

    "camunda.system.clock-controlled" ["zeebe.clock.controlled"] [] Kind::Flag => clock_controlled;
        "Allows `/actuator/clock` to move the clock. For tests."
    "skep.runtime.worker-threads" [] ["camunda.system.io-thread-count"] Kind::Number(1, 1024) => worker_threads;
        "Number of threads of the gateways. Default: the number of available processors."
    "skep.log.level" [] ["logging.level.root", "camunda.log.level", "zeebe.log.level", "rust.log"] Kind::Levels => log_level;
        "Log level. `/actuator/loggers` changes it while the server runs."
    "skep.log.format" [] [] Kind::Choice(&["text", "json"]) => log_format;
        "Format of log lines on standard error."
    "skep.tracing.otlp-endpoint" [] ["otel.exporter.otlp.endpoint"] Kind::Url => trace.endpoint;
        "OTLP/HTTP collector that receives a span per request, for example `http://localhost:4318`. Empty: none."
    "skep.tracing.sampling-ratio" [] ["otel.traces.sampler.arg"] Kind::Real(0.0, 1.0) => trace.ratio;
        "Share of the requests that get a span."
}
