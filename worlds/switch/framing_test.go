package softswitch

import (
	"strings"
	"testing"

	"weir/core/unit"
	"weir/internal/testkit/frametest"
)

// TestFraming_CountsBytesOfLine checks that a port's rate counts a frame's size on the line after it: 10 frames of 1506
// bytes, 1492 of them IP, take 33 cells of 53 bytes each with the 40 bytes of PPPoE over ATM, and depart no faster than
// the line.
func TestFraming_CountsBytesOfLine(t *testing.T) {
	for _, x := range []struct {
		framing string
		counted int64
	}{
		{"l2", 1506},
		{"wire", 1530},
		{"{overhead: 18 B, mpu: 64 B}", 1492 + 18},
		{"{overhead: 40 B, cells: atm}", 32 * 53}, // 1532 bytes
		{"{overhead: 30 B, cells: ptm}", 1522 + 24},
	} {
		t.Run(x.framing, func(t *testing.T) {
			b := newBench(t, decode(t, `
ports: {left: {interface: a}, right: {interface: b, rate: 10Mbps}}
switch: [forward]
framing: `+x.framing+`
metrics: none
`))
			for range 10 {
				b.send(0, 0, frametest.NewDatagram(t, 1, 2, 0, 1506))
			}
			b.stepUntil(t, 20*unit.Millisecond)
			out := b.gates[1].when
			if len(out) != 10 {
				t.Fatalf("%d frames came out", len(out))
			}
			took, want := out[9]-out[0], unit.Time(9*x.counted*8*int64(unit.Second)/10_000_000)
			if took < want-20*unit.Microsecond || took > want+20*unit.Microsecond { // the bench's step
				t.Errorf("nine frames after the first took %v, want %v", took, want)
			}
			if sent := int64(b.Port(1).TxBytes()); sent != 10*x.counted {
				t.Errorf("they count as %d bytes, want %d", sent, 10*x.counted)
			}
		})
	}
	for text, says := range map[string]string{
		"{mpu: 64 B}":                       "a framing has no overhead",
		"{overhead: 300 B}":                 "300 B is not possible here; allowed: 0 B … 256 B",
		"{overhead: 18 B, cells: adsl}":     `unknown value of cells "adsl"`,
		"{overhead: 18 B, least: 64 B}":     `unknown framing key "least"`,
		"[18 B]":                            "a plain value",
		"{overhead: 18 B, mpu: 18 packets}": "18 packets",
	} {
		_, err := Decode(schemes(), "switch.yaml", []byte("ports: {a: {interface: a}, b: {interface: b}}\n"+
			"switch: [forward]\nframing: "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "switch.yaml:3:") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}
