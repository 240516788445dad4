//go:build system

package jetstream

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/testkit/await"
)

// TestFullDisk fills the disk of the queue, of the results, or of both. The coordinator must report this and wait,
// and continue when there is space.
func TestFullDisk(t *testing.T) {
	for name, parts := range map[string]struct {
		queue, results bool
		says           string
	}{
		"of the queue":   {true, false, "is not writable"},
		"of the results": {false, true, "results wait for free space"},
		"of both":        {true, true, "wait for free space"}, // for the queue or for the results, whichever finds out first
	} {
		t.Run(name, func(t *testing.T) { fullDisk(t, parts.queue, parts.results, parts.says) })
	}
}

func fullDisk(t *testing.T, queue, kept bool, says string) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it mounts a small disk")
	}
	s := sweepOf(t, 200)
	want := here(t, s)
	disk := t.TempDir()
	if err := unix.Mount("weir", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("disturbed: no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
	p := newTCPParty(t)
	if p.config.queue = filepath.Join(t.TempDir(), "queue"); queue {
		p.config.queue = filepath.Join(disk, "queue")
	}
	if kept {
		p.dir = filepath.Join(disk, "results")
	}
	ballast := filepath.Join(disk, "ballast")
	var made atomic.Int64
	full := make(chan struct{})
	waits := func(data []byte) []byte { // all but sixty results come when the disk is full
		if made.Add(1) > 60 {
			<-full
		}
		return data
	}
	p.guests(func(j *Join) {
		p.worker(Worker{Name: "a", change: waits}, j)
		p.worker(Worker{Name: "b", change: waits}, j)
	})
	p.group.Go(func() { // by what was made, for not each of it is told as progress
		await.AwaitCondition(t, "60 results", func() bool { return made.Load() >= 60 })
		fill(t, ballast)
		close(full)
		await.AwaitCondition(t, "it says that the disk is full", func() bool { return p.notices.has(says) })
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	})
	o, c, err := p.execute(t.Context(), s)
	if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
		t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
	}
	p.same(want)
	if !p.notices.has(says) || !p.notices.has("the sweep continues") {
		t.Errorf("%q", p.notices.texts())
	}
	t.Logf("%v; %q", c.Status(), p.notices.texts())
}

// fill writes a file until its disk is full.
func fill(t *testing.T, name string) {
	f, err := os.Create(name)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}
