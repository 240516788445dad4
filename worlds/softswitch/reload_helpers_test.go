package softswitch

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/unit"
)

// reload changes a bench to another configuration as a running switch does.
func (b *bench) reload(c *Config) error {
	list, _, err := succeed(b.time, b.Site(c.links()), b.running, c.Programs)
	if err == nil {
		err = b.SetPrograms(b.time, programs(list, newRefusals(c)))
	}
	if err == nil {
		b.running = list
		b.SetPorts(c.links())
	}
	return err
}

// script sends 200 frames of 20 flows to port 1, at a time and 1.5 times as fast as rate carries them.
func (b *bench) script(t testing.TB, rate unit.Rate) {
	t.Helper()
	const frames, size = 200, 1000
	for i := range frames {
		at := b.time + unit.TransmitTime(unit.Bytes(size*2*i/3), rate)
		b.send(0, at, datagram(t, byte(10+i%20), 2, byte(i%2)<<3|2, size))
	}
	b.run(t, b.time+2*unit.TransmitTime(frames*size, rate))
}

// ReloadedAsFresh runs a switch through reloads of the configurations, and a new switch with the last one alone. It
// returns whether both accept the same and then forward a script of frames alike: what leaves when, drops, footprints.
func ReloadedAsFresh(t testing.TB, all []*Config, rate unit.Rate) (reloaded, fresh string) {
	t.Helper()
	const start = unit.Second
	b := newBench(t, all[0])
	for _, c := range all[1:] {
		if err := b.reload(c); err != nil {
			return fmt.Sprintf("refused: %v", err), ""
		}
	}
	return b.outcome(t, start, rate), newBench(t, all[len(all)-1]).outcome(t, start, rate)
}

// outcome runs the script at a time and describes what the switch has done.
func (b *bench) outcome(t testing.TB, start unit.Time, rate unit.Rate) (text string) {
	b.time = start
	b.script(t, rate)
	for i, f := range b.gates[1].out {
		text += fmt.Sprintf("%v %x\n", b.gates[1].when[i], f[:42])
	}
	text += fmt.Sprintf("drops %v, waiting %d\n", b.Drops(), b.Waiting())
	for _, p := range b.running {
		if x, ok := p.Program.(dataplane.Footprinted); ok {
			text += fmt.Sprintf("%s: %+v\n", p.name, x.Footprint())
		}
	}
	return text
}
