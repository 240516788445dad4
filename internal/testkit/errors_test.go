package testkit

import (
	"strings"
	"testing"
)

// TestBriefError checks that place, kind and nearest name of an error stay. Parts that a new name would change are
// removed.
func TestBriefError(t *testing.T) {
	for _, c := range []struct{ text, brief string }{
		{"weir: x.yaml:6:10: unknown program \"abd\"; did you mean \"abc\"?; allowed: abc, ecmp, ecn, forward\n" +
			"  6 | switch: [abd]\n    |          ^\n",
			"x.yaml:6:10: unknown program \"abd\"; did you mean \"abc\"?\n"},
		{"x.yaml:1:1: the traffic needs the key transport; allowed: transport: tcp, udp, rdma, ndp, uet\n",
			"x.yaml:1:1: the traffic needs the key transport\n"},
		{"x.yaml:1:1: bad\nx.yaml:2:1: worse; fix it\n", "x.yaml:1:1: bad\nx.yaml:2:1: worse\n"},
		{"no place; allowed: a, b, c, d\n", "no place; allowed: …\n"},
	} {
		if got := briefError(c.text); got != c.brief {
			t.Errorf("%q\nwant %q", got, c.brief)
		}
	}
}

// TestRemoveLists checks that lists of any length are removed. Bounds, examples and fixes for the file stay.
func TestRemoveLists(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"bad; allowed: a", "bad; allowed: …"},
		{"bad; allowed: a, b", "bad; allowed: …"},
		{"bad; allowed: a, b, c\n    excerpt, with, commas", "bad; allowed: …\n    excerpt, with, commas"},
		{"bad; allowed: a, b, c, … and 12 more", "bad; allowed: …"},
		{"bad; allowed: a, b, c and 120 more", "bad; allowed: …"},
		{"bad; allowed: transport: tcp, udp", "bad; allowed: …"},
		{"bad; allowed: a, b, or any with stack: weir", "bad; allowed: …, or any with stack: weir"},
		{"bad; allowed: a, b, {file: …}", "bad; allowed: …, {file: …}"},
		{"bad; allowed: a file, or one of p/a, p/b (weir list)", "bad; allowed: a file, or one of … (weir list)"},
		{"bad; a rate has one of Gbps, Mbps; allowed: a rate above 0", "bad; a rate has one of …; allowed: a rate above 0"},
		{"bad; a number with one of the units s, ms", "bad; a number with one of the units …"},
		{"bad; allowed: a map with every, length", "bad; allowed: a map with …"},
	} {
		if got := RemoveLists(c.text); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
	for _, text := range []string{"bad; allowed: 1 … 10000", "bad; allowed: at least 1 packet, or 0B",
		"bad; allowed: by: address", "bad; allowed: letters, digits, - and _", "bad; allowed: [forward, …]",
		"bad; allowed: 24 packets, or 36kB", "bad; allowed: down: true, down: false, or rate: 5Gbps",
		"bad; allowed: {where: {scheme: abc}, goodput.client0: 32Mbps}", "a, b, c"} {
		if got := RemoveLists(text); got != text {
			t.Errorf("%q\nwant %q", got, text)
		}
	}
}

// TestCheckList checks that a list is accepted if it names or counts every known name.
func TestCheckList(t *testing.T) {
	known := []string{"a", "b", "c"}
	for _, text := range []string{"bad; allowed: a, b, c", "bad; allowed: b, … and 2 more", "bad; allowed: c and 2 more",
		"allowed: a file, or one of c, a, … and 1 more (weir list)", "bad; allowed: x: c, b, a\n    excerpt"} {
		CheckList(t, text, known)
	}
	for _, text := range []string{"bad", "bad; allowed: a, b", "bad; allowed: a, b, d", "bad; allowed: a, … and 3 more"} {
		if findListError(text, known) == "" {
			t.Errorf("%q is taken for a list of all", text)
		}
	}
}

// TestErrorTexts checks that a golden file has one line per error, and the full text of a marked error.
func TestErrorTexts(t *testing.T) {
	var e ErrorTexts
	e.Heading("hosts")
	e.AddError(t, "from", "x:1:2: unknown host \"a\"; did you mean \"b\"?; allowed: b, c\n    a\n    ^\n", true)
	e.AddError(t, "to", "x:1:3: unknown host \"d\"; allowed: b, c\n    d\n    ^\nx:2:3: the value is a list\n", false)
	const want = "# hosts\nfrom:\n" +
		"  x:1:2: unknown host \"a\"; did you mean \"b\"?; allowed: …\n      a\n      ^\n" +
		"to: x:1:3: unknown host \"d\"\nto: x:2:3: the value is a list\n"
	if got := e.String(); got != want || e.CountMarked() != 1 {
		t.Errorf("%d full texts,\n%s\nwant 1,\n%s", e.CountMarked(), got, want)
	}
	a, b := errorKind("x:1:2: host \"a\" has 3 links; did you mean \"b\"?"), errorKind("y:2:1: host \"b\" has 17 links")
	if a != b || !strings.HasPrefix(a, "host ") {
		t.Errorf("kinds %q and %q", a, b)
	}
}
