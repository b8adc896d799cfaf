{{- define "skep.notes" -}}
{{- $encrypted := and .Values.global.tls.orchestration.enabled .Values.global.tls.orchestration.clients -}}
{{- $open := contains "authentication.unprotected-api: true" (include "skep.security" .) -}}
Skep {{ .Chart.AppVersion }}: {{ include "skep.size" . }} node(s), {{ .Values.orchestration.partitionCount }} partition(s), {{ .Values.orchestration.replicationFactor }} cop{{ ternary "y" "ies" (eq (int .Values.orchestration.replicationFactor) 1) }} of each.

Within the cluster of Kubernetes:
  REST    http{{ ternary "s" "" $encrypted }}://{{ include "skep.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.orchestration.service.httpPort }}
  gRPC    {{ include "skep.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.orchestration.service.grpcPort }}

See it:
  kubectl -n {{ .Release.Namespace }} rollout status statefulset/{{ include "skep.fullname" . }}
  kubectl -n {{ .Release.Namespace }} exec {{ include "skep.fullname" . }}-0 -c skep -- /skep status{{ if or $encrypted (not $open) }} --ready{{ end }}
  kubectl -n {{ .Release.Namespace }} port-forward service/{{ include "skep.fullname" . }} 8080:{{ .Values.orchestration.service.httpPort }}    # then http{{ ternary "s" "" $encrypted }}://localhost:8080
{{- if $open }}

NOBODY HAS TO LOG IN. Who reaches the service can deploy and start processes and read their data: keep others away by a NetworkPolicy.
{{- end }}
{{- if (.Values.orchestration.upgrade | default dict).prepare }}

ALL NODES ARE PAUSED after an upgrade to another version (orchestration.upgrade.prepare). Replace their pods at once; then they go on by themselves:
  kubectl -n {{ .Release.Namespace }} delete pod -l app.kubernetes.io/instance={{ .Release.Name }},app.kubernetes.io/component=broker
To stay with the version that is there, end the pause:
  kubectl -n {{ .Release.Namespace }} exec {{ include "skep.fullname" . }}-0 -c skep -- /skep cluster resume --management={{ range $node := until (include "skep.size" . | int) }}{{ if $node }},{{ end }}{{ include "skep.management" (list $ $node) }}{{ end }}
{{- end }}
{{- if not (eq .Values.orchestration.persistenceType "disk") }}

DATA GOES WITH THE PODS (orchestration.persistenceType: {{ .Values.orchestration.persistenceType }}): for trials only.
{{- end }}
{{- with include "skep.withoutEffect" . | fromYamlArray }}

These values have no effect here:
{{- range . }}
  {{ . }}
{{- end }}
{{- end }}
{{- end -}}
