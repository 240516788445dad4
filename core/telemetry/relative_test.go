package telemetry

import (
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestRelativeGolden checks steps of 1/4096, to the nearest, from 1 to 65535.
func TestRelativeGolden(t *testing.T) {
	for _, x := range []struct {
		load float64
		code uint16
	}{{0, 1}, {-1, 1}, {1.0 / 8193, 1}, {0.5, 2048}, {0.95, 3891}, {1, 4096}, {1 + 1.4/4096, 4097}, {1 + 1.6/4096, 4098},
		{2.5, 10240},
		{15.99, 65495}, {16, 65535}, {1e300, 65535}, {math.Inf(1), 65535}, {math.NaN(), 65535}} {
		t.Run(fmt.Sprint("load ", x.load), func(t *testing.T) {
			if got := EncodeRelative(x.load); got != x.code {
				t.Errorf("%v has code %d, want %d", x.load, got, x.code)
			}
			if u := DecodeRelative(x.code); x.load >= 1.0/4096 && x.load < 15.999 && math.Abs(u-x.load) > 1.0/8192 {
				t.Errorf("%v is read as %v", x.load, u)
			}
		})
	}
}

// TestRelative_ReturnsMaxLoad checks that a request that three switches have written becomes an answer with the largest
// load, in 8 bytes with its header, for any path. A path without writing switches gives no answer, and a damaged field
// neither.
func TestRelative_ReturnsMaxLoad(t *testing.T) {
	f := newFormat(t, "relative")
	p := &packet.Packet{Size: 1000}
	if f.AddRequest(p, HopRecords, false); f.RequestsOf(p) != 0 {
		t.Error("a switch that averages no load writes one")
	}
	f.LoadInterval = 10 * unit.Microsecond
	if f.RequestsOf(p) != WantsRelative || p.ExtensionBytes() != 8 || !f.IsRelative() || f.WrapSpan() != (Wraparound{}) {
		t.Errorf("wants %d in %d bytes", f.RequestsOf(p), p.ExtensionBytes())
	}
	var r Records
	if what, _ := f.ReadRequest(p, &r); what != NoAnswer {
		t.Errorf("no switch has written: %d", what)
	}
	for _, load := range []float64{0.25, 1.5, 0.75} {
		f.PushRelative(p, load)
	}
	if what, load := f.ReadRequest(p, &r); what != Loaded || load != 1.5 {
		t.Errorf("a receiver reads %d, %v", what, load)
	}
	if b, _ := p.Extension(RelativeLoad); hex.EncodeToString(b) != "1800" || p.Size != 1000 {
		t.Errorf("%x, %d bytes", b, p.Size)
	}
	if !f.MakeAnswer(p) || f.RequestsOf(p) != 0 || p.ExtensionBytes() != 8 {
		t.Error("no answer")
	}
	f.PushRelative(p, 9)
	if what, load := f.ReadAnswer(p, &r); what != Loaded || load != 1.5 {
		t.Errorf("%d, %v", what, load)
	}
	for _, damaged := range [][]byte{nil, {1}, {0, 0}, {1, 2, 3}} {
		p.SetExtension(RelativeLoad&^Asked, damaged)
		if what, _ := f.ReadAnswer(p, &r); what != NoAnswer {
			t.Errorf("%x: %d", damaged, what)
		}
	}
	for _, other := range []string{"hpcc", "int-md"} {
		t.Run(other, func(t *testing.T) {
			if what, _ := newFormat(t, other).ReadRequest(p, &r); what != NoAnswer {
				t.Errorf("%s reads it: %d", other, what)
			}
		})
	}
}

// TestRelativeHidesCapacity checks draft-miao §9.1: ports of 25 and 400 Gb/s with the same load write the same bytes.
// In HPCC's format their records differ.
func TestRelativeHidesCapacity(t *testing.T) {
	random := unit.NewRandom(3, "relative")
	f, full := newFormat(t, "relative"), newFormat(t, "hpcc")
	f.LoadInterval = 12 * unit.Microsecond
	var slow, fast PortLoad
	now, tx := unit.Time(0), uint64(0)
	differ := 0
	for range 5000 {
		now += unit.Time(random.Int64N(int64(unit.Microsecond)))
		size, queue := unit.Bytes(1+random.Int64N(900)), unit.Bytes(random.Int64N(20_000))
		a, b := &packet.Packet{}, &packet.Packet{}
		f.AddRequest(a, HopRecords, false)
		f.AddRequest(b, HopRecords, false)
		f.PushRelative(a, slow.Dequeue(now, size, queue, 25*unit.Gbps, f.LoadInterval))
		f.PushRelative(b, fast.Dequeue(now, 16*size, 16*queue, 400*unit.Gbps, f.LoadInterval))
		if x, y := a.AppendExtensions(nil, 0), b.AppendExtensions(nil, 0); string(x) != string(y) || len(x) != 2+2 {
			t.Fatalf("%v: %x and %x", now, x, y)
		}
		c, d := &packet.Packet{}, &packet.Packet{}
		full.AddRequest(c, HopRecords, false)
		full.AddRequest(d, HopRecords, false)
		full.PushRecord(c, &Hop{Time: now, TxBytes: tx, Queue: queue, Rate: 25 * unit.Gbps, Switch: 1})
		full.PushRecord(d, &Hop{Time: now, TxBytes: 16 * tx, Queue: 16 * queue, Rate: 400 * unit.Gbps, Switch: 1})
		if string(c.AppendExtensions(nil, 0)) != string(d.AppendExtensions(nil, 0)) {
			differ++
		}
		tx += uint64(size)
	}
	if differ != 5000 {
		t.Errorf("HPCC's format tells capacities apart in %d of 5000 packets", differ)
	}
}
