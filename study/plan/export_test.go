package plan

import (
	"weir/study/experiment"
	"weir/worlds/sim"
)

// Trial makes a run as configureRun does, with a limit of the flows that are drawn.
func Trial(p *experiment.Point, seed uint64, limit int) (*sim.Config, error) {
	return configureRun(p, seed, 1, limit)
}
