package early

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/unit"
)

// TestEarly_DropsBetweenMinAndMax sends packets at once to a slow port. The first six (one on the wire, five
// waiting) must survive, some of the next must be dropped, and the queue must stay within the maximum.
func TestEarly_DropsBetweenMinAndMax(t *testing.T) {
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Tbps}},
		{Rate: unit.LinkRate{Bits: unit.Mbps}}}}
	site := s.NewSite()
	p, err := dataplanetest.BuildProgram(Scheme(), site, "least", "5 packets", "most", "20 packets")
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = []dataplane.Program{forward.New(site), p}
	var script []dataplanetest.Arrival
	for i := range 200 {
		script = append(script, dataplanetest.Arrival{At: unit.Microsecond, Dst: 2, Seq: int64(i), Payload: 1000})
	}
	out := dataplanetest.RunDirect(s, script).Departures
	for i := range 6 {
		if out[i].Seq != int64(i) {
			t.Errorf("departure %d is packet %d", i, out[i].Seq)
		}
	}
	if n := len(out); n < 10 || n > 21 {
		t.Errorf("%d packets leave", n)
	}
}

func ExampleScheme() {
	_, err := Scheme().Configure("least", "50 packets")
	fmt.Println(err)
	// Output: early: least: 50 packets are not below most, which is 50 packets
}
