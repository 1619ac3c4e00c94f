package agentgraph

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// helmTemplate renders the Helm chart and returns its objects, or what Helm reports. Without helm, the test is skipped.
// make chart installs helm.
func helmTemplate(t *testing.T, arguments ...string) ([]byte, error) {
	t.Helper()
	helm, err := exec.LookPath("helm")
	if err != nil {
		path, errGo := exec.CommandContext(t.Context(), "go", "env", "GOPATH").Output()
		require.NoError(t, errGo)
		if helm, err = exec.LookPath(filepath.Join(strings.TrimSpace(string(path)), "bin", "helm")); err != nil {
			t.Skip("there is no helm: make chart installs it")
		}
	}
	arguments = append([]string{"template", "release", "deploy/helm"}, arguments...)
	return exec.CommandContext(t.Context(), helm, arguments...).CombinedOutput() //nolint:gosec // the own chart
}

// renderChart renders the Helm chart with settings such as "replicaCount=3", and returns its objects by kind.
func renderChart(t *testing.T, settings ...string) map[string]map[string]any {
	t.Helper()
	arguments := []string{}
	for _, setting := range settings {
		arguments = append(arguments, "--set", setting)
	}
	return renderChartWith(t, arguments...)
}

// renderChartFile is renderChart with a file of values, whose numbers Helm reads as floats.
func renderChartFile(t *testing.T, values string) map[string]map[string]any {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(path, []byte(values), 0o600))
	return renderChartWith(t, "--values", path)
}

func renderChartWith(t *testing.T, arguments ...string) map[string]map[string]any {
	t.Helper()
	output, err := helmTemplate(t, arguments...)
	require.NoError(t, err, "%s", output)
	objects := map[string]map[string]any{}
	for _, text := range bytes.Split(output, []byte("\n---\n")) {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal(text, &object), "%s", text)
		if kind, _ := object["kind"].(string); kind != "" {
			require.NotContains(t, objects, kind)
			objects[kind] = object
		}
	}
	return objects
}

// at returns the value below keys and indexes.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, ok := value.(map[string]any)
			require.True(t, ok, "%v of %v", step, value)
			value = object[step]
		case int:
			list, ok := value.([]any)
			require.True(t, ok && step < len(list), "%v of %v", step, value)
			value = list[step]
		}
	}
	return value
}

// The chart deploys the image of its appVersion.
func TestChartHasTheVersionOfTheLastRelease(t *testing.T) {
	t.Parallel()
	chart, err := os.ReadFile("deploy/helm/Chart.yaml")
	require.NoError(t, err)
	changes, err := os.ReadFile("CHANGELOG.md")
	require.NoError(t, err)
	last := regexp.MustCompile(`(?m)^## v(\S+)`).FindSubmatch(changes)
	require.NotNil(t, last)
	for _, field := range []string{"version", "appVersion"} {
		require.Contains(t, string(chart), fmt.Sprintf("\n%s: %s\n", field, last[1]))
	}
}

func TestChartRendersDocumentedObjects(t *testing.T) {
	t.Parallel()
	objects := renderChart(t, "replicaCount=3", "secretName=production",
		"settings.AGENTGRAPH_CORS_ORIGINS=https://example.com")
	for _, kind := range []string{"Deployment", "Service", "ServiceAccount", "PodDisruptionBudget", "Job"} {
		require.Contains(t, objects, kind)
	}
	require.NotContains(t, objects, "Ingress")
	require.EqualValues(t, 3, at(t, objects["Deployment"], "spec", "replicas"))
	gateway := at(t, objects["Deployment"], "spec", "template", "spec", "containers", 0)
	require.Equal(t, "ghcr.io/agentgraph/agentgraph:v0.1.0", at(t, gateway, "image"))
	require.Equal(t, "/readyz", at(t, gateway, "readinessProbe", "httpGet", "path"))
	require.Equal(t, "/healthz", at(t, gateway, "livenessProbe", "httpGet", "path"))
	require.Equal(t, "production", at(t, gateway, "envFrom", 0, "secretRef", "name"))
	require.Equal(t, "https://example.com", at(t, gateway, "env", 2, "value"))

	migration := objects["Job"]
	require.Equal(t, "pre-install,pre-upgrade", at(t, migration, "metadata", "annotations", "helm.sh/hook"))
	require.Equal(t, []any{"migrate", "up"}, at(t, migration, "spec", "template", "spec", "containers", 0, "args"))

	// A disruption budget or a service that selected the job's pods would count them as replicas.
	selected := at(t, objects["Service"], "spec", "selector", "app.kubernetes.io/name")
	pods := at(t, objects["Deployment"], "spec", "template", "metadata", "labels")
	require.Equal(t, selected, at(t, pods, "app.kubernetes.io/name"))
	require.NotEqual(t, selected, at(t, migration, "spec", "template", "metadata", "labels", "app.kubernetes.io/name"))
}

func TestChartRendersOptionalObjects(t *testing.T) {
	t.Parallel()
	objects := renderChart(t, "ingress.enabled=true", "ingress.host=agents.example.com", "metrics.podMonitor=true",
		"migration.enabled=false")
	require.Equal(t, "agents.example.com", at(t, objects["Ingress"], "spec", "rules", 0, "host"))
	require.Contains(t, objects, "PodMonitor")
	require.NotContains(t, objects, "Job")
}

func TestChartRendersValuesOfSettingsPlainly(t *testing.T) {
	t.Parallel()
	objects := renderChartFile(t, `settings:
  AGENTGRAPH_CONSOLE: off
  AGENTGRAPH_INTROSPECTION: false
  AGENTGRAPH_MAX_BODY: 2097152
  AGENTGRAPH_MAX_STORED_BYTES: 10737418240
  AGENTGRAPH_PRICE_INPUT_TOKENS: 0.00001
  AGENTGRAPH_RATE_LIMIT: 0
  AGENTGRAPH_WORKERS: 10
  AGENTGRAPH_WORKSPACE: "1e3"
`)
	values := map[string]any{}
	for _, variable := range at(t, objects["Job"], "spec", "template", "spec", "containers", 0, "env").([]any) {
		values[at(t, variable, "name").(string)] = at(t, variable, "value")
	}
	require.Equal(t, map[string]any{
		"AGENTGRAPH_CONSOLE": "off", "AGENTGRAPH_INTROSPECTION": "false", "AGENTGRAPH_MAX_BODY": "2097152",
		"AGENTGRAPH_MAX_STORED_BYTES": "10737418240", "AGENTGRAPH_PRICE_INPUT_TOKENS": "0.00001",
		"AGENTGRAPH_RATE_LIMIT": "0", "AGENTGRAPH_WORKERS": "10", "AGENTGRAPH_WORKSPACE": "1e3",
	}, values)
}

func TestChartRefusesSettingsThatItSetsOrThatAreLists(t *testing.T) {
	t.Parallel()
	for setting, reason := range map[string]string{
		"settings.AGENTGRAPH_LISTEN=:9000":          "settings.AGENTGRAPH_LISTEN is set by the chart: remove it",
		"settings.AGENTGRAPH_METRICS_LISTEN=:9000":  "settings.AGENTGRAPH_METRICS_LISTEN is set by the chart: remove it",
		"settings.AGENTGRAPH_CORS_ORIGINS={a,b}":    "settings.AGENTGRAPH_CORS_ORIGINS must be one value",
		"settings.AGENTGRAPH_CORS_ORIGINS.origin=a": "settings.AGENTGRAPH_CORS_ORIGINS must be one value",
	} {
		output, err := helmTemplate(t, "--set", setting)
		require.Error(t, err, setting)
		require.Contains(t, string(output), reason)
	}
}

func TestChartMountsExtraVolumes(t *testing.T) {
	t.Parallel()
	objects := renderChartFile(t, `extraVolumes: [{name: models, configMap: {name: agentgraph-models}}]
extraVolumeMounts: [{name: models, mountPath: /etc/agentgraph}]
affinity: {nodeAffinity: {}}
`)
	for _, test := range []struct {
		kind  string
		index int // Another volume is for temporary files of the gateway.
	}{{"Deployment", 1}, {"Job", 0}} {
		pod := at(t, objects[test.kind], "spec", "template", "spec")
		require.Equal(t, "agentgraph-models", at(t, pod, "volumes", test.index, "configMap", "name"))
		require.Equal(t, "/etc/agentgraph", at(t, pod, "containers", 0, "volumeMounts", test.index, "mountPath"))
		require.Contains(t, at(t, pod, "affinity"), "nodeAffinity")
	}
}

func TestChartTakesADigestAndNoDisruptionBudget(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0f", 32)
	objects := renderChart(t, "image.tag="+digest, "podDisruptionBudget=null")
	require.NotContains(t, objects, "PodDisruptionBudget")
	require.Equal(t, "ghcr.io/agentgraph/agentgraph@"+digest,
		at(t, objects["Deployment"], "spec", "template", "spec", "containers", 0, "image"))
}
