package experiment_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestUsersInFile checks that users of a file are names with hosts, patterns, addresses and prefixes. Errors have their
// place and what is allowed. A host with two addresses of two users causes a warning where its flows use both.
func TestUsersInFile(t *testing.T) {
	const text = `duration: 10ms
topology: {hosts: [a, b, c], switches: [s], links: [{ends: [a, s], rate: 1Gbps, delay: 1ms},
  {ends: [s, b], rate: 10Mbps, delay: 1ms, buffer: 1MB}, {ends: [s, c], rate: 10Mbps, delay: 1ms, buffer: 1MB}]}
users: %s
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: tcp}, {name: y, from: a, to: c, transport: tcp, ip: %d}]
`
	for _, c := range []struct {
		users  string
		warns  string // with IPv6 next to IPv4
		errors string
	}{
		{users: `{home: [a, c], office: b}`},
		{users: `{home: [a, a, "*"]}`},
		{users: `{home: 10.0.0.1, office: b}`, warns: `x.yaml:4:8: a is in "home" by IPv4 and in no user by IPv6`},
		{users: `{home: ["10.0.0.0/24", "fd00::/64"], office: [b]}`},
		{users: `{home: [10.0.0.0/24, a, c], office: b}`},
		{users: `{home: [10.0.0.1], office: "fd00::1"}`, warns: `a is in "home" by IPv4 and in "office" by IPv6`},
		{users: `{}`},
		{users: `[a, b]`, errors: "x.yaml:4:8: users is a list; allowed: {home: ["},
		{users: `{home: []}`, errors: "x.yaml:4:15: user home has no address; allowed: "},
		{users: `{home: [a, x]}`, errors: `x.yaml:4:19: unknown host "x"; allowed: a, b, c`},
		{users: `{home: s}`, errors: `"s" is a switch`},
		{users: `{home: [a, b], office: [c, b]}`,
			errors: "x.yaml:4:35: 10.0.0.2 already belongs to user home; allowed: each address once"},
		{users: `{home: a, office: 10.0.0.1/32}`, errors: "x.yaml:4:26: 10.0.0.1 already belongs to user home"},
		{users: `{home: ["fd00::/64", 10.0.0.0/24], office: "fd00::9/64"}`, errors: "fd00::/64 already belongs to user home"},
		{users: `{home: 10.0.0.0/33}`, errors: `x.yaml:4:15: "10.0.0.0/33" is neither an address nor a prefix; allowed: an ` +
			`address, a prefix, a host or a pattern`},
		{users: `{home: [a, 10.0.0.300]}`, errors: `"10.0.0.300" is neither an address nor a prefix`},
		{users: `{home: "fd00::1%eth0"}`, errors: `"fd00::1%eth0" is neither an address nor a prefix`},
		{users: `{home: [fd00::1]}`, errors: `x.yaml:4:16: the value is a map; allowed: an IPv6 address in quotes, such as ` +
			`"fd00::1"`},
		{users: `{home: ["vlan 5"]}`, errors: "x.yaml:4:16: frames of an experiment have no VLAN"},
		{users: `{a: b}`, errors: `x.yaml:4:9: "a" is already the name of a node; allowed: another name`},
		{users: `{s: b}`, errors: `"s" is already the name of a node`},
		{users: `{others: b}`, errors: `x.yaml:4:9: "others" is not a valid user name; allowed: letters, digits`},
	} {
		t.Run(c.users, func(t *testing.T) {
			for _, version := range []int{4, 6} {
				p, err := plan.Load(room(), file("x.yaml", fmt.Sprintf(text, c.users, version)), experiment.Options{})
				if (err == nil) != (c.errors == "") || err != nil && (!strings.Contains(err.Error(), c.errors) ||
					strings.Count(err.Error(), "allowed: ") != 1) {
					t.Errorf("IPv%d: %v\nwant one error %q", version, err, c.errors)
				}
				if err != nil {
					continue
				}
				want := c.warns
				if version == 4 && !strings.Contains(want, "office") {
					want = ""
				}
				got := fmt.Sprint(p.Warnings())
				if (want == "") != (got == "[]") || !strings.Contains(got, want) {
					t.Errorf("IPv%d warns %s, want %q", version, got, want)
				}
			}
		})
	}
}

// TestListsAroundUsers checks that a program that completes its list by the declared users does not divide them by a
// prefix around one address. If its other users are one, it does.
func TestListsAroundUsers(t *testing.T) {
	const text = `duration: 10ms
topology: {hosts: [a, b], switches: [s], links: [{ends: [a, s], rate: 1Gbps, delay: 1ms},
  {ends: [s, b], rate: 10Mbps, delay: 1ms, buffer: 1MB}]}
users: {home: a, office: b}
switches: {s: {%s}}
traffic: [{name: x, from: a, to: b, transport: tcp}, {name: y, from: a, to: b, transport: tcp, ip: 6}]
`
	for switched, divided := range map[string]bool{
		"programs: [forward, {abc: {aggregates: {10.0.0.0/30: 20kbps}}}]":                                false,
		"programs: [forward, {abc: {aggregates: {10.0.0.0/30: 20kbps}, others: shared}}]":                true,
		"programs: [forward], scheduler: {user_fq: {aggregates: {10.0.0.0/30: 20kbps}}}":                 false,
		"programs: [forward], scheduler: {user_fq: {aggregates: {10.0.0.0/30: 20kbps}, others: shared}}": true,
	} {
		p := plantest.LoadSource(t, room(), file("x.yaml", fmt.Sprintf(text, switched)), experiment.Options{})
		if got := fmt.Sprint(p.Warnings()); strings.Contains(got, "user-divided") != divided {
			t.Errorf("%s warns %s", switched, got)
		}
	}
}
