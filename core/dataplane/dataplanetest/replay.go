package dataplanetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// CheckReplay compares a switch with a transcript of arrivals and decisions that was worked out from an RFC or paper,
// not from the code. Lines that begin with # are comments; any other is an arrival for the last port:
//
//	1500us 0 3 2 1000: sent 2500us
//
// means that 1000 bytes of flow 3, with ECN field 2, arrive from the host at port 0 at 1500 µs. They are sent, marked
// (and sent) or dropped; the time is when the last bit is sent, or the packet is dropped. build creates the programs
// that follow forwarding. CheckReplay returns the numbers of packets sent, marked and dropped, so that a test can check
// that its transcript has all cases.
func CheckReplay(t T, s Setup, text string, build func(site *dataplane.Site) []dataplane.Program) (sent, marked,
	dropped int) {
	t.Helper()
	var script []Arrival
	var want []string
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, outcome, _ := strings.Cut(line, ": ")
		a, err := parseArrival(head, len(s.Ports))
		if err != nil {
			t.Errorf("line %d: %v", i+1, err)
			return 0, 0, 0
		}
		a.Seq = int64(len(script))
		script, want = append(script, a), append(want, outcome)
	}
	d := &dropLog{times: make([]unit.Time, len(script))}
	s.Programs = withBookkeeper(s, append(build(s.NewSite()), d)...).Programs
	tr := RunDirect(s, slices.Clone(script))
	got := make([]string, len(script))
	for i, at := range d.times {
		if at > 0 {
			got[i] = fmt.Sprintf("dropped %s", formatMicroseconds(at))
			dropped++
		}
	}
	for _, x := range tr.Departures {
		word := "sent"
		if x.TOS&packet.ECN == packet.CE && script[x.Seq].TOS&packet.ECN != packet.CE {
			word = "marked"
			marked++
		} else {
			sent++
		}
		got[x.Seq] = fmt.Sprintf("%s %s", word, formatMicroseconds(x.At))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("packet %d of %v: %s, the transcript has %s", i, formatMicroseconds(script[i].At), got[i], want[i])
			return
		}
	}
	if tr.Live != 0 {
		t.Errorf("%d packets are lost", tr.Live)
	}
	return sent, marked, dropped
}

// formatMicroseconds returns a time in microseconds, rounded to the nanosecond, without trailing zeros, such as
// "2.5us".
func formatMicroseconds(t unit.Time) string {
	ns := int64((t + unit.Nanosecond/2) / unit.Nanosecond)
	s := fmt.Sprintf("%d.%03d", ns/1000, ns%1000)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + "us"
}

// parseArrival reads an arrival for the last of the ports: time, port, flow, ECN field and size, separated by spaces.
// Its Seq stays 0.
func parseArrival(head string, ports int) (a Arrival, err error) {
	var at string
	var flow, ecn, size int
	if _, err = fmt.Sscan(head, &at, &a.Port, &flow, &ecn, &size); err != nil {
		return a, err
	}
	a.At, err = unit.ParseTime(at)
	a.Dst, a.Flow, a.TOS, a.Payload = packet.Addr(ports), uint16(flow), uint8(ecn), int32(size-42)
	return a, err
}

// dropLog records the times of drops.
type dropLog struct{ times []unit.Time }

func (d *dropLog) Name() string { return "drop log" }

func (d *dropLog) OnDrop(env *dataplane.Env, p *packet.Packet, _ dataplane.Reason) {
	d.times[p.Seq] = env.Now()
}

// RunForwarded runs a script behind forwarding and the setup's programs, and checks their bookkeeping. It panics if a
// program violates the contract of hooks.
func RunForwarded(s Setup, script []Arrival) Transcript {
	s = withBookkeeper(s, s.Programs...)
	got := RunDirect(s, script)
	if k := s.Programs[len(s.Programs)-1].(*bookkeeper); k.violation != "" || k.packets != 0 || k.bytes != 0 {
		panic(fmt.Sprintf("%s; %d packets, %d bytes, are booked at the end", k.violation, k.packets, k.bytes))
	}
	return got
}

// Weyl is a stream of random numbers that an evaluator in any language can reproduce. Number k, from 1, is
// (k·0x9e3779b97f4a7c15 mod 2⁵³) / 2⁵³.
type Weyl struct{ sum uint64 }

// Uint64 makes Weyl a source of unit.Random. Float64 takes the lower 53 bits.
func (w *Weyl) Uint64() uint64 {
	w.sum += 0x9e3779b97f4a7c15
	return w.sum
}

// Random returns the stream.
func (w *Weyl) Random() unit.Random { return unit.Random{Rand: rand.New(w)} }
