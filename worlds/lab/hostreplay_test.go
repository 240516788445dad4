package lab

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/core/unit"
	"weir/worlds/live"
)

// hostsRun runs two scripted hosts whose thread is late, so that a frame is handled after later events. It returns
// a capture of the received and sent frames.
func hostsRun(t *testing.T, limit unit.Bytes) (*Config, []byte, *CaptureSummary) {
	t.Helper()
	now := unit.Time(0)
	s, e, g, c, h := standing(t, &now, &Capture{Limit: limit})
	e.wakes = 35 * unit.Nanosecond
	for _, f := range []struct {
		at, until unit.Time
		port      uint16
	}{{10, 40, 1}, {30, 100, 99}, {50, 2000, 1}, {50, 3000, 4}, {2500, 4000, 1}} {
		g.Frames = append(g.Frames, to(t, c, live.OwnMAC(1), f.port))
		g.Stamps = append(g.Stamps, f.at*unit.Nanosecond)
		now = f.until * unit.Nanosecond
		s.step(now)
	}
	var b bytes.Buffer
	x, err := s.writeCapture(h, &b)
	if err != nil {
		t.Fatal(err)
	}
	return c, b.Bytes(), x
}

// againHosts replays a capture with new hosts.
func againHosts(t *testing.T, c *Config, capture []byte) (*ReplayResult, error) {
	t.Helper()
	h, e := ofScripted(t, c)
	e.wakes = 35 * unit.Nanosecond
	return ReplayHosts(h, bytes.NewReader(capture))
}

// framesOf returns copies of the frames of a capture.
func framesOf(t *testing.T, capture []byte) (frames []trace.Frame) {
	t.Helper()
	r, err := trace.NewFrameReader(bytes.NewReader(capture))
	if err != nil {
		t.Fatal(err)
	}
	for {
		x, err := r.NextFrame()
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		x.Data = bytes.Clone(x.Data)
		frames = append(frames, x)
	}
}

// rewritten returns a capture with other frames.
func rewritten(frames []trace.Frame) []byte {
	var names []string
	b := trace.AppendSection(nil, application, "")
	for _, x := range frames {
		if !slices.Contains(names, x.On) {
			names = append(names, x.On)
			b = trace.AppendInterface(b, x.On)
		}
	}
	for _, x := range frames {
		b = trace.AppendFrame(b, slices.Index(names, x.On), x.At, x.Inbound, x.Data, []byte(x.Comment))
	}
	return b
}

// TestReplayHosts checks that new hosts with a capture's frames do the same at the same times. The capture records
// which frames were late, and when they were received.
func TestReplayHosts(t *testing.T) {
	c, capture, x := hostsRun(t, 0)
	got, err := againHosts(t, c, capture)
	if err != nil || got.First != nil || got.In != x.In || got.Out != x.Out || x.In != 5 || x.Out != 5 ||
		got.Until != 4*unit.Microsecond+1 {
		t.Fatalf("%+v (%v) of %+v, %v", got, got.First, x, err)
	}
	var words []string
	for _, x := range framesOf(t, capture) {
		words = append(words, strings.TrimSpace(strings.Join([]string{x.At.String(), x.On, x.Comment}, " ")))
	}
	const want = `10ns client->s1
10ns s1->client in
35ns client->s1
40.002ns s1->client in late 10002
100.002ns client->s1
100.002ns s1->client in late 50002
2000.002ns client->s1
2000.002ns s1->client in late 1950002
3000.002ns client->s1
3000.002ns s1->client in late 500002
4000.001ns client->s1 events end`
	if got := strings.Join(words, "\n"); got != want {
		t.Errorf("%s", got)
	}
	frames := framesOf(t, capture)
	for name, m := range map[string]struct {
		change func(f []trace.Frame) []trace.Frame
		want   string
	}{
		"a byte": {func(f []trace.Frame) []trace.Frame { f[4].Data[40] ^= 1; return f },
			"the frames (byte 40) of sent packet 3 differ"},
		"a time": {func(f []trace.Frame) []trace.Frame { f[2].At++; return f },
			"the times of sent packet 2 differ"},
		"a frame too many": {func(f []trace.Frame) []trace.Frame { return slices.Insert(f, 2, f[2]) },
			"the times of sent packet 3 differ"},
		"one that is gone": {func(f []trace.Frame) []trace.Frame { return slices.Delete(f, 8, 9) },
			"sent packet 5 differ\ncaptured: nothing"},
		"one that did not come": {func(f []trace.Frame) []trace.Frame { return slices.Delete(f, 5, 6) },
			"the times of sent packet 3 differ"},
		"two in the other order": {func(f []trace.Frame) []trace.Frame {
			f[3].Data, f[5].Data = f[5].Data, f[3].Data
			return f
		}, "the times of sent packet 3 differ"},
	} {
		t.Run(name, func(t *testing.T) {
			b := rewritten(m.change(framesOf(t, capture)))
			got, err := againHosts(t, c, b)
			if err != nil || got.First == nil || !strings.Contains(got.First.String(), m.want) {
				t.Errorf("%v, %v; want %q", got.First, err, m.want)
			}
		})
	}
	if got, err := againHosts(t, c, rewritten(frames)); err != nil || got.First != nil {
		t.Errorf("unchanged: %v, %v", got.First, err)
	}
}

// TestReplayHostsCut checks that a capture that ran out of room is compared up to there.
func TestReplayHostsCut(t *testing.T) {
	c, capture, x := hostsRun(t, 500)
	got, err := againHosts(t, c, capture)
	if err != nil || !got.Cut || got.First != nil || x.Cut == unit.Never || got.Out == 0 || got.Out >= 5 {
		t.Errorf("%+v of %+v: %v, %v", got, x, got.First, err)
	}
}

// TestBadHostCaptures checks that a capture that is damaged, or of other hosts, is an error with its place.
func TestBadHostCaptures(t *testing.T) {
	c, capture, _ := hostsRun(t, 0)
	for want, change := range map[string]func(f []trace.Frame) []trace.Frame{
		"the capture has no end; it was cut off":    func(f []trace.Frame) []trace.Frame { return f[:len(f)-1] },
		"the frame is after the end of the capture": func(f []trace.Frame) []trace.Frame { return append(f, f[1]) },
		"frame 1 of the capture, at 10000 ps, x->y: the network has no host": func(f []trace.Frame) []trace.Frame {
			f[0].On = "x->y"
			return f
		},
		"the frame has the wrong direction": func(f []trace.Frame) []trace.Frame { f[1].Inbound = false; return f },
		"the previous frame arrived at 100003 ps": func(f []trace.Frame) []trace.Frame {
			f[3].At = f[5].At + 1
			return f
		},
		`the comment "late 0" is unknown`: func(f []trace.Frame) []trace.Frame { f[1].Comment = "late 0"; return f },
		`the comment "size 3" is unknown`: func(f []trace.Frame) []trace.Frame { f[0].Comment = "size 3"; return f },
		`the comment "up" is unknown`: func(f []trace.Frame) []trace.Frame {
			f[len(f)-1].Comment = "up"
			return f
		},
	} {
		t.Run(want, func(t *testing.T) {
			got, err := againHosts(t, c, rewritten(change(framesOf(t, capture))))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, %+v; want %q", err, got, want)
			}
		})
	}
	if _, err := againHosts(t, c, capture[:len(capture)-3]); err == nil ||
		!strings.Contains(err.Error(), "within a block") {
		t.Error(err)
	}
	h, _ := ofScripted(t, c)
	h.Capture = &Capture{Limit: -1}
	if _, _, err := h.newHostIO(make([]live.Gate, len(c.Wiring.Network.Nodes)), nil); err == nil {
		t.Error("a capture of less than nothing")
	}
}

// FuzzReplayHosts reads any capture without a panic.
func FuzzReplayHosts(f *testing.F) {
	t := &testing.T{}
	c, capture, _ := hostsRun(t, 0)
	f.Add(capture)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := againHosts(t, c, b); err == nil && got.Until < 0 {
			t.Errorf("%+v", got)
		}
	})
}
