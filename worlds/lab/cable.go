package lab

import (
	"slices"

	"weir/core/fabric/wiring"
	"weir/core/unit"
)

// CarrierChange records that a link lost its carrier or got it back.
type CarrierChange struct {
	Link int // index into the links of the network
	Down bool
	At   unit.Time // when the data plane noticed, in the experiment's time
}

// CableLinks returns the links that events take down or up, in ascending order. For links with a cable in the kernel
// (Network.LayCables), the data plane follows the cable's carrier only, else the events.
func (c *Config) CableLinks() (links []int) {
	for i := range c.Wiring.Events {
		if e := &c.Wiring.Events[i]; !e.ChangesRate() {
			links = append(links, e.Link)
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// followCarrier makes a link follow its cable's carrier instead of events. It removes the link's down and up events
// from d, and schedules the next action again.
func (d *plane) followCarrier(link int) {
	d.events = slices.DeleteFunc(slices.Clone(d.events), func(e wiring.Event) bool {
		return e.Link == link &&
			!e.ChangesRate()
	})
	d.ScheduleAct(d.nextAct())
}

// setCarrier makes a link lose its carrier or get it back at the current event time, and records the change in
// d.carriers and in captures.
func (d *plane) setCarrier(link int, down bool) {
	d.ActNow(func(now unit.Time) {
		e := wiring.Event{At: now - d.config.Lead, Link: link, Down: down}
		d.applyEvent(now, &e)
		d.carriers = append(d.carriers, CarrierChange{Link: link, Down: down, At: e.At})
	})
}
