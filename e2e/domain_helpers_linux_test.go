//go:build lab || slow

package e2e

import (
	"math"
	"slices"
	"testing"

	"weir/internal/testkit/realtime"
)

// domainPoint is a point of an experiment between unmodified hosts of Linux.
type domainPoint struct {
	name  string
	set   []string
	users []string // traffics whose goodput both worlds must agree on
}

// agreeOnLab runs a point in both worlds. Each user gets the goodput that it gets in the simulator.
func (x *domainPoint) agreeOnLab(t *testing.T, duration string) {
	needRoot(t)
	args := []string{x.name, "--quick", "--set", "duration=" + duration}
	for _, set := range x.set {
		args = append(args, "--set", set)
	}
	realtime.Test(t, func(try *realtime.Try) {
		doc := runOnLab(try, try.TempDir(), args...)
		if len(doc.Runs) != 1 {
			try.Fatalf("%d runs, want 1", len(doc.Runs))
		}
		doc.agree(try, x.users)
	})
}

// agree compares the goodput of users in both worlds.
func (doc *labDocument) agree(try *realtime.Try, users []string) {
	try.Helper()
	compared := 0
	for _, a := range doc.Agreement {
		if a.Measure != "goodput_bps" || !slices.Contains(users, a.Group) {
			continue
		}
		compared++
		try.Logf("%v %s: %.1f Mb/s in the simulator, %.1f in the lab", a.Point, a.Group, a.Sim/1e6, a.Lab/1e6)
		if math.Abs(a.Lab-a.Sim) > 0.1*a.Sim {
			try.Errorf("%v: %s gets %.1f Mb/s in the simulator, %.1f in the lab", a.Point, a.Group, a.Sim/1e6, a.Lab/1e6)
		}
	}
	if compared == 0 || compared%len(users) != 0 {
		try.Fatalf("%d values of %v", compared, users)
	}
}
