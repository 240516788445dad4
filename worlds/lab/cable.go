package lab

import (
	"slices"

	"weir/core/fabric/wiring"
	"weir/core/unit"
)

// Carrier is that a link has lost its carrier, or has it back.
type Carrier struct {
	Link int // index into Network.Links
	Down bool
	At   unit.Time // when the data plane noticed, in the experiment's time
}

// Cables are the links that events take down or up, in ascending order. Where the kernel has a cable for each
// (Network.Lay), the data plane goes by its carrier, and by that alone; else by the events.
func (c *Config) Cables() (links []int) {
	for i := range c.Wiring.Events {
		if e := &c.Wiring.Events[i]; !e.Rated() {
			links = append(links, e.Link)
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// followCarrier makes a link go by its cable's carrier, no longer by what the experiment has in store for it.
func (d *plane) followCarrier(link int) {
	d.events = slices.DeleteFunc(slices.Clone(d.events), func(e wiring.Event) bool { return e.Link == link && !e.Rated() })
	d.ScheduleAct(d.nextAct())
}

// setCarrier has a link lose its carrier, or have it back, after all that has happened.
func (d *plane) setCarrier(link int, down bool) {
	d.ActNow(func(now unit.Time) {
		e := wiring.Event{At: now - d.config.Lead, Link: link, Down: down}
		d.happen(now, &e)
		d.carriers = append(d.carriers, Carrier{Link: link, Down: down, At: e.At})
	})
}
