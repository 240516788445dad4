package dataplane_test

import (
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// limits notes the hop limits that packets have at ingress, and cuts payloads off on demand.
type limits struct {
	seen []uint8
	trim bool
}

func (l *limits) Name() string { return "limits" }
func (l *limits) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	l.seen = append(l.seen, p.HopLimit)
	p.Meta.Out = 0
	if l.trim {
		return dataplane.Trim
	}
	return dataplane.Accept
}

// TestParsedOnce checks that only the first switch parses a frame: later ones use the fields, which it has written into
// the frame as well. After a switch has trimmed the payload it is parsed again.
func TestParsedOnce(t *testing.T) {
	book := packet.NewBook()
	for i := range byte(2) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i}), netip.Addr{})
	}
	var pool packet.Pool
	program := &limits{}
	port := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	sw, err := dataplane.New(dataplane.Config{Name: "s", Ports: []*tm.Port{port}, Pool: &pool, Book: book,
		Programs: []dataplane.Program{program}})
	if err != nil {
		t.Fatal(err)
	}
	made := packet.Packet{Src: 1, Dst: 2, SrcPort: 3, DstPort: 4, Version: 4, Proto: packet.ProtoUDP, HopLimit: 64,
		Payload: 100}
	p := pool.Get()
	if p.Data, err = made.Emit(book, nil); err != nil {
		t.Fatal(err)
	}
	p.Size = int32(len(p.Data))
	for k, want := range []struct {
		limit  uint8 // that the switch reads
		trim   bool
		parsed bool // when it leaves
	}{{9, false, true}, {9, true, false}, {7, false, true}, {7, false, true}} {
		packet.IPv4(p.Data[packet.EthernetHeader:]).SetTTL([]uint8{9, 8, 7, 6}[k])
		program.trim = want.trim
		sw.Receive(0, 0, p)
		if got := program.seen[len(program.seen)-1]; got != want.limit {
			t.Errorf("switch %d: the hop limit is %d, want %d", k, got, want.limit)
		}
		if p, _ = sw.Dequeue(0, 0); p == nil || p.IsParsed() != want.parsed {
			t.Fatalf("switch %d: %+v leaves", k, p)
		}
	}
}
