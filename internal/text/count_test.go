package text

import "testing"

func TestCount_FormsPlurals(t *testing.T) {
	for _, c := range []struct {
		n          int
		noun, want string
	}{
		{0, "run", "0 runs"}, {1, "run", "1 run"}, {2, "run", "2 runs"}, {1, "switch", "1 switch"},
		{3, "switch", "3 switches"}, {2, "entry", "2 entries"}, {2, "key", "2 keys"}, {2, "address", "2 addresses"},
		{2, "mix", "2 mixes"}, {2, "hash", "2 hashes"}, {2, "packet-hop", "2 packet-hops"}, {2, "y", "2 ys"},
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestVerb_AgreesWithCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		verb, want string
	}{
		{0, "hold", "hold"}, {1, "hold", "holds"}, {2, "fail", "fail"}, {1, "fail", "fails"}, {1, "are", "is"},
		{2, "are", "are"}, {1, "were", "was"}, {1, "have", "has"}, {1, "differ", "differs"},
	} {
		if got := Verb(c.n, c.verb); got != c.want {
			t.Errorf("Verb(%d, %q) = %q, want %q", c.n, c.verb, got, c.want)
		}
	}
}
