package ncf

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// segment is a packet of TCP with this number.
func segment(i int) *packet.Packet {
	return &packet.Packet{Proto: packet.ProtoTCP, Seq: int64(i) * 1448, Payload: 1448}
}

// A notice excuses one arrival of the packet that it is about. Another arrival, packets of other flows, numbers and
// lengths, and datagrams count whole. Of many packets the sample stands for all.
func TestRepeats(t *testing.T) {
	for _, x := range []struct {
		name  string
		flow  uint64
		alter func(*packet.Packet)
		want  int32 // of 4000
	}{
		{"the packets", 1, func(*packet.Packet) {}, 4000},
		{"of another flow", 2, func(*packet.Packet) {}, 0},
		{"the next", 1, func(p *packet.Packet) { p.Seq += 4000 * 1448 }, 0},
		{"longer", 1, func(p *packet.Packet) { p.Payload *= 2 }, 0},
		{"datagrams", 1, func(p *packet.Packet) { p.Proto = packet.ProtoUDP }, 0},
	} {
		r := make(repeats, repeatCells)
		first, second := int32(0), int32(0)
		for i := range 4000 {
			p := segment(i)
			first += r.arrive(1, p)
			r.drop(1, p)
		}
		for i := range 4000 {
			p := segment(i)
			x.alter(p)
			first += r.arrive(x.flow, p)
		}
		for i := range 4000 {
			p := segment(i)
			x.alter(p)
			second += r.arrive(x.flow, p)
		}
		if first < x.want*8/10 || first > max(x.want*12/10, 80) || second > 80 {
			t.Errorf("%s: %d of 4000 are repeats, and then %d; want %d, 0", x.name, first, second, x.want)
		}
	}
}

// A packet counts when it first comes: mice that repeat are what they are once, however often they repeat, and an
// overload ends if that is less than the port carries. Who repeats no packet counts whole.
func TestOverloadOfRepeats(t *testing.T) {
	const rate, window, size = 1e-4, 1e9, 1000 // 100 bytes per us, n·d of 1 ms
	for _, x := range []struct {
		once, again float64 // of the rate
		repeat      bool
		begun       bool
		want        bool
	}{
		{0.85, 0.6, true, false, false}, {0.85, 0.6, false, false, true},
		{0.85, 2, true, true, false}, {0.5, 2, true, true, false}, {0.5, 2, false, true, true},
		{1, 0.5, true, true, true}, {1.3, 2, true, false, true},
	} {
		var o overload
		r := make(repeats, repeatCells)
		add := func(now unit.Time, p *packet.Packet) {
			o.add(now, o.excuse(size, r.arrive(1, p)), rate, 0.95, rate*window, 100*size)
		}
		now, debt := unit.Time(0), 0.0
		for i := range 200_000 {
			if x.begun && i == 0 {
				o.steady, o.sudden = level{rate * window / 2, true}, level{rate * window / 2, true}
			}
			now += unit.Time(size / rate / x.once)
			add(now, segment(i))
			for debt += x.again / x.once; debt >= 1; debt-- {
				if x.repeat {
					r.drop(1, segment(i))
					add(now, segment(i))
				} else {
					add(now, segment(-i))
				}
			}
		}
		if o.isOn() != x.want {
			t.Errorf("%.2f once, and %.1f of repeats (%v): an overload is %v", x.once, x.again, x.repeat, o.isOn())
		}
	}
}

// Of eight thousand packets that wait to arrive again, as those of 800 mice do, most are known when they do.
func TestRepeatsOfMany(t *testing.T) {
	r := make(repeats, repeatCells)
	for i := range 8000 {
		r.drop(uint64(i%800)*0x9e3779b97f4a7c15, segment(i/800))
	}
	again := int32(0)
	for i := range 8000 {
		again += r.arrive(uint64(i%800)*0x9e3779b97f4a7c15, segment(i/800))
	}
	if again < 5500 || again > 8000 {
		t.Errorf("%d of 8000 dropped packets are known when they arrive", again)
	}
}
