package classify_test

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
)

func class(t *testing.T, queues int, given ...string) (of [64]uint8) {
	t.Helper()
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Queues: queues}}}
	p, err := dataplanetest.BuildProgram(classify.Scheme(), s.NewSite(), given...)
	if err != nil {
		t.Fatal(err)
	}
	for d := range of {
		for ecn := range uint8(4) {
			x := packet.Packet{TOS: uint8(d)<<2 | ecn}
			if p.(dataplane.Ingresser).Ingress(nil, &x) != dataplane.Accept || ecn > 0 && x.Meta.Class != of[d] {
				t.Errorf("DSCP %d: the class depends on ECN bits", d)
			}
			of[d] = x.Meta.Class
		}
	}
	return of
}

// TestProgram_ClassFollowsDSCP follows RFC 2474 §4.2.2: the class selector is the DSCP's upper three bits: CS3 = 24 …
// 31.
func TestProgram_ClassFollowsDSCP(t *testing.T) {
	of := class(t, 8)
	for d, want := range map[int]uint8{0: 0, 7: 0, 8: 1, 24: 3, 26: 3, 31: 3, 46: 5, 63: 7} {
		if of[d] != want {
			t.Errorf("DSCP %d is of class %d, want %d", d, of[d], want)
		}
	}
	of = class(t, 8, "dscp", "46: 0, 26: 3", "others", "7")
	for d := range of {
		want := uint8(7)
		switch d {
		case 46:
			want = 0
		case 26:
			want = 3
		}
		if of[d] != want {
			t.Errorf("DSCP %d is of class %d, want %d", d, of[d], want)
		}
	}
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Queues: 4}}}
	for _, bad := range []string{"64: 0", "-1: 0", "EF: 0", "26: 4", "26: -1"} {
		t.Run(bad, func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(classify.Scheme(), s.NewSite(), "dscp", bad); err == nil {
				t.Errorf("%s is taken", bad)
			}
		})
	}
}

func ExampleScheme() {
	p, _ := dataplanetest.BuildProgram(classify.Scheme(), &dataplane.Site{Queues: 8}, "dscp", "26: 3")
	x := packet.Packet{TOS: 26 << 2}
	p.(dataplane.Ingresser).Ingress(nil, &x)
	fmt.Println(x.Meta.Class)
	// Output: 3
}
