package tm

import (
	"fmt"
	"testing"

	"weir/core/unit"
)

const ms = unit.Millisecond

// TestCoDelLaw checks RFC 8289 §5: the next drop follows the last after interval/√count: 100 ms, 70.7, 57.7, 50.
func TestCoDelLaw(t *testing.T) {
	c := CoDel{Interval: 100 * ms}
	for count, want := range map[uint32]unit.Time{1: 100 * ms, 2: 70710678118, 3: 57735026918, 4: 50 * ms, 100: 10 * ms} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			if got := c.nextTime(7*ms, count) - 7*ms; got != want {
				t.Errorf("%d ps, want %d", got, want)
			}
		})
	}
}

// TestCoDelEpisodes checks RFC 8289 §5 with the default parameters. A queue whose delay exceeds 5 ms from 10 ms on
// drops a packet at 110 ms, then at 210, 280.7, 338.4 and 388.4 ms. With one packet a millisecond, each drop happens at
// the next packet. Soon afterwards, dropping resumes with the count that it had gained. 16 intervals later it restarts.
func TestCoDelEpisodes(t *testing.T) {
	c := CoDel{Target: 5 * ms, Interval: 100 * ms, MaxPacket: 1514}
	var s CoDelState
	run := func(from, to int, sojourn unit.Time) (drops []int) {
		for k := from; k < to; k++ {
			for s.JudgePacket(&c, unit.Time(k)*ms, sojourn, 10000, false) == Drop {
				drops = append(drops, k)
			}
		}
		return drops
	}
	for _, x := range []struct {
		from, to int
		sojourn  unit.Time
		want     string
	}{
		{0, 10, 4 * ms, "[]"}, {10, 400, 6 * ms, "[110 210 281 339 389]"}, {400, 420, 4 * ms, "[]"},
		// the count continues at 5 − 1 = 4: a drop at 520, then after 50 ms, 44.7
		{420, 620, 6 * ms, "[520 570 615]"}, {620, 2300, 4 * ms, "[]"}, {2300, 2550, 6 * ms, "[2400 2500]"},
	} {
		t.Run(fmt.Sprintf("%d ms", x.from), func(t *testing.T) {
			if got := fmt.Sprint(run(x.from, x.to, x.sojourn)); got != x.want {
				t.Errorf("drops at %s, want %s", got, x.want)
			}
		})
	}
}

// TestCoDelBeginsAgain checks RFC 8289 §5 by hand, with 5 and 100 ms. Dropping that begins again continues with the
// drops that it has gained on two conditions. These are two or more, and the next one would have been due less than 16
// intervals ago. Two drops, at 110 and 210, gain one. Three, the last at 281, gain two, and the next would have been
// due at 338.4 ms. With a count of 2 the second drop follows the first after 70.7 ms, otherwise after 100.
func TestCoDelBeginsAgain(t *testing.T) {
	c := CoDel{Target: 5 * ms, Interval: 100 * ms, MaxPacket: 1514}
	for _, x := range []struct {
		name      string
		end, from int // of the first time, and when the delay is above the target again
		sojourn   unit.Time
		want      string
	}{
		{"one gained", 220, 300, 6 * ms, "[110 210 400 500]"}, {"two gained", 290, 300, 6 * ms, "[110 210 281 400 471]"},
		{"12 intervals later", 290, 1440, 6 * ms, "[110 210 281 1540 1611]"},
		{"just below 16", 290, 1838, 6 * ms, "[110 210 281 1938 2009]"},
		{"just above 16", 290, 1839, 6 * ms, "[110 210 281 1939 2039]"},
		{"exactly the target is above it", 290, 300, 5 * ms, "[110 210 281 400 471]"},
		{"below the target", 290, 300, 5*ms - 1, "[110 210 281]"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var s CoDelState
			var drops []int
			for k := 10; k < x.from+215; k++ {
				sojourn := 4 * ms
				if k < x.end {
					sojourn = 6 * ms
				} else if k >= x.from {
					sojourn = x.sojourn
				}
				for s.JudgePacket(&c, unit.Time(k)*ms, sojourn, 10000, false) == Drop {
					drops = append(drops, k)
				}
			}
			if got := fmt.Sprint(drops); got != x.want {
				t.Errorf("drops at %s, want %s", got, x.want)
			}
		})
	}
}

// TestCoDelSpares checks that a queue with at most one frame is never too long (RFC 8289 §5). Its delay must still
// exceed the target at the end of the interval.
func TestCoDelSpares(t *testing.T) {
	c := CoDel{Target: 5 * ms, Interval: 100 * ms, MaxPacket: 1514}
	for _, x := range []struct {
		name string
		left unit.Bytes
		dip  int
	}{{"one frame waits", 1514, -1}, {"once below the target", 100000, 90}} {
		t.Run(x.name, func(t *testing.T) {
			var s CoDelState
			for k := range 150 {
				sojourn := 50 * ms
				if k == x.dip {
					sojourn = 4 * ms
				}
				if got := s.JudgePacket(&c, unit.Time(k)*ms, sojourn, x.left, false); got != Pass {
					t.Errorf("at %d ms: %d", k, got)
				}
			}
		})
	}
}
