package frames

import (
	"bytes"
	"net/netip"
	"testing"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

// TestTraceInPlace checks that a record is written into a trace with room for it, and no other part of the frame
// changes. Traces that no program writes to stay, and so do options that are no trace (RFC 9197 §4.4, RFC 9486 §3).
func TestTraceInPlace(t *testing.T) {
	format, err := telemetry.NewFormat("ioam", 1, 1.05, nil)
	if err == nil {
		err = format.SetShape(5, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	book := packet.NewBook()
	book.Add(netip.Addr{}, netip.MustParseAddr("fd00::1"))
	book.Add(netip.Addr{}, netip.MustParseAddr("fd00::2"))
	asks := &packet.Packet{Src: 1, Dst: 2, Proto: packet.ProtoUDP, Version: 6, HopLimit: 63, Payload: 100}
	format.AddRequest(asks, telemetry.HopRecords, false)
	frame, err := asks.Emit(book, nil)
	if err != nil {
		t.Fatal(err)
	}
	tagged := append(append(bytes.Clone(frame[:12]), 0x81, 0, 0, 5), frame[12:]...)
	hop := telemetry.Hop{Time: 3 * unit.Second, TxBytes: 4711, Queue: 3028, Rate: 50 * unit.Mbps, Switch: 9, Port: 1}
	for name, f := range map[string][]byte{"plain": frame, "tagged": tagged} {
		c, p := anyCodec(), &packet.Packet{Data: bytes.Clone(f)}
		if err := c.Parse(0, 0, p); err != nil || format.RequestsOf(p)&telemetry.WantsRecord == 0 ||
			p.Proto != packet.ProtoUDP {
			t.Fatalf("%s: %v, %+v", name, err, p)
		}
		if err := c.Deparse(p); err != nil || !bytes.Equal(p.Data, f) {
			t.Fatalf("%s, without a record: %v\n% x\n% x", name, err, p.Data, f)
		}
		if !format.PushRecord(p, &hop) {
			t.Fatalf("%s: no record", name)
		}
		if err := c.Deparse(p); err != nil || len(p.Data) != len(f) {
			t.Fatal(err)
		}
		got := &packet.Packet{Data: bytes.Clone(p.Data)}
		var r telemetry.Records
		if err := c.Parse(0, 0, got); err != nil {
			t.Fatal(err)
		}
		want := hop
		want.Flags = telemetry.NoSojourn
		if what, _ := format.ReadRequest(got, &r); what != telemetry.Recorded || r.Len() != 1 || *r.At(0) != want {
			t.Errorf("%s: %v, %d records, %+v", name, what, r.Len(), r.At(0))
		}
		at := bytes.Index(f, []byte{traceOption, 150})
		for i := range f {
			if inside := i >= at+5 && i < at+2+150; f[i] != p.Data[i] && !inside {
				t.Errorf("%s: byte %d was %x and is %x", name, i, f[i], p.Data[i])
			}
		}
	}
	short := bytes.Clone(frame)
	short[bytes.Index(short, []byte{traceOption, 150})+1] = 255 // longer than its header
	p := &packet.Packet{Data: short}
	if err := anyCodec().Parse(0, 0, p); err != nil || p.HasExtensions() {
		t.Errorf("a damaged trace: %v, %+v", err, p)
	}
}
