package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// buffers are the kinds of buffers of a switch with five ports of 10 Gb/s, with the longest wait on the path from
// h0 to h4 and back. A packet waits for the bytes ahead of it at the port, and for itself. A frame has 1500 bytes
// of IP and 18 of Ethernet. With PFC a packet waits once for the content of the switch. Its host's NIC may be
// paused for twice that time: ahead of another frame, and ahead of its own.
var buffers = []struct {
	name, links, switches, programs string
	want                            unit.Time // unit.Never: no limit
}{
	{"unlimited", "", "", "[forward]", unit.Never},
	{"bytes", ", buffer: 1MB", "", "[forward]", 2 * unit.TransmitTime(1_000_000, 10*unit.Gbps)},
	{"packets", ", buffer: 100 packets", "", "[forward]", 2 * unit.TransmitTime(100*1514, 10*unit.Gbps)},
	{"queue limit", "", `switches: {"*": {queue_limit: 200kB}}`, "[forward]",
		2 * unit.TransmitTime(200_000, 10*unit.Gbps)},
	{"the smaller of two", ", buffer: 1MB", `switches: {"*": {queue_limit: 200kB}}`, "[forward]",
		2 * unit.TransmitTime(200_000, 10*unit.Gbps)},
	{"shared", "", "", "[forward, {shared_buffer: {size: 4MB}}]", 2 * unit.TransmitTime(4_000_000, 10*unit.Gbps)},
	{"pfc", "", "", "[forward, {shared_buffer: {size: 32MB}}, pfc]",
		2 * 3 * unit.TransmitTime(32_000_000, 10*unit.Gbps)},
	{"pfc without a buffer", "", "", "[forward, {pfc: {trigger: static, xoff: 100kB}}]", unit.Never},
	{"fair queueing", ", buffer: 1MB", `switches: {"*": {scheduler: fq}}`, "[forward]", unit.Never},
	{"priorities", ", buffer: 1MB", `switches: {"*": {queues: 2}}`, "[forward]", unit.Never},
	{"first in, first out", ", buffer: 1MB", `switches: {"*": {scheduler: fifo}}`, "[forward]",
		2 * unit.TransmitTime(1_000_000, 10*unit.Gbps)},
	// The program assumes frames of 1610 bytes, with all extensions. The header queue has the bytes of 8 of them, at
	// least 322 headers of 40 bytes. After each ten headers a frame of data is sent, and 11 frames may be sent for
	// pending turns.
	{"ndp in turns", "", `switches: {"*": {queues: 2, scheduler: {wrr: {weights: {0: 10}}}, programs: [forward, ndp]}}`,
		"[forward]", 2 * unit.TransmitTime((8+32.2+11)*1610, 10*unit.Gbps)},
	// One product of data and two of headers, twice, even if the switch drops packets when its queue is full.
	{"trimming", "", `switches: {"*": {queues: 2, programs: [forward, {trimming: {rtt: 10us}}]}}`, "[forward]",
		2 * 6 * 10 * unit.Microsecond},
	{"trimming that drops", "", `switches: {"*": {queues: 2, programs: [forward, {trimming: {rtt: 10us, trim: false}}]}}`,
		"[forward]", 2 * 6 * 10 * unit.Microsecond},
	{"ndp in other turns", "",
		`switches: {"*": {queues: 2, scheduler: {dwrr: {weights: {0: 10}}}, programs: [forward, ndp]}}`, "[forward]",
		unit.Never},
}

// loadWaits loads a star with the buffers and a traffic.
func loadWaits(t *testing.T, links, switches, programs, transport string) *experiment.Spec {
	t.Helper()
	text := fmt.Sprintf("duration: 3ms\ntopology: {star: {hosts: 5, rate: 10Gbps, delay: 1us%s}}\nswitch: %s\n%s\n"+
		"traffic:\n  - {name: x, from: [h0, h1], to: h4, transport: {%s}, cc: none, start: 0s}\nmeasure: [goodput]\n", links,
		programs, switches, block(transport))
	if strings.HasPrefix(transport, "ndp") || strings.HasPrefix(transport, "uet") ||
		strings.HasPrefix(transport, "window") {
		text = strings.Replace(text, ", cc: none, start: 0s", ", size: 1MB, start: 0s", 1)
	}
	return plantest.Load(t, app.Registry(), text, experiment.Options{})
}

func TestPath_MaxQueueingFollowsBuffers(t *testing.T) {
	for _, b := range buffers {
		s := loadWaits(t, b.links, b.switches, b.programs, "rdma")
		p := s.Points()[0].Measured()
		got := p.Path(0, 4, &p.Traffic[0]).MaxQueueing
		frames := 6 * unit.TransmitTime(1600, 10*unit.Gbps)
		if b.want == unit.Never && got != unit.Never || b.want < unit.Never && (got < b.want || got > b.want+frames) {
			t.Errorf("%s: %v, want %v and less than %v more", b.name, got, b.want, frames)
		}
	}
}

// TestPathUneven checks that paths count as uneven when a flow's packets are spread over alternative links with
// different rates, also after an event. The tiers of a tree may have different rates.
func TestPathUneven(t *testing.T) {
	for _, x := range []struct {
		name, program, link, events string
		want                        bool
	}{
		{"equal", "spray", "", "", false},
		{"slow spine", "spray", "{ends: [leaf0, s1], rate: 10Gbps, delay: 1us}", "", true},
		{"flowlets", "{letflow: {gap: 50us}}", "{ends: [leaf0, s1], rate: 10Gbps, delay: 1us}", "", true},
		{"slow spine, one path a flow", "ecmp", "{ends: [leaf0, s1], rate: 10Gbps, delay: 1us}", "", false},
		{"slower later", "spray", "", "events: [{at: 1ms, link: [leaf1, s1], rate: 25Gbps}]", true},
		{"fast upper tier", "spray", "", "", false},
	} {
		link := cmp.Or(x.link, "{ends: [leaf0, s1], rate: 40Gbps, delay: 1us}")
		upper := ""
		if x.name == "fast upper tier" {
			upper = ", {ends: [s0, core], rate: 400Gbps, delay: 1us}, {ends: [s1, core], rate: 400Gbps, delay: 1us}"
		}
		text := fmt.Sprintf("duration: 3ms\ntopology: {hosts: [h0, h1], switches: [leaf0, leaf1, s0, s1, core], links: ["+
			"{ends: [h0, leaf0], rate: 40Gbps, delay: 1us}, {ends: [h1, leaf1], rate: 40Gbps, delay: 1us}, "+
			"{ends: [leaf0, s0], rate: 40Gbps, delay: 1us}, %s, {ends: [leaf1, s0], rate: 40Gbps, delay: 1us}, "+
			"{ends: [leaf1, s1], rate: 40Gbps, delay: 1us}%s]}\nswitch: [%s]\n%s\ntraffic:\n  - {name: x, from: h0, to: h1, "+
			"transport: {rdma: {recovery: selective_repeat}}, cc: none}\nmeasure: [goodput]\n", link, upper, x.program,
			x.events)
		if upper == "" {
			text = strings.Replace(text, ", core]", "]", 1)
		}
		s := plantest.Load(t, app.Registry(), text, experiment.Options{})
		p := s.Points()[0].Measured()
		if got := p.Path(0, 1, &p.Traffic[0]).Uneven; got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// TestQueueingBehindPauses checks that with PFC the wait of a path covers the longest chain of switches that can
// pause it, including switches off the path. The switches s0 and s1 are in a row with others. In a ring pauses can
// close a cycle, so that there is no limit.
func TestQueueingBehindPauses(t *testing.T) {
	longest := func(switches int, ring bool) unit.Time {
		links := ""
		var hosts, names []string
		for i := range switches {
			hosts, names = append(hosts, fmt.Sprintf("h%d", i)), append(names, fmt.Sprintf("s%d", i))
			links += fmt.Sprintf("{ends: [h%d, s%d]}, ", i, i)
			if i > 0 {
				links += fmt.Sprintf("{ends: [s%d, s%d]}, ", i-1, i)
			}
		}
		if ring {
			links += fmt.Sprintf("{ends: [%s, s0]}, ", names[switches-1])
		}
		topology := fmt.Sprintf("hosts: [%s], switches: [%s], links: [%s]", strings.Join(hosts, ", "),
			strings.Join(names, ", "), strings.TrimSuffix(links, ", "))
		text := fmt.Sprintf("duration: 3ms\ntopology: {%s}\nswitch: [ecmp, {shared_buffer: {size: 1MB}}, "+
			"{pfc: {headroom: size, headroom_size: 20kB}}]\ntraffic:\n  - {name: x, from: h0, to: h1, transport: rdma, "+
			"cc: none, start: 0s}\nmeasure: [goodput]\n", strings.ReplaceAll(topology, "]}", "], rate: 10Gbps, delay: 1us}"))
		s := plantest.Load(t, app.Registry(), text, experiment.Options{})
		p := s.Points()[0].Measured()
		return p.Path(0, 1, &p.Traffic[0]).MaxQueueing
	}
	before := unit.Time(0)
	for switches := 2; switches < 8; switches++ {
		now := longest(switches, false)
		if now < before+unit.TransmitTime(1_000_000, 10*unit.Gbps) {
			t.Errorf("%d switches in a row: %v, one less: %v", switches, now, before)
		}
		before = now
	}
	if got := longest(6, true); got != unit.Never {
		t.Errorf("a ring of six switches: %v, want no limit", got)
	}
}

// TestTimerWarnings checks the warnings about timeouts. A timeout in the file that is shorter than the delay of
// full buffers gets a warning with both numbers where data can queue. A fixed timeout gets one where a buffer has
// no limit. A longer timeout, or a measured one there, gets none.
func TestTimerWarnings(t *testing.T) {
	for _, x := range []struct {
		transport, buffer, want string // the warning's begin, "": there is none
	}{
		{"rdma: {rto_min: 1ms}", "pfc", "rto_min: the timeout of 1ms is shorter than 51.3ms"},
		{"rdma: {rto_min: 60ms}", "pfc", ""},
		// only acknowledgements return, so that one direction has full buffers
		{"rdma: {rto: fixed, rto_min: 700us}", "bytes", "rto_min: the timeout of 700us is shorter than 81"},
		{"rdma: {rto: fixed, rto_min: 1ms}", "bytes", ""},
		{"rdma: {rto_low: 100us}", "bytes", "rto_low: the timeout of 100us is shorter than 81"},
		{"rdma: {rto: none}", "pfc", ""},
		{"rdma: {rto_min: 1ms}", "unlimited", ""},
		{"rdma: {rto: fixed, rto_min: 1ms}", "unlimited", "rto_min: the timeout is 1ms, but port s->h4 has no limit"},
		{"window: {window: 3 packets, timeout: 700us}", "unlimited", "timeout: the timeout is 700us, but port s->h4 has no"},
		{"rdma", "pfc", ""},
		{"udp_controlled: {rto_min: 700us}", "bytes", "rto_min: the timeout of 700us is shorter than 8"},
		{"ndp: {rto_min: 700us}", "bytes", "rto_min: the timeout of 700us is shorter than 8"},
		{"window: {window: 3 packets, timeout: 700us}", "bytes", "timeout: the timeout of 700us is shorter than 8"},
		{"uet", "pfc", "rto_base: the timeout of"},
	} {
		for _, b := range buffers {
			if b.name != x.buffer {
				continue
			}
			s := loadWaits(t, b.links, b.switches, b.programs, x.transport)
			found := ""
			for _, w := range s.Warnings() {
				if i := strings.Index(w.Text, "the timeout "); w.Kind.ID == "timeout-below-path" {
					found = w.Text[strings.LastIndex(w.Text[:i-2], " ")+1:]
				}
			}
			if !strings.HasPrefix(found, x.want) || (found == "") != (x.want == "") {
				t.Errorf("%s, %s: %q, want %q", x.transport, x.buffer, found, x.want)
			}
		}
	}
}

// TestTimerWarningsNeedQueues checks that a path on which no queue can form gives no warning. It has one sender at
// the rate of all links, whose acknowledgements meet no other data. It does give a warning with a rate that an
// event lowers, with PFC, and with data in the reverse direction.
func TestTimerWarningsNeedQueues(t *testing.T) {
	for _, x := range []struct {
		programs, traffic, events string
		want                      bool
	}{
		{"[ecmp]", "", "", false},
		{"[ecmp]", "", "events: [{at: 1ms, link: [h4, s], rate: 1Gbps}]", true},
		{"[ecmp, {shared_buffer: {size: 1MB}}, {pfc: {headroom: size, headroom_size: 20kB}}]", "", "", true},
		{"[ecmp]", "  - {name: y, from: [h1, h2], to: h0, transport: udp, rate: 9Gbps}", "", true},
		{"[ecmp]", "  - {name: y, from: h1, to: h2, transport: udp, rate: 9Gbps}", "", false},
		{"[ecmp]", "  - {name: y, from: h1, to: h4, transport: udp, rate: 9Gbps}", "", true},
	} {
		text := fmt.Sprintf("duration: 3ms\ntopology: {star: {hosts: 5, rate: 10Gbps, delay: 1us, buffer: 1MB}}\n"+
			"switch: %s\n%s\ntraffic:\n  - {name: x, from: h0, to: h4, transport: {rdma: {rto_min: 100us}}, cc: none}\n%s\n",
			x.programs, x.events, x.traffic)
		s := plantest.Load(t, app.Registry(), text, experiment.Options{})
		warned := slices.ContainsFunc(s.Warnings(),
			func(w document.Warning) bool { return w.Kind.ID == "timeout-below-path" })
		if warned != x.want {
			t.Errorf("warned: %v, want %v:\n%s", warned, x.want, text)
		}
	}
}

// TestTimerTexts checks that the line about each traffic's timer has its time and the reason for it.
func TestTimerTexts(t *testing.T) {
	for _, x := range []struct{ transport, buffer, want string }{
		{"rdma", "pfc", "timer of traffic x (rdma): a probe after 320us without an answer, or more if round trips are " +
			"longer; data is sent again when the probe's answer proves the loss, or after 193ms: the longest path takes " +
			"6.53us without queues and 154ms with full buffers"},
		{"udp_controlled", "unlimited", "proves the loss; a port of the path has no limit, so that packets can wait for " +
			"any time"},
		{"rdma: {rto: none}", "bytes", "no timer sends anything again"},
		{"ndp", "ndp in turns", "data is sent again after 183us without an answer"},
		{"ndp", "ndp in turns", "packets may overtake each other, so that no probe proves a loss"},
		{"ndp", "ndp in other turns", "data is sent again after 5ms without an answer, or more if round trips are longer"},
		{"rdma: {rto_min: 4ms}", "bytes", "rto_min 4ms: data is sent again after this time"},
	} {
		for _, b := range buffers {
			if b.name != x.buffer {
				continue
			}
			lines := loadWaits(t, b.links, b.switches, b.programs, x.transport).Timers()
			if len(lines) != 1 || !strings.Contains(lines[0].String(), x.want) {
				t.Errorf("%s, %s: %q", x.transport, x.buffer, lines)
			}
		}
	}
}

// TestTimersOfLargeNetworks checks that the timer of random traffic is close to that of its longest path, in
// networks with more pairs of hosts than loading examines.
func TestTimersOfLargeNetworks(t *testing.T) {
	for topology, last := range map[string]int{
		"fat_tree: {k: 14, rate: 100Gbps, delay: 1us, buffer: 1MB}":                                               685,
		"fat_tree: {k: 16, rate: 100Gbps, delay: 1us, buffer: 1MB}":                                               1023,
		"leaf_spine: {leaves: 4, spines: 2, hosts: 300, rate: 100Gbps, uplink: 100Gbps, delay: 1us, buffer: 1MB}": 1199,
	} {
		timer := func(ends string) unit.Time {
			text := fmt.Sprintf("duration: 1ms\ntopology: {%s}\nswitch: [ecmp]\ntraffic:\n"+
				"  - {name: x, transport: rdma, cc: none, %s}\nmeasure: [goodput]\n", topology, ends)
			s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
			if err != nil || len(s.Timers()) != 1 {
				t.Fatal(err, text)
			}
			return s.Timers()[0].MaxRTT
		}
		want := timer(fmt.Sprintf("from: h0, to: h%d, start: 0s", last))
		for _, to := range []string{"random", "permutation", "'*'"} {
			if got := timer("from: '*', to: " + to + ", size: 10kB, load: 1%"); got != want {
				t.Errorf("%s, to %s: %v, want %v", topology, to, got, want)
			}
		}
	}
}
