package ncf

import (
	"fmt"
	"math"
	"testing"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// TestOverloadLevels checks the rule that separates honest mice from a flood, by constant inputs as multiples of the
// port's rate: up to 0.95 there is no overload. Above, it begins after the levels' time, for any rate and n·d. It ends
// when mice bring no more than the port's capacity.
func TestOverloadLevels(t *testing.T) {
	for _, x := range []struct {
		input  float64
		begins float64 // in n·d; 0: never
		ends   float64 // after the begin, once mice bring 0.85
	}{
		{0.5, 0, 0}, {0.85, 0, 0}, {0.94, 0, 0}, {1, 10, 2.5}, {1.1, 3.33, 2.5}, {1.2, 2, 2.5},
		{1.3, 0.3125, 0.156}, {1.5, 0.104, 0.156}, {2, 0.039, 0.156}, {10, 0.00355, 0.156},
	} {
		for _, rate := range []unit.Rate{100 * unit.Mbps, unit.Gbps, 10 * unit.Gbps} {
			t.Run(fmt.Sprint(x.input, " of ", rate), func(t *testing.T) {
				const size = 1000
				window := 40_000 * unit.TransmitTime(size, rate) // n·d
				bytes := bytesPerPs(unit.LinkRate{Bits: rate})
				var o overload
				now, begin, end := unit.Time(0), unit.Never, unit.Never
				for now < 25*window && end == unit.Never {
					input := x.input
					if o.isOn() {
						input, begin = 0.85, min(begin, now)
					} else if begin != unit.Never {
						end = now
					}
					now += unit.Time(size / (input * bytes))
					o.addMice(now, size, bytes, 0.95, bytes*float64(window), 0)
				}
				if x.begins == 0 {
					if begin != unit.Never {
						t.Errorf("an overload at %v", begin)
					}
					return
				}
				began, ended := float64(begin)/float64(window), float64(end-begin)/float64(window)
				if math.Abs(began-x.begins) > 0.05*x.begins || math.Abs(ended-x.ends) > 0.1*x.ends {
					t.Errorf("begins after %.4f n·d, and ends %.4f later; want %.4f, %.4f", began, ended, x.begins, x.ends)
				}
			})
		}
	}
}

// TestOverloadOfSlowPorts checks ports where a mouse is a large part of the traffic in n·d: the levels then count flows
// of the smallest elephant's size.
func TestOverloadOfSlowPorts(t *testing.T) {
	for _, x := range []struct{ burst, least, want float64 }{
		{119e3, 30e3, 0}, {121e3, 30e3, 1}, {3e3, 500, 0}, {3.3e3, 500, 1},
	} {
		var o overload
		const rate, window = 1e-5, 1e10 // 100 kB in n·d, 3125 bytes of which are sudden
		for range int(x.burst / 100) {
			o.addMice(1, 100, rate, 0.95, rate*window, x.least)
		}
		if o.isOn() != (x.want == 1) {
			t.Errorf("%.0f bytes at once, least %.0f: an overload is %v", x.burst, x.least, o.isOn())
		}
	}
}

// TestBandwidthAsNeeded checks NCF §4.2, "as needed", by open loops: mice within the port's capacity get it, and
// elephants the rest. Mice that offer more get half. With bandwidth: equal, and with schedulers that only have equal
// parts, they get half in either case.
func TestBandwidthAsNeeded(t *testing.T) {
	for _, x := range []struct {
		name        string
		mice        unit.Time // between frames of 1066 bytes
		given       []string
		scheduler   func() tm.Scheduler
		want, other float64 // of mice, elephants
	}{
		{"60 %", 14_213 * unit.Nanosecond, nil, nil, 0.6, 0.4},
		{"85 %", 10_033 * unit.Nanosecond, nil, nil, 0.85, 0.15},
		{"110 %", 7753 * unit.Nanosecond, nil, nil, 0.5, 0.5},
		{"200 %", 4264 * unit.Nanosecond, nil, nil, 0.5, 0.5},
		{"60 %, pool", 14_213 * unit.Nanosecond, []string{"pool", "switch"}, nil, 0.6, 0.4},
		{"60 %, equal", 14_213 * unit.Nanosecond, []string{"bandwidth", "equal"}, nil, 0.5, 0.5},
		{"60 %, drr", 14_213 * unit.Nanosecond, nil, func() tm.Scheduler { return tm.NewDRR(3, 1514) }, 0.5, 0.5},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newRig(t, setup{ports: 4, queues: 3, scheduler: x.scheduler, rates: map[int]unit.Rate{0: 10 * unit.Gbps,
				2: 10 * unit.Gbps}, given: append([]string{"memory", "200kB", "least", "15kB", "duration", "1ms",
				"threshold", "2%"}, x.given...)})
			const start, end = 300 * ms, 600 * ms
			got := map[packet.Addr]float64{}
			r.sent = func(at unit.Time, _ packet.PortID, p *packet.Packet) {
				if p.Payload > 0 && !p.IsNotification() && at > start && at <= end {
					got[p.Src] += float64(p.Size) / float64(unit.Gbps.BytesIn(end-start))
				}
			}
			r.offer(end, load{src: 3, dst: 2, every: x.mice, port: many}, load{src: 1, dst: 2, every: 8 * us, port: one(9)})
			if math.Abs(got[3]-x.want) > 0.02 || math.Abs(got[1]-x.other) > 0.02 {
				t.Errorf("mice have %.3f of the port, elephants %.3f; want %.2f, %.2f", got[3], got[1], x.want, x.other)
			}
		})
	}
}
