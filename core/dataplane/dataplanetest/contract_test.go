package dataplanetest

import (
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

func TestRunDirect_HoldsContract(t *testing.T) { CheckContract(t, RunDirect) }

// counter counts errors instead of failing.
type counter struct{ n int }

func (c *counter) Helper()               {}
func (c *counter) Errorf(string, ...any) { c.n++ }

// wrapped is a switch that is broken on purpose.
type wrapped struct {
	node
	receive func(n node, now unit.Time, in packet.PortID, p *packet.Packet)
	dequeue func(n node, now unit.Time, out packet.PortID) (*packet.Packet, unit.Time)
	advance func(n node, now unit.Time)
}

func (w *wrapped) Receive(now unit.Time, in packet.PortID, p *packet.Packet) {
	if w.receive != nil {
		w.receive(w.node, now, in, p)
		return
	}
	w.node.Receive(now, in, p)
}

func (w *wrapped) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	if w.dequeue != nil {
		return w.dequeue(w.node, now, out)
	}
	return w.node.Dequeue(now, out)
}

func (w *wrapped) Advance(now unit.Time) {
	if w.advance != nil {
		w.advance(w.node, now)
		return
	}
	w.node.Advance(now)
}

// around is a driver of a switch that is broken on purpose.
func around(w wrapped) mutation {
	return mutation{node: func(n node) node {
		x := w
		x.node = n
		return &x
	}}
}

// mutants are drivers and switches that are broken on purpose, by what they do.
func mutants() map[string]mutation {
	var held *packet.Packet
	return map[string]mutation{
		"asks a busy port":          {pollsBusyPorts: true},
		"is deaf after Dequeue":     {ignoresWoken: true},
		"has no timers":             {noTimers: true},
		"ignores when to come back": {ignoresAgain: true},
		"swallows every third packet": around(wrapped{receive: func(n node, now unit.Time, in packet.PortID,
			p *packet.Packet) {
			if p.Seq == 3 && p.Data == nil {
				return
			}
			n.Receive(now, in, p)
		}}),
		"swaps two packets": around(wrapped{receive: func(n node, now unit.Time, in packet.PortID, p *packet.Packet) {
			if p.Seq == 1 && held == nil {
				held = p
				return
			}
			n.Receive(now, in, p)
			if held != nil {
				n.Receive(now, in, held)
				held = nil
			}
		}}),
		"does not decrement the hop limit": around(wrapped{dequeue: func(n node, now unit.Time,
			out packet.PortID) (*packet.Packet, unit.Time) {
			p, again := n.Dequeue(now, out)
			if p != nil {
				p.HopLimit++
			}
			return p, again
		}}),
		"counts payload only": around(wrapped{dequeue: func(n node, now unit.Time, out packet.PortID) (*packet.Packet,
			unit.Time) {
			p, again := n.Dequeue(now, out)
			if p != nil {
				p.Size -= 42
			}
			return p, again
		}}),
		"ignores pause": around(wrapped{receive: func(n node, now unit.Time, in packet.PortID, p *packet.Packet) {
			if p.Kind != packet.Pause {
				n.Receive(now, in, p)
			}
		}}),
		"lets time stand still": around(wrapped{receive: func(n node, now unit.Time, in packet.PortID, p *packet.Packet) {
			n.Receive(now-now%(4*us), in, p)
		}}),
		"ticks twice": around(wrapped{advance: func(n node, now unit.Time) {
			n.Advance(now)
			n.Advance(now + 3*us)
		}}),
		"takes a packet more": around(wrapped{dequeue: func(n node, now unit.Time, out packet.PortID) (*packet.Packet,
			unit.Time) {
			n.Dequeue(now, out)
			return n.Dequeue(now, out)
		}}),
	}
}

// TestCheckContract_DetectsMutants checks that the contract finds drivers and switches that are broken on purpose.
func TestCheckContract_DetectsMutants(t *testing.T) {
	for name := range mutants() {
		t.Run(name, func(t *testing.T) {
			var c counter
			CheckContract(&c, func(s Setup, script []Arrival) (tr Transcript) {
				defer func() { // a mutant may also break so that the switch panics
					if r := recover(); r != nil {
						tr = Transcript{Live: -1}
					}
				}()
				return runDirect(s, script, mutants()[name])
			})
			if c.n == 0 {
				t.Errorf("the driver that %s passes the contract", name)
			}
		})
	}
}

func ExampleRunDirect() {
	s := Scripts()[0]
	fmt.Print(RunDirect(s.Setup(), s.Arrives))
	// Output:
	// 2us port 1 data 1, 125 B, hop limit 63
	// 3us port 1 data 2, 125 B, hop limit 63
	// 4us port 1 data 3, 125 B, hop limit 63
	// 10us port 0 data 4, 125 B, hop limit 63
}
