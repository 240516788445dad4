package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// issued returns the kinds and ports of an experiment's warnings, sorted; loads is false if the experiment is
// wrong.
func issued(text string) (all []string, loads bool) {
	s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
	if err != nil {
		return nil, false
	}
	for _, w := range s.Warnings() {
		all = append(all, w.Kind.ID+" "+w.Port)
	}
	slices.Sort(all)
	return all, true
}

// TestMarksBeyondQueue checks warnings about thresholds above the buffer. A buffer that counts packets holds that
// number of full frames, and an arriving packet finds one less. So thresholds in bytes, also scaled by the port's
// rate, and in packets can be above it. A limit of each queue and a shared buffer bound queues, too, but not queues
// that pfc protects.
func TestMarksBeyondQueue(t *testing.T) {
	const shared = "{shared_buffer: {size: 1MB, reserved: 1KB, "
	for _, x := range []struct {
		buffer, queues, before, ecn string
		fires                       bool
	}{
		{"150 packets", "", "", "kmin: 30KB, kmax: 30KB, at_rate: 10Gbps", true}, // 300 KB at 100 Gb/s
		{"150 packets", "", "", "kmin: 20KB, kmax: 30KB, at_rate: 10Gbps", false},
		{"210 packets", "", "", "kmin: 30KB, kmax: 30KB, at_rate: 10Gbps", false},
		{"150 packets", "", "", "kmin: 149 packets, kmax: 400 packets", true},
		{"150 packets", "", "", "kmin: 148 packets, kmax: 400 packets", false},
		{"150 packets", "", "", "kmin: 30KB, kmax: 300KB", false},
		{"225kB", "", "", "kmin: 149 packets, kmax: 400 packets", true},
		{"300kB", "", "", "kmin: 149 packets, kmax: 400 packets", false},
		{"9MB", "queue_limit: 300KB, ", "", "kmin: 300KB, kmax: 300KB", true},
		{"9MB", "queue_limit: 300KB, queues: 2, ", "", "kmin: 299KB, kmax: 400KB", true},
		{"9MB", "queue_limit: 300KB, queues: 2, ", "", "kmin: 290KB, kmax: 400KB", false},
		{"9MB", "queue_limit: 150 packets, ", "", "kmin: 300KB, kmax: 300KB", true},
		{"9MB", "queue_limit: 150 packets, ", "", "kmin: 148 packets, kmax: 400 packets", false},
		{"9MB", "", shared + "alpha: 1}}", "kmin: 510KB, kmax: 600KB", true},
		{"9MB", "", shared + "alpha: 1}}", "kmin: 490KB, kmax: 600KB", false},
		{"9MB", "", shared + "alpha: 0.25}}", "kmin: 210KB, kmax: 600KB", true},
		{"9MB", "", shared + "alpha: 0}}", "kmin: 900KB, kmax: 900KB", false},
		{"9MB", "", shared + "alpha: 0}}", "kmin: 1MB, kmax: 2MB", true},
		{"9MB", "", shared + "limit: 200KB}}", "kmin: 200KB, kmax: 600KB", true},
		{"9MB", "", shared + "limit: 200KB}}", "kmin: 190KB, kmax: 600KB", false},
		{"300kB", "", shared + "alpha: 1}}", "kmin: 300KB, kmax: 600KB", true},
		{"9MB", "", shared + "limit: 200KB}}, pfc", "kmin: 200KB, kmax: 600KB", false},
	} {
		t.Run(strings.Join([]string{x.buffer, x.queues, x.before, x.ecn}, " "), func(t *testing.T) {
			var want []string
			if x.fires {
				want = []string{"marks-beyond-buffer s->b"}
			}
			list := "forward, {ecn: {" + x.ecn + "}}"
			if x.before != "" {
				list = "forward, " + x.before + ", {ecn: {" + x.ecn + "}}"
			}
			text := strings.Replace(twoLinks("200Gbps", "100Gbps", "2us", x.buffer, list, "tcp", "dctcp"),
				"switch: ["+list+"]", "switches: {s: {"+x.queues+"programs: ["+list+"]}}", 1)
			got, loads := issued(text)
			got = slices.DeleteFunc(got, func(w string) bool { return !strings.HasPrefix(w, "marks-") })
			if !loads || !slices.Equal(got, want) {
				t.Errorf("warnings %v, want %v", got, want)
			}
		})
	}
}

// TestWarningsOfPaths checks that the capacity of a path's narrowest link decides. Warnings are the same for any
// rate of the hosts' links, as long as these are not the narrowest.
func TestWarningsOfPaths(t *testing.T) {
	r := app.Registry()
	compared := 0
	for _, transport := range []string{"tcp", "rdma", "{rdma: {recovery: selective_repeat, bound: bytes, " +
		"bound_bytes: 64kB}}",
		"{rdma: {telemetry: packets, telemetry_packets: 500 packets}}", "udp_controlled", "ndp", "uet"} {
		controllers := []string{""}
		if transport != "ndp" && transport != "uet" {
			controllers = nil
			for _, c := range r.Controllers {
				controllers = append(controllers, c.Name)
			}
		}
		for _, cc := range controllers {
			for _, narrow := range []unit.Rate{100 * unit.Mbps, unit.Gbps, 40 * unit.Gbps} {
				for _, delay := range []string{"5us", "10ms"} {
					var first []string
					for i, times := range []unit.Rate{10, 100} {
						text := twoLinks((times * narrow).String(), narrow.String(), delay, "500kB", "forward, telemetry, {ecn: {kmin: "+
							"100kB, kmax: 400kB}}", transport, cc)
						all, loads := issued(text)
						if !loads {
							break
						}
						if i == 0 {
							first = all
						} else if compared++; !slices.Equal(all, first) {
							t.Errorf("with hosts of %d times the rate\n%v, not\n%v:\n%s", times, all, first, text)
						}
					}
				}
			}
		}
	}
	if compared < 300 {
		t.Errorf("only %d experiments are compared", compared)
	}
}

// ports has two switches in a row, and the port of the second one is the bottleneck. Variants change properties on
// which no warning depends.
func ports(programs, queues string, variant int) string {
	links := []string{"[a, s], rate: 1Gbps, delay: 5ms", "[c, s], rate: 1Gbps, delay: 5ms", "[s, t], rate: 1Gbps, " +
		"delay: 5ms, " +
		"buffer: 100 packets", "[t, b], rate: 50Mbps, delay: 1ms, buffer: 60 packets"}
	hosts, switches := "a, b, c", "s, t"
	switch variant {
	case 1:
		slices.Reverse(links)
	case 2: // an idle host by a slow link
		hosts += ", manager"
		links = append([]string{"[s, manager], rate: 1Mbps, delay: 1ms, buffer: 10 packets"}, links...)
	case 3: // an idle switch with an idle host
		hosts, switches = hosts+", far", "idle, "+switches
		links = append([]string{"[idle, far], rate: 2Mbps, delay: 1ms, buffer: 5 packets",
			"[idle, s], rate: 2Mbps, delay: 1ms, buffer: 5 packets"}, links...)
	case 4: // the other way round
		for i, l := range links {
			ends, rest, _ := strings.Cut(l, "]")
			x, y, _ := strings.Cut(strings.TrimPrefix(ends, "["), ", ")
			links[i] = "[" + y + ", " + x + "]" + rest
		}
	}
	return fmt.Sprintf("duration: 1ms\ntopology:\n  hosts: [%s]\n  switches: [%s]\n  links:\n    - {ends: "+
		"%s}\n%sswitch: [%s]\n"+
		"traffic: [{name: x, from: a, to: b, transport: tcp, cc: cubic}]\nmeasure: [goodput]\n", hosts, switches,
		strings.Join(links, "}\n    - {ends: "), queues, programs)
}

// TestWarningsOfPorts checks that warnings of programs and schedulers are about the port at which data queues. They
// are independent of the order of links and their ends in the file, and of the rest of the network.
func TestWarningsOfPorts(t *testing.T) {
	r := app.Registry()
	var programs []string
	for i := range r.Programs {
		programs = append(programs, "forward, "+r.Programs[i].Name)
	}
	programs = append(programs, "forward, {telemetry: {multi: 1}}",
		"forward, {abc: {q_base: 5 packets, q_min: 2 packets, gamma: 5 packets}}",
		"forward, {pie: {target: 15ms}}", "forward, {codel: {target: 20ms}}", "forward, {codel: {target: 100us}}",
		"forward, {ecn: {kmin: 60kB, kmax: 200kB}}", "forward, {red: {min: 70kB}}", "forward, {ppv: {target: 20ms}}")
	compared := 0
	for _, list := range programs {
		first, loads := issued(ports(list, "", 0))
		if !loads {
			continue
		}
		for _, w := range first {
			if _, port, _ := strings.Cut(w, " "); port != "" && port != "t->b" {
				t.Errorf("%s: %s", list, w)
			}
		}
		compared++
		for variant := 1; variant <= 4; variant++ {
			all, loads := issued(ports(list, "", variant))
			if !loads || !slices.Equal(all, first) {
				t.Errorf("%s: variant %d, which loads: %v, has %v, not %v", list, variant, loads, all, first)
			}
		}
	}
	if compared < 25 {
		t.Errorf("only %d lists of programs are compared", compared)
	}
}

// TestWarningsOfTable checks that flows next to a flood of datagrams are protected if the table of the heaviest
// flows holds them, unless their parts are far below the threshold. Above it, a table that is too small leaves some
// without protection. The flood is the arriving traffic, and not the traffic that applications offer to a slow
// link.
func TestWarningsOfTable(t *testing.T) {
	for _, x := range []struct {
		parameters string
		flows      int
		link, rate string // of the flood's 100 flows
		fires      bool
	}{
		{"threshold: 5%", 20, "1Gbps", "1Mbps", false},
		{"threshold: 5%", 21, "1Gbps", "1Mbps", true},
		{"threshold: 2.5%", 30, "1Gbps", "1Mbps", true},
		{"threshold: 20%", 12, "1Gbps", "1Mbps", false},
		{"threshold: 20%, top: 40", 30, "1Gbps", "1Mbps", true},
		{"threshold: 5%, top: 40", 40, "1Gbps", "1Mbps", false},
		{"threshold: 5%", 30, "1Gbps", "300kbps", false}, // 0.6 of the port
		{"threshold: 5%, bandwidth: equal", 30, "1Gbps", "300kbps", true},
		{"threshold: 5%", 30, "10Mbps", "1Mbps", false},
		{"threshold: 0.1%", 30, "1Gbps", "1Mbps", false}, // the flood's flows are elephants
	} {
		text := strings.NewReplacer("hosts: [a, b]", "hosts: [a, b, f]", "links:", "links:\n    - {ends: [f, s], rate: "+
			x.link+", delay: 10ms, buffer: 1MB}", "traffic: [", "traffic: [{name: flood, from: f, to: b, transport: udp, "+
			"rate: "+x.rate+", flows: 100}, ").Replace(ncf("round_trip: 50ms, senders: 200, "+x.parameters, "3", "250kB",
			x.flows))
		got, loads := issued(text)
		if fires := slices.Contains(got, "ncf-elephants s->b"); !loads || fires != x.fires {
			t.Errorf("%s, %d flows, flood of %s through %s: loads %v, warnings %v, want one: %v", x.parameters, x.flows, x.rate,
				x.link, loads, got, x.fires)
		}
	}
}
