//go:build system

package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/internal/testkit/testutil/await"
)

// queues are modules that are there for JetStream alone.
var queues = regexp.MustCompile(`(?m)^github\.com/(nats-io|antithesishq|minio)/.*$`)

// needs lists which of them packages are built with.
func needs(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "weir/study/experiment\n") {
		t.Fatalf("%v: %v", args, err)
	}
	return queues.FindAllString(string(out), -1)
}

// The program has JetStream unless it is built without; who uses the simulator or runs experiments as a library has
// none of it.
func TestWhoNeedsJetStream(t *testing.T) {
	if len(needs(t, ".")) == 0 {
		t.Error("the program has no JetStream")
	}
	for _, args := range [][]string{{"-tags", "nojetstream", "."},
		{"weir/study/experiment", "weir/worlds/sim", "weir/study/run"},
		{"weir/study/experiment", "weir/study/report", "weir/study/results", "weir/study/run/slurm"}} {
		if got := needs(t, args...); len(got) > 0 {
			t.Errorf("%v: %q", args, got)
		}
	}
}

// What JetStream's packages do before main, which every command pays: 245 kB were allocated when it came.
func TestJetStreamBegins(t *testing.T) {
	cmd := exec.Command(await.Program(t, "cmd/weir"), "version")
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
