package dataplanetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/packet"
	"weir/core/unit"
)

// fixedRandom is a stream of random numbers that a test selects: its next Float64 is Next.
type fixedRandom struct{ Next float64 }

// Uint64 makes fixedRandom a source of unit.Random.
func (d *fixedRandom) Uint64() uint64 { return uint64(d.Next * (1 << 53)) }

// random returns the stream.
func (d *fixedRandom) random() unit.Random { return unit.Random{Rand: rand.New(d)} }

// CheckTranscript compares a scheme with a transcript of arrivals and decisions that was worked out from the scheme's
// paper, not from its code. A line is an arrival, for the last port of the setup, and its outcome:
//
//	3.5us 0 1000 0.25: pass …
//
// means that 1000 bytes arrive from the host at port 0 at 3.5 µs, and that the random number for them is 0.25. Lines
// that begin with # are comments. build creates the programs that follow forwarding. state returns the text behind
// "pass" or the reason of a drop. Packets that are dropped after their arrival are listed at the end, and so is the
// order in which the others depart.
func CheckTranscript(t T, s Setup, text string, build func(site *dataplane.Site) []dataplane.Program,
	state func() string) {
	t.Helper()
	draws, script, comments, err := parseArrivals(text, len(s.Ports))
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	drawn := &fixedRandom{}
	site := s.NewSiteWithPorts()
	site.Random = func(string) unit.Random { return drawn.random() }
	w := &outcomeLog{drawn: drawn, draws: draws, state: state, lines: make([]string, len(script))}
	s.Programs = append(append([]dataplane.Program{forward.New(site), &drawFeeder{w}}, build(site)...), w)
	got := RunDirect(s, slices.Clone(script))
	lines := slices.Clone(comments)
	for i, a := range script {
		lines = append(lines, fmt.Sprintf("%v %d %d %s: %s", a.At, a.Port, a.Payload+42, text64(draws[i]), w.lines[i]))
	}
	lines = append(lines, w.later...)
	order := "leave:"
	for _, d := range got.Departures {
		order += fmt.Sprintf(" %d", d.Seq)
	}
	lines = append(lines, order)
	want := strings.Split(strings.TrimSpace(text), "\n")
	for i := range max(len(want), len(lines)) {
		x, y := "", ""
		if i < len(want) {
			x = want[i]
		}
		if i < len(lines) {
			y = lines[i]
		}
		if x != y {
			t.Errorf("line %d: got\n%s\nwant\n%s\nin all\n%s", i+1, y, x, strings.Join(lines, "\n"))
			return
		}
	}
	if got.Live != 0 {
		t.Errorf("%d packets are lost", got.Live)
	}
}

// text64 returns the shortest text of a number.
func text64(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// parseArrivals reads the arrivals of a transcript; packets are numbered from 0 and go to the last of the ports. Lines
// without four fields are skipped. It fails on an invalid field.
func parseArrivals(text string, ports int) (draws []float64, script []Arrival, comments []string, err error) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			comments = append(comments, line)
			continue
		}
		head, _, _ := strings.Cut(line, ": ")
		f := strings.Fields(head)
		if len(f) != 4 {
			continue // a line of the end
		}
		at, err1 := unit.ParseTime(f[0])
		port, err2 := strconv.Atoi(f[1])
		size, err3 := strconv.Atoi(f[2])
		draw, err4 := strconv.ParseFloat(f[3], 64)
		for _, e := range []error{err1, err2, err3, err4} {
			if e != nil {
				return nil, nil, nil, fmt.Errorf("line %d: %w", i+1, e)
			}
		}
		draws = append(draws, draw)
		script = append(script, Arrival{At: at, Port: packet.PortID(port), Dst: packet.Addr(ports),
			Seq: int64(len(script)), Payload: int32(size - 42)})
	}
	return draws, script, comments, nil
}

// drawFeeder sets the next random number to the packet's.
type drawFeeder struct{ w *outcomeLog }

func (f *drawFeeder) Name() string { return "feeder" }

func (f *drawFeeder) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	f.w.drawn.Next = f.w.draws[p.Seq]
	return dataplane.Accept
}

// outcomeLog records the outcomes of packets.
type outcomeLog struct {
	drawn *fixedRandom
	draws []float64
	state func() string
	lines []string
	later []string
}

func (w *outcomeLog) Name() string { return "witness" }

// Book records a packet that has entered its queue.
func (w *outcomeLog) Book(_ *dataplane.Env, p *packet.Packet) {
	w.lines[p.Seq] = strings.TrimSpace("pass " + w.state())
}

// OnDrop records the drop of an arriving packet, or of one that has waited.
func (w *outcomeLog) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if w.lines[p.Seq] == "" {
		w.lines[p.Seq] = strings.TrimSpace(why.String() + " " + w.state())
		return
	}
	w.later = append(w.later, fmt.Sprintf("later: %d %v", p.Seq, why))
}

// CheckProgram reports violations of the contract of programs by a scheme. It runs the scripts of the contract, in
// which no queue is long, and reports any effect of the scheme. It runs random traffic of four times the link's rate,
// and checks that every packet is sent or dropped once, and that the books balance. skip holds the beginnings of the
// names of scripts that the program may affect. shape changes each port of a script. params are the scheme's parameters
// as BuildProgram takes them.
func CheckProgram(t T, s dataplane.Scheme, shape func(p Port) Port, skip []string, params ...string) {
	t.Helper()
	for _, script := range Scripts() {
		if slices.ContainsFunc(skip, func(x string) bool { return strings.HasPrefix(script.Name, x) }) {
			continue
		}
		for _, wire := range []bool{false, true} {
			setup := script.Setup()
			for i := range setup.Ports {
				setup.Ports[i] = shape(setup.Ports[i])
			}
			setup.Wire = wire
			p, err := BuildProgram(s, setup.NewSiteWithPorts(), params...)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				return
			}
			setup.Programs = slices.Insert(setup.Programs, 1, p)
			if got := RunDirect(setup, slices.Clone(script.Arrives)).String(); got != script.Want {
				t.Errorf("%s, %s (bytes: %v): got\n%swant\n%s", s.Name, script.Name, wire, got, script.Want)
			}
		}
	}
	for seed := range uint64(4) {
		checkFlood(t, s, shape, seed, params)
	}
}

// checkFlood runs random traffic of three users to a fourth port, which holds 30 packets. It reports lost packets,
// unbalanced books, no drops at all, and an invalid footprint.
func checkFlood(t T, s dataplane.Scheme, shape func(p Port) Port, seed uint64, params []string) {
	t.Helper()
	random := unit.NewRandom(seed, "floods")
	setup := Setup{}
	for range 4 {
		setup.Ports = append(setup.Ports, shape(Port{Rate: unit.LinkRate{Bits: unit.Gbps}, Queues: 1}))
	}
	setup.Ports[3].Total.Packets = 30
	p, err := BuildProgram(s, setup.NewSiteWithPorts(), params...)
	if err != nil {
		t.Errorf("%s: %v", s.Name, err)
		return
	}
	setup = withBookkeeper(setup, p)
	var script []Arrival
	const packets = 4000
	at := unit.Time(0)
	for i := range packets {
		at += unit.Time(random.IntN(6)) * us
		script = append(script, Arrival{At: at, Port: packet.PortID(random.IntN(3)), Dst: 4, Seq: int64(i),
			Payload: int32(22 + random.IntN(1450))})
	}
	got := RunDirect(setup, script)
	dropped := uint64(0)
	for _, n := range got.Drops {
		dropped += n
	}
	if n := uint64(len(got.Departures)); n+dropped != packets || got.Live != 0 {
		t.Errorf("%s: of %d packets %d leave, %d are dropped, %d are lost", s.Name, packets, n, dropped, got.Live)
	}
	if dropped == 0 {
		t.Errorf("%s: nothing is dropped: it was no flood", s.Name)
	}
	k := setup.Programs[len(setup.Programs)-1].(*bookkeeper)
	if k.violation != "" || k.packets != 0 || len(k.booked) != 0 {
		t.Errorf("%s: %s; %d packets are booked at the end, %d neither left nor dropped", s.Name, k.violation, k.packets,
			len(k.booked))
	}
	if x, ok := p.(dataplane.Footprinted); !ok {
		t.Errorf("%s has no footprint", s.Name)
	} else if f := x.Footprint(); f.Check() != nil {
		t.Errorf("%s: %v", s.Name, f.Check())
	}
}

// NewForwarding returns forwarding at a site.
func NewForwarding(site *dataplane.Site) dataplane.Program { return forward.New(site) }

// Counter counts, from a time on, the packets of each port that arrive, and that enter a queue. It is the last
// program.
type Counter struct {
	From         unit.Time
	Came, Passed [64]int64
}

// Name returns "counter".
func (c *Counter) Name() string { return "counter" }

// Book counts a packet that enters a queue as arrived and passed.
func (c *Counter) Book(env *dataplane.Env, p *packet.Packet) {
	if env.Now() >= c.From {
		c.Came[p.Meta.In]++
		c.Passed[p.Meta.In]++
	}
}

// OnDrop counts a dropped packet as arrived. An evicted packet was counted by Book, and no longer counts as passed.
func (c *Counter) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	switch {
	case env.Now() < c.From:
	case why == dataplane.Evicted:
		c.Passed[p.Meta.In]--
	default:
		c.Came[p.Meta.In]++
	}
}

// ConstantTraffic returns traffic to one address, in packets of size bytes, until endTime, which is not included.
// Senders behind ports 0, 1 and so on have rates of parts[i] times rate, the link's. They begin one after the other
// within a gap of the link, so that they never meet.
func ConstantTraffic(rate unit.Rate, size int32, endTime unit.Time, dst packet.Addr,
	parts ...float64) (script []Arrival) {
	gap := float64(size) * 8e12 / float64(rate)
	next := make([]float64, len(parts))
	for i := range next {
		next[i] = gap * (1 + float64(i)/float64(len(parts)+1))
	}
	for {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		if at := unit.Time(next[first]); at < endTime {
			script = append(script, Arrival{At: at, Port: packet.PortID(first), Dst: dst, Seq: int64(len(script)),
				Payload: size - 42})
			next[first] += gap / parts[first]
			continue
		}
		return script
	}
}

// FuzzTraffic returns traffic from a fuzzer's bytes, to the last of so many ports from the others: each byte is a burst
// of a sender, after a multiple of a gap. Bytes after the first 4000 do not count. At least two ports are needed.
func FuzzTraffic(b []byte, ports int, gap unit.Time) (script []Arrival) {
	at := unit.Microsecond
	for i, x := range b[:min(len(b), 4000)] {
		at += unit.Time(x>>5) * gap
		for k := range int(x>>2&7) + 1 {
			script = append(script, Arrival{At: at, Port: packet.PortID((i + int(x&3)) % (ports - 1)),
				Dst: packet.Addr(ports), Seq: int64(len(script)), Payload: int32(22 + (i*97+k*331+int(x)*7)%1430)})
		}
	}
	return script
}

// CheckConservation reports packets that neither depart nor are dropped, or that do so more than once. The script's
// packets must be numbered from 0.
func CheckConservation(t T, script []Arrival, got Transcript) {
	t.Helper()
	n := uint64(len(got.Departures))
	for _, dropped := range got.Drops {
		n += dropped
	}
	if n != uint64(len(script)) || got.Live != 0 {
		t.Errorf("of %d packets %d leave or are dropped, %d are somewhere", len(script), n, got.Live)
	}
	seen := make([]bool, len(script))
	for _, d := range got.Departures {
		if seen[d.Seq] {
			t.Errorf("packet %d leaves twice", d.Seq)
		}
		seen[d.Seq] = true
	}
}
