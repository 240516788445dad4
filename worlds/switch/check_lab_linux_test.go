//go:build lab

package softswitch_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"weir/internal/rtnl"
	"weir/internal/testkit/await"
)

// ends runs weir in the switch's namespace with a file, and returns its exit code and output.
func (w *wire) ends(yaml string, as uint32, args ...string) (code int, said string) {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "weir")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	file := filepath.Join(dir, "switch.yaml")
	if err == nil {
		err = os.WriteFile(file, []byte(yaml), 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c := w.command(append([]string{"-c", file}, args...)...)
	if as > 0 {
		c.Path = "/proc/self/exe" // whose folder others may not enter
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: as, Gid: as}}
	}
	var out []byte
	err = w.do(middle, func() (err error) { out, err = c.CombinedOutput(); return err })
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), strings.ReplaceAll(string(out), dir+"/", "")
}

const taken = "interface left belongs to a running switch"

// TestCheck_ReportsWithoutChanges checks that --check reports the planned actions and the warnings, and changes no
// setting. Impossible input is an error with exit code 2, also at a start, which leaves no change.
func TestCheck_ReportsWithoutChanges(t *testing.T) {
	w := lay(t, 1500, "left", "right", "own", "down", "loop")
	before := w.offloads("left")
	w.in(middle, func(c *rtnl.Conn) error {
		own, err := c.InterfaceByName("own")
		if err != nil {
			return err
		}
		if err := c.AddAddress(own.Index, netip.MustParsePrefix("10.9.9.1/24")); err != nil {
			return err
		}
		if err := c.AddRoute(own.Index, netip.MustParsePrefix("0.0.0.0/0")); err != nil {
			return err
		}
		if err := setMTU("own", 9000); err != nil {
			return err
		}
		return setUp(c, "down", false)
	})
	shaped := strings.Replace(plain, "right}", "right, rate: 50Mbps}", 1)
	w.checks(t, shaped)
	if code, said := w.ends(shaped, 65534); code != 2 || !strings.Contains(said, "requires root") {
		t.Errorf("started without root: exit code %d\n%s", code, said)
	}
	// The metrics have an address that this machine lacks: earlier changes are undone.
	for _, args := range [][]string{nil, {"--check"}} {
		if code, said := w.ends(strings.Replace(plain, "metrics: none", "metrics: 192.0.2.77:9465", 1), 0,
			args...); code != 2 || !strings.Contains(said, "metrics: ") {
			t.Errorf("metrics elsewhere %v: exit code %d\n%s", args, code, said)
		}
	}
	if now := w.offloads("left"); !slices.Equal(now, before) {
		t.Errorf("offloads of left are %v, and were %v", now, before)
	}
	p := w.openTwice(t, shaped)
	w.checksBeside(t, p, shaped)
	p.stop()
}

// checks runs --check with files, and starts with the wrong ones.
func (w *wire) checks(t *testing.T, shaped string) {
	for _, x := range []struct {
		name, yaml string
		as         uint32
		code       int
		says       []string
	}{
		{"right", shaped, 0, 0, []string{"port left: interface left, MTU 1500, at the interface's own rate, buffer 100 " +
			"packets; promiscuous; switched off until the end: tso, gso",
			"port right: interface right, MTU 1500, 50", "programs: forward", "users: source addresses, up to 4096",
			"metrics: none", "runs as nobody",
			"warning: port left has no rate"}},
		{"right, of another user", shaped, 65534, 0, []string{"warning: the start requires root"}},
		{"own traffic", strings.ReplaceAll(shaped, "right", "own"), 0, 0,
			[]string{"warning: interface own has the address 10.9.9.1/24", "warning: interface own has a default route",
				"warning: interface own has an MTU of 9000 bytes, left one of 1500"}},
		{"a rate far too low", strings.Replace(shaped, "50Mbps", "100bps", 1), 0, 0,
			[]string{"warning: switch.yaml:4:35: port right: a frame of 1514 bytes takes 121 s at 100bps"}},
		{"metrics for all", strings.Replace(shaped, "metrics: none", "metrics: 0.0.0.0:9465", 1), 0, 0,
			[]string{"warning: metrics are available at 0.0.0.0:9465, to every machine that reaches it"}},
		{"no such interface", strings.Replace(plain, "interface: left", "interface: leftt", 1), 0, 2,
			[]string{`port left: there is no interface leftt; did you mean "left"?`}},
		{"down", strings.Replace(plain, "interface: left", "interface: down", 1), 0, 2,
			[]string{"port left: interface down is down; set it up first (ip link set down up)"}},
		{"loopback", strings.Replace(plain, "interface: left", "interface: lo", 1), 0, 2,
			[]string{"port left: lo is not an Ethernet interface"}},
		{"the same twice", strings.Replace(plain, "interface: left", "interface: right", 1), 0, 2,
			[]string{"switch.yaml:4:22: port left already has the interface right"}},
		{"a program that does not fit", strings.Replace(plain, "[forward]", "[forward, ndp]", 1), 0, 2,
			[]string{"switch.yaml:5:19: ndp is not available in a standalone switch"}},
		{"no such user", plain + "user: noone-here\n", 0, 2,
			[]string{"the user noone-here, as which the switch would run, does not exist"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, said := w.ends(x.yaml, x.as, "--check")
			if code != x.code {
				t.Errorf("exit code %d, want %d\n%s", code, x.code, said)
			}
			for _, want := range x.says {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q\n%s", want, said)
				}
			}
			if code == 2 {
				if code, said := w.ends(x.yaml, x.as); code != 2 || !strings.Contains(said, x.says[0]) {
					t.Errorf("started: exit code %d\n%s", code, said)
				}
			}
		})
	}
}

// openTwice starts two switches of the same interfaces at once. The second one gets them too late, if at all.
func (w *wire) openTwice(t testing.TB, yaml string) *process {
	p, late := w.launch(yaml), w.launch(yaml)
	await.AwaitCondition(t, "the end of one of two", func() bool { return p.over() || late.over() })
	if p.over() {
		p, late = late, p
	}
	if !strings.Contains(late.Stderr(), taken) {
		t.Errorf("of two that started at once one said\n%s", late.Stderr())
	}
	await.AwaitCondition(t, "the other one", func() bool {
		return strings.Contains(p.Stderr(), "switching between") ||
			p.over()
	})
	if p.over() { // each has seen the other
		p = w.open(yaml)
	}
	return p
}

// checksBeside checks starts and --check next to a running switch.
func (w *wire) checksBeside(t *testing.T, p *process, shaped string) {
	runs := fmt.Sprintf("the switch of these interfaces is running: kill -HUP %d makes it read its file again", p.PID())
	for _, x := range []struct {
		name, yaml string
		as         uint32
		args       []string
		code       int
		says       string
	}{
		{"the same", shaped, 0, nil, 2, taken},
		{"one interface of it", strings.ReplaceAll(shaped, "right", "own"), 0, nil, 2, taken},
		{"check of one interface", strings.ReplaceAll(shaped, "right", "own"), 0, []string{"--check"}, 2, taken},
		{"check by another user", strings.ReplaceAll(shaped, "right", "own"), 65534, []string{"--check"}, 2, taken},
		{"check of its file", plain, 0, []string{"--check"}, 0, runs},
		{"check of its file by another user", plain, 65534, []string{"--check"}, 0, runs},
		{"check of a wrong file", strings.Replace(plain, "[forward]", "[blue]", 1), 0, []string{"--check"}, 2,
			`unknown program "blue"`},
	} {
		t.Run("beside a switch: "+x.name, func(t *testing.T) {
			if code, said := w.ends(x.yaml, x.as, x.args...); code != x.code || !strings.Contains(said, x.says) {
				t.Errorf("exit code %d, want %d and %q\n%s%s", code, x.code, x.says, x.yaml, said)
			}
		})
	}
}
