package softswitch

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"weir/core/trace"
	"weir/core/unit"
)

// Recording is a run of a real switch: the frames at its interfaces, with the kernel's timestamps, and the frames
// at the hosts. TestRecordWire records them (go test -tags lab -run TestRecordWire ./worlds/switch -update).
type Recording struct {
	Name string
	File string // the switch's, with ports left and right
	// Effects in the recording, and the same switch with another parameter.
	Drops, Marks bool
	Was, Other   string
}

// Recordings returns the recordings in testdata.
func Recordings() []Recording {
	return []Recording{
		{"drops", recordedFile("rate: 10Mbps, buffer: 20 packets", "forward"), true, false, "20 packets", "19 packets"},
		{"marks", recordedFile("rate: 10Mbps, buffer: 100 packets", "forward, {ecn: {kmin: 10kB, kmax: 10kB, pmax: 100%}}"),
			false, true, "10kB", "9kB"},
	}
}

func recordedFile(right, programs string) string {
	return "ports:\n  left: {interface: left}\n  right: {interface: right, " + right + "}\nswitch: [" + programs + "]\n" +
		"metrics: none\n"
}

// Path returns the recording's file.
func (r *Recording) Path() string { return "testdata/recorded-" + r.Name + ".pcapng.gz" }

// Names of interfaces in a recording: where frames arrive, and where they depart.
var (
	RecordedIn  = []string{"left in", "right in"}
	RecordedOut = []string{"left", "right"}
)

// Replay gives a switch without interfaces the arriving frames, and checks that the same frames depart in the same
// order as far as the recording goes. It returns the numbers of dropped and marked frames.
func (r *Recording) Replay(t testing.TB, file string, capture []byte) (same bool, dropped, marked uint64) {
	t.Helper()
	in, err := trace.NewFrameReader(bytes.NewReader(capture))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, decode(t, file))
	var want [2][][]byte
	last := unit.Time(0)
	for {
		f, err := in.NextFrame()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for port := range want {
			switch f.On {
			case RecordedIn[port]:
				b.send(port, f.At, bytes.Clone(f.Data))
				last = max(last, f.At)
			case RecordedOut[port]:
				want[port] = append(want[port], bytes.Clone(f.Data))
				if len(f.Data) > 15 && f.Data[12] == 8 && f.Data[15]&3 == 3 { // CE
					marked++
				}
			}
		}
	}
	random := unit.NewRandom(1, "wake")
	for end := last + unit.Second; b.time < end; b.time += 1 + unit.Time(random.Int64N(int64(200*unit.Microsecond))) {
		if err := b.Step(b.time); err != nil {
			t.Fatal(err)
		}
	}
	for port, g := range b.gates {
		if len(want[port]) < 20 {
			t.Errorf("only %d frames came out at port %d", len(want[port]), port)
		}
		for i, f := range want[port] {
			if i >= len(g.out) || !bytes.Equal(g.out[i], f) {
				return false, 0, 0
			}
		}
	}
	for _, n := range b.Drops() {
		dropped += n
	}
	return true, dropped, marked
}

// TestRecordings_ReplayIdentically checks that a switch without interfaces with a real one's input sends the real one's
// output, byte for byte and in the same order, whenever its thread runs. One with another parameter does not.
func TestRecordings_ReplayIdentically(t *testing.T) {
	for _, r := range Recordings() {
		t.Run(r.Name, func(t *testing.T) {
			f, err := os.Open(r.Path())
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			capture, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			same, dropped, marked := r.Replay(t, r.File, capture)
			if !same || r.Drops != (dropped > 0) || r.Marks != (marked > 0) {
				t.Errorf("the same: %v, %d dropped, %d marked", same, dropped, marked)
			}
			other := string(bytes.ReplaceAll([]byte(r.File), []byte(r.Was), []byte(r.Other)))
			if same, _, _ := r.Replay(t, other, capture); same {
				t.Errorf("with %s in place of %s it sends the same", r.Other, r.Was)
			}
		})
	}
}
