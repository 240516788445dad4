package users

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestParseSet_PrintsCanonicalForm checks that a descriptor is read to one canonical form, which is read as itself, and
// that errors describe what is wrong.
func TestParseSet_PrintsCanonicalForm(t *testing.T) {
	for _, x := range []struct{ text, want, err string }{
		{text: "10.0.1.7/24", want: "10.0.1.0/24"},
		{text: "from 10.0.1.7", want: "10.0.1.7"},
		{text: "2001:db8::1/56", want: "2001:db8::/56"},
		{text: "dscp 46", want: "dscp 46"},
		{text: "tcp from 10.0.0.1 to 10.0.0.2 sport 5001 dport 443", want: "10.0.0.1 to 10.0.0.2 tcp sport 5001 dport 443"},
		{text: "2001:db8::7 | 10.0.0.9 | 10.0.0.1", want: "10.0.0.1 | 10.0.0.9 | 2001:db8::7"},
		{text: "proto 47", want: "proto 47"},
		{text: "proto 17 10.0.0.1", want: "10.0.0.1 udp"},
		{text: "", err: "the text is empty"},
		{text: "10.0.0.1 |", err: "the text is empty"},
		{text: "10.0.0.1 10.0.0.2", err: "from is there twice"},
		{text: "10.0.0.1 | 10.0.0.1/32", err: "10.0.0.1 is there twice"},
		{text: "10.0.0.1 to 2001:db8::1", err: "two IP families"},
		{text: "dscp 64", err: "dscp 64; allowed: 0 … 63"},
		{text: "sport 80", err: "ports need a protocol; add tcp or udp"},
		{text: "tcp sport 65536", err: "0 … 65535"},
		{text: "tcp dport", err: "0 … 65535"},
		{text: "10.0.0.256", err: "is no address"},
		{text: "home", want: "home"}, {text: "Home-7_a", want: "Home-7_a"},
		{text: "home dscp 46", err: "is no address"}, {text: "10.0.0.1 | home", err: "is no address"},
		{text: "vlan", err: "is no address"}, {text: "7up", err: "is no address"},
		{text: "to fe80::1%eth0", err: "neither an address nor a prefix"},
	} {
		t.Run(x.text, func(t *testing.T) {
			got, err := ParseSet(x.text)
			if string(got) != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, x.want, x.err)
			}
			if again, err := ParseSet(x.want); x.err == "" && (err != nil || again != got) {
				t.Errorf("%q is read as %q, %v", x.want, again, err)
			}
		})
	}
}

// TestCheckDistinct_RejectsPartialOverlap checks that descriptors of two aggregates may nest, and then the narrower
// wins. Any other overlap is an error, as is the same one twice.
func TestCheckDistinct_RejectsPartialOverlap(t *testing.T) {
	for _, x := range []struct{ a, b, err string }{
		{a: "10.0.0.0/8", b: "10.0.0.1"},
		{a: "10.0.0.0/8", b: "10.0.0.0/8 dscp 46"},
		{a: "10.0.0.1", b: "10.0.0.2"},
		{a: "10.0.0.0/8", b: "fd00::/8"},
		{a: "tcp dport 80", b: "udp"},
		{a: "dscp 46", b: "dscp 0"},
		{a: "dscp 46", b: "10.0.0.1 dscp 46"},
		{a: "10.0.0.1", b: "10.0.0.1/32", err: "10.0.0.1 is in two aggregates"},
		{a: "10.0.0.1 | 10.0.0.2", b: "10.0.0.2 | 10.0.0.3", err: "10.0.0.2 is in two aggregates"},
		{a: "10.0.0.1", b: "dscp 46", err: "neither is within the other"},
		{a: "10.0.0.1", b: "10.0.0.0/8 tcp", err: "neither is within the other"},
		{a: "to 10.0.0.1", b: "10.0.0.2", err: "neither is within the other"},
		{a: "tcp sport 1", b: "tcp dport 2", err: "neither is within the other"},
	} {
		t.Run(x.a+", "+x.b, func(t *testing.T) {
			for _, pair := range [][2]string{{x.a, x.b}, {x.b, x.a}} {
				err := CheckDistinct([]Set{Set(pair[0]), Set(pair[1])})
				if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
					t.Errorf("%q: %v, want %q", pair, err, x.err)
				}
			}
		})
	}
}

// TestAmbiguousAmongMany checks that descriptors of many are found ambiguous exactly if a comparison of all pairs finds
// some. Prefixes, in any number, need no comparison with each other. A narrower descriptor needs one with every other,
// so comparisons are fewer than all pairs.
func TestAmbiguousAmongMany(t *testing.T) {
	kinds := []string{"10.0.%d.0/24", "10.0.%d.1", "10.0.%d.1 tcp", "tcp dport %d", "10.0.%d.0/24 | 10.9.0.1", "dscp %d",
		"to 10.0.%d.1"}
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 2000 {
		var all []Set
		var matches []Match
		var of []int
		for i := range 2 + r.IntN(5) {
			key := Set(fmt.Sprintf(kinds[r.IntN(len(kinds))], r.IntN(8)))
			m, err := key.ParseMatches()
			if err != nil {
				t.Fatal(err)
			}
			for k := range m {
				matches, of = append(matches, m[k]), append(of, i)
			}
			all = append(all, key)
		}
		want := false
		for i := range matches {
			for k := range i {
				want = want || checkAmbiguous(all, matches, of, k, i) != nil
			}
		}
		if err := CheckDistinct(all); (err != nil) != want {
			t.Fatalf("%v: %v, want an error: %v", all, err, want)
		} else if want {
			found++
		}
	}
	if found < 200 || found > 1800 {
		t.Errorf("%d of 2000 were ambiguous, which tells nothing", found)
	}
	var many []Set
	for i := range 1 << 16 {
		many = append(many, Set(fmt.Sprintf("2001:db8:%x:%x::/64", i>>8, i&255)))
	}
	if err := CheckDistinct(many); err != nil {
		t.Error(err)
	}
	pairs := 0
	var matches []Match
	var of []int
	for i, key := range []Set{"2001:db8::/64", "2001:db8:1::/64", "dscp 46", "2001:db8:2::/64", "tcp dport 443",
		"2001:db8:3::/64"} {
		m, err := key.ParseMatches()
		if err != nil {
			t.Fatal(err)
		}
		matches, of = append(matches, m...), append(of, i)
	}
	if err := eachRival(matches, of, func(int, int) error { pairs++; return nil }); err != nil || pairs != 4+4+1 {
		t.Errorf("%v after %d comparisons, want 9: two narrow descriptors with four prefixes, and with each other", err,
			pairs)
	}
}
