//go:build lab

package lab_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/core/unit"
	"weir/internal/testkit"
	"weir/internal/testkit/realtime"
	"weir/worlds/lab"
)

func init() {
	for _, x := range recordings {
		lab.Roles["record-"+x.name] = func(file string) error {
			c, err := x.config()
			if err != nil {
				return err
			}
			c.Capture = &lab.Capture{Switches: []string{"s1"}, File: file}
			return lab.Serve(c, os.Stdin, os.Stdout)
		}
	}
}

// TestRecordings_CanBeMadeAgain checks that the recordings of TestRecordings_ReplayIdentically can be made again, in a
// real lab: half a second of real TCP.
func TestRecordings_CanBeMadeAgain(t *testing.T) {
	for _, x := range recordings {
		t.Run(x.name, func(t *testing.T) {
			realtime.Test(t, func(t *realtime.Try) {
				lab.NeedRoot(t)
				c, err := x.config()
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "s1.pcapng")
				l, p := start(t, c, "record-"+x.name+" "+file)
				if x.marks {
					for node, n := range c.Wiring.Network.Nodes {
						if n.Switch {
							continue
						}
						if err := l.Do(node, func() error {
							return os.WriteFile("/proc/sys/net/ipv4/tcp_ecn", []byte("1"), 0)
						}); err != nil {
							t.Fatal(err)
						}
					}
				}
				if _, err := send(l, c, c.Flows, 500*time.Millisecond); err != nil {
					t.Fatal(err)
				}
				r, err := p.Stop()
				if err != nil {
					t.Fatal(err)
				}
				t.NoteDisturbed(r.DisturbedStrictly(nil, 10*unit.Millisecond)...)
				capture, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				checkRecording(t, c, capture, x.drops, x.marks)
				if !testkit.IsUpdating() || t.Failed() {
					return
				}
				var z bytes.Buffer
				w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression)
				w.Write(capture)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(recording(x.name), z.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
