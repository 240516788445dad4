package softswitch

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/unit"
	"weir/internal/testkit/frametest"
	"weir/worlds/switch/frames"
)

// plane returns the running parts of a bench with a configuration.
func (b *bench) plane(c *Config) *plane {
	return &plane{b.Bridge, c, b.users, frames.NewRefusals(c.Framing, len(c.Ports)), b.running}
}

// ReloadsAsFresh passes the text of each file to a switch that runs the first one, as after SIGHUP. accepted counts the
// files that the switch takes. After each refusal the switch must be as it was. reloaded and fresh are as in
// ReloadedAsFresh.
func ReloadsAsFresh(t testing.TB, known Schemes, files []string, rate unit.Rate) (
	accepted int, reloaded, fresh string) {
	t.Helper()
	last, err := Decode(known, "switch.yaml", []byte(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	b := newUsedBench(t, last)
	p := b.plane(last)
	for i, text := range files {
		before := b.describe(p)
		c, err := Decode(known, "switch.yaml", []byte(text))
		if err == nil {
			_, err = p.reload(b.time, c)
		}
		if err == nil {
			accepted, last, b.running = accepted+1, c, p.running
		} else if after := b.describe(p); after != before {
			t.Errorf("file %d is refused (%v), and the switch was\n%s\nand is\n%s", i, err, before, after)
		}
	}
	return accepted, b.outcome(t, unit.Second, rate), newUsedBench(t, last).outcome(t, unit.Second, rate)
}

// newUsedBench returns a bench whose programs and ports have counted a frame.
func newUsedBench(t testing.TB, c *Config) *bench {
	t.Helper()
	b := newBench(t, c)
	b.time = unit.Millisecond
	b.send(0, b.time, frametest.NewDatagram(t, 10, 2, 2, 1000))
	b.stepUntil(t, b.time+unit.Millisecond)
	return b
}

// describe returns the state of a bench: its file, its programs with their state, its ports, and its drops.
func (b *bench) describe(p *plane) string {
	text := fmt.Sprintf("file %p, drops %v, waiting %d\n", p.config, b.Drops(), b.WaitingPackets())
	for _, r := range p.running {
		text += fmt.Sprintf("%s %s at %p: %+v, lines %v, limits %v\n", r.name, r.text, r.Program, r.Program, r.lines,
			r.limits)
	}
	for i := range b.gates {
		text += fmt.Sprintf("port %d: %+v\n", i, *b.Port(i))
	}
	return text
}

// script sends 200 frames of 20 flows to port 1, at a time and 1.5 times as fast as rate carries them.
func (b *bench) script(t testing.TB, rate unit.Rate) {
	t.Helper()
	const frames, size = 200, 1000
	for i := range frames {
		at := b.time + unit.TransmitTime(unit.Bytes(size*2*i/3), rate)
		b.send(0, at, frametest.NewDatagram(t, byte(10+i%20), 2, byte(i%2)<<3|2, size))
	}
	b.stepUntil(t, b.time+2*unit.TransmitTime(frames*size, rate))
}

// ReloadedAsFresh runs a switch through reloads of the configurations, and a new switch with only the last one. It
// describes whether both accept the same and then forward a script of frames alike: departure times, drops,
// footprints.
func ReloadedAsFresh(t testing.TB, all []*Config, rate unit.Rate) (reloaded, fresh string) {
	t.Helper()
	const start = unit.Second
	b := newBench(t, all[0])
	p := b.plane(all[0])
	for _, c := range all[1:] {
		if _, err := p.reload(b.time, c); err != nil {
			return fmt.Sprintf("refused: %v", err), ""
		}
		b.running = p.running
	}
	return b.outcome(t, start, rate), newBench(t, all[len(all)-1]).outcome(t, start, rate)
}

// outcome runs the script at a time and describes the effects on the switch.
func (b *bench) outcome(t testing.TB, start unit.Time, rate unit.Rate) (text string) {
	b.time = start
	b.script(t, rate)
	for i, f := range b.gates[1].out {
		text += fmt.Sprintf("%v %x\n", b.gates[1].when[i], f[:42])
	}
	text += fmt.Sprintf("drops %v, waiting %d\n", b.Drops(), b.WaitingPackets())
	for _, p := range b.running {
		if x, ok := p.Program.(dataplane.Footprinted); ok {
			text += fmt.Sprintf("%s: %+v\n", p.name, x.Footprint())
		}
	}
	return text
}
