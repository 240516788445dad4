package softswitch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/app"
	softswitch "weir/worlds/switch"
)

// qdisc is a queueing discipline of Linux below a shaper of 50 Mb/s, and the same in weir switch.
type qdisc struct {
	name string
	tc   []string // commands, behind tc
	port string   // what the file says of the port's buffer; "": weir has nothing that is compared with it
	rest string   // and of the switch
	fair bool     // among users: each one's goodput is compared, too
}

// below returns the commands for a token bucket with a qdisc below it.
func below(inner string) []string {
	return []string{"qdisc add dev sink root handle 1: tbf rate 50mbit burst 3028 limit 1000000",
		"qdisc add dev sink parent 1:1 handle 10: " + inner}
}

// classes gives two users half of the link each, and all of it while the other is silent.
var classes = append([]string{"qdisc add dev sink root handle 1: htb default 3",
	"class add dev sink parent 1: classid 1:1 htb rate 50mbit ceil 50mbit burst 3028 cburst 3028 quantum 1514",
	"class add dev sink parent 1:1 classid 1:3 htb rate 1mbit ceil 50mbit quantum 1514"}, slices.Concat(class(1, 24),
	class(2, 25))...)

func class(user, mbit int) []string {
	return []string{
		fmt.Sprintf("class add dev sink parent 1:1 classid 1:1%d htb rate %dmbit ceil 50mbit burst 3028 cburst 3028 "+
			"quantum 1514", user, mbit),
		fmt.Sprintf("qdisc add dev sink parent 1:1%d handle 2%d: pfifo limit 50", user, user),
		fmt.Sprintf("filter add dev sink parent 1: protocol ip u32 match ip src 10.9.0.%d flowid 1:1%d", user, user)}
}

var qdiscs = []qdisc{
	{"pfifo", below("pfifo limit 100"), "buffer: 100 packets", "switch: [forward]", false},
	{"pfifo, short", below("pfifo limit 24"), "buffer: 24 packets", "switch: [forward]", false},
	{"bfifo", below("bfifo limit 60000"), "buffer: 60000 B", "switch: [forward]", false},
	{"pfifo_head_drop", below("pfifo_head_drop limit 100"), "buffer: 100 packets",
		"switch: [forward]\nscheduler: {fq: {flows: 1, drop: head}}", false},
	{"htb", classes, "buffer: 100 packets", "switch: [forward]\nscheduler: user_fq", true},
	{"codel", below("codel limit 100"), "buffer: 100 packets", "switch: [forward, codel]", false},
	{"fq_codel", below("fq_codel limit 100"), "buffer: 100 packets", "switch: [forward]\nscheduler: fq_codel", false},
	{"pie", below("pie limit 100"), "buffer: 100 packets", "switch: [forward, pie]", false},
	{"red", below("red limit 150000 min 15000 max 45000 avpkt 1000 burst 30 probability 0.1 bandwidth 50mbit"),
		"buffer: 100 packets", "switch: [forward, red]", false},
	{"cake", []string{"qdisc add dev sink root cake bandwidth 50mbit dual-srchost"}, "buffer: 1000 packets",
		"switch: [forward]\nscheduler: cake", true},
	{"dualpi2", below("dualpi2 limit 100"), "buffer: 100 packets",
		"switch: [forward, dualpi2]\nqueues: 2\nscheduler: {dwrr: {weights: {0: 9, 1: 1}}}", false},
	{"drr", below("drr"), "", "", false}, {"sfq", below("sfq"), "", "", false}, {"fq", below("fq"), "", "", false},
	{"fq_pie", below("fq_pie"), "", "", false}, {"qfq", below("qfq"), "", "", false},
	{"choke", below("choke limit 100 bandwidth 50mbit"), "", "", false}, {"hhf", below("hhf"), "", "", false},
	{"sfb", below("sfb"), "", "", false}, {"ets", below("ets bands 2"), "", "", false},
	{"prio", below("prio"), "", "", false}, {"skbprio", below("skbprio"), "", "", false},
}

// file returns the equivalent file of weir switch, between two users and a sink.
func (q *qdisc) file() string {
	return fmt.Sprintf(`
ports:
  u1: {interface: u1}
  u2: {interface: u2}
  sink: {interface: sink, rate: 50Mbps, %s}
%s
metrics: none
`, q.port, q.rest)
}

// choice is a set of disciplines that can be compared.
type choice struct {
	has   []qdisc
	lacks []string
	wrong []string // what must not be
}

// choose tries each qdisc with tc. The kernel has it if all commands succeed, and lacks it if one of them names a
// feature that is unknown to the kernel or tc. Any other failure is a mistake of the table, or of the test's
// environment.
func choose(all []qdisc, tc func(args string) (string, error)) (c choice) {
	for _, q := range all {
		var said string
		var err error
		for _, args := range q.tc {
			if said, err = tc(args); err != nil {
				said = args + ": " + said
				break
			}
		}
		switch {
		case err == nil && q.port == "":
			c.wrong = append(c.wrong, "this kernel has "+q.name+", and nothing here is compared with it")
		case err == nil:
			c.has = append(c.has, q)
		case unknown(said):
			c.lacks = append(c.lacks, q.name)
		default:
			c.wrong = append(c.wrong, q.name+" cannot be tried: "+said)
		}
		tc("qdisc del dev sink root") // which fails where there is none
	}
	return c
}

// unknown reports whether tc, or the kernel behind it, reports a missing feature.
func unknown(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "is unknown") || strings.Contains(said, "unknown qdisc") ||
		strings.Contains(said, "classifier not found")
}

func names(all []qdisc) (names []string) {
	for _, q := range all {
		names = append(names, q.name)
	}
	return names
}

// TestQdiscChoice checks that each qdisc ends in one list, for one command or several and a failure of any tc. The next
// one starts without it.
func TestQdiscChoice(t *testing.T) {
	const dev = "qdisc add dev sink root "
	one, two := []string{dev + "cake"}, []string{dev + "tbf", "qdisc add dev sink parent 1:1 codel"}
	kernel, older := "Error: Specified qdisc kind is unknown.", `Unknown qdisc "x", hence option "limit" is unparsable`
	for _, x := range []struct {
		name       string
		tc         []string
		port       string
		fails      string // command
		said       string
		has, lacks bool
		wrong      string
	}{
		{name: "one command", tc: one, port: "buffer: 1 packets", has: true},
		{name: "one command unknown", tc: one, port: "buffer: 1 packets", fails: one[0], said: kernel, lacks: true},
		{name: "one command refused", tc: one, port: "buffer: 1 packets", fails: one[0],
			said: "RTNETLINK answers: Operation not permitted", wrong: "cannot be tried: " + one[0] + ": RTNETLINK"},
		{name: "one command, not compared", tc: one, wrong: "nothing here is compared"},
		{name: "several", tc: two, port: "buffer: 1 packets", has: true},
		{name: "several, the first unknown", tc: two, port: "buffer: 1 packets", fails: two[0], said: kernel, lacks: true},
		{name: "several, the last unknown", tc: two, port: "buffer: 1 packets", fails: two[1], said: kernel, lacks: true},
		{name: "several, the last unknown to tc", tc: two, fails: two[1], said: older, lacks: true},
		{name: "no classifier", tc: two, fails: two[1], lacks: true,
			said: "Error: TC classifier not found.\nWe have an error"},
		{name: "several, the last refused", tc: two, port: "buffer: 1 packets", fails: two[1],
			said: `What is "limt"?`, wrong: "cannot be tried"},
		{name: "several, not compared", tc: two, wrong: "nothing here is compared"},
	} {
		t.Run(x.name, func(t *testing.T) {
			there := false // a root qdisc
			tc := func(args string) (string, error) {
				switch {
				case args == "qdisc del dev sink root":
					there = false
					return "", nil
				case args == x.fails:
					return x.said, errors.New("exit status 2")
				case strings.HasPrefix(args, dev) && there:
					t.Errorf("%s: there is one", args)
				}
				there = there || strings.HasPrefix(args, dev)
				return "", nil
			}
			last := qdisc{name: "last", tc: []string{dev + "pfifo"}, port: "buffer: 2 packets"}
			c := choose([]qdisc{{name: "x", tc: x.tc, port: x.port}, last}, tc)
			if slices.Contains(names(c.has), "x") != x.has || slices.Contains(c.lacks, "x") != x.lacks ||
				!slices.Contains(names(c.has), "last") || there {
				t.Errorf("has %v, lacks %v, a root qdisc is left: %t", names(c.has), c.lacks, there)
			}
			if got := strings.Join(c.wrong, "; "); !strings.Contains(got, x.wrong) || (got == "") != (x.wrong == "") {
				t.Errorf("wrong: %q, want %q", got, x.wrong)
			}
		})
	}
}

// TestQdiscFiles checks that weir switch accepts each file of the comparison, so that a kernel with the qdisc does
// not meet a refused file.
func TestQdiscFiles(t *testing.T) {
	registry := app.Registry()
	known := softswitch.Schemes{Programs: registry.Programs, Schedulers: registry.Schedulers}
	for _, q := range qdiscs {
		if q.port == "" {
			continue
		}
		t.Run(q.name, func(t *testing.T) {
			if _, err := softswitch.Decode(known, "switch.yaml", []byte(q.file())); err != nil {
				t.Error(err)
			}
		})
	}
}
