package dataplanetest

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// NewSetup returns a setup of n equal ports. shapes add objects that ports cannot share, such as a scheduler. They run
// in order for each port, and return the changed port.
func NewSetup(n int, p Port, shapes ...func(Port) Port) (s Setup) {
	for range n {
		x := p
		for _, shape := range shapes {
			x = shape(x)
		}
		s.Ports = append(s.Ports, x)
	}
	return s
}

// NewLinks returns a setup of n ports of a rate, with so many queues.
func NewLinks(n int, rate unit.Rate, queues int) Setup {
	return NewSetup(n, Port{Rate: unit.LinkRate{Bits: rate}, Queues: queues})
}

// ReferenceRates returns reference rates, in kb/s, of 10.0.0.1, 10.0.0.2 and so on.
func ReferenceRates(rates ...int) (all []users.Aggregate) {
	for i, r := range rates {
		all = append(all, users.Aggregate{Key: users.Set(fmt.Sprintf("10.0.0.%d", i+1)), Value: unit.Rate(r) * unit.Kbps})
	}
	return all
}

// RunSorted sorts a script by time, in place, runs it as RunForwarded does, and reports lost packets.
func RunSorted(t T, s Setup, script []Arrival) Transcript {
	t.Helper()
	slices.SortStableFunc(script, func(a, b Arrival) int { return int(min(max(a.At-b.At, -1), 1)) })
	got := RunForwarded(s, script)
	if got.Live != 0 {
		t.Errorf("%d packets are lost", got.Live)
	}
	return got
}

// SteadyTraffic returns n packets of size bytes for one address, a gap apart. The first one arrives after a gap, at
// port 0.
func SteadyTraffic(n int, gap unit.Time, size int32, dst packet.Addr) (all []Arrival) {
	for i := range n {
		all = append(all, Arrival{At: unit.Time(i+1) * gap, Dst: dst, Seq: int64(i), Payload: size - 42})
	}
	return all
}

// CheckNoEarlyDrops reports early drops, and packets that vanish, while queues of ports with the given rate stay short.
// One port has a load of one half and another one of two thirds, for 2000 packets of 1500 bytes each. Later, with its
// queue empty, the first of them gets a burst of so many simultaneous packets of that size. build returns the programs
// behind forwarding.
func CheckNoEarlyDrops(t T, rate unit.Rate, burst int, build func(site *dataplane.Site) []dataplane.Program) {
	t.Helper()
	s := NewLinks(3, rate, 1)
	s.Programs = build(s.NewSite())
	frame := unit.TransmitTime(1500, rate)
	script := append(SteadyTraffic(2000, frame*2, 1500, 2), SteadyTraffic(2000, frame*3/2, 1500, 3)...)
	for range burst {
		script = append(script, Arrival{At: frame * 5000, Dst: 2, Payload: 1458})
	}
	if n := RunSorted(t, s, script).Drops[dataplane.EarlyDrop]; n != 0 {
		t.Errorf("%d packets are dropped", n)
	}
}

// FuzzBursts returns traffic from a fuzzer's bytes, for the second address: each byte is a burst, with gaps, of packets
// with any ECN field.
func FuzzBursts(b []byte) (script []Arrival) {
	at := unit.Time(0)
	for i, x := range b {
		for k := range int(x%16) + 1 {
			at += unit.Time(x>>4) * 40 * unit.Microsecond
			script = append(script, Arrival{At: at, Dst: 2, Seq: int64(len(script)), Payload: int32(22 + (i*97+k*331)%1400),
				TOS: uint8(i) & 3})
		}
	}
	return script
}

// Sharing is a load of users on one link, and the share that each must get.
type Sharing struct {
	Name       string
	References []int // in kb/s; nil: equal ones
	Parts      []float64
	Want       []float64
}

// Sharings returns a user below its share next to two above theirs, and three equal loads with unequal weights.
func Sharings() []Sharing {
	return []Sharing{
		{"equal", nil, []float64{0.1, 0.6, 1.2}, []float64{0.1, 0.45, 0.45}},
		{"weights", []int{10, 20, 10}, []float64{0.9, 0.9, 0.9}, []float64{0.25, 0.5, 0.25}},
	}
}

// measureShares lets users behind the first ports send parts of the last port's rate to it, through a program, until
// endTime. It returns the part of that rate that each gets in the second half of the time, and the part of its packets
// that each loses. The last port must have a rate in bit/s.
func measureShares(s Setup, endTime unit.Time, p dataplane.Program, parts ...float64) (gets, loses []float64) {
	k := &Counter{From: endTime / 2}
	s.Programs = []dataplane.Program{NewForwarding(s.NewSite()), p, k}
	rate := s.Ports[len(s.Ports)-1].Rate.Bits
	RunDirect(s, ConstantTraffic(rate, 1000, endTime, packet.Addr(len(s.Ports)), parts...))
	for i := range parts {
		gets = append(gets, float64(k.Passed[i]*8000)/(float64(rate)*(endTime/2).Seconds()))
		loses = append(loses, 1-float64(k.Passed[i])/float64(k.Came[i]))
	}
	return gets, loses
}

// CheckShares reports users with a part of the link that differs from the wanted one by more than tolerance. It also
// reports users below their share that lose more than maxLoss, a part of their packets. The load ends at endTime.
func (x Sharing) CheckShares(t T, s Setup, endTime unit.Time, p dataplane.Program, tolerance, maxLoss float64) {
	t.Helper()
	gets, loses := measureShares(s, endTime, p, x.Parts...)
	for i, want := range x.Want {
		if got := gets[i]; got < want-tolerance || got > want+tolerance {
			t.Errorf("user %d gets %.3f of the link, want %.3f", i, got, want)
		}
		if x.Parts[i] == x.Want[i] && loses[i] > maxLoss {
			t.Errorf("user %d, below its share, loses %.4f", i, loses[i])
		}
	}
}
