// Package gatetest has a gate in memory for tests of data planes: its kernel follows a script.
package gatetest

import "weir/core/unit"

// Script is a gate with a scripted kernel. It implements live.Gate with live.GateCounts as Counts; the type is a
// parameter so that the tests of package live can use Script, too.
type Script[Counts any] struct {
	Frames [][]byte    // from the kernel
	Stamps []unit.Time // arrival times of Frames
	Sent   [][]byte    // flushed frames
	Errors []error     // results of the next flushes; nil: success

	put [][]byte
}

// Add makes the kernel send a frame at a time, after the earlier frames.
func (g *Script[Counts]) Add(at unit.Time, frame []byte) {
	g.Frames, g.Stamps = append(g.Frames, frame), append(g.Stamps, at)
}

// Stamp returns the time of the next frame, unit.Never without one.
func (g *Script[Counts]) Stamp() unit.Time {
	if len(g.Stamps) == 0 {
		return unit.Never
	}
	return g.Stamps[0]
}

// Take appends the next frame to b and removes it. There must be one.
func (g *Script[Counts]) Take(b []byte) []byte {
	b = append(b, g.Frames[0]...)
	g.Frames, g.Stamps = g.Frames[1:], g.Stamps[1:]
	return b
}

// Put keeps a copy of a frame until Flush. It always accepts the frame.
func (g *Script[Counts]) Put(frame []byte) bool {
	g.put = append(g.put, append([]byte(nil), frame...))
	return true
}

// Flush sends the frames, or returns the next of Errors.
func (g *Script[Counts]) Flush() error {
	if len(g.Errors) > 0 {
		err := g.Errors[0]
		if g.Errors = g.Errors[1:]; err != nil {
			return err
		}
	}
	g.Sent = append(g.Sent, g.put...)
	g.put = nil
	return nil
}

// Drop removes the frames that were put and returns their number.
func (g *Script[Counts]) Drop() int {
	n := len(g.put)
	g.put = nil
	return n
}

// Counts returns zeros.
func (g *Script[Counts]) Counts() (zero Counts) { return zero }
