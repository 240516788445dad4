//go:build lab

package agent

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

// tested returns the programs of bpf/lawtest.c, with parameters.
func tested(t testing.TB, p parameters) *ebpf.Collection {
	t.Helper()
	return loaded(t, "bpf/lawtest.o", "parameters", p)
}

// loaded returns the programs of an object, in which a variable has this value.
func loaded(t testing.TB, object, variable string, value any) *ebpf.Collection {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it loads BPF programs")
	}
	if err := ProbeMachine().Check(); err != nil {
		t.Skip(err)
	}
	spec, err := ebpf.LoadCollectionSpec(object)
	if err == nil {
		err = spec.Variables[variable].Set(value)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// state is struct state of bpf/lawtest.c.
type state struct {
	Law     rawLaw
	Records rawRecords
}

// TestLaw_MatchesKernelBitForBit checks that the kernel computes bit for bit the values of law_test.go, also where
// switches misbehave.
func TestLaw_MatchesKernelBitForBit(t *testing.T) {
	c := DefaultConfig()
	p := c.buildParameters()
	programs := tested(t, p)
	for seed := range uint64(10) {
		rtt := roundTrips[int(seed)%len(roundTrips)]
		var want rawLaw
		var got state
		if err := programs.Maps["states"].Put(uint32(0), &got); err != nil {
			t.Fatal(err)
		}
		used := 0
		walk(rand.New(rand.NewPCG(seed, 25)), 1500, rtt, true, func(s step) {
			in := binary.LittleEndian.AppendUint64(make([]byte, 14), s.now)
			in = binary.LittleEndian.AppendUint64(in, rtt)
			in, _ = binary.Append(in, binary.LittleEndian, &s.records)
			said, _, err := programs.Programs["steps"].Test(in)
			if err == nil {
				err = programs.Maps["states"].Lookup(uint32(0), &got)
			}
			if err != nil {
				t.Fatal(err)
			}
			measured := want.newINT(&p, &s.records, s.now, rtt)
			if measured {
				used++
			}
			if got.Law != want || (said == 1) != measured {
				t.Fatalf("seed %d: %+v\nbecomes  %+v,\nin Go %+v", seed, s, got.Law, want)
			}
		})
		if used < 300 {
			t.Errorf("seed %d: %d of 1500 are measurements", seed, used)
		}
	}
}

// TestTrace_IsReadAsTelemetryWrites checks that records are read as core/telemetry writes them, and that options
// without a trace of Weir have none.
func TestTrace_IsReadAsTelemetryWrites(t *testing.T) {
	programs := tested(t, parameters{})
	f, err := telemetry.NewFormat("ioam", 1, 1.05, nil)
	if err == nil {
		err = f.SetShape(maxHops, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	book := packet.NewBook()
	book.Add(netip.Addr{}, netip.MustParseAddr("fd09::1"))
	book.Add(netip.Addr{}, netip.MustParseAddr("fd09::2"))
	reads := func(header []byte) (s state) {
		t.Helper()
		if _, _, err := programs.Programs["reads"].Test(append(make([]byte, 14), header...)); err != nil {
			t.Fatal(err)
		}
		if err := programs.Maps["states"].Lookup(uint32(0), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	p := &packet.Packet{Src: 1, Dst: 2, Proto: packet.ProtoUDP, Version: 6, HopLimit: 63, Payload: 100}
	f.AddRequest(p, telemetry.HopRecords, false)
	for n := range maxHops + 2 {
		frame, err := p.Emit(book, nil)
		if err != nil {
			t.Fatal(err)
		}
		header := frame[14+40:][:160]
		s := reads(header)
		if want := min(n, maxHops); int(s.Records.N) != want || int(s.Records.Missed) != max(n-maxHops, 0) {
			t.Fatalf("of %d hops %d are read, and %d missed", n, s.Records.N, s.Records.Missed)
		}
		for i, h := range s.Records.Hop[:s.Records.N] {
			want := rawHop{Time: int64(i+1)*1e9 + 5, Bytes: uint64(i) << 40, Queue: uint32(1000 * i), Node: uint32(10 + i),
				Port: uint32(i), Rate: 20000 | 4<<16}
			if h != want {
				t.Errorf("hop %d of %d is %+v, want %+v", i, n, h, want)
			}
		}
		for _, at := range []int{4, 5, 7, 9, 10, 12} { // type, length, kind of trace, namespace, words, trace type
			b := bytes.Clone(header)
			b[at] ^= 0x10
			if s := reads(b); s.Records.N != 0 {
				t.Errorf("with another byte %d there are %d records", at, s.Records.N)
			}
		}
		f.PushRecord(p, &telemetry.Hop{Time: unit.Time(n+1)*unit.Second + 5*unit.Nanosecond, TxBytes: uint64(n) << 40,
			Queue: unit.Bytes(1000 * n), Rate: 200 * unit.Mbps, Switch: uint32(10 + n), Port: uint16(n)})
	}
}
