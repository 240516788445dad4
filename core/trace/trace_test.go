package trace

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

type list []Record

func (l *list) Write(r *Record) error {
	*l = append(*l, *r)
	return nil
}

// collector returns one of two nodes a and b and the ports a->b (0), b->a (1).
func collector(sinks ...Sink) *Collector {
	return NewCollector(Config{Nodes: []string{"a", "b"}, Ports: []Port{{"a->b", 0, true}, {"b->a", 1, false}},
		Sinks: sinks})
}

// TestCollector_FlushesEventsInOrder checks that events come out by time, node, and order within the node, once they
// are before the time of Flush. Events of untraced ports do not, nor events after EndAt.
func TestCollector_FlushesEventsInOrder(t *testing.T) {
	var got list
	c := collector(&got)
	at := func(now unit.Time, node, port int32, flow packet.FlowID) {
		c.Observe(Event{At: now, Kind: Transmit, Node: node, Port: port}, &packet.Packet{Flow: flow})
	}
	flows := func() string {
		var s []string
		for _, r := range got {
			s = append(s, fmt.Sprint(r.Flow))
		}
		return strings.Join(s, " ")
	}
	at(30, 1, 0, 5)
	at(10, 1, 0, 2)
	at(10, 1, 0, 3)
	at(10, 1, 1, 99) // not traced
	at(10, 0, 0, 1)
	at(20, 0, 0, 4)
	if c.Flush(10); flows() != "" {
		t.Errorf("before 10 there is %s", flows())
	}
	if c.Flush(30); flows() != "1 2 3 4" {
		t.Errorf("before 30 there is %s", flows())
	}
	at(30, 0, 0, 6)
	at(31, 0, 0, 7)
	c.EndAt(30)
	at(30, 0, 0, 8)
	if c.Flush(unit.Never); flows() != "1 2 3 4 6 5" {
		t.Errorf("up to 30 there is %s", flows())
	}
}

// TestNoPort checks that a drop that has no port is recorded if the switch has a traced one.
func TestNoPort(t *testing.T) {
	var got list
	c := collector(&got)
	for node := range int32(2) {
		c.Observe(Event{Kind: Drop, Node: node, Port: None, Reason: "no_route"}, &packet.Packet{Flow: packet.FlowID(node)})
	}
	if c.Flush(1); len(got) != 1 || got[0].Node != "a" || got[0].Port != "" {
		t.Errorf("%+v", got)
	}
}

type failing struct{ n int }

func (f *failing) Write(*Record) error {
	f.n++
	return fmt.Errorf("disk full")
}

// TestSinkFails checks that a sink's error persists, and that no record is written after it.
func TestSinkFails(t *testing.T) {
	var f failing
	c := collector(&f)
	for range 3 {
		c.Observe(Event{}, &packet.Packet{})
		c.Flush(1)
	}
	if c.Err() == nil || f.n != 1 {
		t.Errorf("%v, %d records were written", c.Err(), f.n)
	}
}

// TestNoFrame checks that a packet of the wrong kind for wire form is an error, not a hole.
func TestNoFrame(t *testing.T) {
	c := NewCollector(Config{Nodes: []string{"a"}, Ports: []Port{{"a->b", 0, true}}, Book: packet.NewBook(), Frames: true})
	c.Observe(Event{Kind: Transmit}, &packet.Packet{Src: 9, Version: 4})
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "a->b") {
		t.Errorf("%v", err)
	}
}

func sample() []Record {
	return []Record{
		{At: 504492784871, Kind: Transmit, Node: "client0", Port: "client0->s1", Packet: packet.Ack, Proto: packet.ProtoTCP,
			Src: "client0", SrcPort: 10000,
			Dst: "server", DstPort: 5000, Size: 74, TCPFlags: packet.SYN | packet.ECE | packet.CWR},
		{At: 1 * unit.Second, Kind: Enqueue, Node: "s1", Port: "s1->server", Proto: packet.ProtoTCP, Src: "client0",
			SrcPort: 10000,
			Dst:     "server", DstPort: 5000, Seq: 1449, Ack: 1, Size: 1514, Payload: 1448, TOS: packet.ECT0,
			TCPFlags: packet.ACK, QueuePackets: 3, QueueBytes: 4542},
		{At: 1*unit.Second + 5, Kind: Transmit, Node: "s1", Port: "s1->server", Proto: packet.ProtoTCP, Src: "client0",
			SrcPort: 10000,
			Dst:     "server", DstPort: 5000, Seq: 1449, Ack: 1, Size: 1514, Payload: 1448, TOS: packet.CE, TCPFlags: packet.ACK,
			QueuePackets: 2, QueueBytes: 3028},
		{At: 1*unit.Second + 7, Kind: Drop, Node: "s1", Port: "s1->server", Flow: 7, Proto: packet.ProtoUDP, Src: "client1",
			SrcPort: 10001,
			Dst:     "server", DstPort: 5001, Seq: 12, Size: 1490, Payload: 1448, QueuePackets: 2, QueueBytes: 3028,
			Reason: "port_packets"},
		{At: 1*unit.Second + 7, Kind: Lost, Node: "s1", Port: "s1->server", Flow: 7, Proto: 200, Src: "fd00::1", SrcPort: 1,
			Dst: "fd00::2", DstPort: 2,
			QueuePackets: 2, QueueBytes: 3028, Reason: "link_loss", Packet: packet.Notice},
		{At: 3 * unit.Second, Kind: Arrive, Node: "s1", Port: "server->s1", Flow: None, Packet: packet.Pause, Size: 64,
			QueuePackets: None, QueueBytes: None},
		{At: 3 * unit.Second, Kind: Drop, Node: "s1", Flow: 3, QueuePackets: None, QueueBytes: None, Reason: "no_route"},
	}
}

// TestText_RoundTripsRecords checks the text form, line by line, and back.
func TestText_RoundTripsRecords(t *testing.T) {
	var b strings.Builder
	w := NewText(&b, []string{"client0->s1", "s1->server"})
	for _, r := range sample() {
		w.Write(&r)
	}
	w.Close()
	testkit.Golden(t, "text.txt", b.String())
	var got []Record
	if err := ReadText(strings.NewReader(b.String()), func(r *Record) error {
		got = append(got, *r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, sample()) {
		t.Errorf("read\n%+v\nwritten\n%+v", got, sample())
	}
}

// TestTextErrors checks that an error names line and column.
func TestTextErrors(t *testing.T) {
	good := string(AppendText(nil, &sample()[1]))
	for _, c := range []struct{ line, want string }{
		{"1 2 3", "line 3: 3 columns, not 19"},
		{strings.Replace(good, "1.000", "1.00", 1), "column 1, time_s"},
		{strings.Replace(good, "enqueue", "enque", 1), `column 2, event: "enque" is no event; enqueue, transmit`},
		{strings.Replace(good, "data", "date", 1), "column 6, packet"},
		{strings.Replace(good, "tcp", "6", 1), "column 7, proto"},
		{strings.Replace(good, ":10000", ":70000", 1), "column 8, src"},
		{strings.Replace(good, "1514", "x", 1), `column 12, size_bytes: "x" is no number`},
		{strings.Replace(good, "ect0", "ce", 1), "column 15, ecn"},
		{strings.Replace(good, " A ", " AF ", 1), "column 16, flags"},
	} {
		t.Run(c.line, func(t *testing.T) {
			err := ReadText(strings.NewReader(Magic+"# comment\n"+c.line+"\n"), func(*Record) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "line 3: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.line, err, c.want)
			}
		})
	}
	if err := ReadText(strings.NewReader(Magic+strings.Repeat("x", 2*longestLine)), func(*Record) error {
		return nil
	}); err == nil || !strings.HasPrefix(err.Error(), "line 2") {
		t.Errorf("an endless line: %v", err)
	}
}

// FuzzParseText_RoundTripsRecords checks that a line that can be read is the same record after writing and reading.
func FuzzParseText_RoundTripsRecords(f *testing.F) {
	for _, r := range sample() {
		f.Add(string(AppendText(nil, &r)))
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, err := ParseText(line)
		if err != nil {
			return
		}
		again := string(AppendText(nil, &r))
		s, err := ParseText(again)
		if err != nil || !reflect.DeepEqual(r, s) {
			t.Errorf("%q is read as %+v, written as %q and read as %+v: %v", line, r, again, s, err)
		}
	})
}

// TestFilter_MatchesEachCriterion checks each criterion of a filter, by itself and with others.
func TestFilter_MatchesEachCriterion(t *testing.T) {
	for _, c := range []struct {
		f    Filter
		want string // indices of sample
	}{
		{Filter{}, "0123456"},
		{Filter{Kinds: []EventKind{Drop, Lost}}, "346"},
		{Filter{Ports: []string{"s1->*"}}, "1234"},
		{Filter{Ports: []string{"client0->s1", "server->s1"}}, "05"},
		{Filter{Nodes: []string{"client?"}}, "0"},
		{Filter{Flows: []int64{7, 3}}, "346"},
		{Filter{Hosts: []string{"client1", "fd00::2"}}, "34"},
		{Filter{From: unit.Second}, "123456"},
		{Filter{From: unit.Second, To: unit.Second + 7}, "12"},
		{Filter{Kinds: []EventKind{Drop}, Flows: []int64{7}}, "3"},
		{Filter{Ports: []string{"["}}, ""},
	} {
		t.Run(fmt.Sprintf("%+v", c.f), func(t *testing.T) {
			got := ""
			for i, r := range sample() {
				if c.f.Match(&r) {
					got += fmt.Sprint(i)
				}
			}
			if got != c.want {
				t.Errorf("%+v picks %s, want %s", c.f, got, c.want)
			}
		})
	}
}

// TestSummaryQueue checks that the mean queue is weighted with time: 1 packet for 2 s and 4 for 1 s are 2 packets.
func TestSummaryQueue(t *testing.T) {
	var s Summary
	for _, x := range [][2]int64{{0, 1}, {2, 4}, {3, 0}} {
		s.AddRecord(&Record{At: unit.Time(x[0]) * unit.Second, Kind: Enqueue, Port: "p", QueuePackets: x[1],
			QueueBytes: 1000 * x[1]})
	}
	if p := s.ports[0]; p.packets.timeMean() != 2 || p.packets.peak != 4 || p.queued.timeMean() != 2000 {
		t.Errorf("mean %g, most %d", p.packets.timeMean(), p.packets.peak)
	}
}

// TestSummaryFlow checks that a flow's bytes are counted at the port that has most of them, not at all ports on its
// way.
func TestSummaryFlow(t *testing.T) {
	var s Summary
	for i := range 10 {
		for _, port := range []string{"a->s", "s->b"} {
			if i < 9 || port == "a->s" {
				s.AddRecord(&Record{At: unit.Time(i), Kind: Transmit, Port: port, Src: "a", Dst: "b", Size: 100,
					QueuePackets: None})
			}
		}
	}
	if packets, bytes := s.flows[0].busiestPort(); packets != 10 || bytes != 1000 {
		t.Errorf("%d packets, %d bytes", packets, bytes)
	}
}

func TestSummary_MatchesGoldenIn80Columns(t *testing.T) {
	var s Summary
	for _, r := range sample() {
		s.AddRecord(&r)
	}
	for i := range 30 {
		s.AddRecord(&Record{At: 4 * unit.Second, Kind: Transmit, Port: strings.Repeat("long", 9),
			Src: strings.Repeat("2001:", 7) +
				"1", Dst: strings.Repeat("fd00:", 7) + "2",
			SrcPort: uint16(i), DstPort: 65535, Size: 1e9, Flow: None, QueuePackets: None})
	}
	text := s.String()
	testkit.Golden(t, "summary.txt", text)
	for _, l := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(l) > 80 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
		}
	}
	if empty := new(Summary).String(); empty != "no events\n" {
		t.Error(empty)
	}
}

func TestParse_InvertsEveryName(t *testing.T) {
	for k := range Kinds {
		if x, ok := ParseKind(k.String()); !ok || x != k {
			t.Errorf("kind %d is called %s", k, k)
		}
	}
	for k := packet.Data; k <= packet.Probe; k++ {
		if x, ok := ParsePacketName(PacketName(k)); !ok || x != k {
			t.Errorf("packet %d is called %s", k, PacketName(k))
		}
	}
	for flags := range 256 {
		if x, ok := ParseFlagLetters(FlagLetters(uint8(flags))); !ok || x != uint8(flags) {
			t.Errorf("flags %02x are %s", flags, FlagLetters(uint8(flags)))
		}
	}
	if got := FlagLetters(packet.SYN | packet.ACK | packet.ECE); got != "SAE" {
		t.Errorf("SYN, ACK, ECE are %s", got)
	}
	if !sort.StringsAreSorted([]string{FormatSeconds(0), FormatSeconds(1), FormatSeconds(unit.Second),
		FormatSeconds(unit.Second + 1)}) ||
		FormatSeconds(-1) != "-0.000000000001" {
		t.Error(FormatSeconds(1), FormatSeconds(-1))
	}
}

func Example() {
	ports := []Port{{Name: "s1->server"}, {Name: "server->s1", Node: 1}}
	MarkPorts(ports, "s1->*")
	var s Summary
	c := NewCollector(Config{Nodes: []string{"s1", "server"}, Ports: ports, Sinks: []Sink{printing{}}})
	c.Observe(Event{At: 2 * unit.Microsecond, Kind: Transmit, Node: 0, Port: 0}, &packet.Packet{Flow: 3, Size: 1500})
	c.Observe(Event{At: 1 * unit.Microsecond, Kind: Arrive, Node: 1, Port: 1}, &packet.Packet{}) // not traced
	c.Flush(unit.Second)
	fmt.Print(&s)
	// Output:
	// 0.000002000000 transmit s1 s1->server 3 data 0 - - 0 0 1500 0 0 not-ect - 0 0 -
	// no events
}

type printing struct{}

func (printing) Write(r *Record) error {
	fmt.Printf("%s\n", AppendText(nil, r))
	return nil
}
