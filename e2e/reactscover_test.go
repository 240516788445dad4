package e2e

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/dataplane"
	"weir/core/telemetry"
	"weir/core/unit"
)

// pair is two choices of a crossing: the values of two of its factors.
type pair struct{ factor, value, other, otherValue int }

// choices are the numbers of values of each factor of a crossing.
var choices = [...]int{len(lawChoices), len(transportChoices), len(formatChoices), len(balancerChoices), 2, 2,
	len(schedulerChoices), len(speedChoices), len(flowChoices)}

// selection has one value of each factor.
type selection [len(choices)]int

// crossing returns the combination of a selection.
func (s selection) crossing() crossing {
	return crossing{reaction{lawChoices[s[0]], transportChoices[s[1]], formatChoices[s[2]], balancerChoices[s[3]]},
		s[4] == 1, s[5] == 1, schedulerChoices[s[6]], speedChoices[s[7]], flowChoices[s[8]]}
}

// drains reports whether first windows drain in a run of a few seconds. Those of 1,000 flows do not where a product of
// rate and round trip is hundreds of packets.
func (x crossing) drains() bool { return x.flows <= 8 || x.speed.product() <= 200_000 }

// pairs returns all pairs of values in the selection.
func (s selection) pairs() (all []pair) {
	for i := range s {
		for j := i + 1; j < len(s); j++ {
			all = append(all, pair{i, s[i], j, s[j]})
		}
	}
	return all
}

// covering selects combinations so that each pair of values is in one that loads. Of 64 random ones it takes the
// one with the most pairs that are not covered yet. If maxTries combinations had a pair and all were refused,
// loading refuses the pair.
type covering struct {
	random  *rand.Rand
	covered map[pair]bool
	tries   map[pair]int
}

const maxTries = 5

func newCovering() *covering {
	return &covering{rand.New(rand.NewPCG(3, 3)), map[pair]bool{}, map[pair]int{}}
}

// next returns a combination with open pairs; false if 64 random ones have closed pairs only.
func (c *covering) next() (best selection, ok bool) {
	most := 0
	for range 64 {
		var s selection
		for i, n := range choices {
			s[i] = c.random.IntN(n)
		}
		open := 0
		for _, p := range s.pairs() {
			if !c.covered[p] && c.tries[p] < maxTries {
				open++
			}
		}
		if open > most {
			best, most = s, open
		}
	}
	return best, most > 0
}

// note notes that a combination loads, or is refused.
func (c *covering) note(s selection, loads bool) {
	for _, p := range s.pairs() {
		if c.tries[p]++; loads {
			c.covered[p] = true
		}
	}
}

// TestCrossings_ReactWithinBoundsOfLaw checks that flows react within the bounds of their law, unless loading
// refuses the combination or a warning names the effect. It covers each controller, transport, format of telemetry,
// load balancer and scheduler, data in one and in both directions, and equal and unequal paths.
//
// These are the first combinations of links up to 100 Gb/s. A few of them have 1,000 flows and 50 times the round
// trip, which take seconds. The slow suite has all pairs of choices.
func TestCrossings_ReactWithinBoundsOfLaw(t *testing.T) {
	const combinations = 24
	many, long := 3, 2
	quick := func(x crossing) bool {
		switch {
		case x.speed.rate > 100*unit.Gbps || x.speed.product() > 2_000_000:
			return false
		case x.flows > 8:
			many--
			return many >= 0
		case x.speed.product() > 200_000:
			long--
			return long >= 0
		}
		return true
	}
	c, laws := newCovering(), map[string]bool{}
	for n := 0; n < combinations; {
		s, ok := c.next()
		if !ok {
			t.Fatal("no combination is left")
		}
		x := s.crossing()
		_, loads := tryLoad(t, x.spec())
		loads = loads && x.drains()
		c.note(s, loads)
		if loads && quick(x) {
			n++
			laws[x.controller] = true
			t.Run(x.String(), x.check)
		}
	}
	if len(laws) < len(lawChoices)/2 {
		t.Errorf("%d of %d controllers run", len(laws), len(lawChoices))
	}
}

// TestReactionsComplete checks that the choices have every controlling controller of the registry, every format of
// telemetry and every program that chooses among the paths of a network.
func TestReactionsComplete(t *testing.T) {
	r := app.Registry()
	has := func(choices []string, name string) bool {
		return slices.ContainsFunc(choices, func(s string) bool {
			return s == name || strings.HasPrefix(s, name+":") || strings.HasPrefix(s, name+",")
		})
	}
	for _, x := range r.Controllers {
		if x.Name != "none" && !has(lawChoices, x.Name) {
			t.Errorf("controller %s is in no combination", x.Name)
		}
	}
	for _, x := range telemetry.Profiles {
		if !has(formatChoices, x.Name) {
			t.Errorf("format %s is in no combination", x.Name)
		}
	}
	for _, x := range r.Programs {
		if traits := dataplane.TraitsOf(x.NewConfig()); (traits.SelectsPath || traits.Spreads != dataplane.OnePath) &&
			!has(balancerChoices, x.Name) {
			t.Errorf("program %s is in no combination", x.Name)
		}
	}
}
