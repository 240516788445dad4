package sim

import (
	"errors"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/transport"
	"weir/core/unit"
)

// TestRun_StartsFlowAfterOthersArrive checks that a flow with predecessors begins when all of them have arrived, and
// not before its own start. A flow that could never begin is an error, and one that does not begin is listed.
func TestRun_StartsFlowAfterOthersArrive(t *testing.T) {
	with := func(change func(c *Config)) (*outcome.Result, error) {
		c := config(t, 1, func(c *Config) {
			for i := range c.Wiring.Network.Links {
				c.Wiring.Network.Links[i].Loss, c.Wiring.Network.Links[i].Buffer = 0, unit.Length{}
			}
		})
		f := c.Flows
		// flow 0 goes from f[0].Src to f[0].Dst; the flows before it must end at its source.
		for i := 1; i < len(f); i++ {
			if f[i].Dst == f[0].Src && f[i].Size > 0 {
				f[0].After = append(f[0].After, i)
			}
		}
		if len(f[0].After) == 0 {
			t.Fatal("no flow ends where flow 0 begins")
		}
		change(c)
		return Run(c)
	}
	var after []int
	res, err := with(func(c *Config) { after = c.Flows[0].After })
	if err != nil {
		t.Fatal(err)
	}
	last := unit.Time(0)
	for _, i := range after {
		last = max(last, res.Flows[i].Arrived)
	}
	if res.Flows[0].Start != last || res.Flows[0].FCT == unit.Never || res.Flows[0].Arrived <= last {
		t.Errorf("flow 0 comes after %v, which arrive by %v: %+v", after, last, res.Flows[0])
	}
	late := last + unit.Millisecond
	if res, err = with(func(c *Config) { c.Flows[0].Start = late }); err != nil || res.Flows[0].Start != late {
		t.Errorf("begins at %v, not at its start %v (%v)", res.Flows[0].Start, late, err)
	}
	res, err = with(func(c *Config) { c.Endpoints[0].Sender, c.EndpointFactory = nil, noEnds{} })
	if err == nil || err.Error() != "sim: flow 0: no sender" {
		t.Errorf("a sender that cannot be made: %v, %v", res, err)
	}
	for want, change := range map[string]func(c *Config){
		"must have a size and end at that node": func(c *Config) {
			for i := range c.Flows {
				if c.Flows[i].Dst != c.Flows[0].Src {
					c.Flows[0].After = []int{i}
				}
			}
		},
		"which must have a size": func(c *Config) { c.Flows[0].After = []int{-1} },
		"twice":                  func(c *Config) { c.Flows[0].After = append(c.Flows[0].After, c.Flows[0].After[0]) },
		"no factory for them":    func(c *Config) { c.Endpoints[0].Sender = nil },
		"in a cycle": func(c *Config) {
			for i := range c.Flows {
				if c.Flows[i].Src == c.Flows[0].Dst && c.Flows[i].Dst == c.Flows[0].Src {
					c.Flows[i].After, c.Flows[0].After = []int{0}, []int{i}
					return
				}
			}
			t.Error("no two flows go back and forth")
		},
	} {
		if _, err := with(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// noEnds is a factory without endpoints.
type noEnds struct{}

func (noEnds) Sender(int, unit.Time) (transport.Endpoint, error) { return nil, errors.New("no sender") }
func (noEnds) Receiver(int) (transport.Endpoint, error)          { return nil, errors.New("no receiver") }
