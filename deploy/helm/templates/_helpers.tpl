{{- define "agentgraph.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "agentgraph.labels" -}}
{{ include "agentgraph.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "agentgraph.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "agentgraph.image" -}}
{{- $tag := .Values.image.tag | default (printf "v%s" .Chart.AppVersion) -}}
{{ .Values.image.repository }}{{ ternary "@" ":" (hasPrefix "sha256:" $tag) }}{{ $tag }}
{{- end }}

{{- /* The security of pods and of containers. The program writes only below /tmp. */}}
{{- define "agentgraph.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "agentgraph.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Helm reads numbers as floats, which would get an exponent, and on and off as booleans. */}}
{{- define "agentgraph.env" -}}
{{- range $name, $value := .Values.settings }}
{{- if has $name (list "AGENTGRAPH_LISTEN" "AGENTGRAPH_METRICS_LISTEN") }}
{{- fail (printf "settings.%s is set by the chart: remove it. The ports are service.port and metrics.port" $name) }}
{{- else if or (kindIs "map" $value) (kindIs "slice" $value) }}
{{- fail (printf "settings.%s must be one value. Separate several by commas" $name) }}
{{- else if kindIs "float64" $value }}
{{- $value = regexReplaceAll "\\.?0+$" (printf "%.12f" $value) "" }}
{{- else if and (eq $name "AGENTGRAPH_CONSOLE") (kindIs "bool" $value) }}
{{- $value = ternary "on" "off" $value }}
{{- end }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
