{{/* From values to settings of the server (docs/configuration.md). */}}

{{/* Where what happened can be searched. */}}
{{- define "skep.storage" -}}
{{- $asked := .Values.orchestration.data.secondaryStorage.type -}}
{{- if $asked -}}{{ $asked }}
{{- else if .Values.global.opensearch.enabled -}}opensearch
{{- else if .Values.global.elasticsearch.enabled -}}elasticsearch
{{- else -}}embedded
{{- end -}}
{{- end -}}

{{/* global.elasticsearch or global.opensearch, with what orchestration.data.secondaryStorage says of it on top. */}}
{{- define "skep.searchServer" -}}
{{- $kind := include "skep.storage" . -}}
{{- $own := index .Values.orchestration.data.secondaryStorage $kind | default dict -}}
{{- mergeOverwrite (deepCopy (index .Values.global $kind)) (deepCopy $own) | toYaml -}}
{{- end -}}

{{- define "skep.searchUrl" -}}
{{- if kindIs "string" .url -}}{{ .url }}
{{- else -}}{{ .url.protocol | default "http" }}://{{ .url.host }}:{{ .url.port | default 9200 }}
{{- end -}}
{{- end -}}

{{/* The older form has the secret beside the user's name. */}}
{{- define "skep.searchSecret" -}}
{{- $auth := .auth | default dict -}}
{{- if $auth.secret -}}{{ toYaml $auth.secret }}
{{- else -}}{{ toYaml (dict "inlineSecret" ($auth.password | default "") "existingSecret" ($auth.existingSecret | default "") "existingSecretKey" ($auth.existingSecretKey | default "")) }}
{{- end -}}
{{- end -}}

{{/* A variable out of a secret; the argument is (context, variable, secret as in the values, key of the chart's own Secret). */}}
{{- define "skep.secretVariable" -}}
{{- $root := index . 0 -}}{{- $secret := index . 2 | default dict -}}
{{- if $secret.existingSecret }}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret.existingSecret }}
      key: {{ $secret.existingSecretKey | default "password" }}
{{- else if $secret.inlineSecret }}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ include "skep.fullname" $root }}
      key: {{ index . 3 }}
{{- end }}
{{- end -}}

{{/* What stands in the chart's own Secret: secrets that were given in the values. */}}
{{- define "skep.inlineSecrets" -}}
{{- $storage := include "skep.storage" . -}}
{{- if eq $storage "rdbms" -}}
{{- with (.Values.orchestration.data.secondaryStorage.rdbms.secret | default dict).inlineSecret }}
database-password: {{ . | b64enc | quote }}
{{- end }}
{{- end }}
{{- if has $storage (list "elasticsearch" "opensearch") -}}
{{- with (include "skep.searchServer" . | fromYaml | include "skep.searchSecret" | fromYaml).inlineSecret }}
search-password: {{ . | b64enc | quote }}
{{- end }}
{{- end }}
{{- range $n, $user := (.Values.orchestration.security.initialization | default dict).users }}
{{- with ($user.secret | default dict).inlineSecret | default $user.password }}
user-{{ $n }}-password: {{ . | b64enc | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Variables of brokers and gateways alike. */}}
{{- define "skep.variables" -}}
{{- $storage := include "skep.storage" . -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: SKEP_CLUSTER_NODEIDFROMHOSTNAME
  value: "true"
{{- if eq $storage "rdbms" }}
{{- include "skep.secretVariable" (list . "CAMUNDA_DATA_SECONDARYSTORAGE_RDBMS_PASSWORD" .Values.orchestration.data.secondaryStorage.rdbms.secret "database-password") }}
{{- end }}
{{- if has $storage (list "elasticsearch" "opensearch") }}
{{- $secret := include "skep.searchServer" . | fromYaml | include "skep.searchSecret" | fromYaml }}
{{- include "skep.secretVariable" (list . (printf "CAMUNDA_DATA_SECONDARYSTORAGE_%s_PASSWORD" (upper $storage)) $secret "search-password") }}
{{- end }}
{{- range $n, $user := (.Values.orchestration.security.initialization | default dict).users }}
{{- $secret := $user.secret | default dict }}
{{- if $user.password }}{{ $secret = dict "inlineSecret" $user.password }}{{ end }}
{{- include "skep.secretVariable" (list $ (printf "CAMUNDA_SECURITY_INITIALIZATION_USERS_%d_PASSWORD" $n) $secret (printf "user-%d-password" $n)) }}
{{- end }}
{{- with .Values.orchestration.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Settings below camunda.data.primary-storage.backup, as the values name them. */}}
{{- define "skep.backup" -}}
{{- $o := .Values.orchestration -}}
{{- with ($o.data.primaryStorage | default dict).backup | default $o.data.backup }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/* application.yaml, as the chart makes it. */}}
{{- define "skep.application" -}}
{{- $o := .Values.orchestration -}}
{{- $storage := include "skep.storage" . -}}
server:
  address: 0.0.0.0
  port: {{ $o.service.httpPort }}
management.server:
  address: 0.0.0.0
  port: {{ $o.service.managementPort }}
skep.log:
  level: {{ $o.logLevel | lower }}
  format: json
{{- if ne $o.contextPath "/" }}
skep.ui.base-path: {{ $o.contextPath }}
{{- end }}
{{- with $o.connectionAge }}
skep.api.max-connection-age: {{ . }}
{{- end }}
camunda:
  api.grpc:
    address: 0.0.0.0
    port: {{ $o.service.grpcPort }}
    {{- with $o.connectionAge }}
    max-connection-age: {{ . }}
    {{- end }}
  data:
    primary-storage.directory: /data
    {{- with $o.data.snapshotPeriod }}
    snapshot-period: {{ . }}
    {{- end }}
    {{- with $o.data.disk.freeSpace.processing }}
    primary-storage.disk.free-space.processing: {{ . }}
    {{- end }}
    {{- with $o.data.disk.freeSpace.replication }}
    primary-storage.disk.free-space.replication: {{ . }}
    {{- end }}
    {{- with include "skep.backup" . | fromYaml }}
    primary-storage.backup:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    secondary-storage:
      type: {{ $storage }}
      {{- if eq $storage "rdbms" }}
      {{- $rdbms := $o.data.secondaryStorage.rdbms }}
      rdbms:
        url: {{ $rdbms.url | quote }}
        {{- with $rdbms.username }}
        username: {{ . | quote }}
        {{- end }}
        {{- with $o.index.prefix }}
        prefix: {{ . | quote }}
        {{- end }}
        {{- if $o.history.retention.enabled }}
        {{- with $o.history.retention.minimumAge }}
        history.default-history-ttl: {{ . | quote }}
        {{- end }}
        {{- end }}
      {{- else if has $storage (list "elasticsearch" "opensearch") }}
      {{- $server := include "skep.searchServer" . | fromYaml }}
      {{ $storage }}:
        url: {{ include "skep.searchUrl" $server | quote }}
        {{- with ($server.auth | default dict).username }}
        username: {{ . | quote }}
        {{- end }}
        {{- with $o.index.prefix }}
        index-prefix: {{ . | quote }}
        {{- end }}
        {{- with $o.index.shards }}
        number-of-shards: {{ . }}
        {{- end }}
        {{- with $o.index.replicas }}
        number-of-replicas: {{ . }}
        {{- end }}
        {{- if ($server.tls | default dict).existingSecret }}
        security.certificate-path: /etc/skep/search-tls/{{ $server.tls.existingSecretKey | default "ca.crt" }}
        {{- end }}
      {{- end }}
  {{- include "skep.security" . | nindent 2 }}
{{- include "skep.tls" . }}
{{- end -}}

{{/* Below camunda: what was asked for of login, permissions and tenants. The server refuses what its version cannot do. */}}
{{- define "skep.security" -}}
{{- $o := .Values.orchestration -}}
{{- $authentication := mergeOverwrite (deepCopy (.Values.global.security.authentication | default dict)) (deepCopy ($o.security.authentication | default dict)) -}}
{{- $initialization := $o.security.initialization | default dict -}}
{{- $tenants := $o.multitenancy | default dict -}}
{{- $security := dict -}}
{{- with $authentication.method }}{{ $_ := set $security "authentication.method" (lower .) }}{{ end -}}
{{- if hasKey $authentication "unprotectedApi" }}{{ $_ := set $security "authentication.unprotected-api" $authentication.unprotectedApi }}{{ end -}}
{{- if hasKey ($o.security.authorizations | default dict) "enabled" }}{{ $_ := set $security "authorizations.enabled" $o.security.authorizations.enabled }}{{ end -}}
{{- if hasKey ($tenants.checks | default dict) "enabled" }}{{ $_ := set $security "multi-tenancy.checks-enabled" $tenants.checks.enabled }}{{ end -}}
{{- if hasKey ($tenants.api | default dict) "enabled" }}{{ $_ := set $security "multi-tenancy.api-enabled" $tenants.api.enabled }}{{ end -}}
{{- with $initialization.defaultRoles }}{{ $_ := set $security "initialization.default-roles" . }}{{ end -}}
{{- $users := list -}}
{{- range $initialization.users }}{{ $users = append $users (omit . "password" "secret") }}{{ end -}}
{{- with $users }}{{ $_ := set $security "initialization.users" . }}{{ end -}}
{{- /* All ports listen for other pods, and the server does not start until it is configured whether they log in. */}}
{{- if not (or (hasKey $security "authentication.method") (hasKey $security "authentication.unprotected-api")) }}{{ $_ := set $security "authentication.unprotected-api" true }}{{ end -}}
{{- with $security -}}
security:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "skep.tls" -}}
{{- $tls := .Values.global.tls.orchestration -}}
{{- if $tls.enabled }}
{{- if $tls.clients }}
server.ssl:
  certificate: /etc/skep/tls/tls.crt
  certificate-private-key: /etc/skep/tls/tls.key
camunda.api.grpc.ssl:
  certificate: /etc/skep/tls/tls.crt
  certificate-private-key: /etc/skep/tls/tls.key
{{- end }}
{{- if $tls.cluster }}
camunda.cluster.network.transport-layer-security.cluster:
  enabled: true
  certificate-chain-path: /etc/skep/tls/tls.crt
  certificate-private-key-path: /etc/skep/tls/tls.key
skep.cluster.tls.certificate-authority-path: /etc/skep/tls/ca.crt
{{- end }}
{{- end }}
{{- end -}}
