{{/* Names, labels, the image. */}}

{{- define "skep.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "skep.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "skep.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "skep.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "skep.headless" -}}{{ include "skep.fullname" . }}-headless{{- end -}}

{{- define "skep.serviceAccount" -}}
{{- if .Values.orchestration.serviceAccount.enabled -}}
{{- .Values.orchestration.serviceAccount.name | default (include "skep.fullname" .) -}}
{{- else -}}
{{- .Values.orchestration.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* What selects pods; the argument is (context, component). */}}
{{- define "skep.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "skep.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "skep.labels" -}}
{{- $root := index . 0 -}}
{{ include "skep.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- with $root.Values.global.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A values file of Camunda's chart may name Camunda's image, and the version of it: neither is taken over. */}}
{{- define "skep.image" -}}
{{- $image := .Values.orchestration.image -}}
{{- $registry := $image.registry | default .Values.global.image.registry -}}
{{- $repository := $image.repository -}}
{{- if regexMatch "(^|/)camunda/" $repository -}}{{- $repository = "skep" -}}{{- end -}}
{{- $tag := $image.tag | default .Values.global.image.tag | default .Chart.AppVersion | toString -}}
{{- if regexMatch "^8\\." $tag -}}{{- $tag = .Chart.AppVersion -}}{{- end -}}
{{- with $registry -}}{{ . }}/{{- end -}}{{ $repository }}
{{- if $image.digest -}}@{{ $image.digest }}{{- else -}}:{{ $tag }}{{- end -}}
{{- end -}}

{{- define "skep.pullSecrets" -}}
{{- with concat (.Values.global.image.pullSecrets | default list) (.Values.orchestration.image.pullSecrets | default list) }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "skep.size" -}}{{ .Values.orchestration.clusterSize | int }}{{- end -}}

{{/* Every node by its name, for contact points. */}}
{{- define "skep.contactPoints" -}}
{{- $names := list -}}
{{- range $node := until (include "skep.size" . | int) -}}
{{- $names = append $names (printf "%s-%d.%s.%s.svc:%v" (include "skep.fullname" $) $node (include "skep.headless" $) $.Release.Namespace $.Values.orchestration.service.internalPort) -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}
