package tm

import (
	"testing"
	"unsafe"

	"weir/core/packet"
	"weir/core/unit"
)

// TestPort_KeepsCacheLineLayout checks that a packet for an idle, empty port touches only the port's first line of 64
// bytes, and a packet that waits only the first two. Ports are aligned to lines.
func TestPort_KeepsCacheLineLayout(t *testing.T) {
	const line = 64
	var p Port
	if size := unsafe.Sizeof(p); size != 3*line {
		t.Errorf("a port has %d bytes", size)
	}
	q := unsafe.Offsetof(p.one)
	for _, c := range []struct {
		name string
		end  uintptr
		line uintptr
	}{
		{"counters", unsafe.Offsetof(p.rate), 1},
		{"control", unsafe.Offsetof(p.control) + 8, 1},
		{"bytes, packets and bits", unsafe.Offsetof(p.queues), 1},
		{"the slice of queues", q, 2},
		{"the only queue but its limit", q + unsafe.Offsetof(p.one[0].flows), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.end > c.line*line {
				t.Errorf("ends at byte %d, in line %d", c.end, 1+(c.end-1)/line)
			}
		})
	}
	for range 10 {
		p := NewPort(NewBuffer(1, Limit{}, Limit{}), NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
		if at := uintptr(unsafe.Pointer(p)); at%line != 0 {
			t.Errorf("a port begins at byte %d of a line", at%line)
		}
		if p.Queue(0) != &p.one[0] {
			t.Error("a port's only queue is elsewhere")
		}
	}
}

// TestLimitSetLater checks that a limit applies from the time it is set, also on a port that began without one.
func TestLimitSetLater(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(p *Port)
		want Refusal
	}{
		{"none", func(*Port) {}, Fits},
		{"port", func(p *Port) { p.SetLimit(Limit{Packets: 1}) }, PortPackets},
		{"port, bytes", func(p *Port) { p.SetLimit(Limit{Bytes: 150}) }, PortBytes},
		{"queue", func(p *Port) { p.SetQueueLimit(1, Limit{Packets: 1}) }, QueuePackets},
		{"queue, bytes", func(p *Port) { p.SetQueueLimit(1, Limit{Bytes: 150}) }, QueueBytes},
		{"another queue", func(p *Port) { p.SetQueueLimit(0, Limit{Packets: 1}) }, Fits},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPort(NewBuffer(2, Limit{}, Limit{}), NewStrict(), unit.LinkRate{Bits: unit.Gbps})
			p.Push(1, &packet.Packet{Size: 100})
			c.set(p)
			if got := p.Fits(1, 100); got != c.want {
				t.Errorf("the second packet: %d, want %d", got, c.want)
			}
		})
	}
}

// TestControlOrder checks that control frames depart in the order of their arrival, for any number of waiting frames.
func TestControlOrder(t *testing.T) {
	p := NewPort(NewBuffer(1, Limit{}, Limit{}), NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	in, out := int32(0), int32(0)
	for _, n := range []int{1, 3, -2, 1, -3, 2, -2} {
		for range max(n, 0) {
			in++
			p.QueueControl(&packet.Packet{Size: in})
		}
		for range max(-n, 0) {
			f, control, _ := p.DequeueNext(0)
			if out++; !control || f.Size != out || f.Next != nil {
				t.Fatalf("frame %v, want number %d", f, out)
			}
		}
		if got := p.ControlCount(); got != in-out || p.IsIdle() != (in == out) {
			t.Fatalf("%d wait, want %d", got, in-out)
		}
	}
}
