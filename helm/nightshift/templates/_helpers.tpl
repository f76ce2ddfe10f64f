{{- define "nightshift.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- /* What everything is called. A release may have dots in its name, and a Service may not; nor may it begin with a digit. */ -}}
{{- define "nightshift.fullname" -}}
{{- $name := include "nightshift.name" . -}}
{{- $whole := printf "%s-%s" .Release.Name $name -}}
{{- if .Values.fullnameOverride -}}
{{- $whole = toString .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- $whole = .Release.Name -}}
{{- end -}}
{{- $whole = $whole | replace "." "-" | trunc 53 | trimSuffix "-" -}}
{{- if not (regexMatch `^[a-z]([-a-z0-9]*[a-z0-9])?$` $whole) -}}
{{- fail (printf "fullnameOverride: a Service cannot be called %q: small letters, digits and dashes, a letter first; set it to such a name" $whole) -}}
{{- end -}}
{{- $whole -}}
{{- end -}}

{{- define "nightshift.selector" -}}
app.kubernetes.io/name: {{ include "nightshift.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "nightshift.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "nightshift.selector" . }}
{{- end -}}

{{- /* What finds the pods of the workers, whatever part they do, and not that of the migration. */ -}}
{{- define "nightshift.workers" -}}
{{ include "nightshift.selector" . }}
nightshift/role: worker
{{- end -}}

{{- /* The Deployments, as JSON: {"all": [{name, component, only, replicas, resources, pages, posts, takes, triages, isScaled}]}.
Every process does `web` too: without it nobody would answer probes and Prometheus. What takes messages is scaled by the length
of queues, what triages by the cases that wait or by CPU, whatever it is called; nothing tells how much there is to deliver. */ -}}
{{- define "nightshift.deployments" -}}
{{- $name := include "nightshift.fullname" . -}}
{{- $found := list -}}
{{- if eq .Values.mode "together" -}}
{{- $only := list -}}
{{- if .Values.only -}}
{{- $only = append .Values.only "web" -}}
{{- end -}}
{{- $takes := or (not $only) (has "intake" $only) -}}
{{- $triages := or (not $only) (has "triage" $only) -}}
{{- if and .Values.web.intakeExposed (not $takes) -}}
{{- fail "web.intakeExposed: nobody would take what is posted; put intake into only" -}}
{{- end -}}
{{- $found = append $found (dict "name" $name "component" "worker" "only" $only "replicas" .Values.replicas "resources" .Values.resources "pages" .Values.web.exposed "posts" (and .Values.web.intakeExposed $takes) "takes" $takes "triages" $triages) -}}
{{- else -}}
{{- if .Values.only -}}
{{- fail "only: with mode apart, say which of components are enabled" -}}
{{- end -}}
{{- range $part := list "intake" "triage" "delivery" "web" -}}
{{- $own := get $.Values.components $part -}}
{{- if $own.enabled -}}
{{- $is_web := eq $part "web" -}}
{{- $takes := eq $part "intake" -}}
{{- $found = append $found (dict "name" (printf "%s-%s" $name $part) "component" $part "only" (ternary (list "web") (list $part "web") $is_web) "replicas" $own.replicas "resources" (default $.Values.resources $own.resources) "account" $own.serviceAccountName "pages" (and $is_web $.Values.web.exposed) "posts" (and $takes $.Values.web.intakeExposed) "takes" $takes "triages" (eq $part "triage")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail "components: none of them is enabled, and nothing would run" -}}
{{- end -}}
{{- if and (eq .Values.mode "apart") .Values.web.exposed (not .Values.components.web.enabled) -}}
{{- fail "web.exposed: nobody would serve the pages; set components.web.enabled" -}}
{{- end -}}
{{- if and (eq .Values.mode "apart") .Values.web.intakeExposed (not .Values.components.intake.enabled) -}}
{{- fail "web.intakeExposed: nobody would take what is posted; set components.intake.enabled" -}}
{{- end -}}
{{- $scaling := .Values.autoscaling -}}
{{- $hasQueues := and (eq $scaling.kind "keda") (or $scaling.keda.sqs $scaling.keda.rabbitmq | empty | not) -}}
{{- $all := list -}}
{{- $areScaled := false -}}
{{- range $found -}}
{{- $isScaled := and (ne $scaling.kind "none") (or .triages (and .takes $hasQueues)) -}}
{{- $areScaled = or $areScaled $isScaled -}}
{{- $all = append $all (set . "isScaled" $isScaled) -}}
{{- end -}}
{{- if and (ne $scaling.kind "none") (not $areScaled) -}}
{{- fail (printf "autoscaling.kind: %s would scale nothing that this release runs: hpa and keda scale what triages, and keda what takes messages where autoscaling.keda names queues; set it to none" $scaling.kind) -}}
{{- end -}}
{{- dict "all" $all | toJson -}}
{{- end -}}

{{- define "nightshift.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "nightshift.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* Labels or annotations of people. Call with more, and value: which one they are. */ -}}
{{- define "nightshift.more" -}}
{{- $value := .value -}}
{{- range $key, $_ := .more -}}
{{- if regexMatch `^(helm\.sh/chart|app\.kubernetes\.io/(name|instance|version|managed-by|component)|nightshift/role|checksum/config)$` $key -}}
{{- fail (printf "%s: the chart sets %s itself; leave it out" $value $key) -}}
{{- end -}}
{{- end -}}
{{- toYaml .more -}}
{{- end -}}

{{- /* The Secret with passwords and keys; empty where there is none. That of the chart has a name of its own: Helm deletes it
when `secrets` are gone, and must not find one of people there, who like to call theirs as the release. */ -}}
{{- define "nightshift.secret" -}}
{{- if and .Values.existingSecret .Values.secrets -}}
{{- fail "set existingSecret or secrets, not both" -}}
{{- end -}}
{{- $own := printf "%s-values" (include "nightshift.fullname" .) -}}
{{- if eq (toString .Values.existingSecret) $own -}}
{{- fail (printf "existingSecret: %s is what the chart calls its own Secret, and Helm would delete it; call yours otherwise" $own) -}}
{{- end -}}
{{- if .Values.existingSecret -}}
{{- .Values.existingSecret -}}
{{- else if .Values.secrets -}}
{{- $own -}}
{{- end -}}
{{- end -}}

{{- /* As `data`: a key of `stringData` that is taken out would stay, as an empty text. */ -}}
{{- define "nightshift.secretData" -}}
{{- $data := dict -}}
{{- range $key, $value := .Values.secrets -}}
{{- $_ := set $data $key (b64enc $value) -}}
{{- end -}}
{{- toYaml $data -}}
{{- end -}}

{{- define "nightshift.image" -}}
{{- $image := .Values.image -}}
{{- if regexMatch `@|:[^/]*$` $image.repository -}}
{{- fail "image.repository: it has a tag or a digest; put them into image.tag and image.digest" -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* A value in `config`, as it stands there: without what is in a comment or another section. Call with config, section and
key. A store on PostgreSQL has to be known here: the migration, several pods and KEDA go by it; and how often canaries come,
for the rule that tells of one that is late. */ -}}
{{- define "nightshift.ofConfig" -}}
{{- $in := "" -}}
{{- $key := .key -}}
{{- $section := .section -}}
{{- range $line := splitList "\n" .config -}}
{{- if regexMatch `^\s*\[` $line -}}
{{- $in = regexReplaceAll `^\s*\[+\s*["']?([^]"'\s]*).*$` (trim $line) "${1}" -}}
{{- else if and (eq $in $section) (regexMatch (printf `^\s*["']?%s["']?\s*=` $key) $line) -}}
{{- regexReplaceAll `^[^=]*=\s*["']?([^"'\s]*).*$` (trim $line) "${1}" -}}
{{- else if and (eq $in "") (regexMatch (printf `^\s*["']?%s["']?\s*(\.\s*["']?%s["']?\s*=|=.*\b%s\b)` $section $key $key) $line) -}}
{{- regexReplaceAll (printf `^.*\b%s["']?\s*=\s*["']?([^"'\s]*).*$` $key) (trim $line) "${1}" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* "true" where the configuration has a source, as far as can be told here: one of the Secret of others, or of a file that is
mounted over ours, is not known. It cannot come from the environment, which sets keys of sections alone. */ -}}
{{- define "nightshift.hasSource" -}}
{{- $isOurs := not .Values.existingConfigSecret -}}
{{- range .Values.extraVolumeMounts -}}
{{- if eq .mountPath "/etc/nightshift/nightshift.toml" -}}
{{- $isOurs = false -}}
{{- end -}}
{{- end -}}
{{- $asTables := `\[\[[ \t]*["']?source["']?[ \t]*\]\]` -}}
{{- $asList := `["']?source["']?[ \t]*=[ \t]*\[[ \t\r]*([^\]\s]|$)` -}}
{{- if or (not $isOurs) (regexMatch (printf `(?m)^[ \t]*(%s|%s)` $asTables $asList) .Values.config) -}}
true
{{- end -}}
{{- end -}}

{{- /* Everything of a pod but what it runs. Call with root, and config, secret and claim: the names of what it mounts. */ -}}
{{- define "nightshift.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: config
    {{- if .root.Values.existingConfigSecret }}
    secret:
      secretName: {{ .root.Values.existingConfigSecret | quote }}
    {{- else }}
    configMap:
      name: {{ .config }}
    {{- end }}
  {{- if .secret }}
  - name: secrets
    secret:
      secretName: {{ .secret | quote }}
      defaultMode: 0440
  {{- end }}
  - name: data
    {{- if .claim }}
    persistentVolumeClaim:
      claimName: {{ .claim | quote }}
    {{- else }}
    emptyDir:
      sizeLimit: {{ .root.Values.data.sizeLimit }}
    {{- end }}
  - name: tmp
    emptyDir:
      sizeLimit: 256Mi
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* Where pods may go, as a NetworkPolicy has it: those of the workers, and that of the migration. */ -}}
{{- define "nightshift.egress" -}}
{{- with .Values.networkPolicy.dns -}}
- to:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{ end -}}
{{- with .Values.networkPolicy.egress -}}
{{- toYaml . }}
{{- end -}}
{{- end -}}

{{- /* What pods listen on, as an address with a port has it: IPv6 stands in brackets there. Quote it with its port, for YAML
takes brackets for a list. */ -}}
{{- define "nightshift.bind" -}}
{{- $bind := default "0.0.0.0" .Values.web.bind -}}
{{- ternary "[::]" $bind (eq $bind "::") -}}
{{- end -}}

{{- /* Everything of a container but its name, arguments, ports and probes. Call with root, secret, resources, pages:
whether the pages are for others than the pod itself, and posts: whether alerts are posted to it. */ -}}
{{- define "nightshift.container" -}}
{{- $bind := include "nightshift.bind" .root -}}
image: {{ include "nightshift.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: [nightshift]
workingDir: /var/lib/nightshift
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  {{- with .root.Values.store.url }}
  - name: NIGHTSHIFT__STORE__URL
    value: {{ . | quote }}
  {{- end }}
  {{- with .root.Values.store.passwordKey }}
  - name: NIGHTSHIFT__STORE__PASSWORD
    value: {{ printf "file:/run/secrets/nightshift/%s" . | quote }}
  {{- end }}
  - name: NIGHTSHIFT__WEB__METRICS_LISTEN
    value: {{ printf "%s:%d" $bind (int .root.Values.web.metricsPort) | quote }}
  - name: NIGHTSHIFT__WEB__LISTEN
    value: {{ printf "%s:%d" (ternary $bind "127.0.0.1" .pages) (int .root.Values.web.port) | quote }}
  {{- if .posts }}
  - name: NIGHTSHIFT__WEB__INTAKE_LISTEN
    value: {{ printf "%s:%d" $bind (int .root.Values.web.intakePort) | quote }}
  {{- end }}
  - name: NIGHTSHIFT__WEB__LINGER_SECS
    value: {{ int .root.Values.web.lingerSecs | quote }}
  {{- with .root.Values.canary }}
  {{- if and .everyMinutes (not .keyKey) }}
  {{- fail "canary.keyKey: which key of the Secret are canaries signed with?" }}
  {{- end }}
  {{- if .everyMinutes }}
  - name: NIGHTSHIFT__CANARY__EVERY_MINUTES
    value: {{ int .everyMinutes | quote }}
  {{- end }}
  {{- if .keyKey }}
  - name: NIGHTSHIFT__CANARY__KEY
    value: {{ printf "file:/run/secrets/nightshift/%s" .keyKey | quote }}
  {{- end }}
  {{- with .source }}
  - name: NIGHTSHIFT__CANARY__SOURCE
    value: {{ . | quote }}
  {{- end }}
  {{- with .destination }}
  - name: NIGHTSHIFT__CANARY__DESTINATION
    value: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- with .root.Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if .secret }}
envFrom:
  - secretRef:
      name: {{ .secret | quote }}
{{- end }}
volumeMounts:
  - name: config
    mountPath: /etc/nightshift
    readOnly: true
  {{- if .secret }}
  - name: secrets
    mountPath: /run/secrets/nightshift
    readOnly: true
  {{- end }}
  - name: data
    mountPath: /var/lib/nightshift
  - name: tmp
    mountPath: /tmp
  {{- range .root.Values.extraVolumeMounts }}
  - name: {{ .name | quote }}
    mountPath: {{ .mountPath | quote }}
    {{- with .subPath }}
    subPath: {{ . | quote }}
    {{- end }}
    readOnly: {{ hasKey . "readOnly" | ternary .readOnly true }}
  {{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
{{- end -}}
