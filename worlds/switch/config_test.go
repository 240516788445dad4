package softswitch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/inputloss"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/classify"
	ipforward "weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/papers/ncf"
	"weir/papers/p4abc"
	"weir/worlds/switch/frames"
)

func schemes() Schemes {
	return Schemes{
		Programs: []dataplane.Scheme{p4abc.Scheme(), classify.Scheme(), ecmp.Scheme(), ecn.Scheme(), ipforward.Scheme(),
			inputloss.Scheme(), ncf.Scheme(), pfc.Scheme()},
		Schedulers: tm.Schemes(),
	}
}

const access = `ports:
  users: {interface: eth1}
  uplink: {interface: eth2, rate: 50Mbps, buffer: 24 packets}
switch: [forward, {abc: {memory: 3s, aggregates: {192.0.2.0/28: 20kbps, "2001:db8::/56": 20kbps}}}]
`

func TestDecode_RoundTripsResolvedFile(t *testing.T) {
	c, err := Decode(schemes(), "switch.yaml",
		[]byte(access+"users: {behind: users, most: 100}\nmetrics: localhost:1234\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Ports) != 2 || c.Ports[0] != (Port{Name: "users", Interface: "eth1", Buffer: unit.Length{Packets: 100}}) ||
		c.Ports[1] != (Port{Name: "uplink", Interface: "eth2", Rate: unit.LinkRate{Bits: 50 * unit.Mbps},
			Buffer: unit.Length{Packets: 24}}) {
		t.Errorf("ports %+v", c.Ports)
	}
	if c.Users.Behind != 0 || c.Users.MaxUsers != 100 || c.Metrics.String() != "127.0.0.1:1234" || c.User != "nobody" ||
		c.Queues != 1 ||
		c.Framing.Name != "l2" ||
		len(c.Programs) != 2 || len(c.Programs[1].Config.(*p4abc.Config).Aggregates) != 2 {
		t.Errorf("%+v", c)
	}
	again, err := Decode(schemes(), "resolved.yaml", []byte(c.Resolved))
	if err != nil {
		t.Fatalf("what was resolved is not right: %v\n%s", err, c.Resolved)
	}
	if err := c.CheckReload(again); err != nil || again.Programs[1].CanonicalText() != c.Programs[1].CanonicalText() {
		t.Errorf("what was resolved is another switch: %v\n%s\n%s", err, again.Programs[1].CanonicalText(),
			c.Programs[1].CanonicalText())
	}
}

// withDummies returns the schemes of the tests with another program, scheduler and key of each map.
func withDummies(t *testing.T) Schemes {
	const name = "aaaaaaaa_dummy"
	for _, keys := range []*[]string{&topKeys, &portKeys} {
		old := *keys
		*keys = append([]string{name}, old...)
		t.Cleanup(func() { *keys = old })
	}
	s := schemes()
	program, scheduler := s.Programs[0], s.Schedulers[0]
	program.Name, scheduler.Name = name, name
	s.Programs, s.Schedulers = slices.Insert(s.Programs, 0, program), slices.Insert(s.Schedulers, 0, scheduler)
	return s
}

// TestDecodeErrors checks that errors have a place, the allowed values and the nearest name. The golden file has the
// full text of marked ones. Other names of schemes and keys do not change it.
func TestDecodeErrors(t *testing.T) {
	inFull := map[string]bool{}
	full := func(text string) string { inFull[text] = true; return text }
	files := []string{
		full(""), "- a", full("ports: {}\n"), full("port: {}\nswitch: [forward]\n"),
		access + "uesrs: {}\n",
		full(strings.Replace(access, "eth2", "eth1", 1)),
		strings.Replace(access, "eth2", "a/name/that/is/too/long", 1),
		full(strings.Replace(access, "50Mbps", "50", 1)),
		strings.Replace(access, "50Mbps", "0bps", 1),
		strings.Replace(access, "rate: 50", "rat: 50", 1),
		full(strings.Replace(access, "24 packets", "1kB", 1)),
		strings.Replace(access, "24 packets", "2000000 packets", 1),
		strings.Replace(access, "uplink:", "up link:", 1),
		strings.Replace(access, "  uplink", "  # uplink", 1),
		strings.Replace(access, "forward,", "", 1),
		full(strings.Replace(access, "forward", "foward", 1)),
		full(strings.Replace(access, "forward", "forward, ecmp", 1)),
		strings.Replace(access, "forward", "forward, pfc", 1),
		strings.Replace(access, "forward", "forward, {ncf: {form: extension}}", 1),
		strings.Replace(access, "forward", "forward, {ncf: {udp: true}}", 1),
		full(strings.Replace(access, "forward", "forward, forward", 1)),
		strings.Replace(access, "memory: 3s", "memory: 3s, domain: part", 1),
		full(strings.Replace(access, "memory: 3s", "memory: 3s, domain: part, ports: {trunk: inside}", 1)),
		strings.Replace(access, "memory: 3s", "memory: 3s, domain: part, ports: {uplink: inside}, mtu: 1279 B", 1),
		strings.Replace(access, "memory: 3s", "memory: 3s, domain: part, ports: {uplink: inside}, mtu: 9217 B", 1),
		strings.Replace(access, "memory: 3s", "memory: 3", 1),
		full(strings.Replace(access, "192.0.2.0/28", "192.0.2.0/33", 1)),
		full(strings.Replace(access, "abc: {", "abc: {gama: 3 packets, ", 1)),
		access + "users: {behind: user}\n", access + "users: {most: 0}\n", full(access + "users: {most: 1}\n"),
		access + "users: {by: vlan}\n", access + "users: {named: 10.0.0.1}\n",
		full(access + "users: {named: [10.0.0.256]}\n"),
		access + "users: {by: mac}\n", access + "users: {unnamed: none}\n", access + "users: [behind]\n",
		access + "users: {exempt_rate: 1}\n", full(access + "users: {ipv6_bits: 129, new: -1s}\n"),
		vlans + "users: {by: vlan, named: [5000]}\n", vlans + "users: {by: vlan, named: [7-5]}\n",
		vlans + "users: {by: vlan, named: [5.7]}\n", vlans + "users: {by: qinq, named: [5.0, x]}\n",
		strings.Replace(access, "abc: {", "abc: {user: receiver, ", 1),
		access + "metrics: 127.0.0.1\n", access + "metrics: 127.0.0.1:0\n", full(access + "user: root\n"), access +
			"framing: hpcc\n",
		full(strings.Replace(access, "50Mbps", "1000pps", 1) + "queues: 3\nscheduler: ncf\n"),
		access + "queues: 17\n", access + "queues: 2\nscheduler: fifo\n", access + "scheduler: wrr2\n",
		access + "ports: {}\n", access + "framing: &a l2\n",
	}
	texts := func(s Schemes) string {
		var b testkit.ErrorTexts
		for _, x := range files {
			c, err := Decode(s, "switch.yaml", []byte(x))
			var wrong document.InputErrors
			if err == nil || !errors.As(err, &wrong) {
				t.Errorf("%q is taken, or not as an input's error: %+v, %v", x, c, err)
				continue
			}
			b.AddError(t, "", err.Error()+"\n", inFull[x])
		}
		return b.String()
	}
	testkit.Golden(t, "errors.golden", texts(schemes()))
	if !testkit.IsUpdating() {
		testkit.Golden(t, "errors.golden", texts(withDummies(t)))
	}
}

// TestListsOfNames checks that the error of an unknown name lists or counts the names that a switch's file can
// have.
func TestListsOfNames(t *testing.T) {
	var programs, schedulers []string
	for _, x := range schemes().Programs {
		programs = append(programs, x.Name)
	}
	for _, x := range schemes().Schedulers {
		schedulers = append(schedulers, x.Name)
	}
	for _, x := range []struct {
		name, file string
		known      []string
	}{
		{"keys", access + "uesrs: {}\n", topKeys},
		{"keys of a port", strings.Replace(access, "rate: 50", "rat: 50", 1), portKeys},
		{"programs", strings.Replace(access, "forward", "foward", 1), programs},
		{"programs of a bridge", strings.Replace(access, "forward", "forward, ecmp", 1),
			[]string{"abc", "classify", "ecn", "forward", "loss", "ncf"}},
		{"schedulers", access + "queues: 2\nscheduler: wrr2\n", schedulers},
		{"ports", access + "users: {behind: user}\n", []string{"users", "uplink"}},
		{"ports of a program",
			strings.Replace(access, "memory: 3s", "memory: 3s, domain: part, ports: {trunk: inside}", 1),
			[]string{"users", "uplink"}},
		{"kinds of users", access + "users: {by: mac}\n", []string{"address", "vlan", "qinq"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, err := Decode(schemes(), "switch.yaml", []byte(x.file)); err == nil {
				t.Error("the file is taken")
			} else {
				first, _, _ := strings.Cut(err.Error(), "\n")
				testkit.CheckList(t, first, x.known)
			}
		})
	}
}

// TestTooManyNamed checks that a file with more users than there is room for is an error with its place, also without a
// key users.
func TestTooManyNamed(t *testing.T) {
	var aggregates, named []string
	for i := range 1<<16 + 1 {
		named = append(named, fmt.Sprintf("%d.%d.%d.0", 1+i>>16, i>>8&255, i&255))
		if i <= 4096 {
			aggregates = append(aggregates, named[i]+": 1kbps")
		}
	}
	for _, x := range []struct{ file, want string }{
		{strings.Replace(vlans, "abc", "{abc: {aggregates: {"+strings.Join(aggregates, ", ")+"}}}", 1),
			"switch.yaml:2:1: 4097 users are named, but the maximum is 4096; allowed: most: 4097"},
		{vlans + "users: {named: [" + strings.Join(named, ",") + "]}\n",
			"switch.yaml:4:8: 65537 users are named; allowed: at most 65536"},
	} {
		t.Run(x.want, func(t *testing.T) {
			if _, err := Decode(schemes(), "switch.yaml", []byte("# more than there is room for\n"+x.file)); err == nil ||
				!strings.Contains(err.Error(), x.want) {
				t.Errorf("%.300v, want %q", err, x.want)
			}
		})
	}
}

// writer is the configuration of a program that writes telemetry.
type writer struct{ scheme.None }

func (*writer) Telemetry([]unit.Rate) (telemetry.Format, error) { return telemetry.Format{}, nil }

// TestTelemetryFits checks that programs that write telemetry are allowed: only frames with a request get some.
func TestTelemetryFits(t *testing.T) {
	s := dataplane.Define(scheme.Scheme{Name: "int", Doc: "writes telemetry", Source: "Weir"},
		func(site *dataplane.Site, _ writer) (*ipforward.Program, error) { return ipforward.New(site), nil })
	r := schemes()
	r.Programs = append(r.Programs, s)
	if _, err := Decode(r, "switch.yaml", []byte(strings.Replace(access, "forward,", "forward, int,", 1))); err != nil {
		t.Error(err)
	}
}

const vlans = "ports: {a: {interface: eth1}, b: {interface: eth2}}\nswitch: [forward, abc]\n"

// TestNamedVLANs checks VLANs named one by one, in ranges and, with two tags, in pairs. Users by VLAN are behind the
// first port.
func TestNamedVLANs(t *testing.T) {
	c := decode(t, vlans+"users: {by: qinq, named: [12-14, 7, 7.1, 7]}\n")
	if want := []frames.VLANs{7 << 12, 7<<12 | 1, 12 << 12, 13 << 12, 14 << 12}; !slices.Equal(c.Users.VLANs, want) ||
		c.Users.Unnamed != frames.PerPort || c.Users.Behind != 0 {
		t.Errorf("%+v", c.Users)
	}
	if s := c.Users.String(); s != "pairs of VLANs, 5 named, up to 4096; all others at a port are one user" {
		t.Error(s)
	}
}

// TestDecode_AcceptsDocumentedFile checks that the configuration of the documentation is valid.
func TestDecode_AcceptsDocumentedFile(t *testing.T) {
	doc, err := os.ReadFile("../../docs/switch.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "<!-- file: begin -->\n")
	shown, _, ok := strings.Cut(rest, "<!-- file: end -->")
	var lines []string
	for _, l := range strings.Split(shown, "\n") {
		lines = append(lines, strings.TrimPrefix(l, "    "))
	}
	c, err := Decode(schemes(), "switch.yaml", []byte(strings.Join(lines, "\n")))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if c.Users.Behind != 0 || len(c.Ports) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestCheckReload_RejectsFixedKeys(t *testing.T) {
	decode := func(text string) *Config {
		c, err := Decode(schemes(), "switch.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := decode(access)
	for _, x := range []string{strings.Replace(access, "eth2", "eth3", 1), strings.Replace(access, "uplink", "up", 1),
		access + "queues: 2\n",
		access + "framing: wire\n", access + "users: {behind: users}\n", access + "users: {most: 5}\n", access +
			"metrics: none\n", access + "user: daemon\n",
		access + "scheduler: fq\n"} {
		if err := c.CheckReload(decode(x)); err == nil || !strings.Contains(err.Error(),
			"cannot change while the switch runs") {
			t.Errorf("%v for\n%s", err, x)
		}
	}
	if err := c.CheckReload(decode(strings.NewReplacer("50Mbps", "60Mbps", "24 packets", "36 packets", "3s",
		"4s").Replace(access))); err != nil {
		t.Error(err)
	}
}

// FuzzDecode_GivesSwitchOrInputErrors checks that decoding any file gives an error or a valid switch.
func FuzzDecode_GivesSwitchOrInputErrors(f *testing.F) {
	f.Add([]byte(access))
	f.Add([]byte(access + "users: {behind: users}\nqueues: 3\nscheduler: strict\nmetrics: none\n"))
	f.Add([]byte("ports: {a: {interface: b, queue: 3 packets}, c: {interface: d, rate: 3pps}}\nswitch: [{forward: {}}, " +
		"{loss: {probability: 1%}}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode(schemes(), "switch.yaml", data)
		var wrong document.InputErrors
		switch {
		case err != nil && !errors.As(err, &wrong):
			t.Errorf("%v", err)
		case err == nil && (len(c.Ports) < 2 || c.Users.MaxUsers < 1 || c.scheduler == nil || c.Framing.Name == "" ||
			c.Users.Behind >= len(c.Ports)):
			t.Errorf("%+v", c)
		}
	})
}

// TestExemptWarnings_NameOverfilledPort checks the warning about a port that ARP and neighbour discovery could fill
// without drops, with its place.
func TestExemptWarnings_NameOverfilledPort(t *testing.T) {
	const file = "ports: {a: {interface: a, rate: %s}, b: {interface: b}}\nswitch: [forward]\nusers: {exempt_rate: %s}\n"
	for _, x := range []struct{ rate, exempt, want string }{
		{"10Mbps", "200kbps", ""},
		{"10Mbps", "251kbps", "switch.yaml:1:33: port a: ARP and neighbour discovery of another port (users: exempt_rate " +
			"251kbps each) may fill 5 % of 10Mbps"},
		{"300kbps", "200kbps", "switch.yaml:1:33: port a: ARP and neighbour discovery of another port (users: exempt_rate " +
			"200kbps each) may fill 100 % of 300kbps"},
	} {
		t.Run(x.rate+" "+x.exempt, func(t *testing.T) {
			got := strings.Join(testkit.FormatAll(decode(t, fmt.Sprintf(file, x.rate, x.exempt)).exemptWarnings()), "\n")
			if !strings.HasPrefix(got, x.want) || (got == "") != (x.want == "") {
				t.Errorf("it warns %q, want %q", got, x.want)
			}
		})
	}
}

// TestConfig_WarnsOfSlowPorts checks the warning about a rate at which a full frame takes more than a second. Exactly a
// second gives none.
func TestConfig_WarnsOfSlowPorts(t *testing.T) {
	const file = `ports:
  a: {interface: a, rate: %s}
  b:
    interface: b
    rate: %s
framing: %s
users: {exempt_rate: 0bps}
switch: [forward]
`
	const at = "switch.yaml:"
	for _, x := range []struct {
		name, a, b, framing string
		want                []string
	}{
		{"usual", "50Mbps", "10kpps", "l2", nil},
		{"a second", "12112bps", "1Gbps", "l2", nil},
		{"more than a second", "12111bps", "1Gbps", "l2", []string{at + "2:27: port a: a frame of 1514 bytes takes 1 s at "}},
		{"with what the wire adds", "12112bps", "1Gbps", "wire", []string{at + "2:27: port a: a frame of 1538 bytes "}},
		{"both", "100bps", "1bps", "l2", []string{at + "2:27: port a: a frame of 1514 bytes takes 121 s at 100bps",
			at + "5:11: port b: a frame of 1514 bytes takes 12112 s at 1bps, during which no other frame is sent"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := testkit.FormatAll(decode(t, fmt.Sprintf(file, x.a, x.b, x.framing)).Warnings(
				func(int) int { return 1514 }))
			if !slices.EqualFunc(got, x.want, strings.HasPrefix) {
				t.Errorf("it warns\n%q, want\n%q", got, x.want)
			}
		})
	}
}
