package fabric

import (
	"math/rand/v2"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// arrivals plans n frames of 1250 bytes over one link of 1 Mb/s (10 ms each) and 1 ms, all at 0, and returns when
// they arrive if the rate changes at the given times.
func arrivals(t *testing.T, n int, jitter unit.Time, loss float64, changes []rateChange) []unit.Time {
	t.Helper()
	pool := &packet.Pool{}
	got := make([]unit.Time, n)
	for i := range got {
		got[i] = -1
	}
	sender := &relay{name: "a", pool: pool}
	for k := range n {
		sender.plan = append(sender.plan, planned{0, 0, 1250, int64(k)})
	}
	f := mustNew(t, Config{Pool: pool, Nodes: []Node{sender, &relay{name: "b", pool: pool,
		seen: func(now unit.Time, p *packet.Packet) {
			if got[p.Seq] >= 0 {
				t.Errorf("frame %d arrives twice", p.Seq)
			}
			got[p.Seq] = now
		}}}, Links: []Link{{From: 0, To: 1, Rate: inBits(unit.Mbps), Delay: unit.Millisecond, Jitter: jitter, Loss: loss,
		Random: unit.NewRandom(1, "link")}}})
	for _, c := range changes {
		f.Run(c.at, nil)
		f.SetRate(0, inBits(c.rate), c.at)
	}
	f.Run(unit.Never, nil)
	if f.InFlight() != 0 || pool.LiveCount() != 0 {
		t.Errorf("%d frames are on the link, %d in use", f.InFlight(), pool.LiveCount())
	}
	return got
}

type rateChange struct {
	at   unit.Time
	rate unit.Rate
}

// TestSetRate checks that the rest of the frame in service is sent at the new rate, slower and faster. The next frames
// follow.
func TestSetRate(t *testing.T) {
	const ms = unit.Millisecond
	for _, c := range []struct {
		name    string
		changes []rateChange
		want    [3]unit.Time
	}{
		{"no change", nil, [3]unit.Time{11 * ms, 21 * ms, 31 * ms}},
		{"ten times", []rateChange{{4 * ms, 10 * unit.Mbps}}, [3]unit.Time{5600 * unit.Microsecond,
			6600 * unit.Microsecond, 7600 * unit.Microsecond}},
		{"a tenth", []rateChange{{4 * ms, 100 * unit.Kbps}}, [3]unit.Time{65 * ms, 165 * ms, 265 * ms}},
		{"there and back", []rateChange{{4 * ms, 100 * unit.Kbps}, {14 * ms, unit.Mbps}}, [3]unit.Time{20 * ms, 30 * ms,
			40 * ms}},
		// the mistake of a second, corrected: 80 s would be left of a frame at 125 bit/s
		{"a mistake, mended", []rateChange{{ms, 125}, {2 * ms, unit.Mbps}}, [3]unit.Time{11*ms + 999875*unit.Microsecond/1000,
			21*ms + 999875*unit.Microsecond/1000, 31*ms + 999875*unit.Microsecond/1000}},
		{"when a frame ends", []rateChange{{10 * ms, 10 * unit.Mbps}}, [3]unit.Time{11 * ms, 12 * ms, 13 * ms}},
		{"behind the last", []rateChange{{40 * ms, 10 * unit.Mbps}}, [3]unit.Time{11 * ms, 21 * ms, 31 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, at := range arrivals(t, 3, 0, 0, c.changes) {
				if d := at - c.want[k]; d < -10 || d > 10 {
					t.Errorf("frame %d arrives at %v, want %v", k, at, c.want[k])
				}
			}
		})
	}
}

// TestSetRateIntegral checks that for any changes frame k has been sent when the integral of the rate equals k + 1
// frames. With jitter frames arrive in order, and with loss the others arrive at the same time.
func TestSetRateIntegral(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var changes []rateChange
		at := unit.Time(0)
		for range random.IntN(30) {
			at += unit.Time(random.Int64N(int64(8 * unit.Millisecond)))
			changes = append(changes, rateChange{at, unit.Rate(1e5 + random.Int64N(1e7))})
		}
		const n = 12
		var want []unit.Time
		now, rate, next, bits := unit.Time(0), 1e6, 0, 0.0
		for len(want) < n {
			end := now + unit.Time((float64(len(want)+1)*10_000-bits)/rate*1e12)
			if next < len(changes) && changes[next].at < end {
				bits += rate * (changes[next].at - now).Seconds()
				now, rate = changes[next].at, float64(changes[next].rate)
				next++
				continue
			}
			want = append(want, end+unit.Millisecond)
			now, bits = end, float64(len(want))*10_000
		}
		got, lossy := arrivals(t, n, 0, 0, changes), arrivals(t, n, 0, 0.5, changes)
		shaken := arrivals(t, n, 20*unit.Millisecond, 0, changes)
		for k := range n {
			if d := got[k] - want[k]; d < -200 || d > 200 {
				t.Fatalf("%v: frame %d arrives at %v, want %v", changes, k, got[k], want[k])
			}
			if lossy[k] >= 0 && lossy[k] != got[k] {
				t.Fatalf("%v: with loss, frame %d arrives at %v, not %v", changes, k, lossy[k], got[k])
			}
			if k > 0 && shaken[k] <= shaken[k-1] || shaken[k] < got[k] {
				t.Fatalf("%v: with jitter, frame %d arrives at %v", changes, k, shaken[k])
			}
		}
	}
}
