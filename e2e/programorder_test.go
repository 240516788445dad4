package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"weir/app"
	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
	softswitch "weir/worlds/switch"
)

// sendTo is a program that sets the egress port.
type sendTo struct{ port packet.PortID }

func (sendTo) Name() string { return "send to" }

// Ingress sets the port.
func (x sendTo) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Out = x.port
	return dataplane.Accept
}

// ingressSetups are parameters and queues of programs that cannot be built, or have no effect, without them.
var ingressSetups = map[string]struct {
	given     []string
	queues    int
	scheduler func() tm.Scheduler
}{
	"plan":      {given: []string{"others", "100Mbps"}},
	"dualpi2":   {queues: 2, scheduler: func() tm.Scheduler { return tm.NewDeadline([]unit.Time{0, unit.Millisecond}) }},
	"ndp":       {queues: 2},
	"trimming":  {queues: 2},
	"afq":       {queues: 16, scheduler: func() tm.Scheduler { return tm.NewCalendar(16) }},
	"loss":      {given: []string{"probability", "10%"}},
	"input":     {given: []string{"capacity", "100kpps"}},
	"pfc":       {given: []string{"trigger", "static", "xoff", "20kB"}},
	"ncf":       {given: []string{"memory", "100kB", "least", "10kB", "duration", "1ms", "form", "extension"}},
	"telemetry": {given: []string{"format", "ioam"}},
}

// TestIngressWithoutPort checks each registered program that neither chooses the egress port nor marks its
// configuration as a user of it. It must act the same whether or not the port is known at its Ingress.
func TestIngressWithoutPort(t *testing.T) {
	for _, s := range app.Registry().Programs {
		if traits := dataplane.TraitsOf(s.NewConfig()); traits.ChoosesPort(false) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			uses := dataplane.TraitsOf(s.NewConfig()).UsesPort
			run := func(port packet.PortID) string {
				x := ingressSetups[s.Name]
				setup := dataplanetest.NewLinks(3, unit.Gbps, cmp.Or(x.queues, 3))
				for i := range setup.Ports {
					setup.Ports[i].Total.Bytes = 100_000
					if x.scheduler != nil {
						setup.Ports[i].Scheduler = x.scheduler()
					}
				}
				program, err := dataplanetest.BuildProgram(s, setup.NewSiteWithPorts(), x.given...)
				if err != nil {
					t.Fatal(err)
				}
				setup.Programs = []dataplane.Program{sendTo{port}, program, sendTo{1}}
				var script []dataplanetest.Arrival
				for i := range 2000 { // 2 Gb/s of two flows with ECN, one of which is in the majority
					script = append(script, dataplanetest.Arrival{At: unit.Time(i) * 4 * unit.Microsecond, Dst: 2, Seq: int64(i),
						Payload: 1000, TOS: packet.ECT0, Flow: uint16(i % 3 / 2), Shape: func(p *packet.Packet) {
							p.Proto, p.TCP.Present, p.TCP.TSVal = packet.ProtoTCP, packet.HasTimestamps, 1
						}})
				}
				return dataplanetest.RunDirect(setup, script).String()
			}
			if same := run(1) == run(packet.NoPort); same == uses {
				t.Errorf("its configuration is marked as a user of the egress port: %v; it does the same without: %v", uses, same)
			}
		})
	}
}

// TestProgramOrder checks that a list of programs must have each program that uses the egress port after those that
// choose it, in experiments and in the file of a standalone switch. A wrong list is an error at the place of the
// program.
func TestProgramOrder(t *testing.T) {
	const text = "duration: 1ms\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 1Gbps, delay: 1us, " +
		"buffer: 250kB}}\naddresses: hierarchical\nswitches: {\"*\": {queues: 3, scheduler: ncf, programs: [%s]}}\n" +
		"traffic: [{name: x, from: h0, to: h3, size: 10kB, transport: tcp, cc: cubic}]\nmeasure: [fct]\n"
	const bridge = "ports: {a: {interface: eth1, rate: 1Gbps}, b: {interface: eth2, rate: 1Gbps}}\nqueues: 3\n" +
		"switch: [%s]\nmetrics: none\n"
	r := app.Registry()
	load := func(list string) error {
		_, err := plan.Load(r, &experiment.Source{Name: "test", File: "test.yaml", Data: fmt.Appendf(nil, text, list)},
			experiment.Options{})
		return err
	}
	decode := func(list string) error {
		_, err := softswitch.Decode(softswitch.Schemes{Programs: r.Programs, Schedulers: r.Schedulers}, "test.yaml",
			fmt.Appendf(nil, bridge, list))
		return err
	}
	// check describes a fault of the error about a list. The index at is the refused program in its line, or -1 for
	// none.
	check := func(t *testing.T, text, list, user, chooser string, at int, err error) {
		t.Helper()
		want := fmt.Sprintf("program %s uses the egress port of packets, which program %s chooses after it; allowed: "+
			"[%s, …, %s]", user, chooser, chooser, user)
		if chooser == "" {
			want = fmt.Sprintf("program %s uses the egress port of packets, which no program of the list chooses; allowed: "+
				"[forward, …, %s]", user, user)
		}
		if at < 0 {
			if err != nil && strings.Contains(err.Error(), "uses the egress port") {
				t.Errorf("[%s] is refused: %v", list, err)
			}
			return
		}
		before, _, _ := strings.Cut(text, "[%s]")
		column := len(before) - strings.LastIndex(before, "\n") + 1 + at
		var all document.InputErrors
		if !errors.As(err, &all) || len(all) != 1 || !strings.Contains(err.Error(), want) ||
			all[0].Line != 1+strings.Count(before, "\n") || all[0].Column != column {
			t.Errorf("[%s]: %v; want one error at column %d, %q", list, err, column, want)
		}
	}
	for _, user := range r.Programs {
		if !dataplane.TraitsOf(user.NewConfig()).UsesPort {
			continue
		}
		list := "ecn, " + user.Name
		check(t, text, list, user.Name, "", 5, load(list))
		check(t, bridge, list, user.Name, "", 5, decode(list))
		for _, chooser := range r.Programs {
			if traits := dataplane.TraitsOf(chooser.NewConfig()); !traits.ChoosesPort(false) {
				continue
			}
			u, c := user.Name, chooser.Name
			t.Run(c+" and "+u, func(t *testing.T) {
				for list, at := range map[string]int{u + ", " + c: 0, "ecn, " + u + ", pie, " + c: 5, c + ", " + u: -1,
					"ecn, " + c + ", pie, " + u: -1} {
					check(t, text, list, u, c, at, load(list))
				}
				first := "ecmp"
				if c == first {
					first = "spray"
				}
				list := first + ", {" + u + ": {windows: 3}}, " + c
				check(t, text, list, u, c, len(first)+2, load(list))
				if c == "forward" {
					check(t, bridge, u+", forward", u, c, 0, decode(u+", forward"))
					check(t, bridge, "forward, "+u, u, c, -1, decode("forward, "+u))
				}
			})
		}
	}
	list := "forward, ncf, {p4te: {paths: false, rate: enforced}}" // which chooses no port in a standalone switch
	check(t, bridge, list, "ncf", "p4te", -1, decode(list))
	check(t, text, list, "ncf", "p4te", 9, load(list))
}

// TestProgramTwice checks that a list may have each program only once, in experiments and in the file of a
// standalone switch. The error is at the place of the second.
func TestProgramTwice(t *testing.T) {
	const text = "duration: 1ms\ntopology: {star: {hosts: 2, rate: 1Gbps, delay: 1us, buffer: 250kB}}\n" +
		"switch: [%s]\ntraffic: [{name: x, from: h0, to: h1, size: 10kB, transport: tcp, cc: cubic}]\nmeasure: [fct]\n"
	const bridge = "ports: {a: {interface: eth1, rate: 1Gbps}, b: {interface: eth2, rate: 1Gbps}}\nmetrics: none\n" +
		"switch: [%s]\n"
	r := app.Registry()
	for _, s := range r.Programs {
		list := fmt.Sprintf("forward, %s, %s", s.Name, s.Name)
		column := len("switch: [forward, , ") + len(s.Name) + 1
		if s.Name == "forward" {
			list, column = "forward, forward", len("switch: [forward, ")+1
		}
		_, err := plan.Load(r, &experiment.Source{Name: "test", File: "test.yaml", Data: fmt.Appendf(nil, text, list)},
			experiment.Options{})
		if want := fmt.Sprintf("test.yaml:3:%d: %s is here a second time", column, s.Name); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("an experiment with [%s]: %v, want %q", list, err, want)
		}
		_, err = softswitch.Decode(softswitch.Schemes{Programs: r.Programs, Schedulers: r.Schedulers}, "test.yaml",
			fmt.Appendf(nil, bridge, list))
		if want := fmt.Sprintf("test.yaml:3:%d: %s is here a second time", column, s.Name); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("a switch with [%s]: %v, want %q", list, err, want)
		}
	}
}
