{{/* Parts of pods. */}}

{{/* The argument is a probe of the values. */}}
{{- define "skep.probe" -}}
httpGet:
  path: {{ .probePath }}
  port: management
  scheme: {{ .scheme | default "HTTP" }}
initialDelaySeconds: {{ .initialDelaySeconds }}
periodSeconds: {{ .periodSeconds }}
timeoutSeconds: {{ .timeoutSeconds }}
successThreshold: {{ .successThreshold }}
failureThreshold: {{ .failureThreshold }}
{{- end -}}

{{- define "skep.probes" -}}
{{- $o := .Values.orchestration -}}
{{- if $o.startupProbe.enabled }}
startupProbe:
  {{- include "skep.probe" $o.startupProbe | nindent 2 }}
{{- end }}
{{- if $o.readinessProbe.enabled }}
readinessProbe:
  {{- include "skep.probe" $o.readinessProbe | nindent 2 }}
{{- end }}
{{- if $o.livenessProbe.enabled }}
livenessProbe:
  {{- include "skep.probe" $o.livenessProbe | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The argument is (context, component). */}}
{{- define "skep.container" -}}
{{- $root := index . 0 -}}{{- $component := index . 1 -}}{{- $o := $root.Values.orchestration -}}
name: skep
image: {{ include "skep.image" $root }}
imagePullPolicy: {{ $root.Values.global.image.pullPolicy | default "IfNotPresent" }}
{{- with $o.command }}
command:
  {{- toYaml . | nindent 2 }}
{{- end }}
args:
  - serve
  {{- if eq $component "gateway" }}
  - --role=gateway
  {{- end }}
  - --config=/etc/skep/cluster/cluster.yaml
  - --config=/etc/skep/configuration/application.yaml
  {{- range $o.extraConfiguration }}
  - --config=/etc/skep/configuration/{{ .file }}
  {{- end }}
env:
  {{- include "skep.variables" $root | nindent 2 }}
  - name: CAMUNDA_CLUSTER_NETWORK_ADVERTISEDHOST
    value: $(POD_NAME).{{ include "skep.headless" $root }}.$(POD_NAMESPACE).svc
  {{- if eq $component "broker" }}
  # A pod is ready once its copies have caught up; after a change of the pods, once those of all nodes have: then the next one goes.
  - name: SKEP_CLUSTER_REVISION
    valueFrom: { fieldRef: { fieldPath: "metadata.labels['controller-revision-hash']" } }
  {{- end }}
{{- with $o.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - { name: {{ $o.service.httpName }}, containerPort: {{ $o.service.httpPort }} }
  - { name: {{ $o.service.grpcName }}, containerPort: {{ $o.service.grpcPort }} }
  - { name: {{ $o.service.internalName }}, containerPort: {{ $o.service.internalPort }} }
  - { name: management, containerPort: {{ $o.service.managementPort }} }
{{- include "skep.probes" $root }}
securityContext:
  {{- toYaml $o.containerSecurityContext | nindent 2 }}
volumeMounts:
  - { name: cluster, mountPath: /etc/skep/cluster, readOnly: true }
  - { name: configuration, mountPath: /etc/skep/configuration, readOnly: true }
  - { name: tmp, mountPath: /tmp }
  {{- if eq $component "broker" }}
  - { name: data, mountPath: /data }
  {{- end }}
  {{- include "skep.certificateMounts" $root | nindent 2 }}
  {{- with $o.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "skep.searchTls" -}}
{{- if has (include "skep.storage" .) (list "elasticsearch" "opensearch") -}}
{{- ((include "skep.searchServer" . | fromYaml).tls | default dict).existingSecret -}}
{{- end -}}
{{- end -}}

{{- define "skep.certificateMounts" -}}
{{- if .Values.global.tls.orchestration.enabled }}
- { name: tls, mountPath: /etc/skep/tls, readOnly: true }
{{- end }}
{{- if include "skep.searchTls" . }}
- { name: search-tls, mountPath: /etc/skep/search-tls, readOnly: true }
{{- end }}
{{- end -}}

{{- define "skep.volumes" -}}
- name: cluster
  configMap: { name: {{ include "skep.fullname" . }}-cluster }
- name: configuration
  configMap: { name: {{ include "skep.fullname" . }}-configuration }
- name: tmp
  emptyDir: {}
{{- if .Values.global.tls.orchestration.enabled }}
- name: tls
  secret: { secretName: {{ .Values.global.tls.orchestration.existingSecret }} }
{{- end }}
{{- with include "skep.searchTls" . }}
- name: search-tls
  secret: { secretName: {{ . }} }
{{- end }}
{{- with .Values.orchestration.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Where pods run; the argument is (context, component). */}}
{{- define "skep.place" -}}
{{- $root := index . 0 -}}{{- $component := index . 1 -}}{{- $o := $root.Values.orchestration -}}
{{- with $o.nodeSelector | default $root.Values.global.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $o.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $o.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $o.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if $o.affinity }}
affinity:
  {{- toYaml $o.affinity | nindent 2 }}
{{- else if kindIs "invalid" $o.affinity }}
{{- else if or (eq $component "gateway") (gt (include "skep.size" $root | int) 1) }}
affinity:
  podAntiAffinity:
    {{- if eq $component "broker" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "skep.selector" . | nindent 12 }}
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "skep.selector" . | nindent 14 }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* What a pod's template says about its settings: those that it must be started again for. */}}
{{- define "skep.podAnnotations" -}}
skep.io/settings: {{ printf "%s %s" (include "skep.configuration" .) (include "skep.inlineSecrets" .) | sha256sum | trunc 16 | quote }}
# A node that is alone has no port for others, so it starts again when it gets some. Between two and seven nobody does.
skep.io/alone: {{ eq (include "skep.size" . | int) 1 | quote }}
{{- with .Values.global.tls.orchestration }}
{{- if and .enabled .autoRollout }}
skep.io/certificates: {{ (lookup "v1" "Secret" $.Release.Namespace .existingSecret).data | toJson | sha256sum | trunc 16 | quote }}
{{- end }}
{{- end }}
{{- with .Values.global.annotations }}
{{ toYaml . }}
{{- end }}
{{- with .Values.orchestration.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}
