package softswitch

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/core/dataplane"
	plans "weir/core/dataplane/plan"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/frametest"
)

// TestCustomersInFile checks that mistakes about customers in a file are errors at their place, or warnings.
func TestCustomersInFile(t *testing.T) {
	const file = `ports: {left: {interface: a, rate: 30Mbps}, right: {interface: b, rate: 30Mbps}}
users: {behind: left, named: %s}
switch: [{plan: {rates: {%s: 10Mbps}}}, forward]
`
	for _, x := range []struct{ named, key, says string }{
		{named: `{home: [10.0.0.1, "fd00::/64", vlan 100, vlan 7.9]}`, key: "home"},
		{named: `{home: 10.0.0.1}`, key: "home"},
		{`{home: [10.0.0.1, 10.0.0.2], office: 10.0.0.1/32}`, "home", "2:67: 10.0.0.1/32 already belongs to user home"},
		{`{home: vlan 100-102, office: vlan 102}`, "home", "vlan 102 already belongs to user home"},
		{`{home: []}`, "home", "2:37: user home has no address; allowed: an address, a prefix"},
		{`{home: [fd00::1]}`, "home", `2:38: the value is a map; allowed: an address, a prefix, "vlan 100"; IPv6 in quotes`},
		{`{home: "fd00::/129"}`, "home", `2:37: "fd00::/129" is neither an address nor a prefix`},
		{`{home: vlan x}`, "home", `"x" is not a VLAN; allowed: identifiers from 1 to 4094`},
		{`{home: [10.0.0.300]}`, "home", `"10.0.0.300" is neither an address nor a prefix`},
		{`{home: vlan 4095}`, "home", "is not a VLAN"},
		{`{tcp: 10.0.0.1}`, "home", `"tcp" is not a valid user name`},
		{`{home: 10.0.0.1}`, "house", "allowed: home"},
		{`{home: 10.0.0.1}`, "10.0.0.1", "10.0.0.1 already belongs to user home"},
		{`{home: 10.0.0.0/24}`, "10.0.0.1", "10.0.0.1 of user home is in"},
	} {
		t.Run(x.named+x.key, func(t *testing.T) {
			s := schemes()
			s.Programs = append(s.Programs, plans.Scheme())
			c, err := Decode(s, "switch.yaml", fmt.Appendf(nil, file, x.named, x.key))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(c.Warnings(func(int) int { return fullFrame }))
			}
			if x.says == "" && got != "[]" || !strings.Contains(got, x.says) {
				t.Errorf("%s; want %q", got, x.says)
			}
		})
	}
}

// home is the entry of a customer with two IPv4 addresses, IPv6 and a VLAN.
const home = `home: [10.0.0.1, 10.0.0.2, "fd00::/64", vlan 5]`

// frameOf makes a frame of 1000 bytes from a customer, or one to it.
type frameOf func(up bool) []byte

// fromHost returns the frames of the host with the IPv4 address 10.0.0.N, and of one with MAC address and peer 9.
func fromHost(t *testing.T, host byte) frameOf {
	return func(up bool) []byte {
		if up {
			return frametest.NewDatagram(t, host, 9, 0, 1000)
		}
		return frametest.NewDatagram(t, 9, host, 0, 1000)
	}
}

// homeMixes returns sequences of frames of the customer in home, with several of its addresses in turn.
func homeMixes(t *testing.T) map[string][]frameOf {
	four := func(host byte) frameOf { return fromHost(t, host) }
	tagged := func(up bool) []byte {
		f := four(77)(up)
		return append(append(append([]byte{}, f[:12]...), 0x81, 0, 0, 5), f[12:]...)
	}
	six := func(up bool) []byte {
		a, b := netip.MustParseAddr("fd00::7"), netip.MustParseAddr("fd01::9")
		if !up {
			a, b = b, a
		}
		f, err := packet.AppendIPv6(packet.AppendEthernet(nil, [6]byte{2, 9}, [6]byte{2, 7}, packet.EtherIPv6), a, b,
			packet.ProtoUDP, 0, 64, 946)
		if err == nil {
			f, err = packet.AppendUDP(f, a, b, 1000, 7, make([]byte, 938))
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return map[string][]frameOf{"IPv4": {four(1)}, "IPv6": {six}, "both": {four(1), six},
		"both of two hosts": {four(1), six, four(2), four(1)}, "a VLAN": {four(1), tagged},
		"all": {four(1), six, tagged, four(2)}}
}

// TestDualStackPlan checks that a customer with two IPv4 addresses, IPv6 and a VLAN has its plan of 10 Mb/s in
// every mix of them, up and down.
func TestDualStackPlan(t *testing.T) {
	const file = `
ports: {left: {interface: a, rate: 100Mbps}, right: {interface: b, rate: 100Mbps}}
users: {behind: left, named: {` + home + `}}
switch: [{plan: {rates: {home: 10Mbps}, burst: 10ms}}, forward]
metrics: none
`
	s := schemes()
	s.Programs = append(s.Programs, plans.Scheme())
	c, err := Decode(s, "switch.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	const length = 1 * unit.Second
	for name, mix := range homeMixes(t) {
		for _, up := range []bool{true, false} {
			t.Run(fmt.Sprint(name, up), func(t *testing.T) {
				b := newBench(t, c)
				from := map[bool]int{true: 0, false: 1}[up]
				for i := range 4000 { // 32 Mb/s
					b.send(from, unit.Time(i)*250*unit.Microsecond, mix[i%len(mix)](up))
				}
				b.stepUntil(t, length)
				if got := float64(len(b.gates[1-from].out)) * 8000 / 1e6; got < 9.5 || got > 10.6 {
					t.Errorf("%.1f Mb/s pass", got)
				}
			})
		}
	}
}

// TestDualStackShares checks that a customer with two IPv4 addresses, IPv6 and a VLAN is one user of abc, of
// user_fq and of cake in every mix of them, up and down. It sends 24 Mb/s and a user with one address 16 Mb/s, over
// 20 Mb/s, and neither of them yields.
//
// Queues for users give each half. With abc the customer is the more active one, and the other keeps all of its 16
// Mb/s; with a meter for each address it would be the reverse. The customer has one number and, in abc, one set of
// metrics per direction.
func TestDualStackShares(t *testing.T) {
	const length = 500 * unit.Millisecond
	for rest, want := range map[string]float64{"switch: [forward, abc]": 0.8, "switch: [forward]\nscheduler: user_fq": 0.5,
		"switch: [forward]\nscheduler: cake": 0.5} {
		c := decode(t, "ports: {left: {interface: a, rate: 20Mbps}, right: {interface: b, rate: 20Mbps}}\n"+
			"users: {behind: left, named: {"+home+", office: 10.0.0.50}}\nmetrics: none\n"+rest+"\n")
		for name, mix := range homeMixes(t) {
			for _, up := range []bool{true, false} {
				t.Run(fmt.Sprint(rest, name, up), func(t *testing.T) {
					b := newBench(t, c)
					from, office := map[bool]int{true: 0, false: 1}[up], fromHost(t, 50)
					var homeNext, officeNext unit.Time
					for i := 0; officeNext < length; {
						if homeNext < officeNext {
							b.send(from, homeNext, mix[i%len(mix)](up))
							homeNext += 333 * unit.Microsecond
							i++
						} else {
							b.send(from, officeNext, office(up))
							officeNext += 500 * unit.Microsecond
						}
					}
					b.stepUntil(t, length)
					out, offices := b.gates[1-from].out, 0
					for _, f := range out {
						if bytes.Equal(f[26:34], office(up)[26:34]) {
							offices++
						}
					}
					if share := float64(offices) / float64(len(out)); len(out) < 1150 || math.Abs(share-want) > 0.05 {
						t.Errorf("%.0f %% of %d frames are of the user with one address, want %.0f", 100*share, len(out), 100*want)
					}
					if b.users.Known != 2 {
						t.Errorf("%d users", b.users.Known)
					}
					b.checkMetricsOf(t, "home", up, uint64(len(out)-offices))
				})
			}
		}
	}
}

// checkMetricsOf checks that programs with metrics of users have one counter of a user's bytes in the given
// direction. It must cover at least the given number of frames of 1000 bytes.
func (b *bench) checkMetricsOf(t *testing.T, user string, up bool, frames uint64) {
	t.Helper()
	var samples [100]dataplane.Sample
	for _, r := range b.running {
		if r.metered == nil {
			continue
		}
		var found []string
		for _, s := range samples[:r.metered.Sample(b.time, samples[:])] {
			if r.metered.Metrics()[s.Metric].Name != "weir_abc_user_accepted_bytes_total" {
				continue
			}
			if s.Word != "office" && s.Value > 0 {
				found = append(found, s.Before+s.Word)
			}
			if s.Word == user && s.Value > 0 && s.Value < float64(1000*frames) {
				t.Errorf("%g bytes of %s, and %d frames have left", s.Value, user, frames)
			}
		}
		want := map[bool]string{true: user, false: "to " + user}[up]
		if len(found) != 1 || found[0] != want {
			t.Errorf("metrics of %q, want %q", found, want)
		}
	}
}

// TestReceiversInFile checks that where users are not behind a port, the warning names the ones that a switch cannot
// protect, and the line to add.
func TestReceiversInFile(t *testing.T) {
	const file = "ports: {left: {interface: a, rate: 30Mbps}, right: {interface: b, rate: 30Mbps}}\n%sswitch: [%s]\n%s"
	for _, x := range []struct{ users, list, scheduler, text string }{
		{"", "forward", "", ""},
		{"users: {behind: right}\n", "forward, abc", "", ""},
		{"users: {by: vlan}\n", "forward, abc", "", ""},
		{"", "forward, abc", "", "1:1: abc: a frame counts for its sender, so that hosts at left and right have " +
			"neither protection nor limit for received traffic; add users: {behind: left} if they are at left, or add users: " +
			"{behind: right} if they are at right"},
		{"users: {named: {home: 10.0.0.1, b: 10.0.0.2}}\n", "{plan: {rates: {home: 1Mbps}}}, forward, abc", "",
			"2:8: plan, abc: a frame counts for its sender, so that home, b and all other hosts at left and right " +
				"have neither protection nor limit for received traffic; add behind: left in users if"},
		{"users: {named: {v: 10.0.0.1, w: 10.0.0.2, x: 10.0.0.3, y: 10.0.0.4, z: 10.0.0.5}}\n", "forward",
			"scheduler: user_fq\n", "user_fq: a frame counts for its sender, so that v, w, x, 2 other users and all other"},
		{"", "forward", "scheduler: cake\n", "1:1: cake: a frame"},
		{"", "forward, {abc: {domain: part, ports: {left: inside, right: inside}}}", "", ""},
		{"", "forward, {abc: {domain: part, ports: {left: inside}}}", "", "1:1: abc: a frame"},
		{"", "{plan: {others: 1Mbps}}, forward, {abc: {domain: part, ports: {left: inside, right: inside}}}", "",
			"1:1: plan: a frame"},
		{"users: {named: [10.9.0.1, 10.9.0.3]}\n", "forward, abc", "", "2:8: abc: a frame counts for its sender, so that " +
			"10.9.0.1, 10.9.0.3 and all other hosts at left and right have neither protection"},
		{"users: {named: {v: vlan 5, w: [vlan 6, 10.0.0.0/24]}}\n", "{plan: {rates: {10.0.1.0/24: 1Mbps}}}, forward, abc",
			"", "so that w, 10.0.1.0/24 and all other hosts at left and right have neither protection"},
	} {
		s := schemes()
		s.Programs = append(s.Programs, plans.Scheme())
		c, err := Decode(s, "switch.yaml", fmt.Appendf(nil, file, x.users, x.list, x.scheduler))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.receiverWarnings()); (x.text == "") != (got == "[]") || !strings.Contains(got, x.text) {
			t.Errorf("%s\nwant %q", got, x.text)
		}
	}
}

// TestReceiversWithoutQueue checks a port without a rate, where no queue builds up: only a policer could limit the
// users' received traffic.
func TestReceiversWithoutQueue(t *testing.T) {
	for _, x := range []struct{ left, right, list, text string }{
		{"", "", "forward, abc", ""},
		{"", ", rate: 30Mbps", "forward, abc", "so that hosts at right have neither protection nor limit " +
			"for received traffic; add users: {behind: right} if they are at right (switch-receivers)]"},
		{", rate: 4000pps", "", "forward, abc", "so that hosts at left have neither protection"},
		{"", "", "{plan: {others: 1Mbps}}, forward", "so that hosts at left and right have neither protection"},
	} {
		s := schemes()
		s.Programs = append(s.Programs, plans.Scheme())
		c, err := Decode(s, "switch.yaml", fmt.Appendf(nil, "ports: {left: {interface: a%s}, right: {interface: b%s}}\n"+
			"switch: [%s]\n", x.left, x.right, x.list))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.receiverWarnings()); (x.text == "") != (got == "[]") || !strings.Contains(got, x.text) {
			t.Errorf("%s\nwant %q", got, x.text)
		}
	}
}

// TestDomainInDocs checks that the documented domain protects downloads unchanged: both of its files have users behind
// a port, so there is no warning about receivers. Without these lines both give a warning, with the line to add.
func TestDomainInDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/switch.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(doc), "<!-- domain: begin -->\n")
	shown, _, _ = strings.Cut(shown, "<!-- domain: end -->")
	files := strings.Split(strings.ReplaceAll("\n"+shown, "\n    ", "\n"), "<!-- domain: next -->\n")
	if len(files) != 2 {
		t.Fatalf("%d files of a domain", len(files))
	}
	line := regexp.MustCompile(`(?m)^users: \{behind: (\w+)\}\n`)
	for _, file := range files {
		c := decode(t, file)
		if c.Users.Behind < 0 || len(c.receiverWarnings()) != 0 {
			t.Errorf("users are behind port %d, warnings %v\n%s", c.Users.Behind, c.receiverWarnings(), file)
		}
		without := decode(t, line.ReplaceAllString(file, ""))
		if all := fmt.Sprint(without.receiverWarnings()); !strings.Contains(all, "hosts at "+without.Ports[0].Name+" and "+
			without.Ports[1].Name) || !strings.Contains(all, "users: {behind: "+without.Ports[0].Name+"}") {
			t.Errorf("without users: behind it warns %q\n%s", all, file)
		}
	}
}
