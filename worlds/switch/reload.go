package softswitch

import (
	"fmt"

	"weir/core/unit"
	"weir/worlds/live"
	"weir/worlds/switch/frames"
)

// plane is a bridge with its configuration and its programs: what a reload changes.
type plane struct {
	bridge *live.Bridge
	config *Config
	users  *frames.Users
	// refusals of frames that are too long
	refusals *frames.Refusals
	running  []running
}

// reload changes to another configuration between two packets. The notes report what the change means for each program
// and port. An error leaves the plane as it is.
func (p *plane) reload(now unit.Time, c *Config) (notes []string, err error) {
	c.mtus = p.config.mtus
	if err := p.config.Keeps(c); err != nil {
		return nil, err
	}
	p.users.Declare(&c.Users)
	defer func() {
		if err != nil {
			p.users.Declare(&p.config.Users)
		}
	}()
	list, notes, err := succeed(now, p.bridge.Site(c.links()), p.running, c.Programs)
	if err != nil {
		return nil, err
	}
	was := p.running
	p.running = list
	if err := p.bridge.SetPrograms(now, programs(p.running, p.refusals)); err != nil {
		p.running = was
		return nil, err
	}
	for i, l := range c.links() {
		if old := p.config.links()[i]; old != l {
			notes = append(notes, fmt.Sprintf("port %s has another rate, buffer or queue", l.Name))
		}
	}
	p.bridge.SetPorts(c.links())
	p.users.Follow(&c.Users)
	p.config = c
	return notes, nil
}
