package testutil

import "testing"

// Place, kind and nearest name of an error stay; what a new scheme would change does not.
func TestBriefError(t *testing.T) {
	for _, c := range []struct{ text, brief string }{
		{"weir: x.yaml:6:10: program \"abd\" is not known; did you mean \"abc\"?; allowed: abc, ecmp, ecn, forward\n" +
			"  6 | switch: [abd]\n    |          ^\n",
			"weir: x.yaml:6:10: program \"abd\" is not known; did you mean \"abc\"?\n"},
		{"x.yaml:1:1: the traffic has no transport; allowed: transport: tcp, udp, rdma, ndp, uet\n",
			"x.yaml:1:1: the traffic has no transport\n"},
		{"no place; allowed: a, b, c, d\n", "no place; allowed: …\n"},
	} {
		if got := BriefError(c.text); got != c.brief {
			t.Errorf("%q\nwant %q", got, c.brief)
		}
	}
	const short, long = "x:1:1: bad; allowed: 1, 2\n", "x:1:1: bad; allowed: tcp, udp, rdma, ndp\n"
	if RemoveLists(short) != short || RemoveLists(long) != "x:1:1: bad; allowed: …\n" ||
		RemoveLists(long) != RemoveLists("x:1:1: bad; allowed: tcp, udp, rdma, ndp, dummy\n") {
		t.Errorf("%q, %q", RemoveLists(short), RemoveLists(long))
	}
}
