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

// TestRepeats_ExcuseOneArrival checks that a notice excuses one arrival of its packet. A second arrival, packets of
// other flows, numbers and lengths, and datagrams count. With as many drops as a quarter of the cells, one of eight is
// replaced.
func TestRepeats_ExcuseOneArrival(t *testing.T) {
	const drops = repeatCells / 4
	for _, x := range []struct {
		name  string
		flow  uint64
		alter func(*packet.Packet)
		known bool
	}{
		{"the packets", 1, func(*packet.Packet) {}, true},
		{"of another flow", 2, func(*packet.Packet) {}, false},
		{"the next", 1, func(p *packet.Packet) { p.Seq += drops * 1448 }, false},
		{"longer", 1, func(p *packet.Packet) { p.Payload *= 2 }, false},
		{"datagrams", 1, func(p *packet.Packet) { p.Proto = packet.ProtoUDP }, false},
	} {
		r := make(repeats, repeatCells)
		for i := range drops {
			r.add(1, segment(i))
		}
		var counts [2]int
		for turn := range counts {
			for i := range drops {
				p := segment(i)
				if x.alter(p); r.remove(x.flow, p) {
					counts[turn]++
				}
			}
		}
		least, most := 0, drops/100
		if x.known {
			least, most = drops*8/10, drops
		}
		if counts[0] < least || counts[0] > most || counts[1] > drops/100 {
			t.Errorf("%s: %d of %d are repeats, and then %d", x.name, counts[0], drops, counts[1])
		}
	}
}

// TestOverloadOfRepeats checks that a packet counts at its first arrival: resending mice count once, for any number of
// repeats, and an overload ends if that is less than the port's capacity. Packets that are no repeats count.
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
			bytes := int32(size)
			if r.remove(1, p) {
				bytes = 0
			}
			o.addMice(now, bytes, rate, 0.95, rate*window, 100*size)
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
					r.add(1, segment(i))
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

// TestRepeatsOfMany checks that the table bounds the backlog: of four times as many drops as cells, it stores at most
// its cells.
func TestRepeatsOfMany(t *testing.T) {
	r, known := make(repeats, repeatCells), 0
	const drops = 4 * repeatCells
	for i := range drops {
		r.add(uint64(i%800)*0x9e3779b97f4a7c15, segment(i/800))
	}
	for i := range drops {
		if r.remove(uint64(i%800)*0x9e3779b97f4a7c15, segment(i/800)) {
			known++
		}
	}
	if known < repeatCells*9/10 || known > repeatCells {
		t.Errorf("%d of %d dropped packets are known when they arrive; the table has %d cells", known, drops, repeatCells)
	}
}
