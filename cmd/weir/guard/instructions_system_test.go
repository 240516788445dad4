//go:build system

package guard_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"weir/cmd/weir/guard"
	"weir/internal/testutil"
)

var record = flag.String("record", "", "why bounds move: measure, and append what has moved to "+file)

// Instructions of runs are what was recorded. With -record all figures are measured, and those that have moved are
// appended to the bounds.
func TestInstructions(t *testing.T) {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("bounds are for linux on amd64")
	}
	testutil.RequireProgram(t, "valgrind", "valgrind")
	binary := filepath.Join(t.TempDir(), "weir")
	if err := guard.Build(binary); err != nil {
		t.Fatal(err)
	}
	m := newMeter()
	t.Run("workloads", func(t *testing.T) { m.instructions(t, binary) })
	if *record != "" {
		m.countAll(t)
	}
	switch {
	case t.Failed():
	case *record != "":
		appendRecord(t, m)
	default:
		judge(t, m, func(figure string) bool { return figure != perHop })
	}
}

// appendRecord appends the bounds that have moved to their file.
func appendRecord(t *testing.T, m *meter) {
	t.Helper()
	bounds, text := recorded(t)
	more, err := bounds.Record(m.figures, runtime.Version(), time.Now(), *record)
	if err == nil {
		err = os.WriteFile(file, append(text, more...), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s", more)
}

// instructions counts those of each workload.
func (m *meter) instructions(t *testing.T, binary string) {
	for _, w := range workloads(t) {
		t.Run(name(w), func(t *testing.T) {
			t.Parallel()
			n, err := guard.Instructions(binary, w, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			m.set(name(w), perHop, n)
		})
	}
}
