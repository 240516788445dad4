//go:build lab

package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/rtnl"
)

// TestRecordsElsewhere checks that records of dead switches in other network namespaces stay until they can be restored
// there, and go when the namespace is gone.
func TestRecordsElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces")
	}
	set, _, err := netns.NewSet()
	if err == nil {
		defer set.Close()
		err = set.Add("elsewhere")
	}
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	var there unix.Stat_t
	if err := unix.Stat(netns.Path(set.Name("elsewhere")), &there); err != nil {
		t.Fatal(err)
	}
	write := func(id int, namespace uint64) string {
		path := filepath.Join(netns.RecordDir, fmt.Sprintf("%s%d", recordPrefix, id))
		if err := os.WriteFile(path, fmt.Appendf(nil, "owner 1 %d\nport eth1\noffload eth1 2 tso\n", namespace),
			0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		return path
	}
	kept, removed := write(MaxSwitches+1, there.Ino), write(MaxSwitches+2, 1)
	taken := func(r RecordContent) (bool, error) {
		if r.Path == kept || r.Path == removed {
			t.Errorf("%s is handed out in another namespace", r.Path)
		}
		return false, nil
	}
	if err := ForEachRecord(taken, func(RecordContent) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the record of a namespace that is there: %v", err)
	}
	if _, err := os.Stat(removed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the record of a namespace that is gone: %v", err)
	}
}

// TestFixedOffloads checks that an offload that cannot be switched off, such as the loopback's checksums, is on when it
// is restored. For others than a receiver's checksums that is an error before a switch starts.
func TestFixedOffloads(t *testing.T) {
	on, err := rtnl.ListOffloads("lo")
	if err != nil || len(on) == 0 {
		t.Fatalf("%v, %v", on, err)
	}
	for _, which := range on {
		if done, err := RestoreOffloads([]Change{{"lo", which, 1}}); err != nil || len(done) > 0 {
			t.Errorf("%s, which is on: %v, %v", which, done, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root for the rest: it makes network namespaces")
	}
	set, _, err := netns.NewSet()
	if err == nil {
		defer set.Close()
		err = set.Add("fixed")
	}
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	err = netns.Do(set.Name("fixed"), func() error {
		_, err := rtnl.DisableOffloads("lo")
		return err
	})
	if !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "interface lo: offload ") ||
		!strings.Contains(err.Error(), "cannot switch it off") {
		t.Errorf("what is fixed: %v", err)
	}
}
