package inputloss

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

func program(t testing.TB, p float64) dataplane.Program {
	t.Helper()
	site := &dataplane.Site{Random: func(name string) unit.Random { return unit.NewRandom(1, name) }}
	l, err := New(site, Config{p})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestProgram_LosesGivenShare checks that the given share of packets is lost, with the right reason. Packets that the
// switch made are never lost, and the same seed loses the same packets.
func TestProgram_LosesGivenShare(t *testing.T) {
	for _, c := range []struct{ p, low, high float64 }{{0, 0, 0}, {0.002, 0.0016, 0.0024}, {0.5, 0.49, 0.51}, {1, 1, 1}} {
		t.Run(fmt.Sprint("probability ", c.p), func(t *testing.T) {
			a, b := program(t, c.p).(*Program), program(t, c.p).(*Program)
			lost := 0
			const n = 200000
			for range n {
				var p packet.Packet
				v := a.Ingress(nil, &p)
				if v != b.Ingress(nil, &p) {
					t.Fatal("one seed, two outcomes")
				}
				if v == dataplane.Drop(dataplane.InputLoss) {
					lost++
				} else if v != dataplane.Accept {
					t.Fatalf("verdict %v", v)
				}
			}
			if share := float64(lost) / n; share < c.low || share > c.high {
				t.Errorf("probability %g: %g are lost", c.p, share)
			}
		})
	}
	own := packet.Packet{Meta: packet.Metadata{In: packet.NoPort}}
	if program(t, 1).(*Program).Ingress(nil, &own) != dataplane.Accept {
		t.Error("a packet that the switch made is lost at its input")
	}
}

func ExampleScheme() {
	fmt.Println(Scheme().Name, Scheme().Parameters()[0].Name)
	// Output: loss probability
}
