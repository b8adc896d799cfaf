{{/* What is refused, each with its reason; and what has no effect, for the notes. */}}

{{- define "skep.refuse" -}}
{{- fail (printf "\n\nskep: %s\n" .) -}}
{{- end -}}

{{- define "skep.checks" -}}
{{- $o := .Values.orchestration -}}
{{- $other := dict
  "identity" "Skep keeps users and permissions itself (orchestration.security); there is no other service for them"
  "webModeler" "the modeler is another product: install it by its own chart, and let it deploy to this release's service"
  "console" "Console manages Camunda clusters and knows nothing of Skep"
  "optimize" "this chart does not bring it, and nobody has tried it with the records that Skep exports; the web interface has statistics of processes, decisions and jobs"
  "connectors" "install the connectors by their own chart or deployment, with the address of this release's service; Skep is a server for them like any other"
  "elasticsearch" "this chart brings no search server: name one of your own in global.elasticsearch, or leave it out, as Skep searches in its own files"
  "identityKeycloak" "this chart brings no Keycloak"
  "identityPostgresql" "this chart brings no database"
  "webModelerPostgresql" "this chart brings no database" -}}
{{- range $name, $why := $other -}}
{{- if (index $.Values $name | default dict).enabled -}}
{{- include "skep.refuse" (printf "%s.enabled is true: %s. Set it to false" $name $why) -}}
{{- end -}}
{{- end -}}

{{- if not $o.enabled -}}{{- include "skep.refuse" "orchestration.enabled is false: then there is nothing to install" -}}{{- end -}}
{{- $size := include "skep.size" . | int -}}
{{- $copies := $o.replicationFactor | int -}}
{{- $partitions := $o.partitionCount | int -}}
{{- if or (lt $size 1) (gt $size 7) -}}{{- include "skep.refuse" (printf "orchestration.clusterSize is %d: a cluster has 1 to 7 nodes" $size) -}}{{- end -}}
{{- if or (lt $copies 1) (gt $copies $size) -}}
{{- include "skep.refuse" (printf "orchestration.replicationFactor is %d and orchestration.clusterSize is %d: copies of a partition are on different nodes, so that there are 1 to %d" $copies $size $size) -}}
{{- end -}}
{{- if or (lt $partitions 1) (gt $partitions 1024) -}}{{- include "skep.refuse" (printf "orchestration.partitionCount is %d: there are 1 to 1024" $partitions) -}}{{- end -}}
{{- if not (has $o.persistenceType (list "disk" "local" "memory")) -}}
{{- include "skep.refuse" (printf "orchestration.persistenceType is '%s': it is disk, local or memory" $o.persistenceType) -}}
{{- end -}}

{{- if $o.backup -}}
{{- include "skep.refuse" "orchestration.backup is set: backups are set up at orchestration.data.primaryStorage.backup, with the names below camunda.data.primary-storage.backup (docs/backup.md)" -}}
{{- end -}}
{{- $backup := include "skep.backup" . | fromYaml -}}
{{- range $kind, $keys := dict "s3" (list "accessKey" "secretKey" "ssecKey") "azure" (list "accountKey" "connectionString" "sasToken") -}}
{{- range $given, $_ := index $backup $kind | default dict -}}
{{- if has (camelcase (kebabcase $given | replace "-" "_") | untitle) $keys -}}
{{- include "skep.refuse" (printf "orchestration.data.primaryStorage.backup.%s.%s is a secret, and would stand in a ConfigMap: give it by orchestration.env, as CAMUNDA_DATA_PRIMARYSTORAGE_BACKUP_%s_%s with a secretKeyRef" $kind $given (upper $kind) (kebabcase $given | replace "-" "" | upper)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- $storage := include "skep.storage" . -}}
{{- if not (has $storage (list "embedded" "rdbms" "elasticsearch" "opensearch" "none")) -}}
{{- include "skep.refuse" (printf "orchestration.data.secondaryStorage.type is '%s': it is embedded, rdbms, elasticsearch, opensearch or none" $storage) -}}
{{- end -}}
{{- if eq $storage "rdbms" -}}
{{- if not (regexMatch "^(jdbc:)?postgresql://" $o.data.secondaryStorage.rdbms.url) -}}
{{- include "skep.refuse" "orchestration.data.secondaryStorage.rdbms.url is to be jdbc:postgresql://HOST:PORT/DATABASE: PostgreSQL is the database that is supported" -}}
{{- end -}}
{{- end -}}
{{- if has $storage (list "elasticsearch" "opensearch") -}}
{{- $server := include "skep.searchServer" . | fromYaml -}}
{{- if not (or (and (kindIs "string" $server.url) $server.url) (and (kindIs "map" $server.url) $server.url.host)) -}}
{{- include "skep.refuse" (printf "global.%s.url.host is not set: this chart brings no search server, so that it has to be named" $storage) -}}
{{- end -}}
{{- if hasSuffix ".jks" (($server.tls | default dict).existingSecretKey | default "") -}}
{{- include "skep.refuse" (printf "global.%s.tls.existingSecretKey names a key store of Java: put the certificate into the Secret in PEM format (ca.crt)" $storage) -}}
{{- end -}}
{{- if ($server.aws | default dict).enabled -}}
{{- include "skep.refuse" (printf "global.%s.aws.enabled is true: requests are not signed for AWS. Use a user and a password" $storage) -}}
{{- end -}}
{{- end -}}

{{- $tls := .Values.global.tls.orchestration -}}
{{- if and $tls.enabled (not $tls.existingSecret) -}}
{{- include "skep.refuse" "global.tls.orchestration.enabled is true, but existingSecret beside it is empty: name a Secret with tls.crt, tls.key and ca.crt" -}}
{{- end -}}
{{- if and .Values.global.ingress.tls.enabled (not (and .Values.global.ingress.host .Values.global.ingress.tls.secretName)) -}}
{{- include "skep.refuse" "global.ingress.tls.enabled is true: then host and tls.secretName are needed" -}}
{{- end -}}
{{- if $o.gateway.enabled -}}
{{- if gt ($o.gateway.replicas | int) 32 -}}{{- include "skep.refuse" "orchestration.gateway.replicas is more than 32, the most that a cluster lets in" -}}{{- end -}}
{{- end -}}
{{- range $o.extraConfiguration -}}
{{- if or (not .file) (contains "/" .file) (eq .file "application.yaml") -}}
{{- include "skep.refuse" (printf "orchestration.extraConfiguration: '%s' is no name for a file beside application.yaml" (.file | default "")) -}}
{{- end -}}
{{- end -}}
{{- include "skep.changes" . -}}
{{- end -}}

{{/* Against what is there (nothing, where no cluster is asked: helm template). */}}
{{- define "skep.changes" -}}
{{- $there := lookup "v1" "ConfigMap" .Release.Namespace (printf "%s-cluster" (include "skep.fullname" .)) -}}
{{- if $there -}}
{{- $was := index (index $there.data "cluster.yaml" | fromYaml) "camunda.cluster" -}}
{{- if and (eq (index $was "size" | int) 1) (gt (include "skep.size" . | int) 1) -}}
{{- include "skep.refuse" (printf "orchestration.clusterSize is %s, and the release is a node alone: it would have to start again before others can come, and Kubernetes would wait for these first. Install with two nodes or more, and move (docs/how-to/move-from-camunda.md)" (include "skep.size" .)) -}}
{{- end -}}
{{- if and (($.Values.orchestration.upgrade | default dict).prepare) (ne (index $was "size" | int) (include "skep.size" . | int)) -}}
{{- include "skep.refuse" (printf "orchestration.upgrade.prepare is true, and orchestration.clusterSize changes from %v to %s: change the number of nodes in an upgrade of its own" (index $was "size") (include "skep.size" .)) -}}
{{- end -}}
{{- if and (gt (index $was "size" | int) 1) (eq (include "skep.size" . | int) 1) -}}
{{- include "skep.refuse" "orchestration.clusterSize is 1, and the cluster has more nodes: one that is left cannot become a node alone in this version. The least is 2" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Names of values that were given and change nothing. */}}
{{- define "skep.withoutEffect" -}}
{{- $o := .Values.orchestration -}}
{{- $names := list -}}
{{- $known := list "enabled" "clusterSize" "replicationFactor" "partitionCount" "image" "configuration" "extraConfiguration" "env" "envFrom" "command" "logLevel" "contextPath" "resources" "persistenceType" "pvcSize" "pvcAccessModes" "pvcStorageClassName" "pvcAnnotations" "pvcSelector" "extraVolumes" "extraVolumeMounts" "extraVolumeClaimTemplates" "initContainers" "sidecars" "podLabels" "podAnnotations" "podDisruptionBudget" "podSecurityContext" "containerSecurityContext" "startupProbe" "readinessProbe" "livenessProbe" "minReadySeconds" "terminationGracePeriodSeconds" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "serviceAccount" "service" "ingress" "connectionAge" "gateway" "security" "multitenancy" "data" "index" "history" "upgrade" "backup" -}}
{{- range $name, $value := $o -}}{{- if not (has $name $known) -}}{{- $names = append $names (printf "orchestration.%s" $name) -}}{{- end -}}{{- end -}}
{{- range $name, $value := $o.history -}}{{- if ne $name "retention" -}}{{- $names = append $names (printf "orchestration.history.%s" $name) -}}{{- end -}}{{- end -}}
{{- if and $o.history.retention.enabled (ne (include "skep.storage" .) "rdbms") -}}{{- $names = append $names "orchestration.history.retention (only with rdbms)" -}}{{- end -}}
{{- range $name := list "commandPort" "commandName" -}}{{- if hasKey $o.service $name -}}{{- $names = append $names (printf "orchestration.service.%s" $name) -}}{{- end -}}{{- end -}}
{{- $known = list "labels" "annotations" "nodeSelector" "image" "ingress" "elasticsearch" "opensearch" "security" "tls" -}}
{{- range $name, $value := .Values.global -}}{{- if not (has $name $known) -}}{{- $names = append $names (printf "global.%s" $name) -}}{{- end -}}{{- end -}}
{{- if regexMatch "(^|/)camunda/" $o.image.repository -}}{{- $names = append $names "orchestration.image.repository (Camunda's image)" -}}{{- end -}}
{{- if regexMatch "^8\\." (printf "%v" ($o.image.tag | default .Values.global.image.tag)) -}}{{- $names = append $names "image.tag (a version of Camunda's image)" -}}{{- end -}}
{{- $known = list "nameOverride" "fullnameOverride" "global" "orchestration" "prometheusServiceMonitor" -}}
{{- range $name, $value := .Values -}}
{{- if not (has $name $known) -}}
{{- if not (and (kindIs "map" $value) (hasKey $value "enabled")) -}}{{- $names = append $names $name -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $names -}}
{{- end -}}
