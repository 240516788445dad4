//go:build lab

package softswitch_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// aggregated is a file whose abc has the given number of aggregates.
func aggregated(memory string, aggregates int) string {
	var all strings.Builder
	for i := range aggregates {
		fmt.Fprintf(&all, `%s"2001:db8:%x:%x::/64": 10kbps`, strings.Repeat(", ", min(i, 1)), i/256, i%256)
	}
	return fmt.Sprintf(shaped, "50Mbps", 100, fmt.Sprintf("[forward, {abc: {memory: %s, aggregates: {%s}}}]", memory,
		all.String()), "none")
}

// TestReloadLosesManyAggregates checks that a reload that removes thousands of aggregates reports it in a readable
// line. Frames continue, the next reload runs, and the switch ends in order.
func TestReloadLosesManyAggregates(t *testing.T) {
	for _, aggregates := range []int{2000, 4000} {
		t.Run(fmt.Sprint(aggregates), func(t *testing.T) {
			w := lay(t, 1500, "left", "right")
			p := w.open(aggregated("3s", aggregates))
			to := netip.MustParseAddrPort("10.9.0.2:7")
			w.echo("right", to)
			p.write(aggregated("5s", 0))
			p.Signal(syscall.SIGHUP)
			p.awaits("read again: abc has other parameters and keeps its meters; " +
				"lost: the activity of 2001:db8::/64; lost: ")
			p.awaits(fmt.Sprintf("; lost: %d more\n", aggregates-20))
			if _, err := w.ask("left", to, 1000, 3); err != nil {
				t.Errorf("frames have stopped: %v", err)
			}
			p.write(aggregated("7s", 0))
			p.Signal(syscall.SIGHUP)
			p.awaits("read again: abc has other parameters and keeps its meters\n")
			p.stop()
		})
	}
}

// dead hides a folder under a file system that answers no request, like that of a dead NFS server. The returned
// function ends that.
func dead(t testing.TB, folder string) (alive func()) {
	t.Helper()
	server, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no file systems of one's own here: %v", err)
	}
	err = unix.Mount("weir", folder, "fuse", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", server))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENODEV) {
		unix.Close(server)
		t.Skipf("no file systems of one's own here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	ended := false
	alive = func() {
		if ended {
			return
		}
		ended = true
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		unix.Close(server) // who waits gets an error
	}
	t.Cleanup(alive)
	return alive
}

// TestFileHangs checks that a file that is never read delays later reloads, and the log reports it. When that ends,
// they run.
func TestFileHangs(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	p := w.open(fmt.Sprintf(shaped, "50Mbps", 100, "[forward]", "none"))
	p.write(fmt.Sprintf(shaped, "20Mbps", 100, "[forward]", "none"))
	alive := dead(t, filepath.Dir(p.file))
	p.Signal(syscall.SIGHUP)
	p.awaits("switch.yaml: the file was not read within 5s; further SIGHUPs wait for that\n")
	p.Signal(syscall.SIGHUP)
	alive()
	p.awaits("refused, the old configuration remains")
	p.awaits("read again: port right has another rate")
	if s := p.Stderr(); strings.Index(s, "read again") < strings.Index(s, "refused, the old configuration remains") {
		t.Errorf("a file that nobody can read was read:\n%s", s)
	}
	p.stop()
	if _, err := os.Stat(p.file); err != nil {
		t.Error(err)
	}
}

// TestFileHangsAtTheEnd checks that a file that is never read does not delay the end.
func TestFileHangsAtTheEnd(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	p := w.open(plain)
	dead(t, filepath.Dir(p.file))
	p.Signal(syscall.SIGHUP) // which Linux delivers before SIGTERM
	p.stop()
}
