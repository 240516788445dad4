package trace

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"weir/core/unit"
)

// exact returns a file with two interfaces and some frames. The second frame is at the last possible picosecond.
func exact() ([]byte, []Frame) {
	b := AppendSection(nil, "weir", "a comment")
	b = AppendInterface(AppendInterface(b, "s1->a"), "a->s1 in")
	frames := []Frame{
		{At: 1, On: "a->s1 in", Inbound: true, Data: []byte{1, 2, 3, 4, 5}, Comment: "size 7"},
		{At: unit.Never - 1, On: "s1->a", Data: []byte{}},
		{At: 5_000_000_000_001, On: "s1->a", Data: bytes.Repeat([]byte{7}, 1514), Comment: "made; internal"},
	}
	for _, f := range frames {
		on := 0
		if f.Inbound {
			on = 1
		}
		n := len(b)
		b = AppendFrame(b, on, f.At, f.Inbound, f.Data, []byte(f.Comment))
		if len(b)-n != FrameBlockLength(len(f.Data), len(f.Comment)) {
			panic("FrameBlock is wrong")
		}
	}
	return b, frames
}

func frames(b []byte) (out []Frame, err error) {
	r, err := NewFrameReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for {
		f, err := r.NextFrame()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		f.Data = append([]byte{}, f.Data...)
		out = append(out, f)
	}
}

// TestFrameReader_RoundTripsExactFrames checks that what is written is read again, to the picosecond;
// draft-ietf-opsawg-pcapng §4.1 to §4.3 give the bytes.
func TestFrameReader_RoundTripsExactFrames(t *testing.T) {
	b, want := exact()
	got, err := frames(b)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v", got, err)
	}
	const section = "0a0d0d0a" + "38000000" + "4d3c2b1a" + "01000000" + "ffffffffffffffff" +
		"04000400" + "77656972" + "01000900" + "6120636f6d6d656e74000000" + "00000000" + "38000000"
	const first = "01000000" + "2c000000" + "01000000" + "00000000" + "02000500" + "73312d3e61000000" + "09000100" +
		"0c000000" + "00000000" + "2c000000"
	if h := hex.EncodeToString(b); !strings.HasPrefix(h, section+first) {
		t.Errorf("got %s\nwant %s%s", h[:len(section)+len(first)], section, first)
	}
	const frame = "06000000" + "40000000" + "01000000" + "00000000" + "01000000" + "05000000" + "05000000" +
		"0102030405000000" +
		"02000400" + "01000000" + "01000600" + "73697a6520370000" + "00000000" + "40000000"
	if !bytes.Contains(b, unhex(t, frame)) {
		t.Error("the first frame is written in another way")
	}
	buffer := make([]byte, 0, 2000)
	if n := testing.AllocsPerRun(10, func() { AppendFrame(buffer, 0, 5, true, b[:1000], b[:20]) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDamagedFrames checks that damage is an error that names the offset.
func TestDamagedFrames(t *testing.T) {
	b, _ := exact()
	for n := range b {
		got, err := frames(b[:n])
		if err == nil && len(got) == 3 || err != nil && !strings.Contains(err.Error(), "offset") {
			t.Errorf("%d bytes: %d frames, %v", n, len(got), err)
		}
	}
	for what, damage := range map[string]func(b []byte){
		"little-endian":        func(b []byte) { b[8]++ },
		"version":              func(b []byte) { b[12]++ },
		"no section":           func(b []byte) { b[0]++ },
		"a block of":           func(b []byte) { b[4]++ },
		"at its end":           func(b []byte) { b[52]++ },
		"not Ethernet":         func(b []byte) { b[64]++ },
		"if_tsresol is 9":      func(b []byte) { b[56+32] = 9 },
		"interface 2 of":       func(b []byte) { b[56+44+44+8] = 2 },
		"a frame of":           func(b []byte) { b[56+44+44+20] = 200 },
		"5 of 6 bytes":         func(b []byte) { b[56+44+44+24] = 6 },
		"time":                 func(b []byte) { b[56+44+44+15] = 0xff },
		"option 1: 2054 bytes": func(b []byte) { b[56+44+44+28+8+8+3] = 8 },
	} {
		t.Run(what, func(t *testing.T) {
			c := append([]byte(nil), b...)
			damage(c)
			if what, _, _ := strings.Cut(what, " of"); what != "" {
				if _, err := frames(c); err == nil || !strings.Contains(err.Error(), what) ||
					!strings.Contains(err.Error(), "offset") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	if _, err := NewFrameReader(severed{}); !errors.Is(err, errSevered) {
		t.Errorf("a reader that fails: %v", err)
	}
}

var errSevered = errors.New("severed")

type severed struct{}

func (severed) Read([]byte) (int, error) { return 0, errSevered }

// FuzzFrameReader_RoundTripsFrames checks that frames that can be read are the same after writing and reading.
func FuzzFrameReader_RoundTripsFrames(f *testing.F) {
	b, _ := exact()
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := frames(data)
		if err != nil {
			return
		}
		b := AppendSection(nil, "", "")
		for i, x := range got {
			b = AppendFrame(AppendInterface(b, x.On), i, x.At, x.Inbound, x.Data, []byte(cutOff(x.Comment)))
			got[i].On, got[i].Comment = cutOff(x.On), cutOff(x.Comment)
		}
		if again, err := frames(b); err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("%v, then %v, %v", got, again, err)
		}
	})
}
