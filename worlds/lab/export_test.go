package lab

import (
	"bytes"
	"testing"

	"weir/core/unit"
)

// Arriving is a frame that a host's kernel sends.
type Arriving struct {
	At    unit.Time
	Node  int
	Frame []byte
}

// Scripted runs a configuration with kernels that follow a script, in order of time. The thread runs at the times
// that wake returns, one after the other, until end. It also returns the captures.
func Scripted(t testing.TB, c *Config, arriving []Arriving, wake func(now unit.Time) unit.Time, end unit.Time) (*Report,
	[]byte) {
	t.Helper()
	now := unit.Time(0)
	d, gates := memory(t, c, &now)
	for _, a := range arriving {
		g := gates[a.Node]
		g.Frames, g.Stamps = append(g.Frames, a.Frame), append(g.Stamps, a.At)
	}
	for now < end {
		now = min(wake(now), end)
		if err := d.Step(now); err != nil {
			t.Fatal(err)
		}
	}
	r := d.buildReport(now)
	var b bytes.Buffer
	if c.Capture != nil {
		var err error
		if r.Captured, err = d.writeCapture(&b, d.Done()); err != nil {
			t.Fatal(err)
		}
	}
	return r, b.Bytes()
}
