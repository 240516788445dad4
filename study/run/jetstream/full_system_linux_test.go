//go:build system

package jetstream

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/testkit/await"
)

// TestFullDisk fills the disk of the queue, of the results, or of both. The coordinator must report this and wait,
// and continue when there is space.
func TestFullDisk(t *testing.T) {
	const queueNotice, resultsNotice = "all runs wait for disk space", "results wait for free space"
	for name, parts := range map[string]struct {
		queue, results bool
		notices        []string // one of them is issued
	}{
		"of the queue":   {true, false, []string{queueNotice}},
		"of the results": {false, true, []string{resultsNotice}},
		"of both":        {true, true, []string{queueNotice, resultsNotice}},
	} {
		t.Run(name, func(t *testing.T) { testFullDisk(t, parts.queue, parts.results, parts.notices) })
	}
}

// testFullDisk executes a sweep whose queue, results, or both are on a small disk, which is full while a worker sends
// its later results, until one of the notices is issued.
func testFullDisk(t *testing.T, queue, kept bool, notices []string) {
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
	isIssued := func() bool { return slices.ContainsFunc(notices, p.notices.has) }
	full := ballast{name: filepath.Join(disk, "ballast")}
	var made atomic.Int64
	change := func(data []byte) []byte { // fills the disk, also what the queue has freed, before each later result
		if made.Add(1) > 60 {
			full.fill(t)
		}
		return data
	}
	p.guests(func(j *Join) {
		p.worker(Worker{Name: "a", change: change}, j)
		p.worker(Worker{Name: "b", change: change}, j)
	})
	ended := make(chan struct{})
	p.group.Go(func() {
		await.AwaitCondition(t, "a notice of the full disk", func() bool {
			select {
			case <-ended:
				return true
			default:
				return isIssued()
			}
		})
		full.remove(t)
	})
	o, c, err := p.execute(t.Context(), s)
	close(ended)
	if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
		t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
	}
	p.same(want)
	if !isIssued() || !p.notices.has("the sweep continues") {
		t.Errorf("%q", p.notices.texts())
	}
	t.Logf("%v; %q", c.Status(), p.notices.texts())
}

// ballast is a file that fills its disk until it is removed. It may be used from several goroutines.
type ballast struct {
	name    string
	lock    sync.Mutex
	removed bool
}

// fill extends the file until the disk is full. After remove, it has no effect.
func (b *ballast) fill(t *testing.T) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.removed {
		return
	}
	f, err := os.OpenFile(b.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

// remove frees the disk.
func (b *ballast) remove(t *testing.T) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.removed = true
	if err := os.Remove(b.name); err != nil {
		t.Error(err)
	}
}
