package softswitch

import (
	"fmt"
	"testing"
)

// TestMarksBeyondBuffer checks the warning about a bridge whose ecn marks only at queues that its slowest port's
// buffer cannot hold. A buffer in packets holds this number of full frames.
func TestMarksBeyondBuffer(t *testing.T) {
	for _, x := range []struct {
		buffer, programs string
		fires            bool
	}{
		{"100kB", "{ecn: {kmin: 100kB, kmax: 200kB}}", true},
		{"100kB", "{ecn: {kmin: 90kB, kmax: 200kB}}", false},
		{"100 packets", "{ecn: {kmin: 99 packets, kmax: 200 packets}}", true},
		{"100 packets", "{ecn: {kmin: 98 packets, kmax: 200 packets}}", false},
		{"100 packets", "{ecn: {kmin: 160kB, kmax: 200kB}}", true},
		{"100kB", "{ecn: {kmin: 300kB, kmax: 300kB, at_rate: 200Mbps}}", false}, // 75 kB at 50 Mb/s
	} {
		t.Run(x.buffer+" "+x.programs, func(t *testing.T) {
			c, err := Decode(schemes(), "switch.yaml", fmt.Appendf(nil, "ports: {a: {interface: a, rate: 1Gbps, buffer: 9MB}, "+
				"b: {interface: b, rate: 50Mbps, buffer: %s}}\nswitch: [forward, %s]\n", x.buffer, x.programs))
			if err != nil {
				t.Fatal(err)
			}
			fired := false
			for _, w := range c.remarks {
				if w.Kind.ID == "marks-beyond-buffer" {
					fired = true
					if w.Port != "b" {
						t.Errorf("the warning is about port %q", w.Port)
					}
				}
			}
			if fired != x.fires {
				t.Errorf("warnings %v, want one of marks: %v", c.remarks, x.fires)
			}
		})
	}
}
