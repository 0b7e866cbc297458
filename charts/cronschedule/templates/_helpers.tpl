{{- define "cronschedule.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "cronschedule.selector" -}}
app.kubernetes.io/name: cronschedule
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cronschedule.labels" -}}
{{ include "cronschedule.selector" . }}
app.kubernetes.io/component: operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* Objects of the whole cluster carry the namespace too: another release may have the same name. */ -}}
{{- define "cronschedule.clusterName" -}}
{{ printf "%s-%s" .Release.Namespace (include "cronschedule.name" .) }}
{{- end }}

{{- define "cronschedule.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "cronschedule.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "cronschedule.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
