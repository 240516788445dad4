//go:build lab

package softswitch_test

import (
	"bytes"
	"compress/gzip"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/ring"
	"weir/internal/testkit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	softswitch "weir/worlds/switch"
)

// tapped is a frame with its timestamp.
type tapped struct {
	at    int64
	on    string
	frame []byte
}

// TestRecordWire checks that the recordings of TestRecordings_ReplayIdentically can be made again: a third of a second
// of real TCP through a real switch.
func TestRecordWire(t *testing.T) {
	for _, r := range softswitch.Recordings() {
		t.Run(r.Name, func(t *testing.T) {
			realtime.Test(t, func(t *realtime.Try) {
				defer t.WatchIdle()()
				capture := recordWire(t, &r)
				same, dropped, marked := r.Replay(t, r.File, capture)
				if !same || r.Drops != (dropped > 0) || r.Marks != (marked > 0) {
					t.Fatalf("the same: %v, %d dropped, %d marked", same, dropped, marked)
				}
				if !testkit.IsUpdating() {
					return
				}
				var z bytes.Buffer
				w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression)
				w.Write(capture)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(r.Path(), z.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// recordWire records the frames that arrive at a switch's interfaces, and those that arrive at the hosts.
func recordWire(t *realtime.Try, r *softswitch.Recording) []byte {
	t.Helper()
	w := lay(t, 1500, "left", "right")
	for _, host := range w.hosts {
		w.set4(host, "tcp_ecn", "1")
	}
	var sockets []*ring.Socket
	var names []string
	for i, port := range w.hosts {
		var tap *ring.Socket
		if err := w.do(middle, func() (err error) {
			tap, err = ring.Open(ring.Config{Interface: port, MaxFrame: 1518, Rx: 4096, Tx: 64, Tags: true, Promiscuous: true})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer tap.Close()
		sockets = append(sockets, tap, w.socket(port, 1500))
		names = append(names, softswitch.RecordedIn[i], softswitch.RecordedOut[i])
	}
	var all []tapped
	take := func() {
		for i, s := range sockets {
			for {
				at, ok := s.NextArrival()
				if !ok {
					break
				}
				all = append(all, tapped{at, names[i], s.Take(nil)})
			}
		}
	}
	w.open(r.File)
	take()
	all = nil // what came before the switch ran
	if _, err := w.transfer("left", "right", netip.MustParseAddrPort("10.9.0.2:5001"), 1, 0, 350*time.Millisecond,
		"cubic"); err != nil {
		t.Fatal(err)
	}
	// A last frame in each direction departs after all others. It is repeated if a full queue has dropped it.
	for i, s := range []*ring.Socket{sockets[1], sockets[3]} {
		last := append(append(append([]byte{}, mac(1-i)...), mac(i)...), append([]byte{0x88, 0xb5}, make([]byte, 50)...)...)
		await.AwaitCondition(t, "the last frame", func() bool {
			s.Put(last)
			s.Flush()
			take()
			return slices.ContainsFunc(all, func(x tapped) bool {
				return x.on == softswitch.RecordedOut[1-i] && bytes.Equal(x.frame, last)
			})
		})
	}
	take()
	slices.SortStableFunc(all, func(a, b tapped) int { return int(a.at - b.at) })
	capture := trace.AppendSection(nil, "", "")
	for _, name := range names {
		capture = trace.AppendInterface(capture, name)
	}
	for _, x := range all {
		on := slices.Index(names, x.on)
		capture = trace.AppendFrame(capture, on, unit.Time(x.at-all[0].at)*unit.Nanosecond, on%2 == 0, x.frame, nil)
	}
	return capture
}
