package sim

import (
	"testing"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// timed is an endpoint that compares, at each packet, its host's stored next event with a recomputed one.
type timed struct {
	transport.Endpoint
	host        **host
	looks, sets *int // how often it has looked, and found a timer
	wrong       *[]unit.Time
}

func (x timed) Receive(now unit.Time, p *packet.Packet) bool {
	h := *x.host
	has := h.wants.Timer
	*x.looks++
	if has != unit.Never {
		*x.sets++
	}
	if has <= now { // the host is in Advance, which looks at its end
		return x.Endpoint.Receive(now, p)
	}
	h.setTimer()
	if h.wants.Timer != has {
		*x.wrong = append(*x.wrong, now)
		h.wants.Timer = has
	}
	return x.Endpoint.Receive(now, p)
}

// TestFirstTimer checks that a host searches its first timer only after timers have gone: update's result is the same
// for any transports, pauses, stalls and losses.
func TestFirstTimer(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, c *Config){
		"tcp":  func(*testing.T, *Config) {},
		"rdma": func(t *testing.T, c *Config) { queuePairs(t, c) },
		"stalls": func(_ *testing.T, c *Config) {
			c.Stalls = Stalls{Every: 300 * unit.Microsecond, Length: 50 * unit.Microsecond}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, 1, nil)
			change(t, c)
			hosts := make([]*host, len(c.Wiring.Network.Nodes))
			looks, sets := 0, 0
			var wrong []unit.Time
			for i := range c.Flows {
				f, e := &c.Flows[i], &c.Endpoints[i]
				e.Sender = timed{e.Sender, &hosts[f.Src], &looks, &sets, &wrong}
				e.Receiver = timed{e.Receiver, &hosts[f.Dst], &looks, &sets, &wrong}
			}
			r, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			copy(hosts, r.hosts)
			r.Run()
			if looks < 1000 || sets < 1000 {
				t.Fatalf("looked %d times, with a timer %d times: this tests nothing", looks, sets)
			}
			if len(wrong) > 0 {
				t.Errorf("%d of %d times, first at %v, the host wants another time than its timers", len(wrong), looks, wrong[0])
			}
		})
	}
}
