package softswitch

import (
	"fmt"

	"weir/core/unit"
	"weir/worlds/live"
)

// reread is a file that was read again.
type reread struct {
	data   []byte
	config *Config
	err    error
}

// decodeAgain decodes a file that was read again.
func decodeAgain(known Schemes, file string, data []byte) *reread {
	x := &reread{data: data}
	x.config, x.err = Decode(known, file, data)
	return x
}

// plane is a bridge with its configuration and its programs: what a reload changes.
type plane struct {
	bridge *live.Bridge
	config *Config
	users  *users
	// refusals of frames that are too long
	refusals *refusals
	running  []running
}

// reload changes to another configuration between two packets. The notes report what the change means for each program
// and port. An error leaves the plane as it is.
func (p *plane) reload(now unit.Time, x *reread) (notes []string, err error) {
	if x.err != nil { // although the supervisor has read the same
		return nil, x.err
	}
	c := x.config
	c.mtus = p.config.mtus
	if err := p.config.Keeps(c); err != nil {
		return nil, err
	}
	p.users.declare(&c.Users)
	defer func() {
		if err != nil {
			p.users.declare(&p.config.Users)
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
	p.users.follow(&c.Users)
	p.config = c
	return notes, nil
}
