//go:build system

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/testkit/await"
)

// heavy are modules that a program needs for one part each.
var heavy = map[string]*regexp.Regexp{
	"JetStream":  regexp.MustCompile(`(?m)^github\.com/(nats-io|antithesishq|minio)/.*$`),
	"Parquet":    regexp.MustCompile(`(?m)^github\.com/parquet-go/.*$`),
	"drawing":    regexp.MustCompile(`(?m)^(gonum\.org/v1/plot|codeberg\.org|golang\.org/x/image|git\.sr\.ht)/.*$`),
	"BPF":        regexp.MustCompile(`(?m)^github\.com/cilium/.*$`),
	"pcapng":     regexp.MustCompile(`(?m)^(github\.com/gopacket|golang\.org/x/net)/.*$`),
	"Prometheus": regexp.MustCompile(`(?m)^github\.com/prometheus/.*$`),
	"Markdown":   regexp.MustCompile(`(?m)^github\.com/yuin/.*$`),
	"claims":     regexp.MustCompile(`(?m)^github\.com/expr-lang/.*$`),
	"commands":   regexp.MustCompile(`(?m)^github\.com/alecthomas/kong$`),
	"HTTP":       regexp.MustCompile(`(?m)^net/http$`),
	"matrices":   regexp.MustCompile(`(?m)^gonum\.org/v1/gonum/mat$`),
	"study":      regexp.MustCompile(`(?m)^weir/study/.*$`),
}

// parts returns the parts whose modules a package is built with, sorted, and the first package of each.
func parts(t *testing.T, path string) (names []string, packages map[string]string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "weir/core/packet\n") {
		t.Fatalf("%s: %v", path, err)
	}
	packages = map[string]string{}
	for name, modules := range heavy {
		if found := modules.FindString(string(out)); found != "" {
			names, packages[name] = append(names, name), found
		}
	}
	slices.Sort(names)
	return names, packages
}

// TestPartsByImport checks the modules of each package. The facade has those of claims only, each package below it
// adds its own, and the privileged programs have those of switch and agent.
func TestPartsByImport(t *testing.T) {
	program := slices.Sorted(maps.Keys(heavy))
	program = slices.DeleteFunc(program, func(name string) bool { return name == "matrices" })
	all := slices.DeleteFunc(slices.Clone(program), func(name string) bool { return name == "commands" })
	for path, want := range map[string][]string{
		"weir/app":                 {"claims", "commands", "study"},
		"weir/app/figure":          {"drawing", "study"},
		"weir/app/parquet":         {"HTTP", "Parquet", "claims", "study"},
		"weir/app/pcapng":          {"claims", "pcapng", "study"},
		"weir/app/page":            {"HTTP", "Markdown", "claims", "study"},
		"weir/app/slurm":           {"claims", "study"},
		"weir/app/jetstream":       {"HTTP", "JetStream", "Prometheus", "claims", "study"},
		"weir/app/softswitch":      {"HTTP", "Prometheus"},
		"weir/app/agent":           {"BPF", "HTTP", "Prometheus", "claims", "study"},
		"weir/app/all":             all,
		"weir/cmd/weir":            program,
		"weir/cmd/weir-switch":     {"HTTP", "Prometheus"},
		"weir/cmd/weir-agent":      {"BPF", "HTTP", "Prometheus"},
		"weir/study/run/jetstream": {"HTTP", "JetStream", "Prometheus", "claims", "study"},
	} {
		if got, packages := parts(t, path); !slices.Equal(got, want) {
			t.Errorf("%s has %q, not %q: %v", path, got, want, packages)
		}
	}
}

// stripped returns the size of a package's program without symbols.
func stripped(t *testing.T, dir, path string) int64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, path)
	cmd.Dir, cmd.Env = dir, sharedBuilds()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %.1f MB", path, float64(info.Size())/1e6)
	return info.Size()
}

// TestSmallPrograms checks the modules and the size of a program with one controller, and the size of the
// privileged programs.
func TestSmallPrograms(t *testing.T) {
	const maxModules, maxOwn, maxPrivileged = 8, 19.5e6, 15e6
	data, err := os.ReadFile("../examples/controller/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "// indirect"); n == 0 || n > maxModules {
		t.Errorf("examples/controller needs %d indirect modules; %d are allowed", n, maxModules)
	}
	if n := stripped(t, "../examples/controller", "."); n > maxOwn {
		t.Errorf("examples/controller has %d bytes; %.0f are allowed", n, maxOwn)
	}
	for _, path := range []string{"weir/cmd/weir-switch", "weir/cmd/weir-agent"} {
		if n := stripped(t, ".", path); n > maxPrivileged {
			t.Errorf("%s has %d bytes; %.0f are allowed", path, n, maxPrivileged)
		}
	}
}

// TestJetStreamBegins limits the allocations of JetStream's packages before main, which every command pays. They
// were 245 kB at first.
func TestJetStreamBegins(t *testing.T) {
	cmd := exec.Command(await.RequireProgram(t, "cmd/weir"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const most = 400_000
	sum, packages := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init (github\.com/nats-io/\S+) .* (\d+) bytes,`).
		FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sum, packages = sum+n, packages+1
	}
	t.Logf("%d packages, %d bytes", packages, sum)
	if packages == 0 || sum > most {
		t.Errorf("%d packages allocate %d bytes; at most %d is allowed", packages, sum, most)
	}
}
