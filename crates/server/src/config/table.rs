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
        "Port of REST. 0 takes a free one."
    "server.address" [] [] Kind::Ip => rest.address;
        "Address that REST listens on; 0.0.0.0 opens it to other machines, and then the settings below `camunda.security.authentication` have to say whether callers log in."
    "server.ssl.enabled" [] [] Kind::Flag => tls.rest.enabled;
        "TLS 1.2 and 1.3 for REST and the web interface. Default: on where a certificate is named. New connections see a changed certificate some seconds later."
    "server.ssl.certificate" [] [] Kind::Text => tls.rest.certificate;
        "File with the certificate of this server, and behind it those between it and its authority; PEM."
    "server.ssl.certificate-private-key" [] [] Kind::Text => tls.rest.private_key;
        "File with its private key; PEM, without a password."
    "server.ssl.client-auth" [] [] Kind::Choice(&["none", "want", "need"]) => tls.rest.client_auth;
        "`need`: who shows no certificate is refused; `want`: one that is shown must be good. A certificate says who may connect, not who somebody is."
    "server.ssl.trust-certificate" [] [] Kind::Text => tls.rest.trust;
        "File with the authorities that may have signed the certificates of clients; PEM."
    "server.ssl.trust-store" [] [] Kind::Text => tls.rest.trust_store.path;
        "File with these authorities in PKCS#12 format, instead of the PEM file."
    "server.ssl.trust-store-password" [] [] Kind::Secret => tls.rest.trust_store.password;
        "What opens it."
    "server.ssl.trust-store-type" [] [] Kind::Text => tls.rest.trust_store.kind;
        "`PKCS12`. Others are refused."
    "server.ssl.key-store" [] [] Kind::Text => tls.rest.key_store.path;
        "File with certificate and key in PKCS#12 format, instead of the two; a changed file is read again. Key stores of Java (JKS) are refused with the command that converts them."
    "server.ssl.key-store-password" [] [] Kind::Secret => tls.rest.key_store.password;
        "What opens it."
    "server.ssl.key-store-type" [] [] Kind::Text => tls.rest.key_store.kind;
        "`PKCS12`. Others are refused."
    "server.ssl.key-alias" [] [] Kind::Text => tls.rest.key_store.alias;
        "The name of the key in it, where it has several."
    "server.ssl.key-password" [] [] Kind::Secret => tls.rest.key_store.key_password;
        "What opens the key. In PKCS#12 format that is the password of the store, and another one is refused."
    "camunda.api.grpc.port" ["zeebe.broker.gateway.network.port"] [] PORT => grpc.port;
        "Port of gRPC. 0 takes a free one."
    "camunda.api.grpc.address" ["zeebe.broker.gateway.network.host"] [] Kind::Ip => grpc.address;
        "Address that gRPC listens on; 0.0.0.0 opens it to other machines, and then the settings below `camunda.security.authentication` have to say whether callers log in."
    "camunda.api.grpc.ssl.enabled" ["zeebe.broker.gateway.security.enabled"] [] Kind::Flag => tls.grpc.enabled;
        "TLS 1.2 and 1.3 for gRPC. Default: on where a certificate is named. New connections see a changed certificate some seconds later."
    "camunda.api.grpc.ssl.certificate" ["zeebe.broker.gateway.security.certificateChainPath"] [] Kind::Text => tls.grpc.certificate;
        "File with the certificate of this server, and behind it those between it and its authority; PEM."
    "camunda.api.grpc.ssl.certificate-private-key" ["zeebe.broker.gateway.security.privateKeyPath"] [] Kind::Text => tls.grpc.private_key;
        "File with its private key; PEM, without a password."
    "camunda.api.grpc.ssl.key-store.file-path" ["zeebe.broker.gateway.security.keyStore.filePath"] [] Kind::Text => tls.grpc.key_store.path;
        "File with certificate and key in PKCS#12 format, instead of the two; a changed file is read again. Key stores of Java (JKS) are refused with the command that converts them."
    "camunda.api.grpc.ssl.key-store.password" ["zeebe.broker.gateway.security.keyStore.password"] [] Kind::Secret => tls.grpc.key_store.password;
        "What opens it."
    "camunda.security.authentication.method" [] [] Kind::Choice(&["basic", "oidc"]) => security.method;
        "How callers say who they are: by name and password (`basic`), or by tokens of an identity provider (`oidc`), which [has to be described](#identity-providers). To give it protects REST, gRPC and the web interface, unless they are unprotected. See [security.md](security.md)."
    "camunda.security.authentication.unprotected-api" ["camunda.security.authentication.basic.allow-unauthenticated-api-access"] [] Kind::Flag => security.unprotected_api;
        "Nobody is asked who he is. Default: `true` until a method is given. Where REST or gRPC listen on other addresses than those of this machine, one of the two has to be given."
    "camunda.security.authorizations.enabled" [] [] Kind::Flag => security.authorizations;
        "Callers may do what they were granted, and nothing else. Default: on where the API is protected. Without a login nobody has a name, and whoever has none may do everything."
    "camunda.security.id-validation-pattern" [] [] Kind::Text => security.id_pattern;
        "What ids of users, groups, roles, tenants, mapping rules and clients may be, and those of resources in authorizations: a regular expression that an id has to match as a whole. It is one of the Rust crate `regex`: `\\w`, `\\d` and `\\s` mean letters, digits and spaces of all scripts, and there are no look-arounds and back references."
    "camunda.security.multi-tenancy.api-enabled" [] [] Kind::Flag => security.tenants_api;
        "The operations on tenants. Without them, tenants and their members come from the configuration alone."
    "camunda.security.multi-tenancy.checks-enabled" [] [] Kind::Flag => security.tenant_checks;
        "Callers see and change what belongs to their tenants, and nothing else; who makes something says for which tenant. The API has to be protected. Off: there is the tenant `<default>` alone, and what belongs to others is out of reach. See [security.md](security.md#tenants)."
    "management.server.port" [] [] PORT => management.port;
        "Port of health, metrics and management. 0 takes a free one."
    "management.server.address" [] [] Kind::Ip => management.address;
        "Address that management listens on; 0.0.0.0 opens it to other machines. It has no login: protect it by network."
    "management.server.ssl.enabled" [] [] Kind::Flag => tls.management.enabled;
        "TLS 1.2 and 1.3 for management. Default: on where a certificate is named. New connections see a changed certificate some seconds later."
    "management.server.ssl.certificate" [] [] Kind::Text => tls.management.certificate;
        "File with the certificate of this server, and behind it those between it and its authority; PEM."
    "management.server.ssl.certificate-private-key" [] [] Kind::Text => tls.management.private_key;
        "File with its private key; PEM, without a password."
    "management.server.ssl.client-auth" [] [] Kind::Choice(&["none", "want", "need"]) => tls.management.client_auth;
        "`need`: who shows no certificate is refused; `want`: one that is shown must be good. A certificate says who may connect, not who somebody is."
    "management.server.ssl.trust-certificate" [] [] Kind::Text => tls.management.trust;
        "File with the authorities that may have signed the certificates of clients; PEM."
    "management.server.ssl.trust-store" [] [] Kind::Text => tls.management.trust_store.path;
        "File with these authorities in PKCS#12 format, instead of the PEM file."
    "management.server.ssl.trust-store-password" [] [] Kind::Secret => tls.management.trust_store.password;
        "What opens it."
    "management.server.ssl.trust-store-type" [] [] Kind::Text => tls.management.trust_store.kind;
        "`PKCS12`. Others are refused."
    "management.server.ssl.key-store" [] [] Kind::Text => tls.management.key_store.path;
        "File with certificate and key in PKCS#12 format, instead of the two; a changed file is read again. Key stores of Java (JKS) are refused with the command that converts them."
    "management.server.ssl.key-store-password" [] [] Kind::Secret => tls.management.key_store.password;
        "What opens it."
    "management.server.ssl.key-store-type" [] [] Kind::Text => tls.management.key_store.kind;
        "`PKCS12`. Others are refused."
    "management.server.ssl.key-alias" [] [] Kind::Text => tls.management.key_store.alias;
        "The name of the key in it, where it has several."
    "management.server.ssl.key-password" [] [] Kind::Secret => tls.management.key_store.key_password;
        "What opens the key. In PKCS#12 format that is the password of the store, and another one is refused."
    "skep.management.authentication" [] [] Kind::Choice(&["none", "api"]) => security.management;
        "Login of the management port. `none`: it has none and is protected by network. `api`: callers log in as those of the API, and need `SYSTEM:READ` to read and `SYSTEM:UPDATE` for all else, where authorizations are enabled; health, readiness, startup and metrics stay open. See [security.md](security.md)."
    "skep.security.max-view-age" [] [] Kind::Time(0) => security.max_view_age;
        "Longest time for which a node answers callers without hearing the leader of partition 1, which decides about users and permissions. After that, requests that need a login get 503 at this node. 0: no limit, so a node that is cut off keeps using the permissions that it knew last."
    "management.endpoints.web.base-path" [] [] Kind::UrlPath => base_path;
        "Path under which the management endpoints stand."

    "camunda.mode" [] [] Kind::Choice(&["all-in-one", "gateway"]) => mode;
        "`gateway`: no partitions and no data; the node serves clients, and finds the cluster by its contact points. `--role gateway` is the same."
    "camunda.cluster.node-id" ["zeebe.broker.cluster.nodeId"] ["camunda.cluster.node-id-provider.fixed.node-id"] Kind::Number(0, 1023) => broker.node_id;
        "Number of this node. Gateways have numbers of their own."
    "skep.cluster.node-id-from-hostname" [] [] Kind::Flag => cluster.node_id_from_hostname;
        "The number of this node is what stands behind the last dash of its host's name, as in a StatefulSet of Kubernetes: skep-2 is node 2. Then camunda.cluster.node-id must not be set."
    "camunda.cluster.node-id-provider.type" [] [] Kind::Choice(&["FIXED", "S3"]) => cluster.node_ids.provider;
        "`S3`: the node takes a number that is free from a bucket, and its data is below `node-N` in the data directory; see [lease-node-ids.md](how-to/lease-node-ids.md). Then camunda.cluster.node-id must not be set."
    "camunda.cluster.node-id-provider.s3.bucket-name" [] [] Kind::Text => cluster.node_ids.bucket;
        "With `S3`: the bucket. It has to write under conditions (`If-Match`, `If-None-Match`), which is tried at the start."
    "skep.cluster.node-id-provider.s3.prefix" [] [] Kind::Text => cluster.node_ids.prefix;
        "In front of the names of all objects. Each cluster needs a bucket or a prefix of its own."
    "camunda.cluster.node-id-provider.s3.lease-duration" [] [] Kind::Time(9_000) => cluster.node_ids.lease_duration;
        "A lease is renewed every third of this time, and may be taken when it has not been renewed for this time and a fifth more. The same at all nodes."
    "camunda.cluster.node-id-provider.s3.task-id" [] [] Kind::Text => cluster.node_ids.task;
        "What the lease calls this process, for people. Default: the name of the host."
    "camunda.cluster.node-id-provider.s3.endpoint" [] [] Kind::Url => cluster.node_ids.endpoint;
        "Address of a service other than Amazon's, with buckets in its paths; `http` or `https`. Also from `AWS_ENDPOINT_URL`."
    "camunda.cluster.node-id-provider.s3.region" [] [] Kind::Text => cluster.node_ids.region;
        "Its region. Also from `AWS_REGION`."
    "camunda.cluster.node-id-provider.s3.access-key" [] [] Kind::Text => cluster.node_ids.access_key;
        "With `secret-key`: who asks. Also from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, a web identity, or the role of the container or machine."
    "camunda.cluster.node-id-provider.s3.secret-key" [] [] Kind::Secret => cluster.node_ids.secret_key;
        "See above."
    "camunda.cluster.node-id-provider.s3.api-call-timeout" [] [] Kind::Time(100) => cluster.node_ids.call_timeout;
        "How long the bucket may take to answer a request; a third of the lease's duration at most, however long this is."
    "skep.cluster.replace-lost-nodes" [] [] Kind::Flag => cluster.node_ids.replaces;
        "With `S3`: a process may take a number whose data is not in its data directory, as a new node that waits to be added to the cluster. Off: it waits until the data or another number is there."
    "camunda.cluster.cluster-id" ["zeebe.broker.cluster.clusterId"] [] Kind::Text => broker.cluster_id;
        "Id of the cluster. Empty: made at the first start and kept in the data directory."
    "camunda.cluster.size" ["zeebe.broker.cluster.clusterSize"] [] Kind::Number(1, 7) => cluster.size;
        "Number of nodes. More than one are a cluster: see [cluster.md](cluster.md)."
    "camunda.cluster.replication-factor" ["zeebe.broker.cluster.replicationFactor"] [] Kind::Number(1, 7) => cluster.replication_factor;
        "Copies of each partition, each on a node of its own; at most as many as there are nodes."
    "camunda.cluster.partition-count" ["zeebe.broker.cluster.partitionsCount"] [] Kind::Number(1, skep_cluster::MAX_PARTITIONS as u64) => broker.partitions;
        "Number of partitions. Fixed for the life of the data directory."
    "camunda.cluster.initial-contact-points" ["zeebe.broker.cluster.initialContactPoints"] [] Kind::List => cluster.contact_points;
        "Nodes of the cluster, each `host:port` of its internal API; also as a YAML list. Those that are not named are found through the others."
    "camunda.cluster.raft.election-timeout" ["zeebe.broker.cluster.electionTimeout"] [] Kind::Time(200) => cluster.election_timeout;
        "A leader that others do not hear for this time, up to twice as long, is replaced."
    "camunda.cluster.network.internal-api.host" ["zeebe.broker.network.internalApi.host"] ["camunda.cluster.network.host", "zeebe.broker.network.host"] Kind::Ip => internal.address;
        "Address that other nodes reach this one on; 0.0.0.0 opens it to other machines. It has no login: turn on TLS, or protect it by network."
    "camunda.cluster.network.internal-api.port" ["zeebe.broker.network.internalApi.port"] [] PORT => internal.port;
        "Port for other nodes. Nobody listens there when the size is 1."
    "camunda.cluster.network.internal-api.advertised-host" ["zeebe.broker.network.internalApi.advertisedHost"] [] Kind::Text => cluster.advertised_host;
        "Host that this node names to others which have not found it by a contact point. Default: the advertised host."
    "camunda.cluster.network.internal-api.advertised-port" ["zeebe.broker.network.internalApi.advertisedPort"] [] PORT => cluster.advertised_port;
        "Port that it names to them. 0: its port for other nodes."
    "camunda.cluster.network.transport-layer-security.cluster.enabled" ["zeebe.broker.network.security.enabled"] ["camunda.security.transport-layer-security.cluster.enabled"] Kind::Flag => internal_tls.enabled;
        "TLS 1.3 between nodes. Both sides show a certificate; who has none of the cluster's authority is refused."
    "camunda.cluster.network.transport-layer-security.cluster.certificate-chain-path" ["zeebe.broker.network.security.certificateChainPath"] ["camunda.security.transport-layer-security.cluster.certificate-chain-path"] Kind::Text => internal_tls.certificate_chain;
        "File with the certificate of this node, and behind it those between it and the authority; PEM. For clients and servers alike, as a node is both."
    "camunda.cluster.network.transport-layer-security.cluster.certificate-private-key-path" ["zeebe.broker.network.security.privateKeyPath"] ["camunda.security.transport-layer-security.cluster.certificate-private-key-path"] Kind::Text => internal_tls.private_key;
        "File with its private key; PEM."
    "camunda.cluster.network.transport-layer-security.cluster.key-store.file-path" ["zeebe.broker.network.security.keyStore.filePath"] ["camunda.security.transport-layer-security.cluster.key-store.file-path"] Kind::Text => internal_tls.key_store.path;
        "File with certificate and key in PKCS#12 format, instead of the two. Key stores of Java (JKS) are refused with the command that converts them."
    "camunda.cluster.network.transport-layer-security.cluster.key-store.password" ["zeebe.broker.network.security.keyStore.password"] ["camunda.security.transport-layer-security.cluster.key-store.password"] Kind::Secret => internal_tls.key_store.password;
        "What opens it."
    "skep.cluster.tls.certificate-authority-path" [] [] Kind::Text => internal_tls.authority;
        "File with the certificate of the authority that signs for the nodes of this cluster, and for nobody else: names in certificates are not looked at. Empty: what is in the file of the certificate chain, or in the key store, is trusted."
    "camunda.cluster.network.advertised-host" ["zeebe.broker.network.advertisedHost"] [] Kind::Text => broker.advertised.host;
        "Host that the topology names for this node."
    "camunda.cluster.network.command-api.advertised-port" ["zeebe.broker.network.commandApi.advertisedPort"] [] PORT => broker.advertised.port;
        "Port that the topology names for this node."

    "camunda.cluster.network.port-offset" ["zeebe.broker.network.portOffset"] [] Kind::Number(0, 6553) => port_offset;
        "Ten times this is added to every port, so that several servers run on one machine with one number changed."
    "camunda.cluster.network.max-message-size" ["zeebe.broker.network.maxMessageSize"] [] Kind::Bytes(1024, GIB) => network_message_size;
        "Bounds every request besides `camunda.api.grpc.max-message-size`; below its default it bounds deployments over REST as well."

    "camunda.data.primary-storage.directory" ["zeebe.broker.data.directory"] [] Kind::Text => broker.directory;
        "Directory of all data. One server at a time."
    "camunda.data.snapshot-period" ["zeebe.broker.data.snapshotPeriod"] [] Kind::Time(1000) => broker.snapshot_period;
        "A checkpoint is made at least this often while there is something new."
    "skep.data.snapshot-log-size" [] [] Kind::Bytes(MIB, MANY) => broker.snapshot_log_bytes;
        "A checkpoint is also made after so much log, so that recovery reads no more than about that."
    "camunda.data.primary-storage.log-stream.log-segment-size" ["zeebe.broker.data.logSegmentSize"] [] Kind::Bytes(MIB, GIB) => broker.log_segment_bytes;
        "Size of a log file."
    "camunda.data.primary-storage.rocks-db.memory-limit" ["zeebe.broker.experimental.rocksdb.memoryLimit"] [] Kind::Bytes(MIB, MANY) => broker.state_memory_bytes;
        "Memory for the state of all partitions of the node; what is cold beyond it is read back from disk on demand."
    "camunda.data.secondary-storage.type" [] [] Kind::Choice(&["embedded", "rdbms", "elasticsearch", "opensearch", "none"]) => secondary_storage;
        "Where what happened is kept so that it can be searched: in a SQLite file beside each partition, in a PostgreSQL database (rdbms), in indices of Elasticsearch or OpenSearch, or nowhere."
    "camunda.data.secondary-storage.rdbms.url" [] [] Kind::Url => rdbms.url;
        "The database of type rdbms, as `jdbc:postgresql://HOST:PORT/DATABASE` or `postgresql://…`. It need not be there when the server starts. Only PostgreSQL is supported. Encrypted as `sslmode` in it says, see docs/search.md."
    "camunda.data.secondary-storage.rdbms.username" [] [] Kind::Text => rdbms.username;
        "User of the database. Empty: that of the URL."
    "camunda.data.secondary-storage.rdbms.password" [] [] Kind::Secret => rdbms.password;
        "Password of the user. Empty: that of the URL."
    "camunda.data.secondary-storage.rdbms.prefix" [] [] Kind::Text => rdbms.prefix;
        "What the names of tables begin with, so that several clusters share a database: letters, digits and `_`, at most 20."
    "camunda.data.secondary-storage.rdbms.auto-ddl" [] [] Kind::Flag => rdbms.auto_ddl;
        "Tables are made, and get the columns that a new version needs. Without, a database that lacks them is not written."
    "camunda.data.secondary-storage.rdbms.history.default-history-ttl" [] [] Kind::Time(1000) => secondary.history_ttl;
        "How long process instances that have ended can be searched."
    "camunda.data.secondary-storage.rdbms.flush-interval" [] [] Kind::Time(1) => secondary.window;
        "What happened is collected this long before it is stored together; a search does not wait for it."
    "camunda.data.secondary-storage.elasticsearch.url" [] [] Kind::Url => elasticsearch.url;
        "The server of type elasticsearch, as `http://HOST:PORT` or `https://…`. It need not be there when Skep starts."
    "camunda.data.secondary-storage.elasticsearch.urls" [] [] Kind::List => elasticsearch.urls;
        "Several nodes of it instead; the next one is asked when one does not answer."
    "camunda.data.secondary-storage.elasticsearch.username" [] [] Kind::Text => elasticsearch.username;
        "User of the server. Empty: no login."
    "camunda.data.secondary-storage.elasticsearch.password" [] [] Kind::Secret => elasticsearch.password;
        "Password of the user."
    "camunda.data.secondary-storage.elasticsearch.security.certificate-path" [] [] Kind::Text => elasticsearch.certificates;
        "For https: a PEM file with who signs the server's certificate, or with that certificate. Without it, whom the machine trusts."
    "camunda.data.secondary-storage.elasticsearch.security.verify-hostname" [] [] Kind::Flag => elasticsearch.verify_hostname;
        "For https: the certificate must be for the name of the server."
    "camunda.data.secondary-storage.elasticsearch.index-prefix" [] [] Kind::Text => elasticsearch.index_prefix;
        "What the names of indices begin with, so that several clusters share a server: small letters, digits, `-` and `_`."
    "camunda.data.secondary-storage.elasticsearch.number-of-shards" [] [] Kind::Number(1, 1_024) => elasticsearch.number_of_shards;
        "Shards of indices that are made."
    "camunda.data.secondary-storage.elasticsearch.number-of-replicas" [] [] Kind::Number(0, 100) => elasticsearch.number_of_replicas;
        "Copies of each shard of indices that are made."
    "camunda.data.secondary-storage.opensearch.url" [] [] Kind::Url => opensearch.url;
        "The server of type opensearch, as `http://HOST:PORT` or `https://…`. It need not be there when Skep starts."
    "camunda.data.secondary-storage.opensearch.urls" [] [] Kind::List => opensearch.urls;
        "Several nodes of it instead; the next one is asked when one does not answer."
    "camunda.data.secondary-storage.opensearch.username" [] [] Kind::Text => opensearch.username;
        "User of the server. Empty: no login."
    "camunda.data.secondary-storage.opensearch.password" [] [] Kind::Secret => opensearch.password;
        "Password of the user."
    "camunda.data.secondary-storage.opensearch.security.certificate-path" [] [] Kind::Text => opensearch.certificates;
        "For https: a PEM file with who signs the server's certificate, or with that certificate. Without it, whom the machine trusts."
    "camunda.data.secondary-storage.opensearch.security.verify-hostname" [] [] Kind::Flag => opensearch.verify_hostname;
        "For https: the certificate must be for the name of the server."
    "camunda.data.secondary-storage.opensearch.index-prefix" [] [] Kind::Text => opensearch.index_prefix;
        "What the names of indices begin with, so that several clusters share a server: small letters, digits, `-` and `_`."
    "camunda.data.secondary-storage.opensearch.number-of-shards" [] [] Kind::Number(1, 1_024) => opensearch.number_of_shards;
        "Shards of indices that are made."
    "camunda.data.secondary-storage.opensearch.number-of-replicas" [] [] Kind::Number(0, 100) => opensearch.number_of_replicas;
        "Copies of each shard of indices that are made."
    "camunda.data.audit-log.enabled" [] [] Kind::Flag => secondary.audit.enabled;
        "Keep an audit log: what users and clients did."
    "camunda.data.audit-log.user.categories" [] [] CATEGORIES => secondary.audit.user.categories;
        "What the audit log tells of users."
    "camunda.data.audit-log.user.excludes" [] [] ENTITIES => secondary.audit.user.excludes;
        "Kinds of things of which it leaves out what users did to them."
    "camunda.data.audit-log.client.categories" [] [] CATEGORIES => secondary.audit.client.categories;
        "What the audit log tells of clients."
    "camunda.data.audit-log.client.excludes" [] [] ENTITIES => secondary.audit.client.excludes;
        "Kinds of things of which it leaves out what clients did to them."
    "camunda.data.audit-log.unknown.categories" [] [] CATEGORIES => secondary.audit.unknown.categories;
        "What the audit log tells of callers who did not say who they are: as long as nobody is asked, all of them."
    "camunda.data.audit-log.unknown.excludes" [] [] ENTITIES => secondary.audit.unknown.excludes;
        "Kinds of things of which it leaves out what they did to them."
    "skep.query.max-wait" [] [] Kind::Time(0) => secondary.max_wait;
        "How long a search waits at most until it sees everything that was acknowledged before it. An answer that does not says how far it is behind in the header `skep-behind-ms`."
    "skep.query.threads" [] [] Kind::Number(1, 64) => secondary.readers;
        "Threads that answer searches, for each partition; with type rdbms, elasticsearch or opensearch all partitions share them, and each has a connection."
    "camunda.document.default-store-id" ["document.default-store-id"] [] Kind::Text => default_document_store;
        "The store of documents that is meant where a request names none. Empty: the first one by name; without any, `local`."
    "camunda.document.thread-pool-size" ["document.thread-pool-size"] [] COUNT => documents_at_a_time;
        "Operations on stores of documents at a time; more wait."
    "camunda.data.export.distribution-interval" ["zeebe.broker.exporting.distributionInterval"] [] Kind::Time(10) => broker.export_interval;
        "How far the exporters of records have got is written down this often; after a crash what came later is exported again."
    "camunda.data.primary-storage.backup.store" ["camunda.data.backup.store", "zeebe.broker.data.backup.store"] [] Kind::Choice(&["none", "filesystem", "s3", "gcs", "azure"]) => backup.store;
        "Where backups go, the same on all nodes. See [backup.md](backup.md)."
    "camunda.data.primary-storage.backup.filesystem.base-path" ["camunda.data.backup.filesystem.base-path", "zeebe.broker.data.backup.filesystem.base-path"] [] Kind::Text => backup.directory;
        "With `filesystem`: a directory that all nodes have mounted."
    "camunda.data.primary-storage.backup.s3.bucket-name" ["camunda.data.backup.s3.bucket-name", "zeebe.broker.data.backup.s3.bucket-name"] [] Kind::Text => backup.s3.name;
        "With `s3`: the bucket."
    "camunda.data.primary-storage.backup.s3.base-path" ["camunda.data.backup.s3.base-path", "zeebe.broker.data.backup.s3.base-path"] [] Kind::Text => backup.s3.base_path;
        "In front of the names of all objects."
    "camunda.data.primary-storage.backup.s3.endpoint" ["camunda.data.backup.s3.endpoint", "zeebe.broker.data.backup.s3.endpoint"] [] Kind::Url => backup.s3.endpoint;
        "Address of a service other than Amazon's, with buckets in its paths; `http` or `https`. Also from `AWS_ENDPOINT_URL`."
    "camunda.data.primary-storage.backup.s3.region" ["camunda.data.backup.s3.region", "zeebe.broker.data.backup.s3.region"] [] Kind::Text => backup.s3.region;
        "Its region. Also from `AWS_REGION`."
    "camunda.data.primary-storage.backup.s3.access-key" ["camunda.data.backup.s3.access-key", "zeebe.broker.data.backup.s3.access-key"] [] Kind::Text => backup.s3.access_key;
        "With `secret-key`: who asks. Also from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, a web identity, or the role of the container or machine."
    "camunda.data.primary-storage.backup.s3.secret-key" ["camunda.data.backup.s3.secret-key", "zeebe.broker.data.backup.s3.secret-key"] [] Kind::Secret => backup.s3.secret_key;
        "See above."
    "camunda.data.primary-storage.backup.s3.api-call-timeout" ["camunda.data.backup.s3.api-call-timeout", "zeebe.broker.data.backup.s3.api-call-timeout"] [] Kind::Time(1_000) => backup.s3.call_timeout;
        "A request that fails is tried again for this long."
    "camunda.data.primary-storage.backup.s3.ssec-key" [] [] Kind::Secret => backup.s3.ssec_key;
        "Refused: this version does not encrypt objects with keys of its own."
    "camunda.data.primary-storage.backup.gcs.bucket-name" ["camunda.data.backup.gcs.bucket-name", "zeebe.broker.data.backup.gcs.bucket-name"] [] Kind::Text => backup.gcs.name;
        "With `gcs`: the bucket. Credentials come from the environment (`GOOGLE_APPLICATION_CREDENTIALS`) or the machine."
    "camunda.data.primary-storage.backup.gcs.base-path" ["camunda.data.backup.gcs.base-path", "zeebe.broker.data.backup.gcs.base-path"] [] Kind::Text => backup.gcs.base_path;
        "In front of the names of all objects."
    "camunda.data.primary-storage.backup.gcs.host" ["camunda.data.backup.gcs.host", "zeebe.broker.data.backup.gcs.host"] [] Kind::Url => backup.gcs.host;
        "Address of a service other than Google's."
    "camunda.data.primary-storage.backup.gcs.auth" ["camunda.data.backup.gcs.auth", "zeebe.broker.data.backup.gcs.auth"] [] Kind::Choice(&["auto", "none"]) => backup.gcs.auth;
        "`none`: requests carry no credentials."
    "camunda.data.primary-storage.backup.azure.base-path" ["camunda.data.backup.azure.base-path", "zeebe.broker.data.backup.azure.base-path"] [] Kind::Text => backup.azure.container;
        "With `azure`: the container."
    "camunda.data.primary-storage.backup.azure.account-name" ["camunda.data.backup.azure.account-name", "zeebe.broker.data.backup.azure.account-name"] [] Kind::Text => backup.azure.account;
        "The storage account."
    "camunda.data.primary-storage.backup.azure.account-key" ["camunda.data.backup.azure.account-key", "zeebe.broker.data.backup.azure.account-key"] [] Kind::Secret => backup.azure.key;
        "Its key. Without key and token credentials come from the environment (`AZURE_…`) or the machine."
    "camunda.data.primary-storage.backup.azure.sas-token.value" ["camunda.data.backup.azure.sas-token.value", "zeebe.broker.data.backup.azure.sas-token.value"] [] Kind::Secret => backup.azure.sas;
        "A shared access signature instead of a key."
    "camunda.data.primary-storage.backup.azure.connection-string" ["camunda.data.backup.azure.connection-string", "zeebe.broker.data.backup.azure.connection-string"] [] Kind::Secret => backup.azure.connection_string;
        "Account, key or signature, and address in one text. What is set beside it counts more."
    "camunda.data.primary-storage.backup.azure.endpoint" ["camunda.data.backup.azure.endpoint", "zeebe.broker.data.backup.azure.endpoint"] [] Kind::Url => backup.azure.endpoint;
        "Address of the account, where it is not `https://ACCOUNT.blob.core.windows.net`."
    "camunda.data.primary-storage.backup.azure.create-container" ["camunda.data.backup.azure.create-container", "zeebe.broker.data.backup.azure.create-container"] [] Kind::Flag => backup.azure.create;
        "Make the container with the first object if it is missing."
    "camunda.data.primary-storage.backup.continuous" ["zeebe.broker.experimental.continuousBackups"] [] Kind::Flag => backup.continuous;
        "Ship the log to the store all the time, so that moments between backups can be restored. Backups that can be continued are taken without being asked for."
    "camunda.data.primary-storage.backup.required" [] [] Kind::Flag => backup.required;
        "Refused when `true`: work goes on while the log cannot be shipped."
    "camunda.data.primary-storage.backup.schedule" [] [] Kind::Text => backup.schedule;
        "When backups are taken without being asked for: a time span such as `PT1H` after the one before, or a cron text of six fields (the first: seconds), in UTC, such as `0 0 3 * * *`. Default: `none`."
    "camunda.data.primary-storage.backup.offset" [] [] Kind::Number(0, MANY) => backup.offset;
        "Added to the ids that are made from the time (milliseconds since 1970)."
    "camunda.data.primary-storage.backup.checkpoint-interval" [] [] Kind::Time(0) => backup.checkpoint_interval;
        "Between two moments that can be restored, with `continuous`: 1 s or more. 0: 10 s."
    "camunda.data.primary-storage.backup.retention.window" [] [] Kind::Time(0) => backup.retention_window;
        "A backup is deleted once its moment is so long ago, except for the newest complete one. With `continuous`, every moment within the window can be restored: the newest backup of before it stays. 0: never."
    "skep.backup.max-rate" [] [] Kind::Bytes(1 << 10, MANY) => backup.max_rate;
        "Bytes a second that a node reads and sends for a backup: work comes first. Skep's own."
    "camunda.data.primary-storage.disk.monitoring-enabled" ["zeebe.broker.data.disk.enableMonitoring"] [] Kind::Flag => broker.disk.monitoring_enabled;
        "Watch the free space of the data directory."
    "camunda.data.primary-storage.disk.monitoring-interval" ["zeebe.broker.data.disk.monitoringInterval"] [] Kind::Time(10) => broker.disk.monitoring_interval;
        "How often the free space is looked at."
    "camunda.data.primary-storage.disk.free-space.processing" ["zeebe.broker.data.disk.freeSpace.processing"] [] Kind::Bytes(0, MANY) => broker.disk.processing;
        "With less free space new work is refused; jobs can still be completed."
    "camunda.data.primary-storage.disk.free-space.replication" ["zeebe.broker.data.disk.freeSpace.replication"] [] Kind::Bytes(0, MANY) => broker.disk.replication;
        "With less free space the node takes no entries of other leaders, as long as these are a majority without it. Less than the one above."

    "camunda.processing.scheduled-tasks-check-interval" ["zeebe.broker.processing.scheduledTaskCheckInterval"] [] Kind::Time(10) => broker.check_interval;
        "How often job time-outs and message expiry are looked after. Timers are exact."
    "camunda.processing.engine.distribution.redistribution-interval" ["zeebe.broker.experimental.engine.distribution.redistributionInterval"] [] Kind::Time(10) => broker.retry_interval;
        "How often what other partitions did not acknowledge is sent again."
    "camunda.processing.engine.max-process-depth" ["zeebe.broker.experimental.engine.maxProcessDepth"] [] COUNT => broker.engine.max_process_depth;
        "Nesting of called processes at which an incident is raised."
    "skep.engine.max-element-instances" [] [] Kind::Number(100, 100_000_000) => broker.engine.max_element_instances;
        "Element instances of one process instance that have not ended, at which an incident is raised."
    "camunda.expression.timeout" ["zeebe.broker.experimental.engine.expression.timeout"] [] Kind::Time(1) => broker.engine.expression_timeout;
        "What one evaluation of an expression may take, in steps that stand for time. Others of the partition wait meanwhile."

    "camunda.processing.flow-control.request.enabled" ["zeebe.broker.flowControl.request.enabled", "zeebe.broker.backpressure.enabled"] [] Kind::Flag => broker.flow_control.enabled;
        "Bound the commands that a partition works on at a time (back-pressure)."
    "camunda.processing.flow-control.request.windowed" ["zeebe.broker.flowControl.request.useWindowed", "zeebe.broker.backpressure.useWindowed"] [] Kind::Flag => broker.flow_control.windowed;
        "Judge by windows of answers, not by each answer."
    "camunda.processing.flow-control.request.algorithm" ["zeebe.broker.flowControl.request.algorithm", "zeebe.broker.backpressure.algorithm"] [] ALGORITHMS => broker.flow_control.algorithm;
        "How the bound adapts."
    "camunda.processing.flow-control.request.aimd.request-timeout" ["zeebe.broker.flowControl.request.aimd.requestTimeout", "zeebe.broker.backpressure.aimd.requestTimeout"] [] Kind::Time(1) => broker.flow_control.aimd.request_timeout;
        "A slower answer makes the bound shrink."
    "camunda.processing.flow-control.request.aimd.initial-limit" ["zeebe.broker.flowControl.request.aimd.initialLimit", "zeebe.broker.backpressure.aimd.initialLimit"] [] COUNT => broker.flow_control.aimd.initial_limit;
        "Commands at a time, at first."
    "camunda.processing.flow-control.request.aimd.min-limit" ["zeebe.broker.flowControl.request.aimd.minLimit", "zeebe.broker.backpressure.aimd.minLimit"] [] COUNT => broker.flow_control.aimd.min_limit;
        "At least so many."
    "camunda.processing.flow-control.request.aimd.max-limit" ["zeebe.broker.flowControl.request.aimd.maxLimit", "zeebe.broker.backpressure.aimd.maxLimit"] [] COUNT => broker.flow_control.aimd.max_limit;
        "At most so many."
    "camunda.processing.flow-control.request.aimd.backoff-ratio" ["zeebe.broker.flowControl.request.aimd.backoffRatio", "zeebe.broker.backpressure.aimd.backoffRatio"] [] Kind::Real(0.5, 0.999) => broker.flow_control.aimd.backoff_ratio;
        "The bound is multiplied with this when it shrinks."
    "camunda.processing.flow-control.request.fixed.limit" ["zeebe.broker.flowControl.request.fixed.limit", "zeebe.broker.backpressure.fixed.limit"] [] COUNT => broker.flow_control.fixed.limit;
        "Commands at a time."
    "camunda.processing.flow-control.request.vegas.alpha" ["zeebe.broker.flowControl.request.vegas.alpha", "zeebe.broker.backpressure.vegas.alpha"] [] COUNT => broker.flow_control.vegas.alpha;
        "A shorter queue makes the bound grow."
    "camunda.processing.flow-control.request.vegas.beta" ["zeebe.broker.flowControl.request.vegas.beta", "zeebe.broker.backpressure.vegas.beta"] [] COUNT => broker.flow_control.vegas.beta;
        "A longer queue makes it shrink."
    "camunda.processing.flow-control.request.vegas.initial-limit" ["zeebe.broker.flowControl.request.vegas.initialLimit", "zeebe.broker.backpressure.vegas.initialLimit"] [] COUNT => broker.flow_control.vegas.initial_limit;
        "Commands at a time, at first."
    "camunda.processing.flow-control.request.gradient.min-limit" ["zeebe.broker.flowControl.request.gradient.minLimit", "zeebe.broker.backpressure.gradient.minLimit"] [] COUNT => broker.flow_control.gradient.min_limit;
        "At least so many."
    "camunda.processing.flow-control.request.gradient.initial-limit" ["zeebe.broker.flowControl.request.gradient.initialLimit", "zeebe.broker.backpressure.gradient.initialLimit"] [] COUNT => broker.flow_control.gradient.initial_limit;
        "Commands at a time, at first."
    "camunda.processing.flow-control.request.gradient.rtt-tolerance" ["zeebe.broker.flowControl.request.gradient.rttTolerance", "zeebe.broker.backpressure.gradient.rttTolerance"] [] Kind::Real(1.0, 100.0) => broker.flow_control.gradient.rtt_tolerance;
        "How much slower than usual answers may get."
    "camunda.processing.flow-control.request.gradient2.min-limit" ["zeebe.broker.flowControl.request.gradient2.minLimit", "zeebe.broker.backpressure.gradient2.minLimit"] [] COUNT => broker.flow_control.gradient2.min_limit;
        "At least so many."
    "camunda.processing.flow-control.request.gradient2.initial-limit" ["zeebe.broker.flowControl.request.gradient2.initialLimit", "zeebe.broker.backpressure.gradient2.initialLimit"] [] COUNT => broker.flow_control.gradient2.initial_limit;
        "Commands at a time, at first."
    "camunda.processing.flow-control.request.gradient2.rtt-tolerance" ["zeebe.broker.flowControl.request.gradient2.rttTolerance", "zeebe.broker.backpressure.gradient2.rttTolerance"] [] Kind::Real(1.0, 100.0) => broker.flow_control.gradient2.rtt_tolerance;
        "How much slower than usual answers may get."
    "camunda.processing.flow-control.request.gradient2.long-window" ["zeebe.broker.flowControl.request.gradient2.longWindow", "zeebe.broker.backpressure.gradient2.longWindow"] [] COUNT => broker.flow_control.gradient2.long_window;
        "Answers that make up what is usual."
    "camunda.processing.flow-control.request.legacy-vegas.initial-limit" ["zeebe.broker.flowControl.request.legacyVegas.initialLimit", "zeebe.broker.backpressure.legacyVegas.initialLimit"] [] COUNT => broker.flow_control.legacy_vegas.initial_limit;
        "Commands at a time, at first."
    "camunda.processing.flow-control.request.legacy-vegas.max-concurrency" ["zeebe.broker.flowControl.request.legacyVegas.maxConcurrency", "zeebe.broker.backpressure.legacyVegas.maxConcurrency"] [] COUNT => broker.flow_control.legacy_vegas.max_concurrency;
        "At most so many."
    "camunda.processing.flow-control.request.legacy-vegas.alpha-limit" ["zeebe.broker.flowControl.request.legacyVegas.alphaLimit", "zeebe.broker.backpressure.legacyVegas.alphaLimit"] [] Kind::Real(0.0, 1.0) => broker.flow_control.legacy_vegas.alpha_limit;
        "A shorter queue, as a share of the bound, makes it grow."
    "camunda.processing.flow-control.request.legacy-vegas.beta-limit" ["zeebe.broker.flowControl.request.legacyVegas.betaLimit", "zeebe.broker.backpressure.legacyVegas.betaLimit"] [] Kind::Real(0.0, 1.0) => broker.flow_control.legacy_vegas.beta_limit;
        "A longer queue makes it shrink."

    "skep.tenants.in-flight-share" [] [] Kind::Real(0.01, 1.0) => broker.flow_control.tenant_share;
        "Of a partition's limit of requests under way, so much is at most for one tenant, and one request always; beyond it, the tenant gets RESOURCE_EXHAUSTED, and others do not. Requests that name a tenant are counted, and those about a key of callers who are assigned to one tenant. 1: a tenant may take all of it. Below that, `camunda.security.multi-tenancy.checks-enabled` has to be on."
    "camunda.processing.flow-control.write.enabled" ["zeebe.broker.flowControl.write.enabled"] [] Kind::Flag => broker.write_limit.enabled;
        "Bound the records that a partition writes in a second."
    "camunda.processing.flow-control.write.limit" ["zeebe.broker.flowControl.write.limit"] [] Kind::Number(0, 100_000_000) => broker.write_limit.limit;
        "So many records in a second; 0 is no bound. What finishes work is written at any rate."
    "camunda.processing.flow-control.write.ramp-up" ["zeebe.broker.flowControl.write.rampUp"] [] Kind::Time(0) => broker.write_limit.ramp_up;
        "After a start the bound is reached step by step within this time."
    "camunda.processing.flow-control.write.throttle.enabled" ["zeebe.broker.flowControl.write.throttling.enabled"] [] Kind::Flag => broker.write_limit.throttle.enabled;
        "Write less while exporters lag. Whatever is set here: an exporter for which the log is kept slows writing down when the free space of the disk comes near to `free-space.processing`."
    "camunda.processing.flow-control.write.throttle.acceptable-backlog" ["zeebe.broker.flowControl.write.throttling.acceptableBacklog"] [] Kind::Number(1, MANY) => broker.write_limit.throttle.acceptable_backlog;
        "Records that may wait for an exporter before less is written."
    "camunda.processing.flow-control.write.throttle.minimum-limit" ["zeebe.broker.flowControl.write.throttling.minimumLimit"] [] Kind::Number(1, 100_000_000) => broker.write_limit.throttle.minimum_limit;
        "Records in a second that may be written at any backlog."
    "camunda.processing.flow-control.write.throttle.resolution" ["zeebe.broker.flowControl.write.throttling.resolution"] [] Kind::Time(100) => broker.write_limit.throttle.resolution;
        "The rate of exporting is measured over this time."

    "camunda.api.grpc.max-message-size" ["zeebe.broker.gateway.network.maxMessageSize"] [] Kind::Bytes(1024, GIB) => gateway.max_message_size;
        "Largest request of REST and gRPC."
    "camunda.api.grpc.min-keep-alive-interval" ["zeebe.broker.gateway.network.minKeepAliveInterval"] [] Kind::Time(0) => min_ping_interval;
        "A gRPC client that pings more often is sent away (`ENHANCE_YOUR_CALM`, `too_many_pings`) at the third such ping in a row without an answer in between. 0 lets all pass."
    "camunda.api.grpc.max-connection-age" [] [] Kind::Time(0) => gateway.lifetime.grpc;
        "A gRPC connection that is so old, give or take a tenth, is told to end (GOAWAY): what is under way is finished, job streams end, and the client makes another one, which a load balancer may give to another gateway. 0: never."
    "spring.servlet.multipart.max-request-size" [] [] Kind::Bytes(1024, GIB) => gateway.multipart.max_size;
        "Largest deployment over REST."
    "spring.servlet.multipart.max-file-size" [] [] Kind::Bytes(1024, GIB) => max_file_size;
        "Largest file of a deployment over REST; bounds the whole deployment as well."
    "server.tomcat.max-part-count" [] [] COUNT => gateway.multipart.max_parts;
        "Files of one deployment over REST."
    "camunda.api.long-polling.enabled" ["zeebe.broker.gateway.longPolling.enabled"] [] Kind::Flag => gateway.long_polling.enabled;
        "Job activations wait for a job. Off: they answer at once."
    "camunda.api.long-polling.timeout" ["zeebe.broker.gateway.longPolling.timeout"] [] Kind::Time(1) => gateway.long_polling.timeout;
        "How long they wait when the client names no time. A plain number is milliseconds."
    "camunda.api.long-polling.probe-timeout" ["zeebe.broker.gateway.longPolling.probeTimeout"] [] Kind::Time(1) => broker.probe_interval;
        "How often a waiting activation looks for jobs by itself; it is woken by new jobs anyway. A plain number is milliseconds."
    "camunda.api.rest.executor.max-pool-size-multiplier" [] ["camunda.rest.api-executor.max-pool-size-multiplier"] Kind::Number(1, 10_000) => gateway.executor.max_pool_size_multiplier;
        "Workers of each gateway, times the available processors."
    "camunda.api.rest.executor.queue-capacity" [] ["camunda.rest.api-executor.queue-capacity"] Kind::Number(0, 1_000_000) => gateway.executor.queue_capacity;
        "Requests that may wait for a worker under the policy `abort`."
    "skep.api.executor.requests-per-worker" [] [] Kind::Number(1, 100_000) => gateway.executor.requests_per_worker;
        "Requests that one worker carries while they wait for their commit."
    "skep.api.executor.policy" [] [] Kind::Choice(&["caller-runs", "abort"]) => gateway.executor.policy;
        "At the limit of the workers a request waits and its connection with it (`caller-runs`), or gets 503 (`abort`)."
    "skep.api.version" [] [] Kind::Release => gateway.api_version;
        "The release whose API is spoken, as the topology tells it to clients that choose by it what they ask for, and `brokerVersion` of exported records and the names of their indices. Skep's own version is `skepVersion` there, and in `/actuator/info`."
    "skep.api.request-timeout" ["zeebe.broker.gateway.cluster.requestTimeout"] [] Kind::Time(1) => gateway.request_timeout;
        "How long a request waits for its answer when the client names no time."
    "skep.api.body-timeout" [] [] Kind::Time(1) => gateway.body_timeout;
        "How long the body of a request may take to arrive."
    "skep.api.max-buffered-size" [] [] Kind::Bytes(MIB, MANY) => gateway.max_buffered_bytes;
        "Request bodies above 16 KB, as far as they have arrived, that one gateway holds at a time; at the bound it reads no further."
    "skep.api.max-connections" [] ["server.tomcat.max-connections"] COUNT => gateway.max_connections;
        "Connections of one gateway; further ones wait until one ends, and idle ones then end after `skep.api.head-timeout`."
    "skep.api.head-timeout" [] ["server.tomcat.connection-timeout"] Kind::Time(10) => gateway.head_timeout;
        "How long the head of a request, or an HTTP/2 frame, may take to arrive, and a new connection to begin."
    "skep.api.idle-timeout" [] ["server.tomcat.keep-alive-timeout"] Kind::Time(10) => gateway.lifetime.idle;
        "A connection without requests is closed after this time; HTTP/2 clients are told so (GOAWAY)."
    "skep.api.max-connection-age" [] [] Kind::Time(0) => gateway.lifetime.rest;
        "The same for REST; over HTTP/1.1 the next answer says `Connection: close`. 0: never."
    "skep.api.job-stream-credit" [] [] Kind::Number(1, 100_000) => gateway.job_stream_credit;
        "Jobs on their way to one job stream and not yet taken by its connection."
    "skep.api.stream-keep-alive" [] [] Kind::Time(100) => gateway.stream_keep_alive;
        "After this time of silence a job stream gets a blank line (REST) or a ping (gRPC)."
    "skep.ui.base-path" [] [] Kind::UrlPath => ui_base_path;
        "Path under which a proxy offers this server to browsers, and which it takes off again before a request arrives here. `/`: none. See [web-interface.md](web-interface.md)."
    "skep.shutdown-grace" [] [] Kind::Time(0) => gateway.shutdown_grace;
        "Time for requests under way when the server stops."

    "camunda.system.clock-controlled" ["zeebe.clock.controlled"] [] Kind::Flag => clock_controlled;
        "The clock may be moved through `/actuator/clock`. For tests."
    "skep.runtime.worker-threads" [] ["camunda.system.io-thread-count"] Kind::Number(1, 1024) => worker_threads;
        "Threads of the gateways. Default: the available processors."
    "skep.log.level" [] ["logging.level.root", "camunda.log.level", "zeebe.log.level", "rust.log"] Kind::Levels => log_level;
        "What is logged. `/actuator/loggers` changes it while the server runs."
    "skep.log.format" [] [] Kind::Choice(&["text", "json"]) => log_format;
        "How log lines on standard error look."
    "skep.tracing.otlp-endpoint" [] ["otel.exporter.otlp.endpoint"] Kind::Text => trace.endpoint;
        "OTLP/HTTP collector that gets a span per request, for example `http://localhost:4318`. Empty: none."
    "skep.tracing.sampling-ratio" [] ["otel.traces.sampler.arg"] Kind::Real(0.0, 1.0) => trace.ratio;
        "Share of the requests that get a span."
}
